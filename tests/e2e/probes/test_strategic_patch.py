"""Strategic merge patches: lists merged by key, and directives for what merging can't say."""

from typing import Any

import pytest

from tests.e2e.api import STRATEGIC
from tests.e2e.probes.probe import Probe, causes
from tests.queue.api.manifests import Manifest, a_manifest

SPEC: Manifest = {
    "containers": [
        {
            "name": "a",
            "image": "i",
            "command": ["run"],
            "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}],
            "ports": [{"containerPort": 80}, {"containerPort": 81, "name": "admin"}],
        },
        {"name": "b", "image": "i"},
    ],
    "tolerations": [{"key": "k", "operator": "Exists"}],
    "nodeSelector": {"a": "b"},
    "volumes": [{"name": "v", "emptyDir": {}}],
    "imagePullSecrets": [{"name": "s"}],
    "securityContext": {"runAsUser": 1},
}


def a_template(probe: Probe) -> Manifest:
    return probe.create(probe.a("PodTemplate", "v1", template={"spec": SPEC}))


def patched(probe: Probe, patch: Manifest) -> Manifest:
    """Return the spec that a patch makes of the one above."""
    answer = probe.api.patch(a_template(probe), {"template": {"spec": patch}}, STRATEGIC)
    spec: Manifest = answer.expect(200)["template"]["spec"]
    return spec


def names(items: list[Manifest]) -> str:
    return " ".join(item["name"] for item in items)


def test_containers_are_merged_by_name(probe: Probe) -> None:
    spec = patched(probe, {"containers": [{"name": "b", "image": "j"}]})

    first, second = spec["containers"]
    assert (first["name"], first["image"], first["command"]) == ("a", "i", ["run"])
    assert (second["name"], second["image"]) == ("b", "j")


@pytest.mark.parametrize(
    "patch, order",
    [
        ([{"name": "c", "image": "j"}], "c a b"),
        ([{"name": "b", "$patch": "delete"}], "a"),
        ([{"name": "unknown", "$patch": "delete"}], "a b"),
        ([{"$patch": "replace"}, {"name": "c", "image": "j"}], "c"),
        ([], "a b"),
    ],
    ids=str,
)
def test_containers_come_and_go(patch: list[Manifest], order: str, probe: Probe) -> None:
    assert names(patched(probe, {"containers": patch})["containers"]) == order


@pytest.mark.parametrize(
    "order, containers, kept",
    [
        ("b a", [], "b a"),
        ("c b a", [{"name": "c", "image": "j"}], "c b a"),
        ("a c b", [{"name": "c", "image": "j"}], "a c b"),
    ],
)
def test_an_order_may_be_asked_for(
    order: str, containers: list[Manifest], kept: str, probe: Probe
) -> None:
    asked = [{"name": name} for name in order.split()]

    spec = patched(probe, {"$setElementOrder/containers": asked, "containers": containers})

    assert names(spec["containers"]) == kept


def test_variables_are_merged_by_name(probe: Probe) -> None:
    env = [{"name": "Y", "value": "9"}, {"name": "Z", "value": "3"}]

    spec = patched(probe, {"containers": [{"name": "a", "env": env}]})

    kept = {each["name"]: each["value"] for each in spec["containers"][0]["env"]}
    assert kept == {"X": "1", "Y": "9", "Z": "3"}


def test_ports_are_merged_by_number(probe: Probe) -> None:
    ports = [{"containerPort": 80, "name": "web"}, {"containerPort": 82}]

    spec = patched(probe, {"containers": [{"name": "a", "ports": ports}]})

    kept = {each["containerPort"]: each.get("name") for each in spec["containers"][0]["ports"]}
    assert kept == {80: "web", 81: "admin", 82: None}


@pytest.mark.parametrize(
    "field, patch, kept",
    [
        (
            "tolerations",
            [{"key": "z", "operator": "Exists"}],
            [{"key": "z", "operator": "Exists"}],
        ),
        ("tolerations", None, None),
        ("nodeSelector", {"c": "d", "a": None}, {"c": "d"}),
        ("nodeSelector", {"$patch": "replace", "c": "d"}, {"c": "d"}),
        ("nodeSelector", {"$patch": "delete"}, None),
        ("nodeSelector", {"$retainKeys": ["c"], "c": "d"}, {"c": "d"}),
        ("imagePullSecrets", [{"name": "t"}], [{"name": "t"}, {"name": "s"}]),
        ("imagePullSecrets", [{"name": "s", "$patch": "delete"}], None),
        ("securityContext", {"runAsGroup": 2}, {"runAsUser": 1, "runAsGroup": 2}),
        ("securityContext", {"$patch": "replace", "runAsGroup": 2}, {"runAsGroup": 2}),
        ("securityContext", {"$patch": "delete"}, {}),
    ],
    ids=str,
)
def test_a_field_is_merged_by_its_strategy(field: str, patch: Any, kept: Any, probe: Probe) -> None:
    assert patched(probe, {field: patch}).get(field) == kept


def test_a_list_without_a_key_is_replaced(probe: Probe) -> None:
    spec = patched(probe, {"containers": [{"name": "a", "command": ["walk", "slowly"]}]})

    assert spec["containers"][0]["command"] == ["walk", "slowly"]


def test_one_source_replaces_another(probe: Probe) -> None:
    volume = {"name": "v", "hostPath": {"path": "/x"}}

    merged = probe.api.patch(
        a_template(probe), {"template": {"spec": {"volumes": [volume]}}}, STRATEGIC
    )
    kept = patched(probe, {"volumes": [{**volume, "$retainKeys": ["name", "hostPath"]}]})

    merged.expect_refusal(422, "Invalid", "may not specify more than 1 volume type")
    assert kept["volumes"] == [{"name": "v", "hostPath": {"path": "/x", "type": ""}}]


@pytest.mark.parametrize(
    "patch, code, message",
    [
        ({"containers": [{"image": "j"}]}, 500, "does not contain declared merge key: name"),
        ({"containers": [{"name": "a", "$patch": "sing"}]}, 500, "unknown patch type: sing"),
        ({"securityContext": {"$patch": "sing"}}, 500, "unknown patch type: sing"),
        (
            {
                "$setElementOrder/containers": [{"name": "b"}],
                "containers": [{"name": "c", "image": "k"}],
            },
            500,
            "doesn't match $setElementOrder list",
        ),
        (
            {"volumes": [{"name": "v", "$retainKeys": ["name"], "hostPath": {"path": "/x"}}]},
            400,
            "invalid patch format of retainKeys",
        ),
    ],
    ids=str,
)
def test_a_directive_that_makes_no_sense_is_refused(
    patch: Manifest, code: int, message: str, probe: Probe
) -> None:
    made = a_template(probe)

    answer = probe.api.patch(made, {"template": {"spec": patch}}, STRATEGIC)

    assert message in answer.expect(code)["message"]
    assert probe.get(made) == made


def test_a_patch_must_leave_an_object_of_its_kind(probe: Probe) -> None:
    patch = {"template": {"spec": {"containers": {"a": 1}}}}

    answer = probe.api.patch(a_template(probe), patch, STRATEGIC)

    answer.expect_refusal(422, "Invalid", "cannot restore slice from map")
    assert causes(answer) == [("FieldValueInvalid", "patch")]


# -- lists of plain values -----------------------------------------------------------------------

A, B, C = (f"e2e.muster.dev/{name}" for name in "abc")


@pytest.mark.parametrize(
    "patch, kept",
    [
        ({"finalizers": [C]}, [C, A, B]),
        ({"finalizers": [B]}, [A, B]),
        ({"$deleteFromPrimitiveList/finalizers": [A]}, [B]),
        ({"$setElementOrder/finalizers": [B, A], "finalizers": []}, [B, A]),
        ({"$setElementOrder/finalizers": [A, C, B], "finalizers": [C]}, [A, C, B]),
        ({"finalizers": None}, None),
    ],
    ids=str,
)
def test_finalizers_are_a_set(patch: Manifest, kept: list[str] | None, probe: Probe) -> None:
    made = probe.create(probe.a("ConfigMap", "v1", {"metadata.finalizers": [A, B]}))

    answer = probe.api.patch(made, {"metadata": patch}, STRATEGIC).expect(200)

    assert answer["metadata"].get("finalizers") == kept
    probe.api.patch(made, {"metadata": {"finalizers": None}}).expect(200)


def test_owners_are_merged_by_uid(probe: Probe) -> None:
    owner = probe.create(probe.a("ConfigMap", "v1"))
    other = probe.create(probe.a("ConfigMap", "v1"))
    references = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": each["metadata"]["name"],
            "uid": each["metadata"]["uid"],
        }
        for each in (owner, other)
    ]
    made = probe.create(probe.a("ConfigMap", "v1", {"metadata.ownerReferences": references[:1]}))

    both = probe.api.patch(made, {"metadata": {"ownerReferences": references[1:]}}, STRATEGIC)
    removal = [{"uid": references[0]["uid"], "$patch": "delete"}]
    one = probe.api.patch(made, {"metadata": {"ownerReferences": removal}}, STRATEGIC)

    assert len(both.expect(200)["metadata"]["ownerReferences"]) == 2
    assert one.expect(200)["metadata"]["ownerReferences"] == references[1:]


def test_conditions_are_merged_by_type(probe: Probe) -> None:
    node = probe.create(a_manifest("Node", "v1", metadata={"name": probe.a_name("node")}))

    def set_conditions(*conditions: Manifest) -> list[Manifest]:
        patch = {"status": {"conditions": [*conditions]}}
        kept: list[Manifest] = probe.api.patch(node, patch, STRATEGIC, "/status").expect(200)[
            "status"
        ]["conditions"]
        return kept

    set_conditions({"type": "Ready", "status": "True"})
    set_conditions({"type": "DiskPressure", "status": "False"})
    kept = set_conditions({"type": "Ready", "reason": "Because"})

    told = {each["type"]: (each["status"], each.get("reason")) for each in kept}
    assert told == {"Ready": ("True", "Because"), "DiskPressure": ("False", None)}
