"""Server-side apply among several managers: who owns what, may change it, and takes it along."""

from typing import Any

import pytest

from tests.e2e.api import APPLY, JSON, JSON_PATCH, MERGE, Answer, place
from tests.e2e.probes.gadgets import GADGET
from tests.e2e.probes.probe import Probe
from tests.queue.api.manifests import Manifest, changed

pytestmark = pytest.mark.usefixtures("gadgets")

CONFLICT = "Apply failed with 1 conflict: "


class Shared:
    """An object that several managers have a hand in."""

    def __init__(self, probe: Probe, manifest: Manifest) -> None:
        self.api = probe.api
        self.manifest = manifest

    def apply(
        self, manager: str, subresource: str = "", /, force: str = "", **content: Any
    ) -> Answer:
        query = {"fieldManager": manager} | ({"force": force} if force else {})
        path = place(self.manifest) + subresource
        return self.api.request("PATCH", path, {**self.manifest, **content}, APPLY, **query)

    def merge(self, manager: str, patch: Manifest, subresource: str = "") -> Manifest:
        path = place(self.manifest) + subresource
        return self.api.request("PATCH", path, patch, MERGE, fieldManager=manager).expect(200)

    def get(self) -> Manifest:
        return self.api.get(self.manifest).expect(200)


@pytest.fixture
def shared(probe: Probe) -> Shared:
    return Shared(probe, probe.a("ConfigMap", "v1"))


@pytest.fixture
def gadget(probe: Probe) -> Shared:
    return Shared(probe, probe.a(*GADGET))


def owned(manifest: Manifest) -> dict[str, Any]:
    """Return what each manager owns: by its name, operation and subresource in short."""
    entries = manifest["metadata"].get("managedFields", [])
    return {
        " ".join(
            filter(None, (entry["manager"], entry["operation"], entry.get("subresource")))
        ): entry["fieldsV1"]
        for entry in entries
    }


def data(*names: str) -> Manifest:
    """Return the set of these keys of a map."""
    return {"f:data": {f"f:{name}": {} for name in names}}


# -- conflicts -----------------------------------------------------------------------------------


def test_another_value_is_a_conflict(shared: Shared) -> None:
    made = shared.apply("first", data={"a": "b"}).expect(201)

    answer = shared.apply("second", data={"a": "c"})

    details = answer.expect_refusal(409, "Conflict")
    assert answer.message == f'{CONFLICT}conflict with "first": .data.a'
    assert details == {
        "causes": [
            {
                "reason": "FieldManagerConflict",
                "message": 'conflict with "first"',
                "field": ".data.a",
            }
        ]
    }
    assert shared.get() == made


def test_every_conflict_is_named(shared: Shared) -> None:
    shared.apply("first", data={"a": "b", "c": "d"}).expect(201)
    shared.apply("second", data={"e": "f"}).expect(200)

    answer = shared.apply("third", data={"a": "x", "c": "x", "e": "x"})

    answer.expect_refusal(409, "Conflict", "Apply failed with 3 conflicts: ")
    assert sorted((cause["message"], cause["field"]) for cause in answer.causes) == [
        ('conflict with "first"', ".data.a"),
        ('conflict with "first"', ".data.c"),
        ('conflict with "second"', ".data.e"),
    ]


def test_a_conflict_with_who_does_not_apply_tells_the_version(shared: Shared) -> None:
    shared.apply("first", data={"a": "b"}).expect(201)
    shared.merge("second", {"data": {"a": "c"}})

    answer = shared.apply("first", data={"a": "b"})

    answer.expect_refusal(409, "Conflict", f'{CONFLICT}conflict with "second" using v1: .data.a')


def test_force_takes_a_field_away(shared: Shared) -> None:
    shared.apply("first", data={"a": "b", "c": "d"}).expect(201)

    kept = shared.apply("second", force="true", data={"a": "x"}).expect(200)

    assert kept["data"] == {"a": "x", "c": "d"}
    assert owned(kept) == {"first Apply": data("c"), "second Apply": data("a")}


def test_force_takes_nothing_without_a_conflict(shared: Shared) -> None:
    shared.apply("first", data={"a": "b"}).expect(201)

    kept = shared.apply("second", force="true", data={"a": "b"}).expect(200)

    assert owned(kept) == {"first Apply": data("a"), "second Apply": data("a")}


# -- sharing -------------------------------------------------------------------------------------


def test_the_same_value_is_shared(shared: Shared) -> None:
    shared.apply("first", data={"a": "b"}).expect(201)

    kept = shared.apply("second", data={"a": "b"}).expect(200)

    assert owned(kept) == {"first Apply": data("a"), "second Apply": data("a")}


def test_who_shares_may_not_change_alone(shared: Shared) -> None:
    shared.apply("first", data={"a": "b"}).expect(201)
    shared.apply("second", data={"a": "b"}).expect(200)

    answer = shared.apply("first", data={"a": "c"})

    answer.expect_refusal(409, "Conflict", f'{CONFLICT}conflict with "second": .data.a')


def test_another_field_is_no_matter(shared: Shared) -> None:
    shared.apply("first", data={"a": "b"}).expect(201)

    kept = shared.apply("second", data={"c": "d"}).expect(200)

    assert kept["data"] == {"a": "b", "c": "d"}


def test_what_is_left_out_goes(shared: Shared) -> None:
    shared.apply("first", data={"a": "b", "c": "d"}).expect(201)

    kept = shared.apply("first", data={"c": "d"}).expect(200)

    assert kept["data"] == {"c": "d"}
    assert owned(kept) == {"first Apply": data("c")}


def test_what_is_shared_stays_when_one_leaves_it_out(shared: Shared) -> None:
    shared.apply("first", data={"a": "b", "c": "d"}).expect(201)
    shared.apply("second", data={"a": "b"}).expect(200)

    kept = shared.apply("first", data={"c": "d"}).expect(200)

    assert kept["data"] == {"a": "b", "c": "d"}
    assert owned(kept) == {"first Apply": data("c"), "second Apply": data("a")}


def test_what_somebody_else_wrote_is_not_removed(shared: Shared) -> None:
    shared.apply("first", data={"a": "b"}).expect(201)
    shared.merge("second", {"data": {"c": "d"}})

    kept = shared.apply("first", data={"a": "b"}).expect(200)

    assert kept["data"] == {"a": "b", "c": "d"}


def test_who_applies_nothing_gives_up_everything(shared: Shared) -> None:
    shared.apply("first", data={"a": "b"}).expect(201)
    shared.apply("second", data={"c": "d"}).expect(200)

    kept = shared.apply("first").expect(200)

    assert kept["data"] == {"c": "d"}
    assert owned(kept) == {"second Apply": data("c")}


def test_the_last_one_takes_the_map_along(shared: Shared) -> None:
    shared.apply("first", data={"a": "b"}).expect(201)

    kept = shared.apply("first").expect(200)

    assert "data" not in kept
    assert owned(kept) == {}


def test_a_removed_field_gets_its_default(gadget: Shared) -> None:
    gadget.apply("first", spec={"size": 3, "mode": "fast"}).expect(201)

    kept = gadget.apply("first", spec={"mode": "fast"}).expect(200)

    assert kept["spec"] == {"mode": "fast", "size": 1}


# -- other verbs ---------------------------------------------------------------------------------


def test_who_changes_a_value_owns_it(shared: Shared) -> None:
    shared.apply("first", data={"a": "b", "c": "d"}).expect(201)

    kept = shared.merge("second", {"data": {"a": "x"}})

    assert owned(kept) == {"first Apply": data("c"), "second Update": data("a")}


def test_who_writes_the_same_value_does_not(shared: Shared) -> None:
    made = shared.apply("first", data={"a": "b"}).expect(201)

    assert shared.merge("second", {"data": {"a": "b"}}) == made


def test_who_replaces_owns_what_is_new(shared: Shared) -> None:
    made = shared.apply("first", data={"a": "b", "c": "d"}).expect(201)
    body = changed(made, {"data": {"a": "b", "e": "f"}})

    kept = shared.api.request("PUT", place(made), body, JSON, fieldManager="second").expect(200)

    assert owned(kept) == {"first Apply": data("a"), "second Update": data("e")}


def test_who_creates_owns_all_and_the_maps_themselves(probe: Probe) -> None:
    made = probe.create(probe.a(*GADGET, spec={"mode": "fast"}), fieldManager="first")

    assert owned(made) == {"first Update": {"f:spec": {".": {}, "f:mode": {}, "f:size": {}}}}


def test_what_is_gone_is_nobodys(shared: Shared) -> None:
    shared.apply("first", data={"a": "b", "c": "d"}).expect(201)

    kept = shared.merge("second", {"data": {"a": None}})

    assert owned(kept) == {"first Apply": data("c")}


def test_one_manager_has_an_entry_for_each_way(shared: Shared) -> None:
    shared.apply("first", data={"a": "b"}).expect(201)

    kept = shared.merge("first", {"data": {"c": "d"}})

    assert owned(kept) == {"first Apply": data("a"), "first Update": data("c")}


def test_applying_what_oneself_wrote_is_no_conflict(shared: Shared) -> None:
    """A manager that begins to apply may take over from its former self only by force."""
    shared.apply("other", data={"a": "b"}).expect(201)
    shared.merge("first", {"data": {"c": "d"}})

    answer = shared.apply("first", data={"c": "x"})

    answer.expect_refusal(409, "Conflict", 'conflict with "first"')


def test_changes_before_the_first_apply_have_an_owner(probe: Probe) -> None:
    """An object that nobody managed is managed from the first apply on."""
    made = probe.create(probe.a("ConfigMap", "v1"))
    assert "managedFields" not in made["metadata"]
    probe.api.patch(made, {"data": {"a": "b"}}).expect(200)
    shared = Shared(
        probe,
        {key: made[key] for key in ("apiVersion", "kind")}
        | {"metadata": {key: made["metadata"][key] for key in ("name", "namespace")}},
    )

    kept = shared.apply("first", data={"c": "d"}).expect(200)

    assert owned(kept) == {
        "before-first-apply Update": {"f:data": {".": {}, "f:a": {}}},
        "first Apply": data("c"),
    }


def test_nobody_is_asked_before_the_first_apply(probe: Probe) -> None:
    made = probe.create(probe.a("ConfigMap", "v1"))

    kept = probe.api.patch(made, {"data": {"a": "b"}}).expect(200)

    assert owned(kept) == {}


# -- managed fields as a field -------------------------------------------------------------------


@pytest.mark.parametrize("value", [[{}], []], ids=str)
def test_managers_are_forgotten_on_request(value: list[Any], shared: Shared) -> None:
    shared.apply("first", data={"a": "b"}).expect(201)

    kept = shared.merge("second", {"metadata": {"managedFields": value}})

    assert "managedFields" not in kept["metadata"]
    assert kept["data"] == {"a": "b"}


@pytest.mark.parametrize(
    "value",
    [None, [{"manager": "x", "operation": "Sing", "apiVersion": "v1", "fieldsType": "FieldsV1"}]],
    ids=["null", "an unknown operation"],
)
def test_managers_are_not_forgotten_by_mistake(value: Any, shared: Shared) -> None:
    made = shared.apply("first", data={"a": "b"}).expect(201)

    assert shared.merge("first", {"metadata": {"managedFields": value}}) == made


def test_an_entry_may_be_taken_out(shared: Shared) -> None:
    shared.apply("first", data={"a": "b"}).expect(201)
    made = shared.apply("second", data={"c": "d"}).expect(200)
    (index,) = [
        index
        for index, entry in enumerate(made["metadata"]["managedFields"])
        if entry["manager"] == "first"
    ]
    patch = [{"op": "remove", "path": f"/metadata/managedFields/{index}"}]

    kept = shared.api.patch(made, patch, JSON_PATCH).expect(200)

    assert owned(kept) == {"second Apply": data("c")}


def test_entries_are_in_order(shared: Shared) -> None:
    """Who applies comes first; then it is by time and by name."""
    for manager in ("b", "a", "c"):
        assert shared.apply(manager, data={manager: "x"}).code in {200, 201}
    kept = shared.merge("a", {"data": {"d": "x"}})

    entries = kept["metadata"]["managedFields"]
    assert [entry["operation"] for entry in entries] == ["Apply", "Apply", "Apply", "Update"]
    order = [(entry["operation"], entry["time"], entry["manager"]) for entry in entries]
    assert order == sorted(order)


# -- status --------------------------------------------------------------------------------------


def test_a_status_is_owned_apart(gadget: Shared) -> None:
    gadget.apply("first", spec={"size": 2}).expect(201)

    kept = gadget.apply("first", "/status", status={"phase": "Done"}).expect(200)

    assert kept["status"] == {"phase": "Done"}
    assert owned(kept) == {
        "first Apply": {"f:spec": {"f:size": {}}},
        "first Apply status": {"f:status": {"f:phase": {}}},
    }


def test_a_spec_applied_to_the_status_is_ignored(gadget: Shared) -> None:
    gadget.apply("first", spec={"size": 2}).expect(201)

    kept = gadget.apply("second", "/status", spec={"size": 9}, status={"phase": "Done"})

    assert kept.expect(200)["spec"] == {"size": 2}
    assert owned(kept.body)["second Apply status"] == {"f:status": {"f:phase": {}}}


def test_a_conflict_of_status_says_so(gadget: Shared) -> None:
    gadget.apply("first", spec={"size": 2}).expect(201)
    gadget.apply("second", "/status", status={"phase": "Done"}).expect(200)

    answer = gadget.apply("third", "/status", status={"phase": "Running"})

    answer.expect_refusal(409, "Conflict")
    assert answer.causes[0]["message"] == 'conflict with "second" with subresource "status"'
    assert answer.fields == [".status.phase"]


def test_what_is_left_out_of_a_status_goes(gadget: Shared) -> None:
    gadget.apply("first", spec={"size": 2}).expect(201)
    ready = {"type": "Ready", "status": "True"}
    done = {"type": "Done", "status": "False"}
    gadget.apply("one", "/status", status={"phase": "x", "conditions": [ready]}).expect(200)
    gadget.apply("two", "/status", status={"conditions": [done]}).expect(200)

    kept = gadget.apply("one", "/status", status={"conditions": [ready]}).expect(200)
    left = gadget.apply("one", "/status", status={}).expect(200)

    assert kept["status"] == {"conditions": [ready, done]}
    assert left["status"] == {"conditions": [done]}


def test_an_update_of_the_status_is_owned_apart(gadget: Shared) -> None:
    gadget.apply("first", spec={"size": 2}).expect(201)

    kept = gadget.merge("second", {"status": {"phase": "Done"}}, "/status")

    assert owned(kept)["second Update status"] == {"f:status": {".": {}, "f:phase": {}}}
