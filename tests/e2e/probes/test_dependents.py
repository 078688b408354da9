"""What becomes of objects whose owner goes."""

import pytest

from tests.e2e.probes.probe import Probe
from tests.queue.api.manifests import Manifest

FOREGROUND = "foregroundDeletion"


def a_thing(probe: Probe, *owners: Manifest, finalizers: list[str] | None = None) -> Manifest:
    """A config map that belongs to others."""
    thing = probe.a("ConfigMap", "v1")
    if owners:
        thing["metadata"]["ownerReferences"] = list(owners)
    if finalizers:
        thing["metadata"]["finalizers"] = finalizers
    return thing


def owner(made: Manifest, **more: bool | str) -> Manifest:
    """Return a reference to an object as an owner."""
    reference = {name: made[name] for name in ("apiVersion", "kind")}
    return {
        **reference,
        "name": made["metadata"]["name"],
        "uid": made["metadata"]["uid"],
        **more,
    }


def let_go(probe: Probe, thing: Manifest) -> None:
    probe.api.patch(thing, {"metadata": {"finalizers": None}}).expect(200)


@pytest.mark.parametrize("policy", [None, "Background", "Foreground"])
def test_what_is_owned_goes_with_its_owner(policy: str | None, probe: Probe) -> None:
    parent = probe.create(a_thing(probe))
    child = probe.create(a_thing(probe, owner(parent)))
    grandchild = probe.create(a_thing(probe, owner(child)))

    probe.delete(parent, **({"propagationPolicy": policy} if policy else {})).expect(200)

    for each in (parent, child, grandchild):
        probe.until_gone(each)


def test_an_owner_does_not_wait_in_the_background(probe: Probe) -> None:
    parent = probe.create(a_thing(probe))
    child = probe.create(a_thing(probe, owner(parent), finalizers=["example.com/wait"]))

    probe.delete(parent, propagationPolicy="Background").expect(200)

    assert probe.api.get(parent).code == 404
    probe.until(child, lambda now: "deletionTimestamp" in now["metadata"])
    let_go(probe, child)
    probe.until_gone(child)


def test_an_owner_waits_in_the_foreground(probe: Probe) -> None:
    parent = probe.create(a_thing(probe))
    blocking = owner(parent, blockOwnerDeletion=True)
    child = probe.create(a_thing(probe, blocking, finalizers=["example.com/wait"]))

    answer = probe.delete(parent, propagationPolicy="Foreground").expect(200)
    assert answer["metadata"]["finalizers"] == [FOREGROUND]
    assert "deletionTimestamp" in answer["metadata"]

    probe.until(child, lambda now: "deletionTimestamp" in now["metadata"])
    assert probe.get(parent)["metadata"]["finalizers"] == [FOREGROUND]
    let_go(probe, child)
    probe.until_gone(parent)


def test_an_owner_waits_for_nobody_who_does_not_block(probe: Probe) -> None:
    parent = probe.create(a_thing(probe))
    child = probe.create(a_thing(probe, owner(parent), finalizers=["example.com/wait"]))

    probe.delete(parent, propagationPolicy="Foreground").expect(200)

    probe.until_gone(parent)
    probe.until(child, lambda now: "deletionTimestamp" in now["metadata"])
    let_go(probe, child)


def test_what_is_owned_may_stay(probe: Probe) -> None:
    parent = probe.create(a_thing(probe))
    child = probe.create(a_thing(probe, owner(parent)))

    answer = probe.delete(parent, propagationPolicy="Orphan").expect(200)
    assert answer["metadata"]["finalizers"] == ["orphan"]
    probe.until_gone(parent)

    assert "ownerReferences" not in probe.get(child)["metadata"]


def test_what_is_born_without_its_owner_goes(probe: Probe) -> None:
    parent = probe.create(a_thing(probe))
    reference = owner(parent)
    probe.delete(parent).expect(200)

    child = probe.create(a_thing(probe, reference))

    probe.until_gone(child)


def test_an_owner_of_the_same_name_is_another(probe: Probe) -> None:
    parent = probe.create(a_thing(probe))
    child = probe.create(a_thing(probe, owner(parent, uid="5f1c5a3e-7d0b-4c58-9a3e-0c7b1d2e3f40")))

    probe.until_gone(child)

    probe.get(parent)


def test_the_last_of_several_owners_takes_it_along(probe: Probe) -> None:
    parents = [probe.create(a_thing(probe)) for _ in range(2)]
    child = probe.create(a_thing(probe, *map(owner, parents)))

    probe.delete(parents[0]).expect(200)
    now = probe.until(child, lambda now: len(now["metadata"]["ownerReferences"]) == 1)
    assert now["metadata"]["ownerReferences"] == [owner(parents[1])]

    probe.delete(parents[1]).expect(200)
    probe.until_gone(child)


def test_an_owner_in_another_namespace_is_none(probe: Probe) -> None:
    parent = a_thing(probe)
    parent["metadata"]["namespace"] = "default"
    made = probe.api.create(parent).expect(201)

    child = probe.create(a_thing(probe, owner(made)))

    probe.until_gone(child)
    probe.delete(made).expect(200)


def test_an_owner_may_be_of_the_cluster(probe: Probe) -> None:
    parent = probe.create(probe.a("PriorityClass", "scheduling.k8s.io/v1", value=1))
    child = probe.create(a_thing(probe, owner(parent)))

    probe.delete(parent).expect(200)

    probe.until_gone(child)


def test_an_owner_of_an_unknown_kind_takes_nobody_along(probe: Probe) -> None:
    parent = probe.create(a_thing(probe))
    stranger = {**owner(parent), "apiVersion": "example.com/v1", "kind": "Stranger"}
    child = probe.create(a_thing(probe, stranger))
    last = probe.create(a_thing(probe, owner(parent)))

    probe.delete(parent).expect(200)

    probe.until_gone(last)
    assert probe.get(child)["metadata"]["ownerReferences"] == [stranger]


@pytest.mark.parametrize("missing", ["apiVersion", "kind", "name", "uid"])
def test_a_reference_to_an_owner_is_whole(missing: str, probe: Probe) -> None:
    reference = owner(probe.create(a_thing(probe)))
    reference[missing] = ""

    answer = probe.refused(a_thing(probe, reference))

    assert answer.fields == [f"metadata.ownerReferences.{missing}"]


def test_there_is_one_controller(probe: Probe) -> None:
    parents = [probe.create(a_thing(probe)) for _ in range(2)]
    references = [owner(parent, controller=True) for parent in parents]

    answer = probe.refused(a_thing(probe, *references))

    assert answer.fields == ["metadata.ownerReferences"]
    assert "Only one reference can have Controller set to true" in answer.message


def test_what_becomes_owned_goes_as_well(probe: Probe) -> None:
    parent, child = (probe.create(a_thing(probe)) for _ in range(2))

    probe.api.patch(child, {"metadata": {"ownerReferences": [owner(parent)]}}).expect(200)
    probe.delete(parent).expect(200)

    probe.until_gone(child)
