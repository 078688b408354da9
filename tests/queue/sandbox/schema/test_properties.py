"""What holds of every object, whatever is in it."""

import copy
import json
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from muster.queue.sandbox.schema import patterns, re2, unordered
from muster.queue.sandbox.schema.correlation import same
from muster.queue.sandbox.schema.defaulting import fill_defaults
from muster.queue.sandbox.schema.expressions import EvaluationError, bound
from muster.queue.sandbox.schema.node import Schema
from muster.queue.sandbox.schema.projection import projection
from muster.queue.sandbox.schema.pruning import prune
from muster.queue.sandbox.schema.rules import broken_rules
from muster.queue.sandbox.schema.uniqueness import duplicates
from muster.queue.sandbox.schema.validation import validate
from tests.queue.sandbox.schema.recorded import (
    an_expression,
    an_object,
    answers,
    compiled,
    raw_schema,
)

VALUES = compiled(raw_schema(answers("values")))
PRUNED = compiled(raw_schema(answers("pruning")))
RULES = compiled(raw_schema(answers("rules")))

_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-20, 20)
    | st.sampled_from([0.5, 2.0, "", "a", "bad", "x y"])
)
_names = st.sampled_from(
    ["a", "b", "d", "k", "l", "m", "n", "o", "v", "x", "name", "free", "emb", "spec", "pre"]
)


def documents(names: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    values = st.recursive(
        _scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=3),
        max_leaves=8,
    )
    return st.dictionaries(names, values, max_size=4)


@given(documents(_names))
def test_pruning_twice_is_pruning_once(spec: Any) -> None:
    obj = an_object(copy.deepcopy(spec))
    prune(PRUNED, obj)
    once = copy.deepcopy(obj)

    assert not prune(PRUNED, obj)
    assert same(obj, once)


@given(documents(_names), documents(_names))
def test_what_was_pruned_is_as_if_it_were_pruned_again(spec: Any, other: Any) -> None:
    before = an_object(copy.deepcopy(spec))
    prune(PRUNED, before)
    partly = {**before, **other}
    wholly = copy.deepcopy(partly)

    assert prune(PRUNED, partly, before) == prune(PRUNED, wholly)
    assert same(partly, wholly)


@given(documents(_names))
def test_filling_twice_is_filling_once(spec: Any) -> None:
    obj = an_object(copy.deepcopy(spec))
    prune(PRUNED, obj)
    fill_defaults(PRUNED, obj)
    once = copy.deepcopy(obj)

    prune(PRUNED, obj)
    fill_defaults(PRUNED, obj)

    assert same(obj, once)


@given(documents(st.sampled_from(list(answers("values")["properties"]))))
def test_what_is_unchanged_is_never_refused(spec: Any) -> None:
    obj = an_object(spec)

    assert not validate(VALUES, obj, copy.deepcopy(obj))


@given(documents(st.sampled_from(list(answers("rules")["properties"]))))
def test_a_rule_about_a_state_never_refuses_what_is_unchanged(spec: Any) -> None:
    obj = an_object(spec)
    if validate(RULES, obj) or duplicates(RULES, obj):
        return  # rules are not asked

    broken = broken_rules(RULES, obj, copy.deepcopy(obj))

    assert not [
        error
        for error in broken
        if "evaluating rule" not in error.message and "signature" not in error.message
    ]


_ROWS = Schema(
    {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
)
_SET = Schema({"type": "array", "x-kubernetes-list-type": "set"})
_SET.items = Schema({"type": "string"})
_rows = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 2)).map(
    lambda entries: [{"k": key, "v": value} for key, value in entries.items()]
)
_words = st.lists(st.sampled_from("abcd"), unique=True)
_unordered = st.one_of(
    st.tuples(st.just(_ROWS), _rows, _rows), st.tuples(st.just(_SET), _words, _words)
)


@given(_unordered, st.randoms())
def test_lists_without_order_are_equal_in_any_order(
    lists: tuple[Schema, list[Any], list[Any]], chance: Random
) -> None:
    schema, one, other = lists
    described = unordered.described(schema)
    assert described is not None
    shuffled = chance.sample(one, len(one))

    assert unordered.equal(described, one, shuffled)
    assert unordered.equal(described, one, other) is (
        sorted(map(repr, one)) == sorted(map(repr, other))
    )


@given(_unordered)
def test_merging_keeps_places_and_adds_what_is_new(
    lists: tuple[Schema, list[Any], list[Any]],
) -> None:
    schema, one, other = lists
    described = unordered.described(schema)
    assert described is not None

    merged = unordered.merged(described, one, other)

    def key(entry: Any) -> Any:
        return entry["k"] if isinstance(entry, dict) else entry

    known = [key(entry) for entry in one]
    new = [key(entry) for entry in other if key(entry) not in known]
    assert [key(entry) for entry in merged] == known + new
    assert all(entry in merged for entry in other)


@given(documents(_names))
def test_values_survive_their_judges(spec: Any) -> None:
    obj = an_object(spec)
    before = json.dumps(obj)

    validate(VALUES, obj)
    duplicates(VALUES, obj)

    assert json.dumps(obj) == before


_PATTERNS = [
    *("^a", "b$", "^[a-z]+$", "^[^x]*$", r"^\d+$", r"^\w*\z", "(?i)a", "[[:alpha:]]", "[]a]"),
    *(r"\pL", "a|b$", "^(a|b)?$", r"[\d-]", "^.$"),
]


@given(st.sampled_from(_PATTERNS), st.text(alphabet="abxA1\n ü-]", max_size=4))
def test_patterns_match_as_in_re2(pattern: str, text: str) -> None:
    assert bool(patterns.search(pattern)(text)) == re2.matches(pattern, text)


_EXPRESSIONS = [
    "self.a.b == oldSelf.a.b",
    "has(self.a) && has(self.a.b)",
    "size(self.l) > 1 || self.l.size() == 0",
    "self.a == self.b",
    "self.m['k'] == self.l[0].v",
    "self.l.all(x, x.v == self.a) && 'self.z' == 'z'",
    "!has(self.x.y) || self.x.z",
]


@given(st.sampled_from(_EXPRESSIONS), documents(_names))
def test_what_an_expression_looks_at_is_left_in(text: str, value: Any) -> None:
    expression = an_expression(text)
    project = projection([text])
    assert project is not None

    def asked(seen: Any) -> Any:
        try:
            return expression.evaluate(bound(self=seen, oldSelf=seen))
        except EvaluationError as error:
            return str(error)

    assert asked(project(value)) == asked(value)
