"""Kinds of several versions: objects are seen in each, converted by nobody or by a webhook."""

from collections.abc import Callable, Iterator

import pytest

from tests.e2e.api import Api, collection, place
from tests.e2e.probes.definitions import (
    GROUP,
    INTEGER,
    STRING,
    a_definition,
    a_thing,
    an_object,
    define,
    defined,
    rule,
    ruled,
)
from tests.e2e.probes.hooks import Answer, Hook, Hooks
from tests.e2e.probes.probe import Probe, causes
from tests.queue.api.manifests import Manifest

SECOND: Manifest = {
    "name": "v2",
    "served": True,
    "storage": False,
    "schema": {
        "openAPIV3Schema": an_object(
            spec=an_object(words=STRING, word=STRING, count={**INTEGER, "default": 2, "minimum": 0})
        )
    },
}
FIRST_SPEC = an_object(word=STRING, count={**INTEGER, "default": 1})
TWO = {"spec.versions[1]": SECOND}


def v1(manifest: Manifest) -> Manifest:
    """Return a manifest in the first version, which is stored."""
    return {**manifest, "apiVersion": f"{GROUP}/v1"}


def v2(manifest: Manifest) -> Manifest:
    """Return a manifest in the second version."""
    return {**manifest, "apiVersion": f"{GROUP}/v2"}


@pytest.fixture(scope="module")
def things(api: Api, namespace: str) -> Iterator[Manifest]:
    """A kind of two versions that nobody converts."""
    with defined(api, namespace, FIRST_SPEC, TWO) as definition:
        yield definition


@pytest.mark.usefixtures("things")
def test_both_versions_are_discovered(probe: Probe) -> None:
    group = probe.api.request("GET", f"/apis/{GROUP}").expect(200)

    versions = [each["version"] for each in group["versions"]]
    assert versions[:2] == ["v2", "v1"]
    assert group["preferredVersion"]["version"] == "v2"


def test_an_object_is_seen_in_both_versions(things: Manifest, probe: Probe) -> None:
    made = probe.create(a_thing(probe, things, spec={"word": "a"}))

    seen = probe.get(v2(made))

    assert seen["apiVersion"] == f"{GROUP}/v2"
    assert seen["spec"] == {"word": "a", "count": 1}
    assert seen["metadata"]["uid"] == made["metadata"]["uid"]
    assert seen["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


def test_what_the_stored_version_does_not_know_is_lost(things: Manifest, probe: Probe) -> None:
    thing = v2(a_thing(probe, things, spec={"word": "a", "words": "b"}))

    made = probe.create(thing)

    assert made["spec"] == {"word": "a", "count": 2}
    assert probe.get(v1(made))["spec"] == {"word": "a", "count": 2}


def test_an_object_is_refused_in_its_version(things: Manifest, probe: Probe) -> None:
    thing = a_thing(probe, things, spec={"count": -1})

    probe.api.create(thing, dryRun="All").expect(201)
    assert probe.api.create(v2(thing)).code == 422


def test_a_watch_is_of_one_version(things: Manifest, probe: Probe) -> None:
    made = probe.create(a_thing(probe, things, spec={}))

    with probe.watch(v2(made)) as events:
        (event,) = events.take(1)

    assert event["object"]["apiVersion"] == f"{GROUP}/v2"


def test_fields_are_owned_in_a_version(things: Manifest, probe: Probe) -> None:
    made = probe.create(a_thing(probe, things, spec={"word": "a"}), fieldManager="one")

    now = probe.api.patch(v2(made), {"spec": {"word": "b"}}, fieldManager="two").expect(200)

    versions = {each["manager"]: each["apiVersion"] for each in now["metadata"]["managedFields"]}
    assert versions == {"one": f"{GROUP}/v1", "two": f"{GROUP}/v2"}


def rename(request: Manifest) -> Manifest:
    """Convert: what is `word` in the first version is `words` in the second."""
    version = request["desiredAPIVersion"]
    names = ("word", "words") if version.endswith("v2") else ("words", "word")
    converted = []
    for given in request["objects"]:
        spec = {**given.get("spec", {})}
        if names[0] in spec:
            spec[names[1]] = spec.pop(names[0])
        converted.append({**given, "apiVersion": version, "spec": spec})
    return {"result": {"status": "Success"}, "convertedObjects": converted}


def by(hook: Hook) -> Manifest:
    """Return changes to a definition that let a hook convert."""
    webhook = {"clientConfig": hook.client_config, "conversionReviewVersions": ["v1"]}
    return {**TWO, "spec.conversion": {"strategy": "Webhook", "webhook": webhook}}


@pytest.fixture(scope="module")
def converter(hooks: Hooks) -> Hook:
    return hooks.hook(rename)


@pytest.fixture(scope="module")
def converted(api: Api, namespace: str, converter: Hook) -> Iterator[Manifest]:
    """A kind of two versions that a webhook converts."""
    with defined(api, namespace, FIRST_SPEC, by(converter)) as definition:
        yield definition


def test_an_object_is_converted_to_be_seen(converted: Manifest, probe: Probe) -> None:
    made = probe.create(a_thing(probe, converted, spec={"word": "a"}))

    assert probe.get(v2(made))["spec"] == {"words": "a", "count": 1}


def test_an_object_is_converted_to_be_stored(converted: Manifest, probe: Probe) -> None:
    made = probe.create(v2(a_thing(probe, converted, spec={"words": "a"})))

    assert made["spec"] == {"words": "a", "count": 2}
    assert probe.get(v1(made))["spec"] == {"word": "a", "count": 2}


def test_an_object_is_changed_in_another_version(converted: Manifest, probe: Probe) -> None:
    made = probe.create(a_thing(probe, converted, spec={"word": "a"}))

    now = probe.api.patch(v2(made), {"spec": {"words": "b"}}).expect(200)

    assert now["spec"]["words"] == "b"
    assert probe.get(made)["spec"]["word"] == "b"


def test_objects_of_a_list_are_converted(converted: Manifest, probe: Probe) -> None:
    label = probe.a_name("l")
    changes = {"metadata.labels": {"probe": label}}
    for word in ("a", "b"):
        probe.create(a_thing(probe, converted, changes, spec={"word": word}))

    beside = v2(a_thing(probe, converted))
    found = probe.found(beside, labelSelector=f"probe={label}")

    assert sorted(each["spec"]["words"] for each in found) == ["a", "b"]


def test_events_are_converted(converted: Manifest, probe: Probe) -> None:
    made = probe.create(a_thing(probe, converted, spec={"word": "a"}))

    with probe.watch(v2(made)) as events:
        (event,) = events.take(1)

    assert event["object"]["spec"]["words"] == "a"


def test_a_converter_is_asked_to_convert(
    converted: Manifest, converter: Hook, probe: Probe
) -> None:
    made = probe.create(a_thing(probe, converted, spec={"word": "a"}))
    del converter.reviews[:]

    probe.get(v2(made))

    review = converter.reviews[-1]
    assert review["apiVersion"] == "apiextensions.k8s.io/v1"
    assert review["kind"] == "ConversionReview"
    assert review["request"]["desiredAPIVersion"] == f"{GROUP}/v2"
    (asked,) = review["request"]["objects"]
    assert asked["metadata"]["name"] == made["metadata"]["name"]
    assert asked["spec"] == {"word": "a", "count": 1}


def test_what_is_seen_as_it_is_stored_is_not_converted(
    converted: Manifest, converter: Hook, probe: Probe
) -> None:
    made = probe.create(a_thing(probe, converted, spec={"word": "a"}))
    del converter.reviews[:]

    probe.get(made)

    assert converter.reviews == []


Spoil = Callable[[Manifest], Manifest | bytes]


def without(name: str) -> Spoil:
    return lambda given: {key: value for key, value in rename(given).items() if key != name}


def renamed(given: Manifest) -> Manifest:
    answer = rename(given)
    for each in answer["convertedObjects"]:
        each["metadata"] = {**each["metadata"], "name": "other"}
    return answer


def unconverted(given: Manifest) -> Manifest:
    return {"result": {"status": "Success"}, "convertedObjects": given["objects"]}


def labelled(given: Manifest) -> Manifest:
    answer = rename(given)
    for each in answer["convertedObjects"]:
        each["metadata"] = {**each["metadata"], "labels": {"a": "b"}}
    return answer


SPOILT: list[tuple[str, Answer, str]] = [
    (
        "no",
        lambda _: {"result": {"status": "Failure", "message": "cannot"}, "convertedObjects": []},
        "failed: cannot",
    ),
    ("no result", without("result"), "failed"),
    ("no objects", without("convertedObjects"), "returned 0 objects, expected 1"),
    ("no JSON", lambda _: b"?", "failed"),
    ("the same version", unconverted, "invalid groupVersion"),
    ("another name", renamed, "must have the same name"),
]


@pytest.fixture(scope="module")
def spoilt_hook(hooks: Hooks) -> Hook:
    return hooks.hook(rename)


@pytest.fixture(scope="module")
def spoilt(api: Api, namespace: str, spoilt_hook: Hook) -> Iterator[Manifest]:
    with defined(api, namespace, FIRST_SPEC, by(spoilt_hook)) as definition:
        yield definition


@pytest.fixture
def spoil(spoilt_hook: Hook) -> Iterator[Hook]:
    """A converter that a test may spoil."""
    yield spoilt_hook
    spoilt_hook.answer = rename


@pytest.mark.parametrize("why, answer, words", SPOILT, ids=[row[0] for row in SPOILT])
def test_a_conversion_that_fails_is_told(
    why: str, answer: Answer, words: str, spoilt: Manifest, spoil: Hook, probe: Probe
) -> None:
    made = probe.create(a_thing(probe, spoilt, spec={"word": "a"}))
    spoil.answer = answer

    said = probe.api.get(v2(made))

    assert said.code == 500, why
    assert said.message.startswith(f"conversion webhook for {GROUP}/v1, Kind=")
    assert words in said.message
    probe.api.get(made).expect(200)


def test_a_conversion_may_change_labels_and_nothing_else_of_metadata(
    spoilt: Manifest, spoil: Hook, probe: Probe
) -> None:
    made = probe.create(a_thing(probe, spoilt, spec={"word": "a"}))
    spoil.answer = labelled

    assert probe.get(v2(made))["metadata"]["labels"] == {"a": "b"}


def test_a_conversion_that_nobody_serves_fails(probe: Probe, hooks: Hooks) -> None:
    nobody = hooks.hook()
    nobody.client_config["url"] = "https://127.0.0.1:1/"
    definition = define(probe, a_definition(probe, FIRST_SPEC, by(nobody)))
    made = probe.create(a_thing(probe, definition, spec={"word": "a"}))

    said = probe.api.get(v2(made))

    assert said.code == 500
    assert 'failed: Post "https://127.0.0.1:1/?timeout=30s": dial tcp' in said.message
    assert probe.api.request("GET", collection(v2(made))).code == 500
    assert probe.api.create(v2(a_thing(probe, definition, spec={}))).code == 500


def test_a_rule_is_of_its_version(probe: Probe) -> None:
    ruled_spec = ruled(an_object(word=STRING), rule("self.word != 'a'"))
    second = {**SECOND, "schema": {"openAPIV3Schema": an_object(spec=ruled_spec)}}
    changes = {"spec.versions[1]": second}
    definition = define(probe, a_definition(probe, FIRST_SPEC, changes))
    made = probe.create(a_thing(probe, definition, spec={"word": "a"}))
    assert place(made) != place(v2(made))

    answer = probe.api.create(v2(a_thing(probe, definition, spec={"word": "a"})))

    assert causes(answer) == [("FieldValueInvalid", "spec")]
