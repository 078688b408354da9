"""Server-side apply within lists and maps: by key, as sets, one by one, or as a whole."""

from typing import Any

import pytest

from tests.e2e.api import APPLY, Answer, place
from tests.e2e.probes.gadgets import GADGET
from tests.e2e.probes.probe import Probe
from tests.queue.api.manifests import Manifest

pytestmark = pytest.mark.usefixtures("gadgets")


class Gadget:
    """A gadget that several managers apply their specs to."""

    def __init__(self, probe: Probe) -> None:
        self.api = probe.api
        self.manifest = probe.a(*GADGET)

    def try_to_apply(self, manager: str, **spec: Any) -> Answer:
        body = {**self.manifest, "spec": spec}
        return self.api.request("PATCH", place(body), body, APPLY, fieldManager=manager)

    def apply(self, manager: str, **spec: Any) -> Manifest:
        answer = self.try_to_apply(manager, **spec)
        assert answer.code in {200, 201}, answer
        kept: Manifest = answer.body["spec"]
        return kept

    def owned(self) -> dict[str, Any]:
        """Return the fields of the spec that each manager owns."""
        entries = self.api.get(self.manifest).expect(200)["metadata"]["managedFields"]
        return {entry["manager"]: entry["fieldsV1"]["f:spec"] for entry in entries}


@pytest.fixture
def gadget(probe: Probe) -> Gadget:
    return Gadget(probe)


def names(parts: list[Manifest]) -> str:
    return " ".join(part["name"] for part in parts)


# -- by key --------------------------------------------------------------------------------------


def test_items_are_owned_by_key(gadget: Gadget) -> None:
    gadget.apply("first", parts=[{"name": "a", "color": "red"}])

    key = 'k:{"name":"a"}'
    assert gadget.owned() == {
        "first": {"f:parts": {key: {".": {}, "f:color": {}, "f:name": {}}}},
    }


def test_each_manager_has_items_of_its_own(gadget: Gadget) -> None:
    gadget.apply("first", parts=[{"name": "a"}, {"name": "b"}])
    both = gadget.apply("second", parts=[{"name": "c"}])
    left = gadget.apply("first", parts=[{"name": "b"}])

    assert names(both["parts"]) == "a b c"
    assert names(left["parts"]) == "b c"


def test_an_item_is_shared_field_by_field(gadget: Gadget) -> None:
    gadget.apply("first", parts=[{"name": "a", "color": "red"}])
    both = gadget.apply("second", parts=[{"name": "a", "weight": 7}])
    left = gadget.apply("first")

    assert both["parts"] == [{"name": "a", "color": "red", "weight": 7}]
    assert left["parts"] == [{"name": "a", "weight": 7}]


def test_a_conflict_names_the_item(gadget: Gadget) -> None:
    gadget.apply("first", parts=[{"name": "a", "color": "red"}])

    answer = gadget.try_to_apply("second", parts=[{"name": "a", "color": "blue"}])

    answer.expect_refusal(409, "Conflict")
    assert answer.fields == ['.spec.parts[name="a"].color']


def test_items_keep_the_order_of_who_applies_them(gadget: Gadget) -> None:
    gadget.apply("first", parts=[{"name": "a"}, {"name": "b"}, {"name": "c"}])

    kept = gadget.apply("first", parts=[{"name": "c"}, {"name": "a"}, {"name": "b"}])

    assert names(kept["parts"]) == "c a b"


def test_new_items_come_after_those_they_were_put_after(gadget: Gadget) -> None:
    gadget.apply("first", parts=[{"name": "a"}, {"name": "b"}])

    kept = gadget.apply("first", parts=[{"name": "a"}, {"name": "x"}, {"name": "b"}])

    assert names(kept["parts"]) == "a x b"


@pytest.mark.parametrize(
    "parts, order",
    [("c", "a b c"), ("b c", "a b c"), ("c a", "c a b"), ("b a", "b a"), ("a c", "a b c")],
)
def test_items_of_two_managers_are_in_one_order(parts: str, order: str, gadget: Gadget) -> None:
    gadget.apply("first", parts=[{"name": "a"}, {"name": "b"}])

    kept = gadget.apply("second", parts=[{"name": name} for name in parts.split()])

    assert names(kept["parts"]) == order


def test_a_key_has_several_fields(gadget: Gadget) -> None:
    gadget.apply("first", ports=[{"port": 1, "protocol": "TCP"}, {"port": 1, "protocol": "UDP"}])
    kept = gadget.apply("first", ports=[{"port": 1, "protocol": "UDP"}])

    assert kept["ports"] == [{"port": 1, "protocol": "UDP"}]
    key = 'k:{"port":1,"protocol":"UDP"}'
    assert gadget.owned() == {
        "first": {"f:ports": {key: {".": {}, "f:port": {}, "f:protocol": {}}}},
    }


def test_a_default_completes_a_key(gadget: Gadget) -> None:
    gadget.apply("first", ports=[{"port": 1}])

    kept = gadget.apply("second", ports=[{"port": 1, "protocol": "TCP", "name": "web"}])

    assert kept["ports"] == [{"port": 1, "protocol": "TCP", "name": "web"}]
    key = 'k:{"port":1,"protocol":"TCP"}'
    assert gadget.owned()["first"] == {"f:ports": {key: {".": {}, "f:port": {}}}}


def test_a_list_is_nobodys_when_it_is_empty(gadget: Gadget) -> None:
    gadget.apply("first", mode="fast", parts=[{"name": "a"}])

    kept = gadget.apply("first", mode="fast")

    assert kept == {"mode": "fast", "size": 1}


def test_an_empty_list_is_kept_but_not_owned(gadget: Gadget) -> None:
    kept = gadget.apply("first", mode="fast", parts=[])

    assert kept["parts"] == []
    assert gadget.owned() == {"first": {"f:mode": {}}}


# -- sets ----------------------------------------------------------------------------------------


def test_members_of_a_set_are_owned_one_by_one(gadget: Gadget) -> None:
    gadget.apply("first", tags=["a", "b"])
    both = gadget.apply("second", tags=["b", "c"])
    left = gadget.apply("first", tags=["a"])
    less = gadget.apply("second", tags=["c"])

    assert both["tags"] == ["a", "b", "c"]
    assert left["tags"] == ["a", "b", "c"]
    assert less["tags"] == ["a", "c"]
    assert gadget.owned() == {
        "first": {"f:tags": {'v:"a"': {}}},
        "second": {"f:tags": {'v:"c"': {}}},
    }


def test_finalizers_are_a_set(probe: Probe) -> None:
    manifest = probe.a("ConfigMap", "v1")

    def apply(manager: str, *names: str) -> list[str]:
        finalizers = [f"e2e.muster.dev/{name}" for name in names]
        body = {**manifest, "metadata": {**manifest["metadata"], "finalizers": finalizers}}
        answer = probe.api.request("PATCH", place(body), body, APPLY, fieldManager=manager)
        assert answer.code in {200, 201}, answer
        kept: list[str] = answer.body["metadata"].get("finalizers", [])
        return [name.rpartition("/")[2] for name in kept]

    apply("first", "a")

    assert apply("second", "b") == ["a", "b"]
    assert apply("first") == ["b"]
    assert apply("second") == []


# -- wholes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "field, mine, other",
    [("steps", ["x", "y"], ["x", "y", "z"]), ("box", {"width": 1}, {"height": 1})],
)
def test_an_atomic_field_is_owned_as_a_whole(
    field: str, mine: Any, other: Any, gadget: Gadget
) -> None:
    gadget.apply("first", **{field: mine})

    answer = gadget.try_to_apply("second", **{field: other})
    kept = gadget.apply("first", **{field: other})

    answer.expect_refusal(409, "Conflict")
    assert answer.fields == [f".spec.{field}"]
    assert kept[field] == other
    assert gadget.owned() == {"first": {f"f:{field}": {}}}


def test_a_selector_is_atomic_in_builtins_as_well(probe: Probe) -> None:
    pod = {"containers": [{"name": "c", "image": "i"}], "nodeSelector": {"a": "b"}}
    manifest = probe.a("PodTemplate", "v1", template={"spec": pod})

    (entry,) = probe.api.apply(manifest).expect(201)["metadata"]["managedFields"]

    assert entry["fieldsV1"]["f:template"]["f:spec"]["f:nodeSelector"] == {}


# -- one by one ----------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["options", "free"])
def test_a_map_is_owned_key_by_key(field: str, gadget: Gadget) -> None:
    gadget.apply("first", **{field: {"a": "1", "b": "2"}})
    both = gadget.apply("second", **{field: {"b": "2", "c": "3"}})
    left = gadget.apply("first", **{field: {"a": "1"}})

    assert both[field] == {"a": "1", "b": "2", "c": "3"}
    assert left[field] == {"a": "1", "b": "2", "c": "3"}
    assert gadget.owned() == {
        "first": {f"f:{field}": {"f:a": {}}},
        "second": {f"f:{field}": {"f:b": {}, "f:c": {}}},
    }


def test_lists_in_what_has_no_schema_are_atomic(gadget: Gadget) -> None:
    gadget.apply("first", free={"a": {"b": [{"name": "x"}]}})

    assert gadget.owned() == {"first": {"f:free": {"f:a": {".": {}, "f:b": {}}}}}


# -- built-in lists ------------------------------------------------------------------------------


def a_template(probe: Probe, **container: Any) -> Manifest:
    pod = {"containers": [{"name": "c", "image": "i", **container}]}
    return probe.a("PodTemplate", "v1", template={"spec": pod})


def apply(probe: Probe, manifest: Manifest, manager: str, **container: Any) -> Manifest:
    """Return the container that comes of applying these fields to it."""
    pod = {"containers": [{"name": "c", **container}]}
    body = {**manifest, "template": {"spec": pod}}
    answer = probe.api.request("PATCH", place(body), body, APPLY, fieldManager=manager)
    kept: Manifest = answer.expect(200)["template"]["spec"]["containers"][0]
    return kept


def test_variables_are_merged_by_name(probe: Probe) -> None:
    manifest = a_template(probe, env=[{"name": "X", "value": "1"}])
    probe.api.apply(manifest, fieldManager="first").expect(201)

    both = apply(probe, manifest, "second", env=[{"name": "Y", "value": "2"}])
    left = apply(probe, manifest, "first", image="i")

    assert names(both["env"]) == "X Y"
    assert names(left["env"]) == "Y"


def test_ports_are_merged_by_number_and_protocol(probe: Probe) -> None:
    manifest = a_template(probe, ports=[{"containerPort": 80}])
    probe.api.apply(manifest, fieldManager="first").expect(201)

    ports = [{"containerPort": 80, "protocol": "UDP"}, {"containerPort": 80, "name": "web"}]
    kept = apply(probe, manifest, "second", ports=ports)

    told = {(port["containerPort"], port["protocol"]): port.get("name") for port in kept["ports"]}
    assert told == {(80, "UDP"): None, (80, "TCP"): "web"}


def test_resources_are_merged_by_name_and_by_their_amount(probe: Probe) -> None:
    """The amount counts, not how it is written."""
    manifest = a_template(probe, resources={"requests": {"cpu": "1"}})
    probe.api.apply(manifest, fieldManager="first").expect(201)

    kept = apply(probe, manifest, "second", resources={"requests": {"memory": "1Gi"}})
    again = apply(probe, manifest, "first", image="i", resources={"requests": {"cpu": "1000m"}})

    assert kept["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}
    assert again["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}


def test_commands_are_atomic(probe: Probe) -> None:
    manifest = a_template(probe, command=["run"])
    probe.api.apply(manifest, fieldManager="first").expect(201)
    pod = {"containers": [{"name": "c", "command": ["walk"]}]}
    body = {**manifest, "template": {"spec": pod}}

    answer = probe.api.request("PATCH", place(body), body, APPLY, fieldManager="second")

    answer.expect_refusal(409, "Conflict")
    assert answer.fields == ['.template.spec.containers[name="c"].command']


def test_owners_are_merged_by_uid(probe: Probe) -> None:
    owners = [probe.create(probe.a("ConfigMap", "v1")) for _ in range(2)]
    manifest = probe.a("ConfigMap", "v1")

    def apply_owner(manager: str, owner: Manifest) -> list[Manifest]:
        reference = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
        }
        metadata = {**manifest["metadata"], "ownerReferences": [reference]}
        body = {**manifest, "metadata": metadata}
        answer = probe.api.request("PATCH", place(body), body, APPLY, fieldManager=manager)
        kept: list[Manifest] = answer.body["metadata"]["ownerReferences"]
        return kept

    apply_owner("first", owners[0])
    kept = apply_owner("second", owners[1])

    assert [each["uid"] for each in kept] == [each["metadata"]["uid"] for each in owners]
