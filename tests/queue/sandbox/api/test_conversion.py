"""Objects of custom kinds from one version to another."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from muster.queue.client.refusal import Refusal
from muster.queue.clock import LoopClock
from muster.queue.sandbox.api.conversion import Converter
from muster.queue.sandbox.api.https import Caller
from muster.queue.sandbox.kinds.resources import Object, Resource, Shared, Strategy
from muster.queue.sandbox.kinds.schemas import object_meta
from muster.queue.sandbox.schema.node import compile_definition
from tests.queue.sandbox.api.hooks import WIDGET, run

OLD, NEW = "example.com/v1", "example.com/v2"
URL = "https://convert"
FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
FILLED = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {"size": {"type": "integer"}, "unit": {"type": "string", "default": "m"}},
        }
    },
}
Answer = Callable[[Shared], Mapping[str, Any]]
"""Makes the `response` to a `request`, but for the uid."""


def a_resource(version: str, schema: Shared) -> Resource:
    return Resource(
        kind=WIDGET._replace(version=version),
        singular="widget",
        schema=compile_definition(schema, object_meta()),
        strategy=Strategy(),
        custom=True,
    )


RESOURCES = (a_resource("v1", FREE), a_resource("v2", FILLED))
WEBHOOK = {
    "strategy": "Webhook",
    "webhook": {"clientConfig": {"url": URL}, "conversionReviewVersions": ["v1"]},
}


def an_object(name: str = "a", **content: Any) -> Object:
    metadata = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "resourceVersion": "7"}
    return {"apiVersion": OLD, "kind": "Widget", "metadata": metadata, **content}


def convert(
    objects: list[Object],
    review: Answer | None = None,
    conversion: Shared | None = None,
) -> list[Object]:
    """Convert by a webhook that answers whole reviews, or without one."""

    async def handle(asked: Shared) -> Mapping[str, Any]:
        assert review
        return review(asked)

    given = conversion or (WEBHOOK if review else {"strategy": "None"})
    caller = Caller(LoopClock(0), {URL: handle})
    converter = Converter({"spec": {"conversion": given}}, RESOURCES, caller, lambda: "uid")
    return run(converter.convert(objects, NEW))


def answering(answer: Answer) -> Answer:
    """Return what answers in due form."""
    return lambda review: {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "response": {
            "uid": review["request"]["uid"],
            "result": {"status": "Success"},
            **answer(review["request"]),
        },
    }


def converting(change: Callable[[Object], Object]) -> Answer:
    """Return what answers with every object changed."""
    return answering(
        lambda request: {
            "convertedObjects": [
                change({**obj, "apiVersion": request["desiredAPIVersion"]})
                for obj in request["objects"]
            ]
        }
    )


def test_only_the_version_changes_without_a_webhook() -> None:
    (converted,) = convert([an_object(spec={"size": 1, "unit": "km"})])

    assert converted == {**an_object(), "apiVersion": NEW, "spec": {"size": 1, "unit": "km"}}


def test_the_new_schema_prunes_and_fills() -> None:
    (converted,) = convert([an_object(spec={"size": 1, "old": True})])

    assert converted["spec"] == {"size": 1, "unit": "m"}


def test_a_webhook_converts_all_objects_at_once() -> None:
    reviews: list[Shared] = []

    def review(asked: Shared) -> Mapping[str, Any]:
        reviews.append(asked)
        return converting(lambda obj: {**obj, "spec": {"size": 2}})(asked)

    objects = [an_object("a"), an_object("b")]
    converted = convert(objects, review)

    assert [obj["metadata"] for obj in converted] == [obj["metadata"] for obj in objects]
    assert [obj["spec"] for obj in converted] == [{"size": 2, "unit": "m"}] * 2
    assert reviews == [
        {
            "kind": "ConversionReview",
            "apiVersion": "apiextensions.k8s.io/v1",
            "request": {"uid": "uid", "desiredAPIVersion": NEW, "objects": objects},
        }
    ]


def test_nobody_is_asked_about_nothing() -> None:
    assert convert([], lambda _: {}) == []


def changing(**metadata: Any) -> Answer:
    return converting(lambda obj: {**obj, "metadata": {**obj["metadata"], **metadata}})


def test_a_webhook_may_change_labels_and_annotations_alone() -> None:
    given = an_object()
    given["metadata"] |= {"labels": {"a": "1"}, "finalizers": ["example.com/a"]}

    review = changing(labels={"b": "2"}, annotations={"c": "3"}, finalizers=[], generation=9)
    (converted,) = convert([given], review)

    assert converted["metadata"] == {
        **given["metadata"],
        "labels": {"b": "2"},
        "annotations": {"c": "3"},
    }


def test_a_webhook_may_drop_labels() -> None:
    given = an_object()
    given["metadata"]["labels"] = {"a": "1"}

    (converted,) = convert([given], changing(labels=None))

    assert "labels" not in converted["metadata"]


FAILED = "conversion webhook for example.com/v1, Kind=Widget failed: "
RETURNED = "conversion webhook for example.com/v1, Kind=Widget returned "
REVIEW = "apiextensions.k8s.io/v1, Kind=ConversionReview"
FORM = "invalid object at index 0"
FAULTS: list[tuple[str, Answer, str]] = [
    (
        "a failure",
        answering(lambda _: {"result": {"status": "Failed", "message": "no idea"}}),
        f"{FAILED}no idea",
    ),
    (
        "a failure without words",
        answering(lambda _: {"result": {"status": "Failed"}}),
        f"{FAILED}response.result.status was 'Failed', not 'Success'",
    ),
    (
        "another uid",
        answering(lambda _: {"uid": "x"}),
        f'{FAILED}expected response.uid="uid", got "x"',
    ),
    (
        "no response",
        lambda _: {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"},
        f"{FAILED}no response provided",
    ),
    (
        "no review",
        lambda _: {},
        f"{FAILED}expected webhook response of {REVIEW}, got /, Kind=",
    ),
    (
        "too few objects",
        answering(lambda _: {"convertedObjects": []}),
        f"{RETURNED}0 objects, expected 1",
    ),
    (
        "another version",
        converting(lambda obj: {**obj, "apiVersion": OLD}),
        f"{RETURNED}{FORM}: invalid groupVersion (expected {NEW}, received {OLD})",
    ),
    (
        "another kind",
        converting(lambda obj: {**obj, "kind": "Gadget"}),
        f"{RETURNED}invalid object at index 0: invalid kind (expected Widget, received Gadget)",
    ),
    ("no object", answering(lambda _: {"convertedObjects": [1]}), f"{RETURNED}invalid object"),
    (
        "no metadata",
        converting(lambda obj: {**obj, "metadata": None}),
        f"{RETURNED}invalid metadata: missing metadata in converted object",
    ),
    (
        "another name",
        changing(name="b"),
        f"{RETURNED}invalid object: must have the same name: a != b",
    ),
    (
        "another namespace",
        changing(namespace="b"),
        f"{RETURNED}invalid object: must have the same namespace: ns != b",
    ),
    (
        "another uid of an object",
        changing(uid="b"),
        f"{RETURNED}invalid object: must have the same UID: uid-a != b",
    ),
    (
        "a label that is no text",
        changing(labels={"a": 1}),
        f"{RETURNED}invalid metadata: metadata.labels[a] must be a string",
    ),
    ("labels that are none", changing(labels=[1]), f"{RETURNED}invalid metadata: "),
    ("a bad label", changing(labels={"a": "b c"}), f"{RETURNED}invalid metadata: "),
    ("a bad annotation", changing(annotations={"a b": "c"}), f"{RETURNED}invalid metadata: "),
]


@pytest.mark.parametrize(
    "review, told", [each[1:] for each in FAULTS], ids=[each[0] for each in FAULTS]
)
def test_an_answer_may_be_refused(review: Answer, told: str) -> None:
    with pytest.raises(Refusal) as refused:
        convert([an_object()], review)

    assert (refused.value.code, refused.value.reason) == (500, "")
    assert refused.value.message.startswith(told)


def test_bad_labels_may_stay() -> None:
    given = an_object()
    given["metadata"]["labels"] = {"a": "b c"}

    (converted,) = convert([given], changing())

    assert converted["metadata"]["labels"] == {"a": "b c"}


def test_a_webhook_may_be_out_of_reach() -> None:
    service = {"namespace": "ns", "name": "hooks"}
    webhook = {"clientConfig": {"service": service}, "conversionReviewVersions": ["v1"]}

    with pytest.raises(Refusal) as refused:
        convert([an_object()], None, {"strategy": "Webhook", "webhook": webhook})

    assert refused.value.message.startswith(FAILED)
    assert "use clientConfig.url" in refused.value.message


@pytest.mark.parametrize(
    "change, told",
    [
        ({"kind": "Gadget"}, "invalid converted object at index 1: invalid kind"),
        ({"metadata": {"name": "x"}}, "invalid converted object at index 1: must have the same"),
        ({"metadata": None}, "invalid metadata in object at index 1: missing metadata"),
    ],
)
def test_a_refusal_tells_which_of_several_objects(change: Object, told: str) -> None:
    review = converting(lambda obj: obj | change if obj["metadata"]["name"] == "b" else obj)

    with pytest.raises(Refusal) as refused:
        convert([an_object("a"), an_object("b")], review)

    assert refused.value.message.startswith(f"{RETURNED}{told}")
