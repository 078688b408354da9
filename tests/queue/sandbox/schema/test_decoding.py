"""Built-in kinds are decoded as a real server decoded them, and kept in the same form."""

import copy
from typing import Any

import pytest

from muster.queue.sandbox.kinds.schemas import schema
from muster.queue.sandbox.schema import literals
from muster.queue.sandbox.schema.decoding import DecodingError, decode
from tests.queue.sandbox.schema.recorded import Json, answers, label

CASES = answers("decoding")["cases"]
POD = "io.k8s.api.core.v1.Pod"


@pytest.mark.parametrize("case", CASES, ids=label)
def test_a_document_is_decoded_or_refused(case: Json) -> None:
    obj = copy.deepcopy(case["given"])

    if "error" not in case:
        assert decode(schema(case["kind"]), obj) == case["unknown"]
        return
    with pytest.raises(DecodingError) as refused:
        decode(schema(case["kind"]), obj)

    assert str(refused.value) == case["error"]


QUANTITIES = {
    "1000m": "1", "1.0": "1", "0.5": "500m", "1e3": "1e3", "1000e3": "1e6", "1024Ki": "1Mi",
    "1Gi": "1Gi", "0.1Gi": "107374182400m", "100M": "100M", "1000000": "1M", "1.5Gi": "1536Mi",
    " 1": "1", "0": "0", "0.0": "0", "-0": "0", "1500": "1500", "1.": "1.", "010": "010",
    "+5": "+5",
    "1048576": "1048576", "999999999999999999999": "999999999999999999999", ".5": "500m",
    "-.5e-3": "-500e-6", "8Ki": "8Ki",
}  # fmt: skip


@pytest.mark.parametrize("text", QUANTITIES)
def test_a_quantity_is_kept_near_canonical(text: str) -> None:
    assert literals.quantity(text) == QUANTITIES[text]


@pytest.mark.parametrize(
    "text, micro, kept",
    [
        ("2020-01-01T00:00:00+01:00", False, "2019-12-31T23:00:00Z"),
        ("2020-01-01T00:00:00.123Z", False, "2020-01-01T00:00:00Z"),
        ("2020-02-29T00:00:00Z", False, "2020-02-29T00:00:00Z"),
        ("2020-01-01T00:00:00.000000+01:00", True, "2019-12-31T23:00:00.000000Z"),
        ("2020-01-01T00:00:00.123456Z", True, "2020-01-01T00:00:00.123456Z"),
    ],
)
def test_a_time_is_kept_in_utc(text: str, micro: bool, kept: str) -> None:
    assert literals.time(text, micro=micro) == kept


@pytest.mark.parametrize(
    "given, kept",
    [
        ({"nodeSelector": {}, "tolerations": []}, {}),
        ({"affinity": {}, "containers": []}, {"affinity": {}, "containers": []}),
        ({"activeDeadlineSeconds": None, "nodeSelector": None}, {}),
        ({"nodeSelector": {"a": None}}, {"nodeSelector": {"a": ""}}),
        (
            {"containers": [{"args": [None], "ports": [None]}]},
            {"containers": [{"args": [""], "ports": [{}]}]},
        ),
        (
            {"containers": [{"resources": {"requests": {"cpu": 1.5, "memory": None}}}]},
            {"containers": [{"resources": {"requests": {"cpu": "1500m", "memory": "0"}}}]},
        ),
    ],
)
def test_empty_and_null_values(given: Any, kept: Any) -> None:
    pod = {"spec": given}

    decode(schema(POD), pod)

    assert pod == {"spec": kept}
