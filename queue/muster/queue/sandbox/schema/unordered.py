"""
Compares, merges and searches values that hold "set" and "map" lists, whose order is no matter.

What is to be left out of account is told by a text, made of a schema by `described`, since texts
are what expressions hand over to functions. As on a real server the value on the left decides: its
lists are of some type, those on the right are whatever they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import orjson

from muster.queue.sandbox.schema.identifiers import escaped
from muster.queue.sandbox.schema.node import Schema

_COMPILED: Final = "unordered"
_MEMORY: Final = 1024
_Equal = Callable[[Any, Any], bool]


class NotComparableError(ValueError):
    """Values of a schema can't be compared as a real server would; the message says why."""


def described(schema: Schema | None) -> str | None:
    """Return what functions need to know of a schema, None if order matters throughout."""
    if schema is None:
        return None
    found = _description(schema)
    return None if found is None else orjson.dumps(found).decode()


def _description(schema: Schema) -> Any:
    if _COMPILED not in schema.compiled:
        schema.compiled[_COMPILED] = None if schema.name else _described(schema)
    return schema.compiled[_COMPILED]


def _described(schema: Schema) -> Any:
    if schema.type == "array":
        items = None if schema.items is None else _description(schema.items)
        if schema.list_type == "set":
            return {"type": "set" if _is_comparable(schema.items) else _NOT_COMPARABLE}
        if schema.list_type == "map":
            # Others are looked up by a name that they don't have, and so are never found.
            keys = [key for key in schema.list_keys if escaped(key) == key]
            return {"type": "map", "keys": keys, "items": items}
        return None if items is None else {"type": "list", "items": items}
    fields = {
        name: found
        for name, child in schema.properties.items()
        if (found := _description(child)) is not None
    }
    rest = None if schema.additional is None else _description(schema.additional)
    return {"type": "object", "fields": fields, "rest": rest} if fields or rest else None


_NOT_COMPARABLE: Final = "set of others"


def _is_comparable(items: Schema | None) -> bool:
    if items is None or items.int_or_string:
        return items is not None
    if items.type == "string":
        return items.raw.get("format") not in _OF_OTHER_TYPES
    return items.type in {"integer", "boolean"}


def check_comparable(description: str) -> None:
    """Raise NotComparableError if a real server compares such values otherwise than they are."""
    if f'"{_NOT_COMPARABLE}"' in description:
        raise NotComparableError(
            "the sandbox compares and adds sets only of strings, integers and truth values"
        )


_OF_OTHER_TYPES: Final = frozenset({"byte", "date", "date-time", "duration"})
"""Formats of texts that expressions see as something else."""


# -- what expressions call -----------------------------------------------------------------------


def equal(description: str, one: Any, other: Any) -> bool:
    """Tell whether two values are equal. Raises ValueError if they are of different types."""
    return _equality(description)(one, other)


def unequal(description: str, one: Any, other: Any) -> bool:
    """Tell whether two values are not equal, or of different types."""
    try:
        return not equal(description, one, other)
    except ValueError:
        return True


def contains(description: str, wanted: Any, values: Sequence[Any]) -> bool:
    """Tell whether some entry of a list equals a value."""
    same = _equality(description)
    return any(same(wanted, each) for each in values)


def merged(description: str, one: Any, other: Any) -> list[Any]:
    """Return a "set" or "map" list with the entries of another list added to it."""
    if one.__class__ is not list or other.__class__ is not list:
        raise ValueError(_NO_OVERLOAD)
    what = orjson.loads(description)
    key_of = _key_function(what)
    found = list(one)
    places = {key_of(entry): place for place, entry in enumerate(one)}
    for entry in other:
        key = key_of(entry)
        if key not in places:
            found.append(entry)
            if what["type"] == "set":
                places[key] = len(found) - 1
        else:
            found[places[key]] = entry
    return found


_NO_OVERLOAD: Final = "no such overload"


@lru_cache(_MEMORY)
def _equality(description: str) -> _Equal:
    return _compiled(orjson.loads(description))


def _compiled(description: Mapping[str, Any] | None) -> _Equal:
    if description is None:
        return plainly_equal
    match description["type"]:
        case "set":
            return _equal_sets
        case "map":
            return _equal_maps(_key_function(description), _compiled(description["items"]))
        case "list":
            return _equal_lists(_compiled(description["items"]))
        case _:
            return _equal_objects(
                {name: _compiled(field) for name, field in description["fields"].items()},
                _compiled(description["rest"]),
            )


def _key_function(description: Mapping[str, Any]) -> Callable[[Any], Any]:
    if description["type"] == "set":
        return lambda entry: (entry.__class__, entry)
    keys = tuple(description["keys"])
    return lambda entry: tuple([entry.get(key) for key in keys])


def plainly_equal(one: Any, other: Any) -> bool:
    """Tell whether two values are equal where all order matters, true not being 1."""
    if one.__class__ is dict and other.__class__ is dict:
        return one.keys() == other.keys() and all(
            plainly_equal(one[name], other[name]) for name in one
        )
    if one.__class__ is list and other.__class__ is list:
        return len(one) == len(other) and all(map(plainly_equal, one, other))
    return bool(isinstance(one, bool) == isinstance(other, bool) and one == other)


def _of_class(wanted: type, equal_values: _Equal) -> _Equal:
    """Return the same for values that may be of other types, or null."""

    def compare(one: Any, other: Any) -> bool:
        if one is None or other is None:
            return one is other
        if one.__class__ is not wanted:
            return plainly_equal(one, other)
        if other.__class__ is not wanted:
            raise ValueError(_NO_OVERLOAD)
        return equal_values(one, other)

    return compare


def _set_equality(one: Sequence[Any], other: Sequence[Any]) -> bool:
    if len(one) != len(other):
        return False
    known = {(each.__class__, each) for each in one}
    return all((each.__class__, each) in known for each in other)


_equal_sets: Final = _of_class(list, _set_equality)


def _equal_maps(key_of: Callable[[Any], Any], same: _Equal) -> _Equal:
    def compare(one: Sequence[Any], other: Sequence[Any]) -> bool:
        if len(one) != len(other):
            return False
        known = {key_of(entry): entry for entry in one}
        return all((key := key_of(entry)) in known and same(known[key], entry) for entry in other)

    return _of_class(list, compare)


def _equal_lists(same: _Equal) -> _Equal:
    return _of_class(list, lambda one, other: len(one) == len(other) and all(map(same, one, other)))


def _equal_objects(fields: Mapping[str, _Equal], rest: _Equal) -> _Equal:
    def compare(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
        return one.keys() == other.keys() and all(
            fields.get(name, rest)(value, other[name]) for name, value in one.items()
        )

    return _of_class(dict, compare)
