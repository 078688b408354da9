"""
From text to documents: YAML or JSON, strictly.

What Kubernetes would silently read in another way than its author meant is refused: a key given
twice, a number that is none. Text that would exhaust the reader (nested thousands of levels deep,
aliases that unfold without end) is refused before it does. Timestamps stay text, as they do for
kubectl, and so does 12:30, which YAML 1.1 takes for a number to the base of 60.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from muster.queue.api.wording import shown

DEPTH_MAX: Final = 100
"""Levels of nesting; real objects have about twenty."""
ALIASED_MAX: Final = 100_000
"""Values that aliases may add to those that are written."""

_TAG: Final = "tag:yaml.org,2002:"
_TOO_DEEP: Final = f"is nested more than {DEPTH_MAX} levels deep (or contains itself)"

# The C parser is ten times as fast; an installation may lack it.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class SyntaxProblem(Exception):  # noqa: N818 - a finding about somebody's text
    """The text cannot be read on from here."""

    def __init__(self, message: str, line: int | None = None) -> None:
        self.message = message
        self.line = line
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something in a document that is readable, but surely not what was meant."""

    message: str
    line: int | None


@dataclass(frozen=True, slots=True)
class Document:
    """One parsed document; `value` is None when there is nothing in it."""

    value: Any
    line: int | None = None
    flaws: tuple[Flaw, ...] = ()
    node: yaml.Node | None = field(default=None, repr=False)

    def line_of(self, path: str) -> int | None:
        """Return the line of "spec.podSets[0].count", or of what comes closest to it."""
        node = self.node
        line = None if node is None else node.start_mark.line + 1
        for step in _steps(path):
            found = _child(node, step)
            if found is None:
                break
            line, node = found
        return line


def parse(text: str, *, is_json: bool) -> Iterator[Document]:
    """
    Yield the documents of a text. Raises SyntaxProblem where it cannot be read on.

    Text that begins like JSON is read as JSON; what only looks like it (YAML in flow style) is
    read as YAML after all, unless `is_json`.
    """
    if is_json or text.lstrip()[:1] in ("{", "["):
        try:
            documents = list(_json_documents(text))
        except json.JSONDecodeError as error:
            if is_json:
                raise SyntaxProblem(f"not JSON: {_lowered(error.msg)}", error.lineno) from None
        else:
            yield from documents
            return
    yield from _yaml_documents(text)


# --- JSON ----------------------------------------------------------------------------------------


def _json_documents(text: str) -> Iterator[Document]:
    flaws: list[Flaw] = []

    def no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) < len(pairs):
            times = Counter(name for name, _ in pairs)
            flaws.extend(
                Flaw(f"the key {shown(name)} is given {count} times", None)
                for name, count in times.items()
                if count > 1
            )
        return result

    def no_number(name: str) -> None:
        flaws.append(Flaw(f"{name} is not a number", None))

    decoder = json.JSONDecoder(object_pairs_hook=no_twins, parse_constant=no_number)
    at = _skip_space(text, 0)
    while at < len(text):
        value, end = _json_value(decoder, text, at)
        yield Document(value, text.count("\n", 0, at) + 1, tuple(flaws))
        flaws.clear()
        at = _skip_space(text, end)


def _json_value(decoder: json.JSONDecoder, text: str, at: int) -> tuple[Any, int]:
    try:
        value, end = decoder.raw_decode(text, at)
    except RecursionError:
        raise SyntaxProblem(_TOO_DEEP) from None
    except json.JSONDecodeError:
        raise
    except ValueError:
        raise SyntaxProblem("a number has more digits than can be read") from None
    if _deeper_than(value, DEPTH_MAX):
        raise SyntaxProblem(_TOO_DEEP)
    return value, end


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None
    return match.end()


_SPACE: Final = re.compile(r"[ \t\r\n]*")


def _deeper_than(value: Any, levels: int) -> bool:
    if isinstance(value, dict):
        children: Any = value.values()
    elif isinstance(value, list):
        children = value
    else:
        return False
    return levels == 0 or any(
        _deeper_than(child, levels - 1) for child in children if isinstance(child, dict | list)
    )


# --- YAML ----------------------------------------------------------------------------------------


def _yaml_documents(text: str) -> Iterator[Document]:
    try:
        loader = _Loader(text)
        try:
            while loader.check_node():
                node = loader.get_node()
                reader = _Reader(len(text) + ALIASED_MAX)
                value = reader.value(node, DEPTH_MAX)
                yield Document(value, node.start_mark.line + 1, tuple(reader.flaws), node)
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise _syntax_problem(error, text) from None
    except RecursionError:
        raise SyntaxProblem(_TOO_DEEP) from None


def _syntax_problem(error: yaml.YAMLError, text: str) -> SyntaxProblem:
    if not isinstance(error, yaml.MarkedYAMLError):
        return SyntaxProblem("not text: it contains characters that YAML does not allow")
    said, context = error.problem or "", error.context or ""
    mark = error.problem_mark or error.context_mark
    line = None if mark is None else mark.line + 1
    if "nesting depth" in said + context:
        return SyntaxProblem(_TOO_DEEP, line)
    if line is not None and "\t" in _indentation(text.splitlines()[line - 1 : line]):
        return SyntaxProblem("not YAML: a tab where only spaces may indent", line)
    return SyntaxProblem(f"not YAML: {' '.join(filter(None, (said, context)))}", line)


def _indentation(lines: list[str]) -> str:
    return "".join(line[: len(line) - len(line.lstrip())] for line in lines)


class _Reader:
    """Turns the nodes of one document into values."""

    def __init__(self, values_max: int) -> None:
        self.flaws: list[Flaw] = []
        self._left = values_max

    def value(self, node: yaml.Node, levels: int) -> Any:
        self._left -= 1
        if self._left < 0:
            raise SyntaxProblem("aliases unfold it to more than can be meant", _line(node))
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if levels == 0:
            raise SyntaxProblem(_TOO_DEEP, _line(node))
        if isinstance(node, yaml.SequenceNode):
            self._check_tag(node, "seq")
            return [self.value(child, levels - 1) for child in node.value]
        assert isinstance(node, yaml.MappingNode)
        self._check_tag(node, "map")
        return self._mapping(node, levels)

    def _mapping(self, node: yaml.MappingNode, levels: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        lines: dict[str, int] = {}
        merged: list[dict[str, Any]] = []
        for key_node, value_node in node.value:
            if key_node.tag == f"{_TAG}merge":
                merged += self._merged(value_node, levels)
                continue
            key = self._key(key_node)
            if key is None:
                continue
            if key in lines:
                message = f"the key {shown(key)} is given twice, first in line {lines[key]}"
                self.flaws.append(Flaw(message, _line(key_node)))
            lines.setdefault(key, _line(key_node))
            result[key] = self.value(value_node, levels - 1)
        for other in merged:
            result = {**other, **result}
        return result

    def _merged(self, node: yaml.Node, levels: int) -> list[dict[str, Any]]:
        nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
        values = [self.value(each, levels - 1) for each in nodes]
        if not all(isinstance(value, dict) for value in values):
            self.flaws.append(Flaw("<< must be followed by mappings to merge", _line(node)))
        return [value for value in values if isinstance(value, dict)]

    def _key(self, node: yaml.Node) -> str | None:
        if isinstance(node, yaml.ScalarNode) and node.tag != f"{_TAG}null":
            return str(node.value)
        self.flaws.append(Flaw("a key must be text", _line(node)))
        return None

    def _check_tag(self, node: yaml.Node, expected: str) -> None:
        if node.tag != f"{_TAG}{expected}":
            self._unknown_tag(node)

    def _unknown_tag(self, node: yaml.Node) -> None:
        tag = node.tag.replace(_TAG, "!!")
        self.flaws.append(Flaw(f"the tag {tag} is not understood: remove it", _line(node)))

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        text = str(node.value)
        match node.tag.removeprefix(_TAG):
            case "str" | "timestamp" | "binary" | "value" | "merge":
                return text
            case "null":
                return None
            case "bool":
                return text.lower() in ("yes", "true", "on")
            case "int":
                return self._whole(text, node)
            case "float":
                return self._fraction(text, node)
            case _:
                self._unknown_tag(node)
                return text

    def _whole(self, text: str, node: yaml.Node) -> int | str:
        if ":" in text:
            return text
        sign, digits = (text[0], text[1:]) if text[0] in "+-" else ("", text)
        digits = digits.replace("_", "")
        octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
        try:
            return int(f"{sign}{digits}", 8 if octal else 0)
        except ValueError:
            self.flaws.append(Flaw(f"{shown(text)} is not a usable number", _line(node)))
            return text

    def _fraction(self, text: str, node: yaml.Node) -> float | str:
        if ":" in text:
            return text
        if text.lower().endswith(("inf", "nan")):
            self.flaws.append(Flaw(f"{text} is not a usable number", _line(node)))
            return text
        return float(text.replace("_", ""))


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _lowered(message: str) -> str:
    return message[:1].lower() + message[1:]


# --- Lines ---------------------------------------------------------------------------------------

_STEP: Final = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")


def _steps(path: str) -> Iterator[str]:
    for match in _STEP.finditer(path):
        yield match[1] if match[1] is not None else match[2]


def _child(node: yaml.Node | None, step: str) -> tuple[int, yaml.Node] | None:
    """Return the line and node of one step down, or None."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == step:
                return _line(key), value
    elif isinstance(node, yaml.SequenceNode) and step.isdecimal() and int(step) < len(node.value):
        child = node.value[int(step)]
        return _line(child), child
    return None
