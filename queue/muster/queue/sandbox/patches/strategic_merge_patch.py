"""
Strategic merge patch: a merge patch that knows of each list whether and how its entries merge.

The schema names the key that tells entries apart (`x-kubernetes-patch-merge-key`); directives in
the patch delete or replace, and give lists an order:

* `$patch: delete | replace` in an object, or in an entry of a list;
* `$deleteFromPrimitiveList/NAME`, what goes from a list of scalars;
* `$setElementOrder/NAME`, the order of a list, by keys or scalars;
* `$retainKeys`, the only fields of an object that stay.

For built-in kinds only: definitions say nothing of it, and real API servers refuse it there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from muster.queue.client.refusal import Refusal, bad_request
from muster.queue.sandbox.patches.merge_patch import not_an_object, rejected, without_nulls
from muster.queue.sandbox.schema.defaulting import copied
from muster.queue.sandbox.schema.go import go_type, shown
from muster.queue.sandbox.schema.node import MISSING, Schema

Json = Any
"""A part of an object or a patch: it belongs to the request."""
Map = dict[str, Any]

_DIRECTIVE: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_DELETE: Final = "$deleteFromPrimitiveList"
_ORDER: Final = "$setElementOrder"


def strategic_merge_patch(schema: Schema, obj: Map, patch: object) -> Map:
    """
    Merge a patch, decoded from JSON, into an object in place; return the object that results.

    The patch stays as it is, for another attempt. Raises 400 for malformed directives and, as the
    real one does, 500 for lists that can't be merged, such as for entries without their key.
    """
    if patch is None:
        return obj
    if not isinstance(patch, dict):
        raise bad_request(not_an_object(patch))
    return _merge_maps(schema, obj, copied(patch))


def _cannot(what: str) -> Refusal:
    return Refusal(500, "", what)


def _merge_maps(schema: Schema | None, obj: Map, patch: Map) -> Map:
    if _DIRECTIVE in patch:
        return _directed(patch)
    _retain(obj, patch)
    for name in [name for name in patch if name.startswith(_ORDER)]:
        _merge_in_order(schema, obj, patch, name)
    for name, value in patch.items():
        if name.startswith(_DELETE):
            _delete_scalars(obj, _after_slash(name, _DELETE, "primitive list"), value)
        elif value is None:
            obj.pop(name, None)
        else:
            merged = _merged(schema, name, obj.get(name), value)
            if merged is MISSING:
                obj.pop(name, None)
            else:
                obj[name] = merged
    return obj


def _directed(patch: Map) -> Map:
    match patch[_DIRECTIVE]:
        case "replace":
            return {name: value for name, value in patch.items() if name != _DIRECTIVE}
        case "delete":
            return {}
        case directive:
            raise _unknown(directive, patch)


def _unknown(directive: Json, patch: Map) -> Refusal:
    return _cannot(f"unknown patch type: {shown(directive)} in map: {shown(patch)}")


def _retain(obj: Map, patch: Map) -> None:
    """Drop all fields but those that the patch retains."""
    if _RETAIN not in patch:
        return
    names = patch.pop(_RETAIN)
    if not isinstance(names, list) or any(
        value is not None and name not in names and not name.startswith((_DELETE, _ORDER))
        for name, value in patch.items()
    ):
        raise bad_request("invalid patch format of retainKeys")
    for name in [name for name in obj if name not in names]:
        del obj[name]


def _merged(schema: Schema | None, name: str, now: Json, value: Json) -> Json:
    """Return a field with what a patch says of it, MISSING if the patch deletes it."""
    if type(now) is not type(value) or not isinstance(value, dict | list):
        return _without_directives(without_nulls(value))
    field = _field(schema, name)
    if isinstance(value, dict):
        replaced = field is not None and "replace" in field.patch_strategies
        return value if replaced else _merge_maps(field, now, value)
    if field is None or "merge" not in field.patch_strategies:
        return value
    return _merge_lists(field, now, value)


def _field(schema: Schema | None, name: str) -> Schema | None:
    return None if schema is None else schema.field(name)


def _after_slash(name: str, directive: str, what: str) -> str:
    prefix, slash, rest = name.partition("/")
    if not slash or prefix != directive:
        raise bad_request(f"invalid patch format of {what}")
    return rest


def _without_directives(value: Json) -> Json:
    """Return a new value without what deletes itself, MISSING if that is the value as a whole."""
    if isinstance(value, dict):
        if _DIRECTIVE in value:
            return MISSING
        kept = {name: _without_directives(part) for name, part in value.items()}
        return {name: part for name, part in kept.items() if part is not MISSING}
    if isinstance(value, list):
        return [each for each in map(_without_directives, value) if each is not MISSING]
    return value


# -- lists --------------------------------------------------------------------------------------


def _delete_scalars(obj: Map, name: str, gone: Json) -> None:
    now = obj.get(name)
    if isinstance(now, list) and isinstance(gone, list):
        obj[name] = [item for item in now if item not in gone]


def _merge_lists(field: Schema, now: list[Json], patch: list[Json]) -> list[Json]:
    if not now and not patch:
        return now
    key = field.patch_merge_key
    if not _are_maps(now, patch):
        return _in_order(list(dict.fromkeys([*now, *patch])), patch, now, _itself)
    if not key:
        raise _cannot("cannot merge lists without merge key for slice")
    now, patch = _directed_entries(now, patch, key)
    before = list(now)
    for entry in patch:
        wanted = _key_of(entry, key)
        place = _place(now, key, wanted)
        if place is None:
            now = [*now, entry]
        else:
            now[place] = _merge_maps(field.items, now[place], entry)
    return _in_order(now, patch, before, _keyed(key))


def _are_maps(*lists: list[Json]) -> bool:
    """Return whether the entries of lists are maps; they must all be of one type."""
    kinds = {type(item) for items in lists for item in items}
    if len(kinds) > 1:
        raise _cannot(f"list element types are not identical: {shown(list(lists))}")
    if list in kinds:
        raise rejected()
    return dict in kinds


def _directed_entries(
    now: list[Json], patch: list[Json], key: str
) -> tuple[list[Json], list[Json]]:
    """Return both lists after the entries that delete others or replace all, and without these."""
    plain = []
    replaces = False
    for entry in patch:
        match entry.get(_DIRECTIVE, MISSING):
            case "delete":
                gone = _key_of(entry, key)
                now = [item for item in now if item.get(key, MISSING) != gone]
            case "replace":
                replaces = True
            case "merge":
                raise _cannot("merging lists cannot yet be specified in the patch")
            case directive if directive is MISSING:
                plain.append(entry)
            case directive:
                raise _unknown(directive, entry)
    return (plain, []) if replaces else (list(now), plain)


def _key_of(entry: Json, key: str) -> Json:
    if not isinstance(entry, dict):
        raise _cannot(f"expected a map[string]interface {{}}, but received a {go_type(entry)}")
    if key not in entry:
        raise _cannot(f"map: {shown(entry)} does not contain declared merge key: {key}")
    return entry[key]


def _place(items: list[Json], key: str, wanted: Json) -> int | None:
    return next((at for at, item in enumerate(items) if item.get(key, MISSING) == wanted), None)


# -- order --------------------------------------------------------------------------------------

Identity = Callable[[Json], Json]
"""What tells an entry of a list apart from others."""


def _itself(item: Json) -> Json:
    return item


def _keyed(key: str) -> Identity:
    return lambda item: _key_of(item, key)


def _merge_in_order(schema: Schema | None, obj: Map, patch: Map, directive: str) -> None:
    """Merge a list whose order the patch says, and take it off the patch."""
    order = patch.pop(directive)
    if not isinstance(order, list):
        raise _cannot(f"expected a []interface {{}}, but received a {go_type(order)}")
    name = _after_slash(directive, _ORDER, "setElementOrder list")
    now, wanted = obj.get(name), patch.get(name)
    for items in (now, wanted):
        if items is not None and not isinstance(items, list):
            raise _cannot(f"expected a []interface {{}}, but received a {go_type(items)}")
    field = _field(schema, name)
    key = field.patch_merge_key if field else ""
    identity = _keyed(key) if key else _itself
    plain = [item for item in wanted or [] if not (isinstance(item, dict) and _DIRECTIVE in item)]
    if not _follows(plain, order, identity):
        raise _cannot(
            f"The order in patch list:\n{shown(wanted)}\n doesn't match {_ORDER} list:\n"
            f"{shown(order)}\n"
        )
    patch.pop(name, None)
    merged = now if wanted is None else _merged(schema, name, now, wanted)
    if merged is not None:
        lived = _lived(now or [], plain, merged, identity)
        obj[name] = _in_order(merged, order, lived, identity)


def _lived(
    now: list[Json], wanted: list[Json], merged: list[Json], identity: Identity
) -> list[Json]:
    """Return the live order of a merged list; there, too, new entries take the room of deleted."""
    before, after = [identity(item) for item in now], [identity(item) for item in merged]
    kept = [item for item in now if identity(item) in after]
    new = [item for item in wanted if identity(item) in after and identity(item) not in before]
    return [*kept, *new][: len(now)]


def _follows(patch: list[Json], order: list[Json], identity: Identity) -> bool:
    """Return whether the entries of a patch stand in the order that it sets, if it sets one."""
    if not patch or not order:
        return True
    said = iter([identity(item) for item in order])
    return all(any(identity(item) == each for each in said) for item in patch)


def _in_order(
    merged: list[Json], order: list[Json], live: list[Json], identity: Identity
) -> list[Json]:
    """
    Return a merged list in order: what `order` names as there, all else as in `live`.

    An entry that `order` doesn't name comes before the first that stood behind it.
    """
    ordered = [identity(item) for item in order]
    lived = [identity(item) for item in live]
    named = sorted((i for i in merged if identity(i) in ordered), key=_by_place(ordered, identity))
    others = sorted(
        (i for i in merged if identity(i) not in ordered), key=_by_place(lived, identity)
    )
    result: list[Json] = []
    place = _by_place(lived, identity)
    for item in named:
        while others and -1 < place(others[0]) < place(item):
            result.append(others.pop(0))
        result.append(item)
    return result + others


def _by_place(places: list[Json], identity: Identity) -> Callable[[Json], int]:
    def place(item: Json) -> int:
        wanted = identity(item)
        return places.index(wanted) if wanted in places else -1

    return place
