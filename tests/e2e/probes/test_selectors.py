"""Selectors by label and by field: who is meant, and what cannot be read."""

from collections.abc import Iterator

import pytest

from tests.e2e.api import Answer, Api
from tests.e2e.probes.gadgets import GADGET
from tests.e2e.probes.probe import POD, Probe
from tests.queue.api.manifests import a_manifest

pytestmark = pytest.mark.usefixtures("gadgets")

LABELS: dict[str, dict[str, str]] = {
    "one": {"n": "1", "all": "x"},
    "two": {"n": "2", "all": "x", "example.com/own": ""},
    "three": {"n": "3"},
    "word": {"n": "word"},
    "bare": {},
}


@pytest.fixture(scope="module")
def namespace_of_labels(api: Api) -> Iterator[str]:
    """A namespace with an object for each set of labels, of a kind that nobody else makes."""
    made = api.create(a_manifest("Namespace", "v1", metadata={"generateName": "e2e-"})).expect(201)
    namespace: str = made["metadata"]["name"]
    for name, labels in LABELS.items():
        metadata = {"name": name, "namespace": namespace, "labels": labels}
        api.create(a_manifest(*GADGET, metadata=metadata)).expect(201)
    yield namespace
    api.delete(made).expect(200)


def listing(api: Api, namespace: str, **query: str) -> Answer:
    return api.listing(a_manifest(*GADGET, metadata={"namespace": namespace}), **query)


def names(answer: Answer) -> list[str]:
    return [item["metadata"]["name"] for item in answer.expect(200)["items"]]


@pytest.mark.parametrize(
    "selector, selected",
    [
        ("n=1", "one"),
        ("n==1", "one"),
        (" n = 1 ", "one"),
        ("n!=1", "bare three two word"),
        ("n in (1,2)", "one two"),
        ("n in ( 1 , 2 )", "one two"),
        ("n in ()", ""),
        ("n notin (1,2)", "bare three word"),
        ("n", "one three two word"),
        ("!n", "bare"),
        ("! n", "bare"),
        ("n>1", "three two"),
        ("n<2", "one"),
        ("n,all=x", "one two"),
        ("n=1,n=2", ""),
        ("n!=1,n!=2,n", "three word"),
        ("example.com/own", "two"),
        ("example.com/own=", "two"),
        ("n=", ""),
        ("unknown", ""),
        ("", "bare one three two word"),
        ("in=1", ""),
    ],
)
def test_labels_select(selector: str, selected: str, api: Api, namespace_of_labels: str) -> None:
    assert names(listing(api, namespace_of_labels, labelSelector=selector)) == selected.split()


def test_a_selector_may_be_long(api: Api, namespace_of_labels: str) -> None:
    many = ",".join(f"value-{number}" for number in range(2_000))

    answer = listing(api, namespace_of_labels, labelSelector=f"n in (1,{many})")

    assert names(answer) == ["one"]


@pytest.mark.parametrize(
    "selector, message",
    [
        ("=", "found '=', expected: !, identifier, or 'end of string'"),
        ("n>=1", "unable to parse requirement: found '=', expected: identifier"),
        ("n in (1", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("n in 1", "unable to parse requirement: found '1' expected: '('"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("n=a b", "found 'b', expected: ',' or 'end of string'"),
        ("!n=1", "found '=', expected: ',' or 'end of string'"),
        ("n=1,", "found '', expected: identifier after ','"),
        ("n>x", "for 'Gt', 'Lt' operators, the value must be an integer"),
        ("x/y/z", "a valid label key must consist of alphanumeric characters"),
        ("n=!", "unable to parse requirement: found '!', expected: identifier"),
        ("n=" + "a" * 64, "must be no more than 63 bytes"),
    ],
)
def test_labels_that_cannot_be_read_are_refused(
    selector: str, message: str, api: Api, namespace_of_labels: str
) -> None:
    answer = listing(api, namespace_of_labels, labelSelector=selector)

    answer.expect_refusal(400, "BadRequest", message)


@pytest.mark.parametrize(
    "selector, selected",
    [
        ("metadata.name=one", "one"),
        ("metadata.name==one", "one"),
        ("metadata.name!=one", "bare three two word"),
        ("metadata.name=one,metadata.name=two", ""),
        ("metadata.namespace=nowhere", ""),
        ("metadata.name=one,", "one"),
        ("metadata.name=", ""),
        ("metadata.name=a\\,b", ""),
        ("", "bare one three two word"),
    ],
)
def test_fields_select(selector: str, selected: str, api: Api, namespace_of_labels: str) -> None:
    assert names(listing(api, namespace_of_labels, fieldSelector=selector)) == selected.split()


@pytest.mark.parametrize("selector", ["metadata.name", "metadata.name in (a)", "metadata.name>a"])
def test_fields_that_cannot_be_read_are_refused(
    selector: str, api: Api, namespace_of_labels: str
) -> None:
    answer = listing(api, namespace_of_labels, fieldSelector=selector)

    message = f"invalid selector: '{selector}'; can't understand '{selector}'"
    answer.expect_refusal(400, "BadRequest", message)


@pytest.mark.parametrize(
    "selector, message",
    [
        ("metadata.name=a\\", "invalid field selector: invalid escape sequence: \\"),
        ("metadata.name=a\\x", "invalid field selector: invalid escape sequence: \\x"),
        ("metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
    ],
)
def test_values_of_fields_are_escaped(
    selector: str, message: str, api: Api, namespace_of_labels: str
) -> None:
    answer = listing(api, namespace_of_labels, fieldSelector=selector)

    answer.expect_refusal(400, "BadRequest", message)


@pytest.mark.parametrize("selector", ["a>9223372036854775808", "a<-1", "a>x", "a>1_0"])
def test_labels_are_compared_with_numbers_only(
    selector: str, api: Api, namespace_of_labels: str
) -> None:
    answer = listing(api, namespace_of_labels, labelSelector=selector)

    answer.expect_refusal(400, "BadRequest", "unable to parse requirement: values[0]")


@pytest.mark.parametrize(
    "kind, selector, message",
    [
        (
            ("ConfigMap", "v1"),
            "data.a=b",
            '"data.a" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        (("Pod", "v1"), "spec.hostname=x", "field label not supported: spec.hostname"),
        (GADGET, "spec.size=1", "field label not supported: spec.size"),
    ],
    ids=str,
)
def test_a_field_that_nobody_can_select_by_is_refused(
    kind: tuple[str, str], selector: str, message: str, probe: Probe
) -> None:
    answer = probe.api.listing(probe.a(*kind), fieldSelector=selector)

    answer.expect_refusal(400, "BadRequest", message)


def test_custom_resources_are_selected_by_fields_of_their_definition(probe: Probe) -> None:
    color = probe.a_name("c")[-10:]
    made = probe.create(probe.a(*GADGET, {"spec.color": color}))
    probe.create(probe.a(*GADGET))

    found = probe.found(made, fieldSelector=f"spec.color={color}")

    assert found == [made]


@pytest.mark.parametrize(
    "selector",
    [
        "spec.nodeName=",
        "spec.nodeName!=somewhere",
        "spec.schedulerName=nobody",
        "spec.restartPolicy=Always",
        "status.phase=Pending",
        "status.phase!=Running",
    ],
)
def test_pods_are_selected_by_where_and_how_they_are(selector: str, probe: Probe) -> None:
    made = probe.create(probe.a("Pod", "v1", spec=POD))
    by_name = f"metadata.name={made['metadata']['name']}"

    assert len(probe.found(made, fieldSelector=f"{selector},{by_name}")) == 1
    opposite = selector.replace("!=", "?").replace("=", "!=").replace("?", "=")
    assert probe.found(made, fieldSelector=f"{opposite},{by_name}") == []


@pytest.mark.parametrize(
    "selector", ["involvedObject.kind=Pod", "reason=Because", "type=Warning", "source=me"]
)
def test_events_are_selected_by_what_they_are_about(selector: str, probe: Probe) -> None:
    event = probe.a(
        "Event",
        "v1",
        involvedObject={"kind": "Pod", "name": "p", "namespace": probe.namespace},
        reason="Because",
        type="Warning",
        source={"component": "me"},
    )
    name = probe.create(event)["metadata"]["name"]

    found = probe.found(event, fieldSelector=f"{selector},metadata.name={name}")

    assert len(found) == 1


def test_namespaces_are_selected_by_their_phase(probe: Probe) -> None:
    made = probe.create(probe.a("Namespace", "v1"))
    name = made["metadata"]["name"]

    found = probe.found(made, fieldSelector=f"metadata.name={name},status.phase=Active")

    assert len(found) == 1
