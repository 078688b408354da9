"""Objects are judged by their schemas as a real server judged them."""

import json

import pytest

from muster.queue.sandbox.schema import formats
from muster.queue.sandbox.schema.defaulting import fill_defaults
from muster.queue.sandbox.schema.node import Schema, compile_definition
from muster.queue.sandbox.schema.pruning import prune
from muster.queue.sandbox.schema.uniqueness import duplicates
from muster.queue.sandbox.schema.validation import validate
from tests.queue.sandbox.schema.recorded import (
    Json,
    an_object,
    answers,
    causes,
    compiled,
    raw_schema,
)

RECORDED = answers("values")
SCHEMA = compiled(raw_schema(RECORDED))
ACCEPTED = RECORDED["formats"]


def by_field() -> dict[str, list[Json]]:
    cases: dict[str, list[Json]] = {}
    for case in RECORDED["cases"]:
        (field,) = case["spec"]
        cases.setdefault(field, []).append(case)
    return cases


FIELDS = by_field()


@pytest.mark.parametrize("field", FIELDS)
def test_a_value_is_refused_for_what_a_real_server_refuses_it(field: str) -> None:
    for case in FIELDS[field]:
        obj = an_object(json.loads(json.dumps(case["spec"])))
        prune(SCHEMA, obj)
        fill_defaults(SCHEMA, obj)

        errors = validate(SCHEMA, obj) + duplicates(SCHEMA, obj)

        assert causes(errors) == case["causes"], case["spec"]


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_format_accepts_what_a_real_server_accepts(name: str) -> None:
    has_format = formats.check_of(name)
    assert has_format is not None

    accepted = [text for text in RECORDED["texts"] if has_format(text)]

    assert sorted(accepted) == sorted(ACCEPTED[name])


def test_a_format_that_nobody_knows_demands_nothing() -> None:
    assert formats.check_of("nonsense") is None


def test_repeated_entries_are_told_in_the_order_of_the_object() -> None:
    texts = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}
    lists = {"type": "object", "additionalProperties": texts}
    schema = compile_definition({"type": "object", "properties": {"spec": lists}}, Schema({}))
    names = [f"name{number}" for number in reversed(range(20))]

    errors = duplicates(schema, {"spec": {name: ["a", "a"] for name in names}})

    assert [error.field for error in errors] == [f"spec[{name}][1]" for name in names]
