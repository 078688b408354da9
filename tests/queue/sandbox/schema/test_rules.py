"""Rules in CEL are asked as a real server asked them; what their expressions can say."""

import copy

import pytest

from muster.queue.sandbox.schema.expressions import (
    Checker,
    EvaluationError,
    ExpressionError,
    Type,
    bound,
    bound_to,
    compile_expression,
    uses_old_self,
)
from muster.queue.sandbox.schema.node import MISSING
from muster.queue.sandbox.schema.opaque import new_pool
from muster.queue.sandbox.schema.pruning import prune
from muster.queue.sandbox.schema.rules import broken_rules
from muster.queue.sandbox.schema.structural import structural_errors
from muster.queue.sandbox.schema.validation import validate
from tests.queue.sandbox.schema.recorded import (
    Json,
    an_expression,
    an_object,
    answers,
    causes,
    compiled,
    label,
    raw_schema,
)

RECORDED = {name: answers(name) for name in ("rules", "lists", "named_formats")}
SCHEMAS = {name: compiled(raw_schema(recorded)) for name, recorded in RECORDED.items()}
SCHEMA = SCHEMAS["rules"]


@pytest.mark.parametrize(
    "recorded, case",
    [(name, case) for name, recorded in RECORDED.items() for case in recorded["cases"]],
    ids=lambda given: given if isinstance(given, str) else label(given),
)
def test_a_rule_is_broken_where_a_real_server_says_so(recorded: str, case: Json) -> None:
    schema = SCHEMAS[recorded]
    name = case.get("name", "x")
    obj = an_object(copy.deepcopy(case["spec"]), name)
    old = an_object(case["old"], name) if "old" in case else MISSING
    prune(schema, obj)

    assert not validate(schema, obj, old)
    assert causes(broken_rules(schema, obj, old)) == case["causes"]


def test_what_was_broken_before_and_is_unchanged_is_let_pass() -> None:
    old = an_object(
        {"a": "bad", "l": [{"w": "bad"}], "lm": [{"k": "x", "v": "bad"}, {"k": "y", "v": "1"}]}
    )
    new = an_object(
        {"a": "bad", "l": [{"w": "bad"}], "lm": [{"k": "y", "v": "1"}, {"k": "x", "v": "bad"}]}
    )
    longer = an_object({"a": "bad", "l": [{"w": "bad"}, {"w": "x"}]})

    assert not broken_rules(SCHEMA, new, old)
    assert [error.field for error in broken_rules(SCHEMA, longer, old)] == ["spec.l[0].w"]


TRUE = [
    "[1, 2].isSorted() && ![2, 1].isSorted() && ['a', 'b'].isSorted()",
    "[1, 2].sum() == 3 && [1.5, 2.5].sum() == 4.0 && [duration('1s')].sum() == duration('1s')",
    "[3, 1].min() == 1 && ['a', 'b'].max() == 'b'",
    "[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && [1].indexOf(2) == -1",
    "[2, 1].sort() == [1, 2] && [1, 1].distinct() == [1] && [1, 2].reverse() == [2, 1]",
    "[1, 2, 3].slice(1, 3) == [2, 3] && lists.range(2) == [0, 1]",
    "sets.contains([1, 2], [1]) && sets.equivalent([1, 1], [1]) && !sets.intersects([1], [2])",
    "'abbc'.find('b+') == 'bb' && 'abab'.findAll('a') == ['a', 'a'] && 'x'.find('y') == ''",
    "'a-b'.split('-') == ['a', 'b'] && ['a', 'b'].join('-') == 'a-b' && ' a '.trim() == 'a'",
    "'ABC'.lowerAscii() == 'abc' && 'abc'.replace('b', 'x') == 'axc' && 'abc'.charAt(1) == 'b'",
    "'%s is %d'.format(['a', 1]) == 'a is 1'",
    "quantity('1Gi').isGreaterThan(quantity('1G'))",
    "quantity('1').compareTo(quantity('1000m')) == 0",
    "quantity('1').add(quantity('500m')) == quantity('1500m')",
    "quantity('2').sub(1) == quantity('1')",
    "quantity('2k').asInteger() == 2000 && !quantity('1m').isInteger()",
    "quantity('-1').sign() == -1",
    "isQuantity('1Ki') && !isQuantity('1KB') && quantity('500m').asApproximateFloat() == 0.5",
    "ip('1.2.3.4').family() == 4 && ip('::1').isLoopback() && !isIP('1.2.3')",
    "ip.isCanonical('::1')",
    "ip('224.0.0.1').isLinkLocalMulticast() && ip('8.8.8.8').isGlobalUnicast()",
    "ip('0.0.0.0').isUnspecified()",
    "cidr('10.0.0.0/8').containsIP('10.1.2.3') && cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')",
    "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.0.0.0/8').prefixLength() == 8",
    "cidr('10.0.0.0/8').ip() == ip('10.0.0.0') && string(ip('1.2.3.4')) == '1.2.3.4'",
    "isCIDR('::/0')",
    "url('https://u@a.b:80/c%20d?e=f&e=g').getHost() == 'a.b:80' && isURL('/x') && !isURL('x')",
    "url('https://a.b:80/c').getPort() == '80' && url('https://[::1]:80/c').getHostname() == '::1'",
    "url('https://a.b/c?d=e&d=f').getQuery() == {'d': ['e', 'f']}",
    "url('/c%20d').getEscapedPath() == '/c%20d'",
    "semver('1.2.3').isLessThan(semver('1.10.0')) && semver('1.0.0-a').isLessThan(semver('1.0.0'))",
    "semver('v1.2', true).minor() == 2 && !isSemver('v1.2')",
    "semver('1.2.3').compareTo(semver('1.2.3')) == 0",
    "self.?missing.?list.orValue([1]).sum() == 1 && [self.?missing.orValue(2)].max() == 2",
    "self.?missing.orValue('d') == 'd' && optional.of(1).hasValue() && !has(self.missing)",
    "timestamp('2020-01-01T00:00:00Z') + duration('1h') == timestamp('2020-01-01T01:00:00Z')",
    "type(1) == int && string(1) == '1' && 7 % 2 == 1 && 'a'.matches('^[a-z]$') && 1.5 > 1",
]  # fmt: skip


@pytest.mark.parametrize("text", TRUE)
def test_what_expressions_can_say(text: str) -> None:
    expression = an_expression(text)

    assert expression.evaluate(bound(self={})) is True


@pytest.mark.parametrize(
    "text, told",
    [
        ("self.missing", "no such key: missing"),
        ("self.list[3] == 1", "index out of bounds: 3"),
        ("1 / self.zero == 1", "division by zero"),
        ("self.text > 1", "no such overload"),
        ("[].min() == 1", "min called on empty list"),
        ("quantity('x').sign() == 1", "quantities must match the regular expression"),
    ],
)
def test_an_expression_without_a_value(text: str, told: str) -> None:
    expression = an_expression(text)

    with pytest.raises(EvaluationError, match=told):
        expression.evaluate(bound(self={"list": [1], "zero": 0, "text": "a"}))


@pytest.mark.parametrize(
    "text, told",
    [
        ("self.", "Syntax error"),
        ("foo == 1", r"undeclared reference to 'foo'"),
        ("['a'].sum() == 1", r"no matching overload for 'sum' applied to 'list\(string\).\(\)'"),
        ("self.matches('[')", r"<input>:1:14: invalid matches argument"),
        ("self.sortBy(x, x) == []", "a real API server has them"),
        ("[self.a, self.?b].sum() == 1", "resolved at once"),
        ("[1].indexOf(dyn(optional.of(1))) == 0", "resolved at once"),
        ("self.map(x, true ? x.a : x.?b).isSorted()", "resolved at once"),
        ("true" + " " * 100_000, "exceeds limit"),
    ],
)
def test_an_expression_that_is_none(text: str, told: str) -> None:
    with pytest.raises(ExpressionError, match=told):
        an_expression(text)


_SET = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
_TIMES = {**_SET, "items": {"type": "string", "format": "date-time"}}
_PLAIN = {"type": "array", "items": {"type": "string"}}
_REFUSED = {
    "times": (_TIMES, "self == self", "only of strings, integers and truth values"),
    "numbers": ({**_SET, "items": {"type": "number"}}, "(self + []) != []", "only of strings"),
    "objects": ({"type": "object", "properties": {"t": _TIMES}}, "self == self", "only of strings"),
    "a_list_of_two_kinds": (
        {"type": "object", "properties": {"s": _SET, "p": _PLAIN}},
        "[self.s, self.p].all(each, each == ['a'])",
        "can't tell the type of the list on the left of `==`",
    ),
    "a_search_in_an_unknown_list": (
        {"type": "object", "properties": {"s": _SET, "p": {"type": "array", "items": _PLAIN}}},
        "self.s in (true ? self.p : [])",
        "can't tell how to compare what is on the left of `in`",
    ),
    "optional_values": (
        {"type": "object", "properties": {"s": _SET}},
        "self.?s == optional.of(['a'])",
        "can't use `==` on what may be an optional value",
    ),
    "a_hidden_optional_value": (
        {"type": "object", "properties": {"s": _SET}},
        "self.s == dyn(self.?s)",
        "can't use `==` on what may be an optional value",
    ),
}


@pytest.mark.parametrize("name", _REFUSED)
def test_what_a_real_server_would_compare_otherwise_is_refused(name: str) -> None:
    field, text, told = _REFUSED[name]
    raw = {
        "type": "object",
        "properties": {"f": {**field, "x-kubernetes-validations": [{"rule": text}]}},
    }

    (error,) = structural_errors(raw, "schema")

    assert error.field == "schema.properties[f].x-kubernetes-validations[0].rule"
    assert told in error.message


def test_an_old_value_may_be_optional() -> None:
    checker = Checker(
        new_pool(), {"self": Type.STRING, "oldSelf": Type.STRING}, has_optional_old=True
    )
    expression = compile_expression("oldSelf.orValue('none') == self", checker)

    assert expression.evaluate(bound_to("none")) is True
    assert expression.evaluate(bound_to("b", "b")) is True
    with pytest.raises(ExpressionError, match=r"<input>:1:9: .*\n \| oldSelf == self\n"):
        compile_expression("oldSelf == self", checker)


@pytest.mark.parametrize(
    "text, uses",
    [("self == oldSelf", True), ("self == 'oldSelf'", False), ("self.oldSelfish", False)],
)
def test_which_rules_are_about_changes(text: str, uses: bool) -> None:
    assert uses_old_self(text) is uses
