"""
Judges an object by the rules in its definition: `x-kubernetes-validations`, written in CEL.

Rules that speak of `oldSelf` are about changes: they are looked at where there is an old value. Any
other rule that is broken is let pass where nothing has changed. What rules may cost is not counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from muster.queue.client.refusal import (
    FieldError,
    duplicate,
    forbidden_field,
    invalid_value,
    required,
)
from muster.queue.sandbox.schema.correlation import old_value, same
from muster.queue.sandbox.schema.declarations import Declarations, converter
from muster.queue.sandbox.schema.expressions import (
    OLD_SELF,
    SELF,
    Checker,
    EvaluationError,
    Expression,
    ExpressionError,
    bound_to,
    compile_expression,
    uses_old_self,
)
from muster.queue.sandbox.schema.faults import NO_FIELD
from muster.queue.sandbox.schema.node import MISSING, Raw, Schema
from muster.queue.sandbox.schema.projection import projection

KEYWORD: Final = "x-kubernetes-validations"
_COMPILED: Final = "rules"
_MESSAGE_LENGTH_MAX: Final = 5 << 10


class Rule(NamedTuple):
    """One rule, ready to be asked."""

    raw: Raw
    expression: Expression
    message: Expression | None
    """What makes its message, None where the message is fixed."""
    is_transition: bool
    """It speaks of the old value."""

    @property
    def told(self) -> str:
        """What its breach is called without a message of its own."""
        message: str = (self.raw.get("message") or "").strip()
        return message or f"failed rule: {self.raw['rule'].strip()}"

    @property
    def named(self) -> str:
        name: str = (self.raw.get("message") or self.raw["rule"]).strip()
        return name


class _Node(NamedTuple):
    """The rules of a node and of all below it."""

    schema: Schema
    rules: Sequence[Rule]
    fields: Mapping[str, _Node]
    rest: _Node | None
    items: _Node | None
    project: Callable[[Any], Any] | None
    """What leaves out what no rule looks at."""
    convert: Callable[[Any], Any] | None
    """What makes the values that rules see."""
    compares: bool
    """Some rule is about a change."""
    all_of_value: Expression | None
    """All rules that aren't about a change at once, None where that saves nothing."""
    all_of_change: Expression | None
    """The same with those that are."""


class Checkers:
    """What knows the types of rules, by node; it is made once for a definition."""

    def __init__(self, root: Schema) -> None:
        declarations = Declarations()
        self._types = {
            id(node): declarations.type_of(node, is_object=node is root or node.embedded)
            for node in _nodes(root)
            if node.raw.get(KEYWORD)
        }
        self._pool = declarations.pool() if self._types else None

    def knows(self, schema: Schema) -> bool:
        """Tell whether the values of a node have a type."""
        return self._types.get(id(schema)) is not None

    def of(self, schema: Schema, raw: Raw) -> Checker:
        """Return what knows the types of a rule. Raises ExpressionError where there are none."""
        type_ = self._types.get(id(schema))
        if type_ is None or self._pool is None:
            raise ExpressionError("the value has no type that rules can see")
        return Checker(
            self._pool,
            {SELF: type_, OLD_SELF: type_},
            {SELF: schema, OLD_SELF: schema},
            has_optional_old=bool(raw.get("optionalOldSelf")),
        )


def _nodes(schema: Schema) -> Iterator[Schema]:
    yield schema
    for child in (*schema.properties.values(), schema.additional, schema.items):
        if child is not None and not child.name:
            yield from _nodes(child)


def broken_rules(schema: Schema, obj: Any, old: Any = MISSING) -> list[FieldError]:
    """Return the errors of all rules that `obj` breaks, as what `old` is replaced by if given."""
    if _COMPILED not in schema.compiled:
        schema.compiled[_COMPILED] = _compile(schema, Checkers(schema))
    node: _Node | None = schema.compiled[_COMPILED]
    errors: list[FieldError] = []
    if node is not None:
        _judge(node, "", (obj, old), None, errors)
    return errors


def compile_rule(raw: Raw, checker: Checker) -> Rule:
    """Compile a rule. Raises ExpressionError."""
    text = raw["rule"]
    expression = compile_expression(text, checker)
    if expression.result not in {"bool", "dyn"}:
        raise ExpressionError("cel expression must evaluate to a bool")
    message = compile_message(raw, checker) if raw.get("messageExpression") else None
    return Rule(raw, expression, message, uses_old_self(text))


def compile_message(raw: Raw, checker: Checker) -> Expression:
    """Compile what makes the message of a rule. Raises ExpressionError."""
    message = compile_expression(raw["messageExpression"], checker)
    if message.result not in {"string", "dyn"}:
        raise ExpressionError("messageExpression must evaluate to a string")
    return message


def _compile(schema: Schema, checkers: Checkers) -> _Node | None:
    rules = [compile_rule(raw, checkers.of(schema, raw)) for raw in schema.raw.get(KEYWORD) or ()]
    fields = {
        name: node
        for name, child in schema.properties.items()
        if not child.name and (node := _compile(child, checkers)) is not None
    }
    rest = None if schema.additional is None else _compile(schema.additional, checkers)
    items = None if schema.items is None else _compile(schema.items, checkers)
    if not (rules or fields or rest or items):
        return None
    texts = [f"{rule.raw['rule']} {rule.raw.get('messageExpression') or ''}" for rule in rules]
    return _Node(
        schema,
        rules,
        fields,
        rest,
        items,
        projection(texts),
        converter(schema),
        any(rule.is_transition for rule in rules),
        _at_once([rule for rule in rules if not rule.is_transition], schema, checkers),
        _at_once(rules, schema, checkers),
    )


def _at_once(rules: Sequence[Rule], schema: Schema, checkers: Checkers) -> Expression | None:
    """Return what is true if all of some rules are, None where that can't be asked faster."""
    if len(rules) <= 1 or any(rule.raw.get("optionalOldSelf") for rule in rules):
        return None
    # Each on lines of its own, so that it may end in a comment.
    text = " && ".join(f"({rule.raw['rule']}\n)" for rule in rules)
    try:
        return compile_expression(text, checkers.of(schema, {}))
    except ExpressionError:
        return None  # they are too long together


_Pair = tuple[Any, Any]
"""A value and the old one that it replaces, MISSING without."""


def _judge(
    node: _Node, path: str, pair: _Pair, correlated: _Pair | None, errors: list[FieldError]
) -> None:
    """
    Add the errors of a value and of all in it.

    `correlated` is the innermost value around it, or itself, of which the old one is known.
    """
    value, old = pair
    if value is None:
        return
    if old is not MISSING:
        correlated = pair
    if node.rules:
        _ask(node, path, pair, correlated, errors)
    if value.__class__ is dict:
        for name, field in value.items():
            child = node.fields.get(name)
            if child is not None:
                place = f"{path}.{name}" if path else name
            elif node.rest is not None and name not in node.schema.properties:
                child, place = node.rest, f"{path}[{name}]"
            else:
                continue
            old_field = old_value(node.schema, old, value, name)
            _judge(child, place, (field, old_field), correlated, errors)
    elif value.__class__ is list and node.items is not None:
        for index, item in enumerate(value):
            old_item = old_value(node.schema, old, value, index)
            _judge(node.items, f"{path}[{index}]", (item, old_item), correlated, errors)


def _ask(
    node: _Node, path: str, pair: _Pair, correlated: _Pair | None, errors: list[FieldError]
) -> None:
    value, old = pair
    had_value = old is not MISSING and old is not None
    variables = _variables(node, value, old if had_value and node.compares else None)
    if _all_hold(node.all_of_change if had_value else node.all_of_value, variables):
        return
    for rule in node.rules:
        if rule.is_transition and not had_value and not rule.raw.get("optionalOldSelf"):
            continue
        try:
            if rule.expression.evaluate(variables) is True:
                continue
        except EvaluationError as error:
            errors.append(_unanswered(node.schema, path, rule, str(error)))
            continue
        if not rule.is_transition and correlated is not None and same(*correlated):
            continue
        errors.append(_broken(node.schema, path, rule, pair[0], _message(rule, variables)))


def _all_hold(rules: Expression | None, variables: Any) -> bool:
    try:
        return rules is not None and rules.evaluate(variables) is True
    except EvaluationError:
        return False  # each for itself says what is wrong


def _variables(node: _Node, value: Any, old: Any) -> Any:
    """Return what the rules of a node see of a value and of the old one, None for none."""
    if node.project is not None:
        value, old = node.project(value), node.project(old)
    if node.convert is not None:
        value, old = node.convert(value), node.convert(old)
    return bound_to(value, old)


def _unanswered(schema: Schema, path: str, rule: Rule, why: str) -> FieldError:
    if why.startswith("no such overload"):
        told = f"'{why}': call arguments did not match a supported operator, function or macro "
        told += f"signature for rule: {rule.named}"
    else:
        told = f"{why} evaluating rule: {rule.named}"
    return invalid_value(path or NO_FIELD, schema.type, told)


def _message(rule: Rule, variables: Any) -> str:
    if rule.message is None:
        return rule.told
    try:
        text = rule.message.evaluate(variables)
    except EvaluationError:
        return rule.told
    text = text.strip() if isinstance(text, str) else ""
    fits = 0 < len(text.encode()) <= _MESSAGE_LENGTH_MAX and "\n" not in text
    return text if fits else rule.told


_KEY: Final = re.compile(r"\['((?:\\.|[^'\\])*)'\]")


def _broken(schema: Schema, path: str, rule: Rule, value: Any, told: str) -> FieldError:
    below = _KEY.sub(r"[\1]", rule.raw.get("fieldPath") or "").removeprefix(".")
    place = ".".join(part for part in (path, below) if part) or NO_FIELD
    match rule.raw.get("reason"):
        case "FieldValueForbidden":
            return forbidden_field(place, told)
        case "FieldValueRequired":
            return required(place, told)
        case "FieldValueDuplicate" if schema.type in {"object", "array"}:
            return FieldError("FieldValueDuplicate", place, "Duplicate value")
        case "FieldValueDuplicate":
            return duplicate(place, value)
        case _ if schema.type in {"object", "array"}:
            return FieldError("FieldValueInvalid", place, f"Invalid value: {told}")
        case _:
            return invalid_value(place, value, told)
