"""Rules in a schema: what they may say, when they are asked, and how they refuse."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.e2e.api import Api
from tests.e2e.probes.definitions import (
    INTEGER,
    STRING,
    a_list,
    a_schema,
    a_thing,
    an_object,
    defined,
    rule,
    ruled,
)
from tests.e2e.probes.probe import Probe, causes
from tests.queue.api.manifests import Manifest

INVALID = "FieldValueInvalid"

WORD: Manifest = {**STRING, "maxLength": 100}
TIME = {**WORD, "format": "date-time"}
SPAN = {**WORD, "format": "duration"}
WORDS = a_list(WORD, maxItems=10)
SET = a_list(WORD, "set", maxItems=10)
ROW = {**an_object(name=WORD, size=INTEGER), "required": ["name"]}
ROWS = a_list(ROW, "map", "name", maxItems=10)
SIZES = a_schema("object", additionalProperties=INTEGER, maxProperties=10)
PAIR = an_object(low=INTEGER, high=INTEGER, note=WORD)


class Asked(NamedTuple):
    """A rule of a field, with a value that keeps it and one that breaks it."""

    schema: Manifest
    expression: str
    kept: Any
    broken: Any


VALUES = {
    # numbers
    "arithmetic": Asked(INTEGER, "self % 2 == 0 && self / 2 < 5", 8, 9),
    "a_number": Asked(a_schema("number"), "self * 2.0 <= 1.0", 0.5, 0.6),
    "mixed_numbers": Asked(a_schema("number"), "self <= 1", 1, 1.5),
    "a_choice": Asked(INTEGER, "self > 5 ? self < 8 : self != 3", 6, 3),
    "a_sum": Asked(a_list(INTEGER, maxItems=9), "self.sum() == 3", [1, 2], [1, 1]),
    "bounds": Asked(a_list(INTEGER, maxItems=9), "self.min() >= 1 && self.max() <= 5", [1, 5], [6]),
    # words
    "size": Asked(WORD, "size(self) == 3 && self.size() == 3", "äbc", "ab"),
    "a_part": Asked(WORD, "self.contains('b') && self.startsWith('a')", "ab", "ba"),
    "an_end": Asked(WORD, "self.endsWith('z')", "xyz", "xy"),
    "a_pattern": Asked(WORD, "self.matches('^[a-z]+[0-9]?$')", "ab1", "1ab"),
    "lower": Asked(WORD, "self.lowerAscii() == 'ab'", "AB", "AC"),
    "split": Asked(WORD, "self.split('-').size() == 2", "a-b", "a"),
    "joined": Asked(WORDS, "self.join('+') == 'a+b'", ["a", "b"], ["b", "a"]),
    "replaced": Asked(WORD, "self.replace('a', '') == 'b'", "aba", "ac"),
    "a_substring": Asked(WORD, "self.substring(1) == 'bc'", "abc", "ab"),
    "a_place": Asked(WORD, "self.indexOf('b') == 1", "ab", "ba"),
    "trimmed": Asked(WORD, "self.trim() == 'a'", " a ", "b"),
    "found": Asked(WORD, "self.find('[0-9]+') == '12'", "a12b3", "a1"),
    "found_all": Asked(WORD, "self.findAll('[0-9]').size() == 2", "1a2", "1"),
    "a_character": Asked(WORD, "self.charAt(0) == 'a'", "ab", "ba"),
    "formatted": Asked(WORD, "'%s!'.format([self]) == 'a!'", "a", "b"),
    "a_number_of_a_word": Asked(WORD, "int(self) == 7", "7", "8"),
    # lists and mappings
    "in_a_list": Asked(WORD, "self in ['a', 'b']", "a", "c"),
    "all": Asked(WORDS, "self.all(w, w != '')", ["a"], ["a", ""]),
    "exists": Asked(WORDS, "self.exists(w, w == 'a')", ["b", "a"], ["b"]),
    "exists_one": Asked(WORDS, "self.exists_one(w, w == 'a')", ["a", "b"], ["a", "a"]),
    "filtered": Asked(WORDS, "self.filter(w, w != 'a').size() == 1", ["a", "b"], ["a"]),
    "mapped": Asked(WORDS, "self.map(w, size(w)) == [1, 1]", ["a", "b"], ["a"]),
    "an_element": Asked(WORDS, "self[0] == 'a'", ["a"], ["b"]),
    "concatenated": Asked(WORDS, "self + ['b'] == ['a', 'b']", ["a"], ["b"]),
    "sorted": Asked(WORDS, "self.isSorted()", ["a", "b"], ["b", "a"]),
    "an_index": Asked(WORDS, "self.indexOf('a') == 1", ["b", "a"], ["a"]),
    "sets": Asked(SET, "self == ['a', 'b']", ["b", "a"], ["a", "c"]),
    "a_union": Asked(SET, "self + ['b', 'a'] == ['a', 'b', 'c']", ["c", "a"], ["d", "a"]),
    "a_plain_list_first": Asked(SET, "['a', 'b'] == self", ["a", "b"], ["b", "a"]),
    "subset": Asked(WORDS, "sets.contains(['a', 'b'], self)", ["b"], ["c"]),
    "rows": Asked(
        ROWS,
        "self.exists(r, r.name == 'a' && r.size == 1)",
        [{"name": "a", "size": 1}],
        [{"name": "a", "size": 2}],
    ),
    "a_key": Asked(SIZES, "'a' in self && self['a'] == 1", {"a": 1}, {"b": 1}),
    "all_keys": Asked(SIZES, "self.all(k, self[k] > 0)", {"a": 1}, {"a": 0}),
    "two_variables": Asked(SIZES, "self.all(k, v, k != 'a' || v > 1)", {"a": 2}, {"a": 1}),
    "one_of_pairs": Asked(SIZES, "self.exists_one(k, v, v > 1)", {"a": 2}, {"a": 2, "b": 2}),
    "a_mapping_made": Asked(
        SIZES, "self.transformMap(k, v, v > 1, v + 1) == {'a': 3}", {"a": 2, "b": 1}, {"b": 2}
    ),
    "any_keys": Asked(SIZES, "size(self) == 1", {"a": 1}, {}),
    # objects
    "fields": Asked(PAIR, "self.low <= self.high", {"low": 1, "high": 2}, {"low": 2, "high": 1}),
    "has": Asked(PAIR, "has(self.low) == has(self.high)", {"note": ""}, {"low": 1}),
    "optional": Asked(
        PAIR, "self.?low.orValue(5) < 5 || self.?note.hasValue()", {"low": 1}, {"high": 1}
    ),
    "escaped": Asked(
        an_object(**{"a-b": INTEGER, "x.y": INTEGER, "if": INTEGER}),
        "self.a__dash__b == 1 && self.x__dot__y == 2 && self.__if__ == 3",
        {"a-b": 1, "x.y": 2, "if": 3},
        {"a-b": 1, "x.y": 2, "if": 4},
    ),
    # types of Kubernetes
    "a_format": Asked(WORD, "!format.dns1123Label().validate(self).hasValue()", "a-b", "A_B"),
    "a_quantity": Asked(WORD, "quantity(self).isLessThan(quantity('1Gi'))", "1023Mi", "1024Mi"),
    "is_quantity": Asked(
        WORD, "isQuantity(self) && quantity(self).asApproximateFloat() == 1500.0", "1.5k", "much"
    ),
    "equal_quantities": Asked(WORD, "quantity(self) == quantity('1000m')", "1", "2"),
    "more_quantities": Asked(
        WORD, "quantity(self).add(quantity('1')).compareTo(quantity('2')) == 0", "1000m", "2"
    ),
    "an_address": Asked(WORD, "isIP(self) && ip(self).family() == 4", "10.0.0.1", "::1"),
    "a_network": Asked(WORD, "cidr('10.0.0.0/8').containsIP(self)", "10.1.2.3", "11.0.0.1"),
    "a_url": Asked(
        WORD,
        "isURL(self) && url(self).getScheme() == 'https' && url(self).getHostname() == 'a.b'",
        "https://a.b:80/c?d=e",
        "http://a.b",
    ),
    "a_version": Asked(
        WORD, "isSemver(self) && semver(self).isGreaterThan(semver('1.2.3'))", "1.10.0", "1.2.0"
    ),
    "a_duration": Asked(SPAN, "self < duration('1h')", "30m", "2h"),
    "seconds": Asked(SPAN, "self.getSeconds() == 90", "1m30s", "90m"),
    "a_time": Asked(
        TIME,
        "self < timestamp('2026-01-01T00:00:00Z')",
        "2025-12-31T23:59:59Z",
        "2026-01-02T00:00:00Z",
    ),
    "a_year": Asked(
        TIME, "self.getFullYear() == 2026", "2026-07-01T00:00:00Z", "2025-07-01T00:00:00Z"
    ),
    "a_number_or_a_word": Asked(
        {"x-kubernetes-int-or-string": True},
        "type(self) == int ? self > 0 : self.endsWith('%')",
        "5%",
        0,
    ),
}


@pytest.fixture(scope="module")
def valued(api: Api, namespace: str) -> Iterator[Manifest]:
    """A kind with a field for each of VALUES."""
    fields = {name: ruled(asked.schema, rule(asked.expression)) for name, asked in VALUES.items()}
    with defined(api, namespace, an_object(**fields)) as definition:
        yield definition


@pytest.mark.parametrize("field", VALUES)
def test_a_rule_is_kept(field: str, valued: Manifest, probe: Probe) -> None:
    thing = a_thing(probe, valued, spec={field: VALUES[field].kept})

    probe.api.create(thing, dryRun="All").expect(201)


@pytest.mark.parametrize("field", VALUES)
def test_a_rule_is_broken(field: str, valued: Manifest, probe: Probe) -> None:
    answer = probe.refused(a_thing(probe, valued, spec={field: VALUES[field].broken}))

    assert causes(answer) == [(INVALID, f"spec.{field}")], answer.message
    assert f"failed rule: {VALUES[field].expression}" in answer.message


def test_a_rule_about_what_is_not_there_is_not_asked(valued: Manifest, probe: Probe) -> None:
    probe.api.create(a_thing(probe, valued, spec={}), dryRun="All").expect(201)


def test_a_rule_that_cannot_be_evaluated_is_broken(valued: Manifest, probe: Probe) -> None:
    answer = probe.refused(a_thing(probe, valued, spec={"an_element": []}))

    assert causes(answer) == [(INVALID, "spec.an_element")]
    assert "index out of bounds: 0" in answer.message


def test_a_rule_that_uses_what_is_missing_is_broken(valued: Manifest, probe: Probe) -> None:
    answer = probe.refused(a_thing(probe, valued, spec={"fields": {"low": 1}}))

    assert causes(answer) == [(INVALID, "spec.fields")]
    assert "no such key: high" in answer.message


def test_rules_are_not_asked_of_what_is_malformed(valued: Manifest, probe: Probe) -> None:
    answer = probe.refused(a_thing(probe, valued, spec={"arithmetic": "x", "size": "ab"}))

    assert ("FieldValueTypeInvalid", "spec.arithmetic") in causes(answer)
    assert (INVALID, "spec.size") not in causes(answer)
    assert "some validation rules were not checked because the object was invalid" in (
        answer.message
    )


EMPTY = "self == ''"
TOLD: dict[str, tuple[Manifest, str, str]] = {
    # A rule; reason and message of what "full" breaks it.
    "nothing": (rule(EMPTY), INVALID, f'Invalid value: "full": failed rule: {EMPTY}'),
    "message": (
        rule(EMPTY, message="must be empty"),
        INVALID,
        'Invalid value: "full": must be empty',
    ),
    "expression": (
        rule(EMPTY, messageExpression="'not ' + self"),
        INVALID,
        'Invalid value: "full": not full',
    ),
    "both": (
        rule(EMPTY, message="must be empty", messageExpression="'not ' + self"),
        INVALID,
        'Invalid value: "full": not full',
    ),
    "no_expression": (
        rule(EMPTY, message="must be empty", messageExpression="''"),
        INVALID,
        'Invalid value: "full": must be empty',
    ),
    "required": (
        rule(EMPTY, reason="FieldValueRequired", message="missing"),
        "FieldValueRequired",
        "Required value: missing",
    ),
    "forbidden": (
        rule(EMPTY, reason="FieldValueForbidden", message="not yours"),
        "FieldValueForbidden",
        "Forbidden: not yours",
    ),
    "duplicate": (
        rule(EMPTY, reason="FieldValueDuplicate", message="unused"),
        "FieldValueDuplicate",
        'Duplicate value: "full"',
    ),
}


@pytest.fixture(scope="module")
def telling(api: Api, namespace: str) -> Iterator[Manifest]:
    """A kind that tells of broken rules in many ways."""
    fields = {name: ruled(WORD, told) for name, (told, *_) in TOLD.items()}
    pointing = ruled(
        an_object(low=INTEGER, high=INTEGER, row=SIZES),
        rule("!has(self.low) || self.low < 5", fieldPath=".low", message="too low"),
        rule("!has(self.row) || self.row['a'] < 5", fieldPath=".row['a']", message="too much"),
        rule("!has(self.high) || self.high < 9", message="too high"),
    )
    rules = a_list(ruled(ROW, rule("self.size > 0", message="nothing")), "map", "name", maxItems=5)
    with defined(api, namespace, an_object(**fields, pointing=pointing, rows=rules)) as definition:
        yield definition


@pytest.mark.parametrize("field", TOLD)
def test_a_broken_rule_is_told(field: str, telling: Manifest, probe: Probe) -> None:
    _, reason, message = TOLD[field]

    answer = probe.refused(a_thing(probe, telling, spec={field: "full"}))

    assert causes(answer) == [(reason, f"spec.{field}")]
    assert answer.causes[0]["message"] == message


@pytest.mark.parametrize(
    "value, place, message",
    [
        ({"low": 5}, ".low", "Invalid value: too low"),
        ({"row": {"a": 5}}, ".row[a]", "Invalid value: too much"),
        ({"high": 9}, "", "Invalid value: too high"),
    ],
)
def test_a_rule_says_where_the_fault_is(
    value: Manifest, place: str, message: str, telling: Manifest, probe: Probe
) -> None:
    answer = probe.refused(a_thing(probe, telling, spec={"pointing": value}))

    assert causes(answer) == [(INVALID, f"spec.pointing{place}")]
    assert answer.causes[0]["message"] == message


def test_a_rule_of_an_entry_is_asked_of_each(telling: Manifest, probe: Probe) -> None:
    rows = [{"name": name, "size": size} for name, size in (("a", 0), ("b", 1), ("c", 0))]

    answer = probe.refused(a_thing(probe, telling, spec={"rows": rows}))

    assert causes(answer) == [(INVALID, "spec.rows[0]"), (INVALID, "spec.rows[2]")]


CHANGES: dict[str, tuple[Manifest, Any, Any, Any]] = {
    # A schema; a value; one that it may become; one that it may not become.
    "immutable": (ruled(WORD, rule("self == oldSelf")), "a", "a", "b"),
    "rising": (ruled(INTEGER, rule("self >= oldSelf")), 1, 2, 0),
    "growing": (
        ruled(SET, rule("oldSelf.all(w, w in self)")),
        ["a"],
        ["b", "a"],
        ["b"],
    ),
    "reordered": (ruled(SET, rule("self == oldSelf")), ["a", "b"], ["b", "a"], ["a"]),
    "reordered_rows": (
        ruled(ROWS, rule("self == oldSelf")),
        [{"name": "a", "size": 1}, {"name": "b", "size": 2}],
        [{"name": "b", "size": 2}, {"name": "a", "size": 1}],
        [{"name": "b", "size": 1}, {"name": "a", "size": 2}],
    ),
    "merged_rows": (
        ruled(ROWS, rule("oldSelf + self == self")),
        [{"name": "a", "size": 1}],
        [{"name": "b", "size": 2}, {"name": "a", "size": 3}],
        [{"name": "b", "size": 2}],
    ),
    "first_place": (ruled(SET, rule("self[0] == oldSelf[0]")), ["a", "b"], ["a"], ["b", "a"]),
    "by_key": (
        a_list(ruled(ROW, rule("self.size == oldSelf.size")), "map", "name", maxItems=5),
        [{"name": "a", "size": 1}],
        [{"name": "b", "size": 2}, {"name": "a", "size": 1}],
        [{"name": "a", "size": 2}],
    ),
    "by_name": (
        a_schema(
            "object", additionalProperties=ruled(INTEGER, rule("self == oldSelf")), maxProperties=5
        ),
        {"a": 1},
        {"a": 1, "b": 2},
        {"a": 2},
    ),
    "optional": (
        ruled(
            WORD,
            rule("oldSelf.hasValue() ? oldSelf.value() == self : true", optionalOldSelf=True),
        ),
        "a",
        "a",
        "b",
    ),
    "ratcheted": (ruled(INTEGER, rule("self < 5")), 4, 3, 5),
}
APPEARING = {
    "only_at_birth": ruled(WORD, rule("oldSelf.hasValue()", optionalOldSelf=True)),
}


@pytest.fixture(scope="module")
def changing(api: Api, namespace: str) -> Iterator[Manifest]:
    """A kind whose rules are about changes."""
    fields = {name: schema for name, (schema, *_) in CHANGES.items()}
    with defined(api, namespace, an_object(**fields, **APPEARING)) as definition:
        yield definition


@pytest.mark.parametrize("field", CHANGES)
def test_a_change_is_allowed(field: str, changing: Manifest, probe: Probe) -> None:
    _, before, after, _ = CHANGES[field]
    made = probe.create(a_thing(probe, changing, spec={field: before}))

    now = probe.api.replace({**made, "spec": {field: after}}).expect(200)

    assert now["spec"] == {field: after}


@pytest.mark.parametrize("field", CHANGES)
def test_a_change_is_forbidden(field: str, changing: Manifest, probe: Probe) -> None:
    _, before, _, after = CHANGES[field]
    made = probe.create(a_thing(probe, changing, spec={field: before}))

    answer = probe.api.replace({**made, "spec": {field: after}})

    place = {"by_key": "[0]", "by_name": "[a]"}.get(field, "")
    assert (answer.code, causes(answer)) == (422, [(INVALID, f"spec.{field}{place}")])


def test_a_rule_about_a_change_is_not_asked_of_what_comes_or_goes(
    changing: Manifest, probe: Probe
) -> None:
    made = probe.create(a_thing(probe, changing, spec={}))

    with_it = probe.api.replace({**made, "spec": {"immutable": "a"}}).expect(200)
    without = probe.api.replace({**with_it, "spec": {}}).expect(200)

    assert without["spec"] == {}


def test_a_rule_with_an_optional_old_value_is_asked_of_what_comes(
    changing: Manifest, probe: Probe
) -> None:
    answer = probe.refused(a_thing(probe, changing, spec={"only_at_birth": "a"}))

    assert causes(answer) == [(INVALID, "spec.only_at_birth")]
