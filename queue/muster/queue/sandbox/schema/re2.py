"""RE2, the regular expressions of API servers, by way of the CEL library, which has it built in."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

_PREFIX: Final = re.compile(r"^(?:[A-Z_]+: )?invalid regular expression: ", re.IGNORECASE)
_WORDS: Final = (
    ("missing ]", "missing closing ]"),
    ("missing )", "missing closing )"),
    ("invalid perl operator", "invalid or unsupported Perl syntax"),
    ("no argument for repetition operator", "missing argument to repetition operator"),
    ("bad repetition operator", "invalid nested repetition operator"),
    ("invalid escape sequence", "invalid escape sequence"),
)


class RE2Error(ValueError):
    """The text is no regular expression; the message says what is wrong with it."""


def matches(pattern: str, text: str) -> bool:
    """Tell whether `pattern` matches anywhere in a text. Raises RE2Error."""
    environment, expression = _matcher()
    value = expression.eval(environment.Activation({"pattern": pattern, "text": text}))
    if str(value.type()) == "ERROR":
        told = _PREFIX.sub("", str(value.value()))
        what, colon, where = told.partition(": ")
        what = dict(_WORDS).get(what, what)
        raise RE2Error(f"{what}: `{where}`" if colon else what)
    return bool(value.value())


@cache
def _matcher() -> tuple[Any, Any]:
    from cel_expr_python import cel  # noqa: PLC0415 - large, and not needed before

    environment = cel.NewEnv(variables={"pattern": cel.Type.STRING, "text": cel.Type.STRING})
    return environment, environment.compile("text.matches(pattern)")
