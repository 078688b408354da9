"""
Label and field selectors: text to a test of objects, and what is wrong with the text.

Source: the grammar of Kubernetes' "Labels and Selectors" and "Field Selectors".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from muster.queue.client.refusal import bad_request
from muster.queue.sandbox.kinds.names import label_key, label_value
from muster.queue.sandbox.kinds.resources import Resource, Shared

Test = Callable[[Shared], bool]
"""Says whether an object is selected."""

_TOKEN: Final = re.compile(r"\s*(==|!=|=|<|>|!|\(|\)|,|[^\s=!<>(),]+)")
_SIGNS: Final = frozenset(("==", "!=", "=", "<", ">", "!", "(", ")", ",", ""))
_OPERATOR_NAMES: Final = "in, notin, =, ==, !=, gt, lt"
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,63}")
_TERM: Final = re.compile(r"(?:[^,\\]|\\.?)+", re.DOTALL)
"""Of a field selector, up to a comma that isn't escaped."""
_SPECIAL: Final = re.compile(r"=|\\.?", re.DOTALL)
_KEY_RULE: Final = (
    "a valid label key must consist of alphanumeric characters, '-', '_' or '.', with an optional "
    "DNS subdomain prefix and '/'"
)


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
    if value is None or not _is_int64(value):
        return False
    return int(value) > int(bound) if operator == ">" else int(value) < int(bound)


def _is_int64(text: str) -> bool:
    return bool(_INTEGER.fullmatch(text)) and -(2**63) <= int(text) < 2**63


@lru_cache(maxsize=1024)
def parse_labels(text: str) -> tuple[Requirement, ...]:
    """Read a label selector; raises Refusal 400."""
    try:
        return tuple(_LabelParser(text).requirements())
    except ValueError as error:
        raise bad_request(f"unable to parse requirement: {error}") from None


class _LabelParser:
    """Reads one label selector; raises ValueError."""

    def __init__(self, text: str) -> None:
        self._tokens = [*_TOKEN.findall(text.strip()), ""]
        self._next = 0

    def _take(self) -> str:
        token: str = self._tokens[self._next]
        self._next = min(self._next + 1, len(self._tokens) - 1)
        return token

    def _peek(self) -> str:
        token: str = self._tokens[self._next]
        return token

    def requirements(self) -> Iterator[Requirement]:
        if not self._peek():
            return
        while True:
            yield self._requirement()
            token = self._take()
            if not token:
                return
            if token != ",":  # noqa: S105 - not that kind
                raise ValueError(f"found '{token}', expected: ',' or 'end of string'")
            if not self._peek():
                raise ValueError("found '', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        if self._peek() == "!":
            self._take()
            return Requirement(self._key(), "absent")
        key = self._key("!, identifier, or 'end of string'")
        match self._peek():
            case "," | "":
                return Requirement(key, "exists")
            case "in" | "notin" as operator:
                self._take()
                return Requirement(key, operator, self._listed())
            case "=" | "==" | "!=":
                operator = "notin" if self._take() == "!=" else "in"
                return Requirement(key, operator, (self._exact(),))
            case "<" | ">" as operator:
                self._take()
                return Requirement(key, operator, (self._number(),))
            case token:
                raise ValueError(f"found '{token}', expected: {_OPERATOR_NAMES}")

    def _key(self, expected: str = "identifier") -> str:
        token = self._take()
        if token in _SIGNS:
            raise ValueError(f"found '{token}', expected: {expected}")
        for detail in label_key(token):
            raise ValueError(f'key: Invalid value: "{token}": {_KEY_RULE}: {detail}')
        return token

    def _exact(self) -> str:
        token = self._peek()
        if token in {"", ","}:
            return ""
        self._take()
        if token in _SIGNS:
            raise ValueError(f"found '{token}', expected: identifier")
        return self._checked(token)

    def _number(self) -> str:
        token = self._take()
        if token in _SIGNS:
            raise ValueError(f"found '{token}', expected: identifier")
        if not _is_int64(self._checked(token)):
            raise ValueError(
                f"values[0]: Invalid value: \"{token}\": for 'Gt', 'Lt' operators, the value must "
                "be an integer"
            )
        return token

    def _listed(self) -> tuple[str, ...]:
        token = self._take()
        if token != "(":  # noqa: S105
            raise ValueError(f"found '{token}' expected: '('")
        values: dict[str, None] = {}
        value = ""
        while True:
            token = self._take()
            match token:
                case ",":
                    values[value], value = None, ""
                case ")":
                    return (*values, value)
                case _ if token in _SIGNS or value:
                    raise ValueError(f"found '{token}', expected: ',' or ')'")
                case _:
                    value = self._checked(token)

    @staticmethod
    def _checked(value: str) -> str:
        for detail in label_value(value):
            raise ValueError(f'values[0]: Invalid value: "{value}": {detail}')
        return value


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
    for part in filter(None, _TERM.findall(text)):
        found = re.fullmatch(r"([^=!]*)(==|!=|=)(.*)", part, re.DOTALL)
        if not found:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        name, operator, value = found[1].strip(), found[2], _unescaped(found[3])
        yield _field_test(_getter(resource, name), value, equal=operator != "!=")


def _unescaped(value: str) -> str:
    """Return what a value of a field selector means, in which three characters are escaped."""
    for special in _SPECIAL.findall(value):
        if special == "=":
            raise bad_request(f"invalid field selector: unescaped character in value: {ord('=')}")
        if special[1:] not in {"\\", ",", "="}:
            raise bad_request(f"invalid field selector: invalid escape sequence: {special}")
    return _SPECIAL.sub(lambda special: special[0][1:], value)


def _field_test(get: Callable[[Shared], str], value: str, *, equal: bool) -> Test:
    return lambda obj: (get(obj) == value) is equal


def _getter(resource: Resource, name: str) -> Callable[[Shared], str]:
    if name == "metadata.name":
        return lambda obj: str(obj["metadata"]["name"])
    if name == "metadata.namespace" and resource.kind.namespaced:
        return lambda obj: str(obj["metadata"].get("namespace", ""))
    if name in resource.selectable:
        return resource.selectable[name]
    if resource.custom or resource.selectable:
        raise bad_request(f"field label not supported: {name}")
    known = '"metadata.name", "metadata.namespace"'
    raise bad_request(f'"{name}" is not a known field selector: only {known}')
