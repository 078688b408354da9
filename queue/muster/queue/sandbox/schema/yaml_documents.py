"""
YAML as Go programs read it: no times, no numbers to the base of 60, keys are text.

Of a text the first document counts. A key given twice is no error: the last one counts.
"""

from __future__ import annotations

import math
import re
from typing import Any

import yaml

from muster.queue.sandbox.schema.parsing import ParseError

_BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse_document(body: bytes) -> tuple[Any, list[str]]:
    """Return the value of a text, {} for none, and what is said of its repeated keys."""
    try:
        loader = _Loader(body)
    except yaml.YAMLError as error:
        raise ParseError(f"yaml: {error}") from None
    try:
        value = loader.get_data() if loader.check_data() else {}
    except (yaml.YAMLError, RecursionError) as error:
        raise ParseError(f"yaml: {_first_line(error)}") from None
    finally:
        loader.dispose()
    return ({} if value is None else value), loader.faults


def _first_line(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        return f"line {error.problem_mark.line + 1}: {error.problem}"
    return (str(error) or "too deep").partition("\n")[0]


class _Loader(_BASE):  # type: ignore[misc]
    """YAML 1.1 as Go programs read it: no times, no numbers to the base of 60, keys are text."""

    def __init__(self, body: bytes) -> None:
        super().__init__(body)
        self.faults: list[str] = []

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


def _number(loader: _Loader, node: yaml.ScalarNode) -> float:
    value: float = loader.construct_yaml_float(node)
    if not math.isfinite(value):
        raise yaml.constructor.ConstructorError(
            None, None, f"json: unsupported value: {node.value}", node.start_mark
        )
    return value


_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if tag.rpartition(":")[2] not in {"timestamp", "bool", "int"}
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
    re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|0|[1-9][0-9_]*)$"),
    list("-+0123456789"),
)
_Loader.bool_values = {**_BASE.bool_values, "y": True, "n": False}
_Loader.add_constructor("tag:yaml.org,2002:float", _number)
