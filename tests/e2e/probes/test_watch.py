"""Watches: where they begin, what they tell, and how they end."""

from collections.abc import Iterator

import pytest

from tests.e2e.api import Api, collection, place
from tests.e2e.probes.gadgets import GADGET
from tests.e2e.probes.probe import POD, Probe, causes
from tests.queue.api.manifests import Manifest, a_manifest

pytestmark = pytest.mark.usefixtures("gadgets")

LEASE = "Lease", "coordination.k8s.io/v1"
END_OF_INITIAL_EVENTS = {"k8s.io/initial-events-end": "true"}
# What is asked for must come at once; the time is for a watch that tells nothing more.
SHORTLY = {"timeoutSeconds": "1"}


@pytest.fixture
def room(api: Api) -> Iterator["Room"]:
    """A namespace in which nobody else has leases."""
    made = api.create(a_manifest("Namespace", "v1", metadata={"generateName": "e2e-"})).expect(201)
    yield Room(api, made["metadata"]["name"])
    api.delete(made).expect(200)


class Room:
    """Leases to watch."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.namespace = namespace
        self.path = collection(self.lease(""))

    def lease(self, name: str, **labels: str) -> Manifest:
        metadata = {"name": name, "namespace": self.namespace, "labels": labels}
        return a_manifest(*LEASE, metadata=metadata)

    def create(self, name: str, **labels: str) -> Manifest:
        return self.api.create(self.lease(name, **labels)).expect(201)

    def label(self, name: str, **labels: str | None) -> Manifest:
        patch = {"metadata": {"labels": labels}}
        return self.api.patch(self.lease(name), patch).expect(200)

    def delete(self, name: str) -> None:
        self.api.delete(self.lease(name)).expect(200)

    def told(self, count: int, **query: str) -> list[tuple[str, Manifest]]:
        """Return type and object of the first events of a watch."""
        with self.api.watch(self.path, **query) as events:
            return [(event["type"], event["object"]) for event in events.take(count)]

    def all_told(self, **query: str) -> list[str]:
        """Return type and name of every event of a short watch."""
        with self.api.watch(self.path, **SHORTLY, **query) as events:
            return [
                f"{event['type']} {event['object']['metadata'].get('name')}" for event in events
            ]


def version(manifest: Manifest) -> str:
    resource_version: str = manifest["metadata"]["resourceVersion"]
    return resource_version


# -- where it begins -----------------------------------------------------------------------------


def test_it_tells_all_that_came_after_a_version_in_order(room: Room) -> None:
    first = room.create("a")
    second = room.create("b")
    changed = room.label("a", x="1")
    again = room.label("a", x="2")
    room.delete("b")

    told = room.told(4, resourceVersion=version(first))

    assert told[:3] == [("ADDED", second), ("MODIFIED", changed), ("MODIFIED", again)]
    kind, gone = told[3]
    assert kind == "DELETED"
    assert int(version(gone)) > int(version(again))
    assert gone == {**second, "metadata": {**second["metadata"], "resourceVersion": version(gone)}}


@pytest.mark.parametrize("query", [{}, {"resourceVersion": "0"}], ids=str)
def test_without_a_version_it_begins_with_what_is(query: dict[str, str], room: Room) -> None:
    room.create("a")
    kept = room.label("a", x="1")
    room.create("b")
    room.delete("b")

    assert room.all_told(**query) == ["ADDED a"]
    assert room.told(1, **query) == [("ADDED", kept)]


def test_it_goes_on_with_what_comes(room: Room) -> None:
    first = room.create("a")
    with room.api.watch(room.path, resourceVersion=version(first)) as events:
        kept = room.label("a", x="1")
        assert next(events) == {"type": "MODIFIED", "object": kept}
        other = room.create("b")
        assert next(events) == {"type": "ADDED", "object": other}


def test_a_list_and_a_watch_from_its_version_miss_nothing(room: Room) -> None:
    room.create("a")
    listed = room.api.listing(room.lease("")).expect(200)
    other = room.create("b")

    assert room.told(1, resourceVersion=version(listed)) == [("ADDED", other)]


def test_a_change_that_changes_nothing_is_not_told(room: Room) -> None:
    first = room.create("a", x="1")
    room.label("a", x="1")
    kept = room.label("a", x="2")

    assert room.told(1, resourceVersion=version(first)) == [("MODIFIED", kept)]


def test_it_may_begin_with_initial_events_and_say_when_they_end(room: Room) -> None:
    first = room.create("a")

    told = room.told(
        2,
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks="true",
    )

    (kind, mark) = told[1]
    assert told[0] == ("ADDED", first)
    assert kind == "BOOKMARK"
    assert mark["kind"] == "Lease"
    assert mark["apiVersion"] == "coordination.k8s.io/v1"
    assert mark["metadata"]["annotations"] == END_OF_INITIAL_EVENTS
    assert int(version(mark)) >= int(version(first))


def test_no_initial_events_also_have_an_end(room: Room) -> None:
    ((kind, mark),) = room.told(
        1,
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks="true",
        resourceVersion="0",
    )

    assert kind == "BOOKMARK"
    assert mark["metadata"]["annotations"] == END_OF_INITIAL_EVENTS


def test_it_may_do_without_initial_events(room: Room) -> None:
    room.create("a")

    told = room.all_told(
        sendInitialEvents="false",
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks="true",
    )

    assert [line for line in told if not line.startswith("BOOKMARK")] == []


def test_who_is_not_told_the_end_of_initial_events_is_told_them(room: Room) -> None:
    room.create("a")

    told = room.all_told(sendInitialEvents="true", resourceVersionMatch="NotOlderThan")

    assert told == ["ADDED a"]


@pytest.mark.parametrize(
    "query, message",
    [
        (
            {"sendInitialEvents": "true"},
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ),
        (
            {"sendInitialEvents": "true", "resourceVersionMatch": "Exact", "resourceVersion": "0"},
            'Unsupported value: "Exact": supported values: "NotOlderThan"',
        ),
        (
            {"resourceVersionMatch": "NotOlderThan", "resourceVersion": "0"},
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ),
    ],
    ids=str,
)
def test_a_beginning_that_makes_no_sense_is_refused(
    query: dict[str, str], message: str, room: Room
) -> None:
    answer = room.api.request("GET", room.path, watch="true", **SHORTLY, **query)

    answer.expect_refusal(422, "Invalid", message)
    assert causes(answer)[0] == ("FieldValueForbidden", "resourceVersionMatch")


def test_a_version_of_the_distant_past_is_gone(probe: Probe) -> None:
    """A kind has no history from before its definition."""
    path = collection(probe.a(*GADGET))

    with probe.api.watch(path, resourceVersion="1") as events:
        (event,) = events

    assert event["type"] == "ERROR"
    message = event["object"].pop("message")
    assert message.startswith("too old resource version: 1 (")
    assert event["object"] == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "reason": "Expired",
        "code": 410,
    }


def test_a_version_is_a_number(room: Room) -> None:
    answer = room.api.request("GET", room.path, watch="true", resourceVersion="x", **SHORTLY)

    assert answer.code in {400, 500}
    assert 'Invalid value: "x"' in answer.message


# -- who is meant --------------------------------------------------------------------------------


def test_objects_come_and_go_as_a_selector_says(room: Room) -> None:
    first = room.create("a")
    arrived = room.label("a", x="1")
    changed = room.label("a", y="1")
    gone = room.label("a", x=None)
    room.label("a", y="2")
    back = room.label("a", x="1")
    room.delete("a")

    told = room.told(5, resourceVersion=version(first), labelSelector="x=1")

    kinds = [kind for kind, _ in told]
    assert kinds == ["ADDED", "MODIFIED", "DELETED", "ADDED", "DELETED"]
    assert told[0][1] == arrived
    assert told[1][1] == changed
    assert told[3][1] == back
    # As it was when it was still meant, with the version of the change that made it go.
    left = told[2][1]
    assert left == {
        **changed,
        "metadata": {**changed["metadata"], "resourceVersion": version(gone)},
    }


def test_one_object_is_watched_by_its_name(room: Room) -> None:
    first = room.create("a")
    room.create("b")
    room.label("b", x="1")
    kept = room.label("a", x="1")

    told = room.told(1, resourceVersion=version(first), fieldSelector="metadata.name=a")

    assert told == [("MODIFIED", kept)]


def test_pods_come_when_they_get_a_node(probe: Probe) -> None:
    made = probe.create(probe.a("Pod", "v1", spec=POD))
    node = probe.a_name("node")
    query = {"fieldSelector": f"spec.nodeName={node}", "resourceVersion": version(made)}
    metadata = {"name": made["metadata"]["name"]}
    binding = a_manifest("Binding", "v1", metadata=metadata, target={"name": node})

    with probe.api.watch(collection(made), **query) as events:
        probe.api.request("POST", f"{place(made)}/binding", binding).expect(201)
        event = next(events)

    assert event["type"] == "ADDED"
    assert event["object"]["spec"]["nodeName"] == node
    probe.delete(made, gracePeriodSeconds=0).expect(200)


def test_all_namespaces_are_watched_at_once(room: Room) -> None:
    first = room.create("a")
    path = "/apis/coordination.k8s.io/v1/leases"
    query = {"fieldSelector": f"metadata.namespace={room.namespace}"}

    with room.api.watch(path, resourceVersion=version(first), **query) as events:
        kept = room.label("a", x="1")
        assert next(events)["object"] == kept


@pytest.mark.parametrize(
    "query, message",
    [
        ({"labelSelector": "="}, "found '=', expected: !, identifier, or 'end of string'"),
        ({"fieldSelector": "a.b=c"}, '"a.b" is not a known field selector'),
        ({"timeoutSeconds": "x"}, 'strconv.ParseInt: parsing "x": invalid syntax'),
    ],
    ids=str,
)
def test_what_cannot_be_read_is_refused(query: dict[str, str], message: str, room: Room) -> None:
    answer = room.api.request("GET", room.path, watch="true", **query)

    answer.expect_refusal(400, "BadRequest", message)


def test_one_object_is_not_watched_at_its_own_path(room: Room) -> None:
    made = room.create("a")

    assert room.api.get(made, watch="true").expect(200) == made


# -- what it tells -------------------------------------------------------------------------------


def test_the_last_finalizer_is_told_as_the_end(room: Room) -> None:
    made = room.create("a")
    room.api.patch(made, {"metadata": {"finalizers": ["e2e.muster.dev/a"]}}).expect(200)
    going = room.api.delete(made).expect(200)
    room.api.patch(made, {"metadata": {"finalizers": None}}).expect(200)

    told = room.told(3, resourceVersion=version(made))

    assert [kind for kind, _ in told] == ["MODIFIED", "MODIFIED", "DELETED"]
    assert told[1][1] == going
    gone = told[2][1]["metadata"]
    assert gone["deletionTimestamp"] == going["metadata"]["deletionTimestamp"]
    assert int(gone["resourceVersion"]) > int(version(going))


def test_a_collection_is_told_one_by_one(room: Room) -> None:
    room.create("a")
    last = room.create("b")
    room.api.request("DELETE", room.path).expect(200)

    told = room.told(2, resourceVersion=version(last))

    assert sorted((kind, gone["metadata"]["name"]) for kind, gone in told) == [
        ("DELETED", "a"),
        ("DELETED", "b"),
    ]


def test_custom_resources_are_told_as_they_are_read(probe: Probe) -> None:
    made = probe.create(probe.a(*GADGET, {"spec.size": 3}))
    path = place(made) + "/status"
    kept = probe.api.request("PUT", path, {**made, "status": {"phase": "Done"}}).expect(200)

    with probe.watch(made, resourceVersion=version(made)) as events:
        assert next(events) == {"type": "MODIFIED", "object": kept}


def test_bookmarks_come_if_they_are_allowed(room: Room) -> None:
    first = room.create("a")
    query = {"resourceVersion": version(first), "allowWatchBookmarks": "true"}

    with room.api.watch(room.path, timeoutSeconds="3", **query) as events:
        told = list(events)

    assert {event["type"] for event in told} == {"BOOKMARK"}
    mark = told[-1]["object"]
    assert (mark["kind"], mark["apiVersion"]) == LEASE
    assert mark["metadata"].keys() == {"resourceVersion"}
    assert int(version(mark)) >= int(version(first))


def test_it_ends_in_time(room: Room) -> None:
    with room.api.watch(room.path, **SHORTLY) as events:
        assert list(events) == []
        assert events.headers["Content-Type"] == "application/json"
        assert events.headers["Transfer-Encoding"] == "chunked"


def test_it_tells_of_tables_to_who_shows_them(room: Room) -> None:
    made = room.create("a")
    accept = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}

    with room.api.watch(room.path, accept) as events:
        first = next(events)
        room.label("a", x="1")
        second = next(events)

    table = first["object"]
    assert (first["type"], table["kind"]) == ("ADDED", "Table")
    assert table["columnDefinitions"][0]["name"] == "Name"
    assert table["rows"][0]["cells"][0] == "a"
    assert table["rows"][0]["object"]["metadata"]["uid"] == made["metadata"]["uid"]
    # The columns are known by now.
    assert second["object"]["columnDefinitions"] is None
    assert len(second["object"]["rows"]) == 1


def test_it_tells_of_metadata_alone(room: Room) -> None:
    made = room.create("a")
    accept = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}

    with room.api.watch(room.path, accept) as events:
        told = next(events)["object"]

    assert told == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": made["metadata"],
    }
