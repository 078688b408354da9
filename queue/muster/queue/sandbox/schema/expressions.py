"""
Expressions in CEL: compiled once, evaluated on JSON values.

The language is Google's own implementation for C++; what Kubernetes adds to it is in `functions`.
Every expression is compiled twice: with the types of its variables, which finds its errors, and
without, since what is evaluated are plain JSON values. Errors are told in the words of a Kubernetes
API server.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings
from google.protobuf.descriptor_pool import DescriptorPool

from muster.queue.sandbox.schema import functions, patterns, trees
from muster.queue.sandbox.schema.node import Schema
from muster.queue.sandbox.schema.opaque import new_pool
from muster.queue.sandbox.schema.rewriting import UnclearError, rewrite

Type = cel.Type

SELF: Final = "self"
OLD_SELF: Final = "oldSelf"

# What `oldSelf` is made of where it is optional: values of that type can't be handed in.
_OLD: Final = "old__"
_HAS_OLD: Final = "has_old__"
_OPTIONAL_OLD: Final = f"{_HAS_OLD} ? optional.of({_OLD}) : optional.none()"
_STRINGS_VERSION: Final = 2
_EXPRESSION_LENGTH_MAX: Final = 100_000


class ExpressionError(ValueError):
    """The text is no expression of the wanted type; the message says why, and shows where."""


class EvaluationError(ValueError):
    """An expression has no value here, because a key is missing, say."""


_RESULTS: Final = (Type.BOOL, Type.STRING)


class Expression:
    """One compiled expression."""

    __slots__ = ("_compiled", "result")

    def __init__(self, compiled: Any, result: str) -> None:
        self._compiled = compiled
        self.result = result
        """The name of the type of its value, such as "bool" or "dyn"."""

    def evaluate(self, variables: Any) -> Any:
        """
        Return its value, if it is a truth value or a text, else None. Raises EvaluationError.

        `bound` or `bound_to` made the variables.
        """
        try:
            value = self._compiled.eval(variables)
        except RuntimeError as error:
            raise EvaluationError(_told(str(error))) from error
        kind = value.type()
        if kind == Type.ERROR:
            raise EvaluationError(_told(str(value.value())))
        return value.value() if kind in _RESULTS else None


def bound(**variables: Any) -> Any:
    """Return variables as expressions take them; values are JSON, messages or bytes."""
    return _evaluator().Activation(variables)


def bound_to(self: Any, old: Any = None) -> Any:
    """Return the variables of a rule; `old` is None where there is no old value."""
    variables = {SELF: self, _HAS_OLD: old is not None, _OLD: old}
    if old is not None:
        variables[OLD_SELF] = old
    return _evaluator().Activation(variables)


class Checker:
    """What knows the types of some variables, and so the errors of expressions that use them."""

    def __init__(
        self,
        pool: DescriptorPool,
        variables: Mapping[str, Any],
        schemas: Mapping[str, Schema] | None = None,
        *,
        has_optional_old: bool = False,
    ) -> None:
        """`variables` are types and `schemas` what is known besides, by name."""
        self._prefix, self._suffix = "", ""
        known, schemas = dict(variables), dict(schemas or {})
        extensions = _extensions(functions.declarations())
        if has_optional_old:
            known |= {_OLD: known.pop(OLD_SELF), _HAS_OLD: Type.BOOL}
            if OLD_SELF in schemas:
                schemas[_OLD] = schemas.pop(OLD_SELF)
            extensions.append(ext_bindings.ExtBindings())
            self._prefix, self._suffix = f"cel.bind({OLD_SELF}, {_OPTIONAL_OLD}, (", "))"
        self._schemas = schemas
        self._environment = cel.NewEnv(
            pool, config=_macros(), variables=known, extensions=extensions
        )

    def checked(self, text: str) -> tuple[str, bytes]:
        """Return the type of an expression and what to evaluate. Raises ExpressionError."""
        if len(text) > _EXPRESSION_LENGTH_MAX:
            raise ExpressionError(f"expression code point size exceeds limit: size: {len(text)}")
        meant = _ONE_OF_PAIRS.sub(lambda match: match["text"] or ".existsOne (", text)
        try:
            compiled = self._environment.compile(self._prefix + meant + self._suffix)
        except RuntimeError as error:
            told = _located(str(error), text, len(self._prefix))
            hint = f"\n{_NOT_HERE}" if _UNSUPPORTED.search(text) else ""
            raise ExpressionError(told + hint) from error
        _check_patterns(text)
        tree, types = trees.read(compiled.serialize())
        try:
            rewrite(tree, types, self._schemas)
        except UnclearError as error:
            raise ExpressionError(str(error)) from error
        return str(compiled.return_type().name()).lower(), trees.written(tree)


def _extensions(ours: list[Any]) -> list[Any]:
    return [
        ext_optional.ExtOptional(),
        ext_strings.ExtStrings(_STRINGS_VERSION),
        cel.CelExtension("kubernetes", ours),
    ]


def _macros() -> Any:
    """Return what turns on macros with two variables."""
    return cel.NewEnvConfigFromYaml("extensions: [{name: two-var-comprehensions}]")


# The library knows that macro by its other name only; places in the text stay what they are.
_ONE_OF_PAIRS: Final = re.compile(
    r"(?P<text>'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\")|\.exists_one\((?=\s*\w+\s*,\s*\w+\s*,)"
)

_PATTERN: Final = re.compile(r"""\.matches\(\s*(?P<text>'[^'\\]*'|"[^"\\]*")\s*\)""")


def _check_patterns(text: str) -> None:
    for call in _PATTERN.finditer(text):
        try:
            patterns.search(call["text"][1:-1])
        except patterns.PatternError as error:
            before = text[: call.start("text")]
            line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
            told = f"ERROR: <input>:{line}:{column}: invalid matches argument"
            raise ExpressionError(_located(told, text, 0)) from error


def compile_expression(text: str, checker: Checker) -> Expression:
    """Compile an expression whose errors `checker` knows. Raises ExpressionError."""
    result, serialized = checker.checked(text)
    if _LIST_CALL.search(text) and _OPTIONAL.search(_RESOLVED.sub("", text)):
        # They would end the process: the library can't hand optional values over to Python.
        raise ExpressionError(
            "the sandbox supports functions on lists together with optional values only where "
            "those are resolved at once, as in self.?a.orValue(0)"
        )
    return Expression(_evaluator().deserialize(serialized), result)


@cache
def _evaluator() -> Any:
    """Return what evaluates expressions, whatever the types of their variables."""
    return cel.NewEnv(
        new_pool(), config=_macros(), extensions=_extensions(functions.implementations())
    )


_NAMES: Final = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|[A-Za-z_][A-Za-z0-9_]*")


def uses_old_self(text: str) -> bool:
    """Tell whether an expression speaks of `oldSelf`."""
    return OLD_SELF in _NAMES.findall(text)


_LIST_CALL: Final = re.compile(
    rf"\.\s*(?:{'|'.join(functions.ON_LISTS)})\s*\(|\bsets\s*\.\s*\w+\s*\("
)
_OPTIONAL: Final = re.compile(r"\.\s*\?|\[\s*\?|\{\s*\?|,\s*\?|\boptional\s*\.|\bopt(?:Flat)?Map\b")
_RESOLVED: Final = re.compile(
    r"(?:\.\?\w+|\[\?[^\[\]]*\])(?:\.\??\w+(?!\w|\s*\()|\[\??[^\[\]]*\])*"
    r"\.(?:orValue|hasValue|value)\s*\("
)
_UNSUPPORTED: Final = re.compile(r"\.\s*(?:sortBy|flatten)\s*\(")
_NOT_HERE: Final = "The sandbox has no `sortBy` and no `flatten`; a real API server has them."


# -- words -------------------------------------------------------------------------------------

_ERROR: Final = re.compile(r"ERROR: <input>:(?P<line>\d+):(?P<column>\d+): (?P<what>.*)")
_SELECTION: Final = re.compile(
    r"expression of type '(.*)' cannot be the operand of a select operation"
)
_CALL: Final = re.compile(r"found no matching overload for '(\w+)' applied to '\((.*)\)'")
_OUR_TYPES: Final = re.compile(r"kubernetes\.object[0-9]+")


def _located(told: str, text: str, shift: int) -> str:
    """Return the errors of a compilation, each with the line of `text` that it is in."""
    lines = text.split("\n")
    errors = []
    for match in _ERROR.finditer(told):
        line, column = int(match["line"]), int(match["column"])
        if line == 1:
            column -= shift
        what = _reworded(match["what"], lines[line - 1][: column - 1] if line <= len(lines) else "")
        dots = "." * (column - 1)
        source = lines[line - 1] if line <= len(lines) else ""
        errors.append(f"ERROR: <input>:{line}:{column}: {what}\n | {source}\n | {dots}^")
    return "\n".join(errors) or told.removeprefix("INVALID_ARGUMENT: ")


def _reworded(what: str, before: str) -> str:
    """Return an error in Kubernetes' words; `before` is the line up to where it is."""
    what = re.sub(r"^(undefined field '.*') not found in struct '.*'$", r"\1", what)
    what = _SELECTION.sub(r"type '\1' does not support field selection", what)
    if (call := _CALL.fullmatch(what)) is not None and before.endswith(f".{call[1]}"):
        target, _, rest = _first_type(call[2])
        what = f"found no matching overload for '{call[1]}' applied to '{target}.({rest})'"
    return _OUR_TYPES.sub("object", what).replace("null_type", "null")


def _first_type(types: str) -> tuple[str, str, str]:
    """Split off the first of some types, whose own commas are within brackets."""
    depth = 0
    for index, character in enumerate(types):
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            return types[:index], ",", types[index + 1 :].strip()
    return types, "", ""


_WORDS: Final = (
    (re.compile(r'Key not found in map : "(.*)"', re.DOTALL), r"no such key: \1"),
    (re.compile(r"Key not found in map : (.*)", re.DOTALL), r"no such key: \1"),
    (re.compile(r"Index error: index=(-?\d+).*"), r"index out of bounds: \1"),
    (re.compile(r"No matching overloads found.*", re.DOTALL), "no such overload"),
    (re.compile(r"Applying SELECT to non-message type.*"), "no such overload"),
    (re.compile(r"divide by zero"), "division by zero"),
    (re.compile(r"modulus by zero|modulo by zero"), "modulus by zero"),
)
_STATUS: Final = re.compile(r"^[A-Z_]+: ")


def _told(error: str) -> str:
    told = _STATUS.sub("", error)
    for pattern, words in _WORDS:
        if (match := pattern.fullmatch(told)) is not None:
            return match.expand(words)
    return told
