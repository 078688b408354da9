"""
Label and field selectors: text to a test of objects, and what is wrong with the text.

Source: the grammar of Kubernetes' "Labels and Selectors" and "Field Selectors".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from muster.queue.client.refusal import bad_request
from muster.queue.sandbox.kinds.resource import Resource, Shared

Test = Callable[[Shared], bool]
"""Says whether an object is selected."""

_TOKEN: Final = re.compile(r"\s*(==|!=|=|<|>|!|\(|\)|,|[^\s=!<>(),]+)")
_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_VALUE: Final = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_PREFIX: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_WORDS: Final = {"=", "==", "!=", "in", "notin", "<", ">"}


class Requirement(NamedTuple):
    """One part of a label selector."""

    key: str
    operator: str
    """in, notin, exists, absent, <, >."""
    values: tuple[str, ...] = ()

    def holds(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "in":
                return value in self.values
            case "notin":
                return value not in self.values
            case "exists":
                return value is not None
            case "absent":
                return value is None
            case _:
                return _compares(value, self.operator, self.values[0])


def _compares(value: str | None, operator: str, bound: str) -> bool:
    try:
        number = int(value or "")
    except ValueError:
        return False
    return number > int(bound) if operator == ">" else number < int(bound)


@lru_cache(maxsize=1024)
def parse_labels(text: str) -> tuple[Requirement, ...]:
    """Read a label selector; raises Refusal 400."""
    try:
        return tuple(_requirements(_tokens(text)))
    except ValueError as error:
        raise bad_request(f"unable to parse requirement: {error}") from None


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    position = 0
    text = text.rstrip()
    while position < len(text):
        found = _TOKEN.match(text, position)
        assert found, "every character is one of the token's"
        tokens.append(found[1])
        position = found.end()
    return [*tokens, ""]


def _requirements(tokens: list[str]) -> Iterator[Requirement]:
    rest = iter(tokens)
    token = next(rest)
    while token:
        if token == "!":  # noqa: S105 - not that kind
            yield Requirement(_key(next(rest)), "absent")
            token = next(rest)
        else:
            key, token = _key(token), next(rest)
            if token in _WORDS:
                requirement, token = _compared(key, token, rest)
                yield requirement
            else:
                yield Requirement(key, "exists")
        if token not in {"", ","}:
            raise ValueError(f"found '{token}', expected: ',' or 'end of string'")
        if token:
            token = next(rest)
            if not token:
                raise ValueError("found '', expected: identifier after ','")


def _compared(key: str, word: str, rest: Iterator[str]) -> tuple[Requirement, str]:
    """Read what comes after a key and an operator; returns the next token, too."""
    token = next(rest)
    if word in {"in", "notin"}:
        if token != "(":  # noqa: S105
            raise ValueError(f"found '{token}', expected: '('")
        values, token = _listed(rest)
        return Requirement(key, word, values), token
    if word in {"<", ">"}:
        if not re.fullmatch(r"-?\d+", token):
            raise ValueError(f'values[0][{key}]: Invalid value: "{token}": must be an integer')
        return Requirement(key, word, (token,)), next(rest)
    value, token = ("", token) if token in {"", ","} else (_value(key, token), next(rest))
    return Requirement(key, "notin" if word == "!=" else "in", (value,)), token


def _listed(rest: Iterator[str]) -> tuple[tuple[str, ...], str]:
    values = [""]
    for token in rest:
        if token == ")":  # noqa: S105
            return tuple(values), next(rest)
        if token == ",":  # noqa: S105
            values.append("")
        elif token and not values[-1]:
            values[-1] = _value("", token)
        else:
            break
    raise ValueError("found '', expected: ',' or ')'")


def _key(token: str) -> str:
    prefix, slash, name = token.rpartition("/")
    if (slash and not _PREFIX.fullmatch(prefix)) or not _NAME.fullmatch(name):
        raise ValueError(
            f'<nil>: Invalid value: "{token}": name part must consist of alphanumeric characters, '
            "'-', '_' or '.', and must start and end with an alphanumeric character"
        )
    return token


def _value(key: str, token: str) -> str:
    if not _VALUE.fullmatch(token):
        raise ValueError(
            f'values[0][{key}]: Invalid value: "{token}": a valid label must be an empty string '
            "or consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
            "an alphanumeric character"
        )
    return token


def matches_labels(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Say whether labels fit a LabelSelector object; an empty one selects everything."""
    wanted: Mapping[str, str] = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_fits(expression, labels) for expression in selector.get("matchExpressions") or ())


_OPERATORS: Final = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "absent"}


def _fits(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    values = tuple(expression.get("values") or ())
    return Requirement(expression["key"], _OPERATORS[expression["operator"]], values).holds(labels)


# -- fields ------------------------------------------------------------------------------------


def selection(resource: Resource, labels: str, fields: str) -> Test | None:
    """Return the test of both selectors of a request, None for everything; Refusal 400."""
    tests: list[Test] = []
    if labels and (requirements := parse_labels(labels)):
        tests.append(lambda obj: _labelled(obj, requirements))
    if fields:
        tests += _field_tests(resource, fields)
    if not tests:
        return None
    if len(tests) == 1:
        return tests[0]
    return lambda obj: all(test(obj) for test in tests)


def named(fields: str) -> str:
    """Return the name that a field selector asks for, "" if it doesn't ask for one."""
    for part in fields.split(","):
        key, equals, value = part.replace("==", "=").partition("=")
        if equals and key == "metadata.name":
            return value
    return ""


def _labelled(obj: Shared, requirements: tuple[Requirement, ...]) -> bool:
    labels = obj["metadata"].get("labels") or {}
    return all(requirement.holds(labels) for requirement in requirements)


def _field_tests(resource: Resource, text: str) -> Iterator[Test]:
    for part in filter(None, re.split(r"(?<!\\),", text)):
        found = re.fullmatch(r"([^=!]+)(==|!=|=)(.*)", part, re.DOTALL)
        if not found:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        name, operator, value = found[1].strip(), found[2], re.sub(r"\\([\\,=])", r"\1", found[3])
        yield _field_test(_getter(resource, name), value, equal=operator != "!=")


def _field_test(get: Callable[[Shared], str], value: str, *, equal: bool) -> Test:
    return lambda obj: (get(obj) == value) is equal


def _getter(resource: Resource, name: str) -> Callable[[Shared], str]:
    if name == "metadata.name":
        return lambda obj: str(obj["metadata"]["name"])
    if name == "metadata.namespace" and resource.kind.namespaced:
        return lambda obj: str(obj["metadata"].get("namespace", ""))
    if name in resource.selectable:
        return resource.selectable[name]
    raise bad_request(f"field label not supported: {name}")
