"""
YAML as Go programs read it: no times, no numbers to the base of 60, keys are text.

Of a text the first document counts. A key given twice is no error: the last one counts. Tags only
ever lead to what JSON has, and what many aliases would blow up is refused before it is built.
"""

from __future__ import annotations

import binascii
import math
import re
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import yaml

from muster.queue.sandbox.schema.parsing import ParseError, in_64_bits, is_too_deep

_FEW_ALIASED: Final = 100
_FEW: Final = 1000
_MANY: Final = 400_000
_TOO_MANY: Final = 4_000_000
_TAG: Final = "tag:yaml.org,2002:"
_DIGITS_MAX: Final = 70
"""Of an integer in 64 bits to whatever base, with all that is before them."""
_INTEGRAL_MAX: Final = 2**63
_TRUE: Final = ("y", "yes", "true", "on")
_FALSE: Final = ("n", "no", "false", "off")
_NULL: Final = ("", "~", "null")

_BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse_document(body: bytes) -> tuple[Any, list[str]]:
    """Return the value of a text, {} for none, and what is said of its repeated keys."""
    try:
        loader = _Loader(body)
    except yaml.YAMLError as error:
        raise ParseError(f"yaml: {error}") from None
    try:
        value = loader.get_data() if loader.check_data() else {}
    except yaml.YAMLError as error:
        raise ParseError(f"yaml: {_first_line(error)}") from None
    except RecursionError:
        raise ParseError("yaml: exceeded max depth") from None
    finally:
        loader.dispose()
    if is_too_deep(value):
        raise ParseError("yaml: exceeded max depth")
    return ({} if value is None else value), loader.faults


def _first_line(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        return f"line {error.problem_mark.line + 1}: {error.problem}"
    return str(error).partition("\n")[0]


class _Loader(_BASE):  # type: ignore[misc]
    """YAML 1.1 as Go programs read it: no times, no numbers to the base of 60, keys are text."""

    def __init__(self, body: bytes) -> None:
        super().__init__(body)
        self.faults: list[str] = []

    def construct_document(self, node: yaml.Node) -> Any:
        _check_aliases(node)
        return super().construct_document(node)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002, ARG002 - as the library has it
        self.flatten_mapping(node)
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = _key(self.construct_object(key_node, deep=True), key_node)
            if key in found:
                line = key_node.start_mark.line + 1
                self.faults.append(f'line {line}: key "{key}" already set in map')
            found[key] = self.construct_object(value_node, deep=True)
        return found


def _key(key: Any, node: yaml.Node) -> str:
    match key:
        case str():
            return key
        case bool():
            return str(key).lower()
        case int() | float():
            return str(key)
        case None:
            return "null"
        case _:
            raise yaml.constructor.ConstructorError(
                None, None, "a key is no plain text", node.start_mark
            )


def _check_aliases(root: yaml.Node) -> None:
    """See that aliases don't make a document much larger than its text, by the real rule."""
    sizes: dict[int, int] = {}
    """Of nodes, by their identity: how many there are in them when all aliases are spelt out."""

    def size(node: yaml.Node) -> int:
        if id(node) not in sizes:
            sizes[id(node)] = 0  # of one that holds itself, which is refused later
            sizes[id(node)] = 1 + sum(map(size, _children(node)))
        return sizes[id(node)]

    total = size(root)
    aliased = total - len(sizes)
    allowed = 0.99 - 0.89 * (min(max(total, _MANY), _TOO_MANY) - _MANY) / (_TOO_MANY - _MANY)
    if aliased > _FEW_ALIASED and total > _FEW and aliased / total > allowed:
        raise yaml.YAMLError("document contains excessive aliasing")


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        for pair in node.value:
            yield from pair
    elif isinstance(node, yaml.SequenceNode):
        yield from node.value


def _value(loader: _Loader, node: yaml.Node) -> Any:
    """Return what a node of any tag is: tags say something of scalars only."""
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return [loader.construct_object(each, deep=True) for each in node.value]
    read = _SCALARS.get(node.tag.removeprefix(_TAG))
    try:
        return read(node.value) if read else node.value
    except ValueError:
        tag = node.tag.removeprefix(_TAG)
        problem = f"cannot decode !!str `{node.value[:50]}` as a !!{tag}"
        raise yaml.YAMLError(problem) from None


def _binary(text: str) -> str:
    try:
        return b64decode("".join(text.split()), validate=True).decode(errors="replace")
    except binascii.Error:
        raise yaml.YAMLError("!!binary value contains invalid base64 data") from None


def _boolean(text: str) -> bool:
    lowered = text.lower()
    if lowered not in (*_TRUE, *_FALSE):
        raise ValueError
    return lowered in _TRUE


def _null(text: str) -> None:
    if text.lower() not in _NULL:
        raise ValueError


def _integer(text: str) -> int | float | str:
    digits = text.replace("_", "")
    if len(digits) <= _DIGITS_MAX and in_64_bits(number := _whole(digits)):
        return number
    return _number(digits) if digits.lstrip("+-").isdecimal() else text


def _whole(digits: str) -> int:
    for base in (0, 8):  # as written, and with a mere 0 before it
        with suppress(ValueError):
            return int(digits, base)
    return int(digits)


def _number(text: str) -> float | str:
    plain = text.replace("_", "")
    if plain.lower().lstrip("+-") in {".inf", ".nan"}:
        raise yaml.YAMLError(f"json: unsupported value: {text}")
    number = float(plain)
    if not math.isfinite(number):
        return text  # beyond all numbers it is no number
    return int(number) if number.is_integer() and abs(number) < _INTEGRAL_MAX else number


_SCALARS: Final[Mapping[str, Callable[[str], Any]]] = {
    "binary": _binary,
    "bool": _boolean,
    "float": _number,
    "int": _integer,
    "null": _null,
}
_Loader.yaml_constructors = {None: _value}
_Loader.yaml_multi_constructors = {}
_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if tag.rpartition(":")[2] not in {"timestamp", "bool", "int", "float"}
    ]
    for first, resolvers in _BASE.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool",
    re.compile(
        r"(?:y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$"
    ),
    list("yYnNtTfFoO"),
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int",
    re.compile(
        r"[-+]?(?:0b_*[01][01_]*|0x_*[0-9a-fA-F][0-9a-fA-F_]*|0o_*[0-7][0-7_]*|[0-9][0-9_]*)$"
    ),
    list("-+0123456789"),
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"[-+]?(?:[.][0-9][0-9_]*|[0-9][0-9_]*(?:[.][0-9_]*)?)(?:[eE][-+]?[0-9]+)?$"
        r"|[-+]?[.](?:inf|Inf|INF)$|[.](?:nan|NaN|NAN)$"
    ),
    list("-+0123456789."),
)
