"""
Rewrites expressions where CEL alone has no words for what a Kubernetes API server does.

For CEL a list is a list, but on a server what is on the left of `==`, `!=` and `+` decides: the
order of lists of type "set" and "map" is no matter, and adding to one merges. Which schema values
have is followed from `self` and `oldSelf` through the syntax tree, and where it has such lists our
own functions are called. What can't be followed is refused, never evaluated wrongly. Functions
written in Python can't return optional values either; theirs are made of lists here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from muster.queue.sandbox.schema import trees
from muster.queue.sandbox.schema.identifiers import escaped
from muster.queue.sandbox.schema.node import Schema
from muster.queue.sandbox.schema.trees import Tree
from muster.queue.sandbox.schema.unordered import NotComparableError, check_comparable, described

EQUAL: Final = "@equal"
UNEQUAL: Final = "@unequal"
MERGED: Final = "@merged"
CONTAINS: Final = "@contains"
INSERTED: Final = "cel.@mapInsert"
"""What macros that make maps call."""

_COMPARED: Final = {"_==_": EQUAL, "_!=_": UNEQUAL}
OPTIONAL_RESULTS: Final = ("format.named", "validate")
"""Functions whose result is optional; ours, with an `@`, return a list that has it or is empty."""

_OPTIONAL: Final = b"optional_type"
_DYN: Final = b"\n\x00"
_CHOICE: Final = "_?_:_"


class UnclearError(ValueError):
    """It can't be told of what type some lists are; the message says which."""


class _Either:
    """Of values whose schema depends on a condition."""

    def __init__(self, *shapes: _Shape) -> None:
        self.shapes = shapes


class _Empty:
    """Of an empty list: as it has no entries it is like one of any type."""


_EMPTY: Final = _Empty()
_NOTHING: Final = _Empty()
"""Of the optional value that there isn't."""
_Shape = Schema | _Either | _Empty | None
"""What is known of a value; None where no list within is of type "set" or "map"."""


def rewrite(tree: Tree, types: Mapping[int, bytes], variables: Mapping[str, Schema]) -> None:
    """
    Rewrite an expression in place, where it needs to be.

    `types` are those of its nodes, `variables` the schemas of those that have one. Raises
    UnclearError.
    """
    try:
        _Rewriting(types, variables).shape(tree, dict(variables))
    except NotComparableError as error:
        raise UnclearError(str(error)) from error


_Scope = Mapping[str, _Shape]


class _Rewriting:
    """One expression being rewritten, from its leaves up."""

    def __init__(self, types: Mapping[int, bytes], variables: Mapping[str, Schema]) -> None:
        self.types = types
        self.given = tuple(variables.values())
        self.has_optionals = any(_OPTIONAL in each for each in types.values())

    def shape(self, tree: Tree, scope: _Scope) -> _Shape:
        """Rewrite a node and return what is known of its value."""
        match tree.WhichOneof("kind"):
            case "ident_expr":
                return scope.get(tree.ident_expr.name)
            case "select_expr":
                inner = self.shape(tree.select_expr.operand, scope)
                return None if tree.select_expr.test_only else _field(inner, tree.select_expr.field)
            case "list_expr":
                elements = [self.shape(each, scope) for each in tree.list_expr.elements]
                return _list_of(_either(elements)) if elements else _EMPTY
            case "struct_expr":
                return self._struct(tree, scope)
            case "comprehension_expr":
                return self._loop(tree.comprehension_expr, scope)
            case "call_expr":
                return self._call(tree, scope)
            case _:
                return None

    def _struct(self, tree: Tree, scope: _Scope) -> _Shape:
        values = []
        for entry in tree.struct_expr.entries:
            if entry.HasField("map_key"):
                self.shape(entry.map_key, scope)
            values.append(self.shape(entry.value, scope))
        return _map_of(_either(values)) if values else _EMPTY

    def _loop(self, loop: Any, scope: _Scope) -> _Shape:
        over = self.shape(loop.iter_range, scope)
        entry = _entry(over)
        if loop.iter_var2:
            inner = {**scope, loop.iter_var: None, loop.iter_var2: entry}
        else:
            is_map = isinstance(over, Schema) and over.type == "object"
            inner = {**scope, loop.iter_var: None if is_map else entry}
        inner[loop.accu_var] = start = self.shape(loop.accu_init, scope)
        self.shape(loop.loop_condition, inner)
        # What is gathered grows by entries that are all alike, so that one round tells them all.
        gathered = _flat([start, self.shape(loop.loop_step, inner)])
        return self.shape(loop.result, {**scope, loop.accu_var: gathered})

    def _call(self, tree: Tree, scope: _Scope) -> _Shape:
        called = tree.call_expr
        target = self.shape(called.target, scope) if called.HasField("target") else None
        shapes = [self.shape(each, scope) for each in called.args]
        function = called.function
        if function in _COMPARED:
            self._place(tree, shapes, _COMPARED[function])
            return None
        if function == "_+_":
            return self._place(tree, shapes, MERGED)
        if function == "@in":
            self._place_search(tree, *shapes)
            return None
        if function in OPTIONAL_RESULTS:
            given = [*([called.target] if called.HasField("target") else ()), *called.args]
            self._replace(tree, "_[?_]", trees.call(f"@{function}", *given), trees.number(0))
            return None
        if function == INSERTED:
            self._check_operands(tree, "transformMap")
        follow = _FOLLOWED.get(function)
        return None if follow is None else follow(called, target, shapes)

    def _place(self, tree: Tree, shapes: list[_Shape], function: str) -> _Shape:
        """Put our function where an operator is, if need be, and return what is known of it."""
        left, right = shapes
        if function != MERGED:
            left = _flat([left])  # an empty list is compared in the same way by all
        if isinstance(left, _Either):
            return self._place_in_branches(tree, left, right, function)
        if function == MERGED and not (isinstance(left, Schema) and left.list_type != "atomic"):
            return _list_of(_either([_entry(left), _entry(right)]))
        description = _description(left)
        if description is not None:
            check_comparable(description)
            self._check_operands(tree, tree.call_expr.function)
            self._replace(tree, function, trees.text(description), *tree.call_expr.args)
        return left

    def _place_in_branches(self, tree: Tree, left: _Either, right: _Shape, function: str) -> _Shape:
        """Move an operator into the branches of what is on its left."""
        if not _matters(left):
            return None
        operator = tree.call_expr.function
        choice, other = map(trees.copied, tree.call_expr.args)
        if choice.call_expr.function == "orValue":
            choice = _as_choice(choice)
        if choice.call_expr.function != _CHOICE:
            raise UnclearError(
                "the sandbox can't tell the type of the list on the left of "
                f"`{operator.strip('_')}`"
            )
        shapes = []
        for branch, shape in zip(list(choice.call_expr.args)[1:], left.shapes, strict=True):
            moved = trees.call(operator, branch, other)
            shapes.append(self._place(moved, [shape, right], function))
            branch.CopyFrom(moved)
        tree.CopyFrom(choice)
        return _Either(*shapes)

    def _place_search(self, tree: Tree, wanted: _Shape, values: _Shape) -> None:
        """Have the entries of a list in a definition decide, else what is looked for."""
        if isinstance(values, Schema) and values.type != "array":
            return  # keys of a map
        match tree.call_expr.args[1].WhichOneof("kind"):
            case "select_expr":
                decides = _flat([_entry(values)])
            case "ident_expr" if any(values is each for each in self.given):
                decides = _flat([_entry(values)])
            case "list_expr" | "comprehension_expr":
                decides = _flat([wanted])
            case _:
                decides = _flat([wanted, _entry(values)])
        if isinstance(decides, _Either):
            raise UnclearError("the sandbox can't tell how to compare what is on the left of `in`")
        description = _description(decides)
        if description is not None:
            check_comparable(description)
            self._check_operands(tree, "in")
            self._replace(tree, CONTAINS, trees.text(description), *tree.call_expr.args)

    def _replace(self, tree: Tree, function: str, *arguments: Tree) -> None:
        new = trees.call(function, *arguments)
        new.id = tree.id
        tree.CopyFrom(new)

    def _check_operands(self, tree: Tree, operator: str) -> None:
        """Refuse what may be an optional value, which can't be handed over to our functions."""
        for operand in tree.call_expr.args:
            type_ = self.types.get(operand.id, _DYN)
            if _OPTIONAL in type_ or (self.has_optionals and _DYN in type_):
                raise UnclearError(
                    f"the sandbox can't use `{operator.strip('_')}` on what may be an optional "
                    "value here; use .orValue(…) or .value()"
                )


def _as_choice(tree: Tree) -> Tree:
    """Return `a.orValue(b)` as `a.hasValue() ? a.value() : b`."""
    called = tree.call_expr
    asked, taken = (trees.method(called.target, each) for each in ("hasValue", "value"))
    taken.id = tree.id  # it has the same type
    return trees.call(_CHOICE, asked, taken, called.args[0])


# -- what is known of values ---------------------------------------------------------------------


def _either(shapes: list[_Shape]) -> _Shape:
    """Return what is known of a value that has one of some shapes."""
    told: list[_Shape] = []
    for shape in shapes:
        if not isinstance(shape, _Empty) and not any(_alike(shape, each) for each in told):
            told.append(shape)
    if not told:
        return shapes[0] if shapes else None
    return told[0] if len(told) == 1 else _Either(*told)


def _flat(shapes: list[_Shape]) -> _Shape:
    """Return the same with branches taken apart, and empty lists left out."""
    apart: list[_Shape] = []
    for shape in shapes:
        apart.extend(map(_flat_one, shape.shapes) if isinstance(shape, _Either) else [shape])
    return _either(apart)


def _flat_one(shape: _Shape) -> _Shape:
    return _flat([shape])


def _alike(one: _Shape, other: _Shape) -> bool:
    if one is other:
        return True
    if isinstance(one, _Either) or isinstance(other, _Either):
        return not _matters(one) and not _matters(other)
    return _description(one) == _description(other)


def _description(shape: _Shape) -> str | None:
    return described(shape) if isinstance(shape, Schema) else None


def _matters(shape: _Shape) -> bool:
    """Tell whether a value has lists whose order is no matter."""
    if isinstance(shape, _Either):
        return any(map(_matters, shape.shapes))
    return _description(shape) is not None


def _list_of(entry: _Shape) -> _Shape:
    if not isinstance(entry, Schema):
        return _Either(*map(_list_of, entry.shapes)) if isinstance(entry, _Either) else None
    made = Schema({"type": "array"})
    made.items = entry
    return made


def _map_of(value: _Shape) -> _Shape:
    if not isinstance(value, Schema):
        return _Either(*map(_map_of, value.shapes)) if isinstance(value, _Either) else None
    made = Schema({"type": "object"})
    made.additional = value
    return made


def _field(shape: _Shape, name: str) -> _Shape:
    if isinstance(shape, _Either):
        return _either([_field(each, name) for each in shape.shapes])
    if not isinstance(shape, Schema):
        return None
    for own, child in shape.properties.items():
        if name in {own, escaped(own)}:
            return child
    return shape.additional


def _entry(shape: _Shape) -> _Shape:
    """Return what is known of the entries of a list, or of the values of a map."""
    if isinstance(shape, _Either):
        return _either([_entry(each) for each in shape.shapes])
    if not isinstance(shape, Schema):
        return shape
    return shape.items if shape.type == "array" else shape.additional


# -- functions that pass values on ---------------------------------------------------------------

_Follow = Callable[[Any, _Shape, list[_Shape]], _Shape]
"""Returns what is known of a call's value, by the call, its target and its arguments."""


def _chosen(_: Any, __: _Shape, shapes: list[_Shape]) -> _Shape:
    return _one_of(*shapes[1:])


def _one_of(one: _Shape, other: _Shape) -> _Shape:
    """Return what is known of one of two values; adding to an empty list makes a plain one."""
    told = _either([one, other])
    if _EMPTY in (one, other) and _matters(told):
        return _Either(one, other)
    return told


def _optional_field(called: Any, _: _Shape, shapes: list[_Shape]) -> _Shape:
    return _field(shapes[0], called.args[1].const_expr.string_value)


def _inserted(_: Any, __: _Shape, shapes: list[_Shape]) -> _Shape:
    added = _map_of(shapes[2]) if len(shapes) == 3 else shapes[1]  # noqa: PLR2004 - with its key
    return _either([shapes[0], added])


_FOLLOWED: Final[Mapping[str, _Follow]] = {
    _CHOICE: _chosen,
    "_[_]": lambda _, __, shapes: _entry(shapes[0]),
    "_[?_]": lambda _, __, shapes: _entry(shapes[0]),
    "_?._": _optional_field,
    "dyn": lambda _, __, shapes: shapes[0],
    "optional.of": lambda _, __, shapes: shapes[0],
    "optional.ofNonZeroValue": lambda _, __, shapes: shapes[0],
    "optional.none": lambda _, __, ___: _NOTHING,
    "value": lambda _, target, __: target,
    "orValue": lambda _, target, shapes: _one_of(target, shapes[0]),
    "or": lambda _, target, shapes: _either([target, shapes[0]]),
    INSERTED: _inserted,
    "first": lambda _, target, __: _entry(target),
    "last": lambda _, target, __: _entry(target),
}
