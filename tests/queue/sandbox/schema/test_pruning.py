"""Unknown fields and nulls go, defaults come, as a real server had it."""

import copy

import pytest

from muster.queue.sandbox.schema.decoding import DecodingError
from muster.queue.sandbox.schema.defaulting import fill_defaults
from muster.queue.sandbox.schema.pruning import prune
from tests.queue.sandbox.schema.recorded import (
    Json,
    an_object,
    answers,
    compiled,
    label,
    raw_schema,
)

RECORDED = answers("pruning")
SCHEMA = compiled(raw_schema(RECORDED))
ACCEPTED = [case for case in RECORDED["cases"] if "kept" in case]
REFUSED = [case for case in RECORDED["cases"] if "error" in case]


@pytest.mark.parametrize("case", ACCEPTED, ids=label)
def test_what_is_kept_and_what_is_unknown(case: Json) -> None:
    obj = {**an_object(None), **copy.deepcopy(case["given"])}

    unknown = prune(SCHEMA, obj)
    fill_defaults(SCHEMA, obj)

    assert unknown == case["unknown"]
    assert {name: obj[name] for name in ("metadata", "spec") if name in obj} == case["kept"]


@pytest.mark.parametrize("case", REFUSED, ids=label)
def test_metadata_must_be_metadata(case: Json) -> None:
    with pytest.raises(DecodingError) as refused:
        prune(SCHEMA, {**an_object(None), **copy.deepcopy(case["given"])})

    assert str(refused.value) == case["error"]


def test_a_default_is_a_copy() -> None:
    schema = compiled(
        {
            "type": "object",
            "properties": {
                "spec": {
                    "type": "object",
                    "default": {"names": ["a"]},
                    "properties": {"names": {"type": "array", "items": {"type": "string"}}},
                }
            },
        }
    )
    one: Json = {}
    other: Json = {}
    fill_defaults(schema, one)

    one["spec"]["names"].append("b")
    fill_defaults(schema, other)

    assert other == {"spec": {"names": ["a"]}}
