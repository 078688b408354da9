"""What the conditions of webhooks may be."""

import pytest

from muster.queue.client.refusal import Refusal
from muster.queue.sandbox.kinds.match_conditions import condition_fault

FAULTS = [
    ("request.operation == 'CREATE'", ""),
    ("object.anything", ""),
    ("object.", "compilation failed: ERROR: <input>:1:8: Syntax error: "),
    ("nope", "compilation failed: ERROR: <input>:1:1: undeclared reference to 'nope'"),
    ("1", "must evaluate to bool but got int"),
]


@pytest.mark.parametrize("text, told", FAULTS)
def test_a_condition_is_a_question(text: str, told: str) -> None:
    fault = condition_fault(text)

    assert bool(fault) is bool(told)
    assert fault.startswith(told)


def test_nobody_is_asked_for_permission() -> None:
    with pytest.raises(Refusal) as refused:
        condition_fault("authorizer.group('').resource('pods').check('get').allowed()")

    assert refused.value.code == 501
