"""What is wrong with applied objects that are not of their schema, in a real server's words."""

from typing import Any

import pytest

from muster.queue.client.refusal import Refusal
from tests.queue.sandbox.ownership.widgets import Map, a_widget, applied

_GOT = "expected string, got &value.valueUnstructured{Value:"
MISTYPED: dict[str, tuple[Map, str]] = {
    "unknown field": ({"nope": 1}, ".spec.nope: field not declared in schema"),
    "text for a number": ({"size": "a"}, ".spec.size: expected numeric (int or float), got string"),
    "a map for a number": (
        {"size": {"a": [1]}},
        ".spec.size: expected numeric (int or float), got map[string]interface {}",
    ),
    "a list for a number": (
        {"size": [1]},
        ".spec.size: expected numeric (int or float), got []interface {}",
    ),
    "true for a number": ({"size": True}, ".spec.size: expected numeric (int or float), got bool"),
    "a number for text": ({"color": 1.5}, f".spec.color: {_GOT}1.5}}"),
    "a map for text": (
        {"color": {"b": [True, None, "x"], "a": 1}},
        (
            f'.spec.color: {_GOT}map[string]interface {{}}{{"a":1, '
            '"b":[]interface {}{true, interface {}(nil), "x"}}}'
        ),
    ),
    "a list for a time": ({"since": [None]}, ".spec.since: expected any scalar, got &{[<nil>]}"),
    "text for a truth": ({"on": "yes"}, ".spec.on: expected boolean, got &{yes}"),
    "a list for a map": ({"options": [1]}, ".spec.options: expected map, got &{[1]}"),
    "a map for a list": ({"tags": {"a": 1}}, ".spec.tags: expected list, got &{map[a:1]}"),
    "a value twice": ({"tags": ["a", "a"]}, '.spec.tags: duplicate entries for key [="a"]'),
    "another type in a set": ({"tags": [1]}, f".spec.tags[=1]: {_GOT}1}}"),
    "another type in a list": ({"steps": [1]}, f".spec.steps[0]: {_GOT}1}}"),
    "an entry that is null": (
        {"parts": [None]},
        ".spec.parts: element 0: associative list with keys may not have a null element",
    ),
    "a field of an entry": (
        {"parts": [{"name": "x", "weight": "y"}]},
        '.spec.parts[name="x"].weight: expected numeric (int or float), got string',
    ),
    "several": (
        {"parts": [{"name": "x"}] * 3, "size": "a"},
        (
            "errors:\n"
            '  .spec.parts: duplicate entries for key [name="x"]\n'
            '  .spec.parts: duplicate entries for key [name="x"]\n'
            "  .spec.size: expected numeric (int or float), got string"
        ),
    ),
}


@pytest.mark.parametrize("name", MISTYPED)
def test_an_object_that_is_not_of_its_schema_is_refused(name: str) -> None:
    spec, message = MISTYPED[name]
    with pytest.raises(Refusal) as caught:
        applied(None, a_widget(**spec))
    refusal = caught.value
    assert (refusal.code, refusal.reason) == (500, "")
    start = "failed to create typed patch object (n/w; example.com/v1, Kind=Widget): "
    assert refusal.message == start + message


def test_unknown_fields_may_be_applied_where_they_are_kept() -> None:
    spec = {"free": {"a": {"b": [1, {"c": None}]}}}
    assert applied(None, a_widget(**spec))["spec"] == spec


@pytest.mark.parametrize("value", [1, "http", {}, [1], None])
def test_what_has_no_type_may_be_anything(value: Any) -> None:
    assert applied(None, a_widget(port=value))["spec"] == {"port": value}
