"""
The match conditions of webhooks: expressions in CEL about a request under review.

They see `request`, `object` and `oldObject`, whose fields are not known before they are looked at.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from muster.queue.client.refusal import not_implemented
from muster.queue.sandbox.kinds.resources import Shared
from muster.queue.sandbox.schema.expressions import (
    Checker,
    EvaluationError,
    Expression,
    ExpressionError,
    Type,
    bound,
    compile_expression,
)
from muster.queue.sandbox.schema.opaque import new_pool

_VARIABLES: Final = ("request", "object", "oldObject")
_AUTHORIZER: Final = re.compile(r"\bauthorizer\b")


@cache
def _checker() -> Checker:
    return Checker(new_pool(), dict.fromkeys(_VARIABLES, Type.DYN))


def condition_fault(text: str) -> str:
    """Return what is wrong with the expression of a condition, "" for nothing; Refusal 501."""
    if _AUTHORIZER.search(text):
        raise not_implemented(
            "the sandbox lets everybody do everything: it has no `authorizer` for match conditions"
        )
    try:
        result = compile_expression(text, _checker()).result
    except ExpressionError as error:
        return f"compilation failed: {error}"
    return "" if result in {"bool", "dyn"} else f"must evaluate to bool but got {result}"


class Condition:
    """One condition, ready to be asked."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._expression: Expression = compile_expression(text, _checker())

    def holds(self, request: Shared) -> bool:
        """Say whether it holds of the `request` of a review; raises EvaluationError."""
        variables = bound(request=request, object=request["object"], oldObject=request["oldObject"])
        try:
            return self._expression.evaluate(variables) is True
        except EvaluationError as error:
            raise EvaluationError(
                f"expression '{self._text}' resulted in error: {error}"
            ) from error
