"""Lists: their form, their versions, and how they come in chunks."""

import base64
import json
from collections.abc import Iterator
from itertools import pairwise

import pytest

from tests.e2e.api import Answer, Api, collection
from tests.e2e.probes.gadgets import GADGET
from tests.e2e.probes.probe import Probe, causes
from tests.queue.api.manifests import Manifest, a_manifest, changed

pytestmark = pytest.mark.usefixtures("gadgets")

COUNT = 5
TOO_LARGE = str(2**62)


@pytest.fixture(scope="module")
def leases(api: Api) -> Iterator[list[Manifest]]:
    """Some leases in a namespace of their own: a controller puts a map into every namespace."""
    namespace = a_manifest("Namespace", "v1", metadata={"generateName": "e2e-list-"})
    made = api.create(namespace).expect(201)
    name = made["metadata"]["name"]
    manifests = [
        a_manifest(
            "Lease",
            "coordination.k8s.io/v1",
            metadata={"name": f"e{number}", "namespace": name, "labels": {"n": str(number)}},
        )
        for number in range(COUNT)
    ]
    yield [api.create(manifest).expect(201) for manifest in manifests]
    api.delete(made).expect(200)


def names(answer: Answer) -> list[str]:
    return [item["metadata"]["name"] for item in answer.expect(200)["items"]]


def of(items: list[Manifest]) -> list[str]:
    return [each["metadata"]["name"] for each in items]


def version(manifest: Manifest) -> int:
    return int(manifest["metadata"]["resourceVersion"])


def token(**content: object) -> str:
    """Return a token to continue with, as a server might have given it."""
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


def test_a_list_is_in_the_order_of_names(leases: list[Manifest], api: Api) -> None:
    answer = api.listing(leases[0])

    body = answer.expect(200)
    assert (body["kind"], body["apiVersion"]) == ("LeaseList", "coordination.k8s.io/v1")
    assert names(answer) == of(leases)
    assert version(body) >= version(leases[-1])
    assert body["metadata"].keys() == {"resourceVersion"}


def test_items_of_a_builtin_do_not_repeat_their_kind(leases: list[Manifest], api: Api) -> None:
    item, *_ = api.listing(leases[0]).expect(200)["items"]

    assert item == {key: leases[0][key] for key in leases[0] if key not in {"kind", "apiVersion"}}


def test_custom_resources_do(probe: Probe) -> None:
    made = probe.create(probe.a(*GADGET))
    name = made["metadata"]["name"]

    body = probe.api.listing(made, fieldSelector=f"metadata.name={name}").expect(200)

    assert (body["kind"], body["apiVersion"]) == ("GadgetList", made["apiVersion"])
    assert body["items"] == [made]


def test_names_are_in_the_order_of_their_bytes(probe: Probe) -> None:
    label = probe.a_name("a")
    suffixes = ["", "-b", ".b", "0"]
    every = probe.a("ConfigMap", "v1", {"metadata.labels": {"order": label}})
    for suffix in reversed(suffixes):
        probe.create(changed(every, {"metadata.name": label + suffix}))

    answer = probe.api.listing(every, labelSelector=f"order={label}")

    assert names(answer) == [label + suffix for suffix in suffixes]


def test_a_namespace_ends_before_the_name_in_that_order(probe: Probe) -> None:
    """So that "a-b/x" comes before "a/x", as a hyphen does before a slash."""
    plain = probe.a("Namespace", "v1")
    longer = changed(plain, {"metadata.name": f"{plain['metadata']['name']}-b"})
    label = plain["metadata"]["name"]
    for namespace in (plain, longer):
        metadata = {"name": "x", "labels": {"order": label}}
        metadata["namespace"] = probe.create(namespace)["metadata"]["name"]
        probe.create(a_manifest("Lease", "coordination.k8s.io/v1", metadata=metadata))

    path = "/apis/coordination.k8s.io/v1/leases"
    items = probe.api.request("GET", path, labelSelector=f"order={label}").expect(200)["items"]

    assert [item["metadata"]["namespace"] for item in items] == [f"{label}-b", label]


def test_a_list_over_all_namespaces(leases: list[Manifest], api: Api) -> None:
    name = leases[0]["metadata"]["namespace"]
    path = "/apis/coordination.k8s.io/v1/leases"

    answer = api.request("GET", path, fieldSelector=f"metadata.namespace={name}")

    assert names(answer) == of(leases)


def test_an_empty_list_has_items(api: Api) -> None:
    answer = api.request("GET", "/api/v1/namespaces/nowhere/configmaps")

    assert answer.expect(200)["items"] == []


# -- chunks --------------------------------------------------------------------------------------


def test_a_long_list_comes_in_chunks_of_one_version(leases: list[Manifest], api: Api) -> None:
    chunks = [api.listing(leases[0], limit="2").expect(200)]
    while more := chunks[-1]["metadata"].get("continue"):
        chunks.append(api.listing(leases[0], limit="2", **{"continue": more}).expect(200))

    assert [of(chunk["items"]) for chunk in chunks] == [["e0", "e1"], ["e2", "e3"], ["e4"]]
    assert [chunk["metadata"].get("remainingItemCount") for chunk in chunks] == [3, 1, None]
    for before, after in pairwise(chunks):
        assert version(before) == version(after)


def test_a_chunk_is_of_the_past_of_the_first_one(probe: Probe) -> None:
    label = probe.a_name()
    labels = {"metadata.labels": {"chunks": label}}
    made = [probe.create(probe.a("ConfigMap", "v1", labels)) for _ in range(3)]
    select = {"labelSelector": f"chunks={label}"}
    first = probe.api.listing(made[0], limit="1", **select).expect(200)
    probe.delete(made[1]).expect(200)
    probe.create(probe.a("ConfigMap", "v1", labels))

    rest = {"continue": first["metadata"]["continue"]}
    answer = probe.api.listing(made[0], **rest, **select)

    assert of(answer.expect(200)["items"]) == of(made[1:])


def test_what_is_left_is_not_counted_by_a_selector(leases: list[Manifest], api: Api) -> None:
    metadata = api.listing(leases[0], limit="2", labelSelector="n").expect(200)["metadata"]

    assert metadata["continue"]
    assert "remainingItemCount" not in metadata


@pytest.mark.parametrize("limit", ["0", "-1", str(COUNT), "1000000"])
def test_a_limit_that_cuts_nothing(limit: str, leases: list[Manifest], api: Api) -> None:
    answer = api.listing(leases[0], limit=limit)

    assert names(answer) == of(leases)
    assert answer.body["metadata"].keys() == {"resourceVersion"}


@pytest.mark.parametrize(
    "text, message",
    [
        ("!", "invalid continue token: continue key is not valid"),
        (token(v="x"), "invalid continue token: continue key is not valid"),
        (token(), "invalid continue token: continue key is not valid"),
    ],
    ids=["no base64", "unknown version", "nothing in it"],
)
def test_a_bad_token_is_refused(text: str, message: str, leases: list[Manifest], api: Api) -> None:
    answer = api.listing(leases[0], **{"continue": text})

    answer.expect_refusal(400, "BadRequest", message)


def test_a_token_tells_the_version(leases: list[Manifest], api: Api) -> None:
    more = api.listing(leases[0], limit="2").expect(200)["metadata"]["continue"]

    answer = api.listing(leases[0], resourceVersion="1", **{"continue": more})

    message = "specifying resource version is not allowed when using continue"
    answer.expect_refusal(400, "BadRequest", message)


# -- versions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("match", ["", "NotOlderThan", "Exact"])
def test_a_list_of_the_latest_version(match: str, leases: list[Manifest], api: Api) -> None:
    latest = api.listing(leases[0]).expect(200)["metadata"]["resourceVersion"]
    query = {"resourceVersionMatch": match} if match else {}

    answer = api.listing(leases[0], resourceVersion=latest, **query)

    assert names(answer) == of(leases)


def test_a_list_of_an_exact_version_is_of_the_past(probe: Probe) -> None:
    label = probe.a_name()
    made = [
        probe.create(probe.a("ConfigMap", "v1", {"metadata.labels": {"past": label}}))
        for _ in range(2)
    ]
    then = made[0]["metadata"]["resourceVersion"]

    answer = probe.api.listing(
        made[0],
        resourceVersion=then,
        resourceVersionMatch="Exact",
        labelSelector=f"past={label}",
    )

    assert names(answer) == of(made[:1])
    assert answer.body["metadata"]["resourceVersion"] == then


def test_any_version_will_do_without_a_limit(leases: list[Manifest], api: Api) -> None:
    answer = api.listing(leases[0], resourceVersion="0", limit="1")

    assert names(answer) == of(leases)
    assert "continue" not in answer.body["metadata"]


@pytest.mark.parametrize(
    "query, reason, message",
    [
        (
            {"resourceVersionMatch": "Exact"},
            "FieldValueForbidden",
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        (
            {"resourceVersionMatch": "Exact", "resourceVersion": "0"},
            "FieldValueForbidden",
            'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
        ),
        (
            {"resourceVersionMatch": "Some", "resourceVersion": "1"},
            "FieldValueNotSupported",
            'Unsupported value: "Some"',
        ),
    ],
    ids=str,
)
def test_a_match_that_makes_no_sense_is_refused(
    query: dict[str, str], reason: str, message: str, leases: list[Manifest], api: Api
) -> None:
    answer = api.listing(leases[0], **query)

    details = answer.expect_refusal(422, "Invalid", message)
    assert causes(answer) == [(reason, "resourceVersionMatch")]
    assert details["kind"] == "ListOptions"


def test_initial_events_are_for_who_watches(leases: list[Manifest], api: Api) -> None:
    answer = api.listing(leases[0], sendInitialEvents="true")

    answer.expect_refusal(422, "Invalid", "sendInitialEvents is forbidden for list")


@pytest.mark.parametrize("text", ["x", "-1", "1.5"])
def test_a_version_is_a_number(text: str, leases: list[Manifest], api: Api) -> None:
    answer = api.listing(leases[0], resourceVersion=text)

    answer.expect_refusal(400, "BadRequest", f'Invalid value: "{text}"')


def test_a_version_of_the_future_is_not_waited_for(leases: list[Manifest], api: Api) -> None:
    answer = api.listing(leases[0], resourceVersion=TOO_LARGE)

    message = f"Too large resource version: {TOO_LARGE}, current: "
    details = answer.expect_refusal(504, "Timeout", message)
    assert details["causes"] == [
        {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    ]
    assert details["retryAfterSeconds"] == 1
    assert answer.headers["Retry-After"] == "1"


def test_one_object_of_any_version_will_do(leases: list[Manifest], api: Api) -> None:
    assert api.get(leases[0], resourceVersion="0").expect(200) == leases[0]


def test_all_groups_count_in_one_row(probe: Probe) -> None:
    """A version orders changes of every kind."""
    first = probe.create(probe.a("ConfigMap", "v1"))
    second = probe.create(probe.a(*GADGET))
    third = probe.create(probe.a("ConfigMap", "v1"))

    assert version(first) < version(second) < version(third)
    listed = probe.api.request("GET", collection(first)).expect(200)
    assert version(listed) >= version(third)
