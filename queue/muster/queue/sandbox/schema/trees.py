"""
Syntax trees of expressions, in the form in which the CEL library writes and reads them.

That form is public: the messages of `cel.expr` in the specification of CEL. Only what is looked at
is declared here; whatever else they hold stays in them unseen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, Final

from google.protobuf import any_pb2, descriptor_pb2, message_factory
from google.protobuf.descriptor_pool import DescriptorPool

Tree = Any
"""A node of a syntax tree, a message of type `cel.expr.Expr`."""

_PACKAGE: Final = "cel.expr"
_Field = descriptor_pb2.FieldDescriptorProto
_LEAVES: Final = {
    "int64": _Field.TYPE_INT64,
    "bool": _Field.TYPE_BOOL,
    "string": _Field.TYPE_STRING,
    "bytes": _Field.TYPE_BYTES,
}

# Of each message its fields: number, name, type; `*` marks a list, `|` one of a choice.
_MESSAGES: Final[Mapping[str, str]] = {
    "Constant": "3 |int64_value int64, 6 |string_value string",
    "Ident": "1 name string",
    "Select": "1 operand Expr, 2 field string, 3 test_only bool",
    "Call": "1 target Expr, 2 function string, 3 *args Expr",
    "List": "1 *elements Expr",
    "Entry": "1 id int64, 3 map_key Expr, 4 value Expr",
    "Struct": "1 message_name string, 2 *entries Entry",
    "Comprehension": (
        "1 iter_var string, 8 iter_var2 string, 2 iter_range Expr, 3 accu_var string, "
        "4 accu_init Expr, 5 loop_condition Expr, 6 loop_step Expr, 7 result Expr"
    ),
    "Expr": (
        "2 id int64, 3 |const_expr Constant, 4 |ident_expr Ident, 5 |select_expr Select, "
        "6 |call_expr Call, 7 |list_expr List, 8 |struct_expr Struct, "
        "9 |comprehension_expr Comprehension"
    ),
    "ParsedExpr": "2 expr Expr",
    "TypeEntry": "1 key int64, 2 value bytes",
    "CheckedExpr": "3 *types TypeEntry, 4 expr Expr",
}


def _declared() -> DescriptorPool:
    file = descriptor_pb2.FileDescriptorProto(name="trees.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field in fields.split(", "):
            number, marked, type_name = field.split(" ")
            described = message.field.add(name=marked.lstrip("*|"), number=int(number))
            many = marked.startswith("*")
            described.label = _Field.LABEL_REPEATED if many else _Field.LABEL_OPTIONAL
            described.type = _LEAVES.get(type_name, _Field.TYPE_MESSAGE)
            if type_name not in _LEAVES:
                described.type_name = f".{_PACKAGE}.{type_name}"
            if marked.startswith("|"):
                if not message.oneof_decl:
                    message.oneof_decl.add(name="kind")
                described.oneof_index = 0
    pool = DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return pool


_POOL: Final = _declared()


def _class(name: str) -> Any:
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"{_PACKAGE}.{name}"))


_Expr: Final = _class("Expr")
_ParsedExpr: Final = _class("ParsedExpr")
_CheckedExpr: Final = _class("CheckedExpr")
_TYPE_URL: Final = f"type.googleapis.com/{_PACKAGE}.ParsedExpr"


def read(serialized: bytes) -> tuple[Tree, Mapping[int, bytes]]:
    """Return the tree of an expression whose types were checked, and the types of its nodes."""
    checked = _CheckedExpr.FromString(any_pb2.Any.FromString(serialized).value)
    return checked.expr, {entry.key: entry.value for entry in checked.types}


def written(tree: Tree) -> bytes:
    """Return a tree as the library reads it, to be evaluated without a check."""
    parsed = _ParsedExpr(expr=tree)
    numbers = count(1)
    for node in _nodes(parsed.expr):
        node.id = next(numbers)
    wrapped = any_pb2.Any(type_url=_TYPE_URL, value=parsed.SerializeToString())
    return wrapped.SerializeToString()


def _nodes(tree: Tree) -> Iterator[Any]:
    """Yield all that has a number: nodes, and entries of maps."""
    yield tree
    for child in children(tree):
        yield from _nodes(child)
    yield from tree.struct_expr.entries


def children(tree: Tree) -> list[Tree]:
    """Return the nodes directly below a node."""
    match tree.WhichOneof("kind"):
        case "select_expr":
            return [tree.select_expr.operand]
        case "call_expr":
            called = tree.call_expr
            return [*([called.target] if called.HasField("target") else ()), *called.args]
        case "list_expr":
            return list(tree.list_expr.elements)
        case "struct_expr":
            return [
                each
                for entry in tree.struct_expr.entries
                for each in (entry.map_key, entry.value)
                if each.WhichOneof("kind")
            ]
        case "comprehension_expr":
            loop = tree.comprehension_expr
            parts = (
                loop.iter_range,
                loop.accu_init,
                loop.loop_condition,
                loop.loop_step,
                loop.result,
            )
            return list(parts)
        case _:
            return []


def call(function: str, *arguments: Tree) -> Tree:
    """Return a node that calls a function."""
    tree = _Expr()
    tree.call_expr.function = function
    tree.call_expr.args.extend(arguments)
    return tree


def method(target: Tree, function: str) -> Tree:
    """Return a node that calls a method without arguments."""
    tree = call(function)
    tree.call_expr.target.CopyFrom(target)
    return tree


def number(value: int) -> Tree:
    """Return a node that is a whole number."""
    tree = _Expr()
    tree.const_expr.int64_value = value
    return tree


def text(value: str) -> Tree:
    """Return a node that is a text."""
    tree = _Expr()
    tree.const_expr.string_value = value
    return tree


def copied(tree: Tree) -> Tree:
    """Return a node that shares nothing with another."""
    new = _Expr()
    new.CopyFrom(tree)
    return new
