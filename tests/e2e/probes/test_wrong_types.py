"""Values of the wrong type where no object is sent as a whole: parts of a pod, options, patches."""

from typing import Any

import pytest

from tests.e2e.api import APPLY, JSON_PATCH, MERGE, Answer, place
from tests.e2e.probes.gadgets import GADGET
from tests.e2e.probes.probe import Probe
from tests.queue.api.manifests import Manifest

pytestmark = pytest.mark.usefixtures("gadgets")

MAP = "ConfigMap", "v1"
KINDS = pytest.mark.parametrize("kind", [MAP, GADGET], ids=lambda kind: kind[0])


def send(probe: Probe, part: str, content: Manifest, **query: str) -> Answer:
    """Create something at a sub-resource of a pod that isn't there."""
    where = place(probe.a("Pod", "v1", {"metadata.name": "none"}))
    return probe.api.request("POST", f"{where}/{part}", content, **query)


@pytest.mark.parametrize(
    "part, kind, content, message",
    [
        ("binding", "Binding", {"target": "x"}, "Binding.target of type v1.ObjectReference"),
        ("binding", "Binding", {"target": {"name": 5}}, "target.name of type string"),
        ("binding", "Binding", {"metadata": []}, "Binding.metadata of type v1.ObjectMeta"),
        ("eviction", "Eviction", {"metadata": "x"}, "Eviction.metadata of type v1.ObjectMeta"),
        ("eviction", "Eviction", {"deleteOptions": "x"}, "of type v1.DeleteOptions"),
        (
            "eviction",
            "Eviction",
            {"deleteOptions": {"gracePeriodSeconds": "x"}},
            "DeleteOptions.deleteOptions.gracePeriodSeconds of type int64",
        ),
    ],
)
def test_what_is_sent_to_a_part_of_a_pod_has_types(
    part: str, kind: str, content: Manifest, message: str, probe: Probe
) -> None:
    answer = send(probe, part, content)

    answer.expect_refusal(
        400, "BadRequest", f'{kind} in version "v1" cannot be handled as a {kind}'
    )
    assert answer.message.endswith(message)


@pytest.mark.parametrize("part, kind", [("binding", "Binding"), ("eviction", "Eviction")])
def test_what_is_sent_to_a_part_of_a_pod_is_of_its_kind(part: str, kind: str, probe: Probe) -> None:
    answer = send(probe, part, {"apiVersion": "v1", "kind": "Pod"})
    unknown = send(probe, part, {"foo": 1}, fieldValidation="Strict")

    message = f'Pod in version "v1" cannot be handled as a {kind}: converting (v1.Pod) to '
    answer.expect_refusal(400, "BadRequest", message)
    unknown.expect_refusal(400, "BadRequest", 'strict decoding error: unknown field "foo"')


@pytest.mark.parametrize(
    "options, message",
    [
        ({"gracePeriodSeconds": "x"}, "string into Go struct field DeleteOptions.gracePeriod"),
        ({"gracePeriodSeconds": 1.5}, "number 1.5 into Go struct field DeleteOptions.gracePeriod"),
        ({"preconditions": "x"}, "DeleteOptions.preconditions of type v1.Preconditions"),
        ({"propagationPolicy": {}}, "object into Go struct field DeleteOptions.propagationPolicy"),
        ({"dryRun": "All"}, "string into Go struct field DeleteOptions.dryRun of type []string"),
        ({"orphanDependents": "x"}, "DeleteOptions.orphanDependents of type bool"),
    ],
    ids=str,
)
def test_options_of_a_deletion_have_types(options: Manifest, message: str, probe: Probe) -> None:
    answer = probe.api.delete(probe.a(*MAP, {"metadata.name": "none"}), options)

    answer.expect_refusal(400, "BadRequest", message)


@KINDS
@pytest.mark.parametrize(
    "patch, message",
    [
        ({"metadata": "x"}, "json: cannot unmarshal string into Go "),
        ({"metadata": {"uid": 3}}, "number into Go struct field ObjectMeta."),
        ({"kind": {"a": 1}}, "cannot unmarshal object into Go struct field .kind of type string"),
        ({"apiVersion": 3}, "number into Go struct field .apiVersion of type string"),
    ],
    ids=str,
)
def test_what_a_patch_leaves_has_types(
    patch: Manifest, message: str, kind: tuple[str, str], probe: Probe
) -> None:
    obj = probe.create(probe.a(*kind))
    (name, value) = next(iter(patch.items()))
    operations: list[Any] = [{"op": "replace", "path": f"/{name}", "value": value}]

    merged = probe.api.patch(obj, patch, MERGE)
    operated = probe.api.patch(obj, operations, JSON_PATCH)

    for answer in (merged, operated):
        answer.expect_refusal(422, "Invalid", message)


@pytest.mark.parametrize(
    "body, message",
    [
        (b'"x"', "cannot unmarshal string into Go value of type map[string]interface {}"),
        (b"[]", "cannot unmarshal array into Go value of type map[string]interface {}"),
        (b"5", "cannot unmarshal number into Go value of type map[string]interface {}"),
        (b'{"apiVersion":1,"kind":"ConfigMap"}', "invalid object type: /, Kind=ConfigMap"),
    ],
    ids=str,
)
def test_what_is_applied_is_an_object(body: bytes, message: str, probe: Probe) -> None:
    where = place(probe.a(*MAP))

    answer = probe.api.request("PATCH", where, body, APPLY, fieldManager="e2e")

    answer.expect_refusal(400, "BadRequest", message)


def test_a_manager_is_printable_from_its_first_character(probe: Probe) -> None:
    answer = probe.api.create(probe.a(*MAP), fieldManager="\tx")

    answer.expect_refusal(422, "Invalid", "invalid character U+0009 (at position 0)")
