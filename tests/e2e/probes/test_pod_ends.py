"""How a Pod gets to a node and how it ends: binding, eviction, deletion."""

import pytest

from tests.e2e.api import Answer, collection, place
from tests.e2e.probes.probe import Probe, causes, condition
from tests.e2e.probes.test_pods import GATED, a_pod
from tests.queue.api.manifests import Manifest


def bind(probe: Probe, pod: Manifest, node: str, **query: str) -> Answer:
    metadata = {"name": pod["metadata"]["name"]}
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
    return probe.api.request("POST", f"{place(pod)}/binding", binding, **query)


def evict(probe: Probe, pod: Manifest, **content: Manifest) -> Answer:
    metadata = {"name": pod["metadata"]["name"]}
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata, **content}
    return probe.api.request("POST", f"{place(pod)}/eviction", eviction)


def on_a_node(probe: Probe, changes: Manifest | None = None) -> Manifest:
    """A pod on a node that does not exist, so that no kubelet touches it."""
    return probe.create(a_pod(probe, {"spec.nodeName": "nowhere", **(changes or {})}))


def test_a_pod_without_a_node_is_seen_to_go_before_it_is_gone(probe: Probe) -> None:
    made = probe.create(a_pod(probe))
    query = {
        "fieldSelector": f"metadata.name={made['metadata']['name']}",
        "resourceVersion": made["metadata"]["resourceVersion"],
    }

    gone = probe.delete(made).expect(200)

    with probe.api.watch(collection(made), **query) as events:
        going, last = events.take(2)
    assert [going["type"], last["type"]] == ["MODIFIED", "DELETED"]
    assert last["object"] == gone
    for event in (going, last):
        metadata = event["object"]["metadata"]
        assert metadata["deletionTimestamp"] == gone["metadata"]["deletionTimestamp"]
        assert (metadata["deletionGracePeriodSeconds"], metadata["generation"]) == (0, 2)


def test_a_binding_puts_a_pod_on_a_node(probe: Probe) -> None:
    made = probe.create(a_pod(probe))

    answer = bind(probe, made, "nowhere").expect(201)

    assert (answer["kind"], answer["status"]) == ("Status", "Success")
    now = probe.get(made)
    assert now["spec"]["nodeName"] == "nowhere"
    assert condition(now, "PodScheduled")["status"] == "True"


def test_a_pod_is_bound_once(probe: Probe) -> None:
    made = probe.create(a_pod(probe))
    bind(probe, made, "nowhere").expect(201)

    answer = bind(probe, made, "elsewhere")

    name = made["metadata"]["name"]
    assert (answer.code, answer.body["reason"]) == (409, "Conflict")
    assert answer.body["message"] == (
        f'Operation cannot be fulfilled on pods/binding "{name}": '
        f'pod {name} is already assigned to node "nowhere"'
    )
    assert probe.get(made)["spec"]["nodeName"] == "nowhere"


def test_a_gated_pod_is_not_bound(probe: Probe) -> None:
    made = probe.create(a_pod(probe, GATED))

    answer = bind(probe, made, "nowhere")

    assert (answer.code, answer.body["reason"]) == (409, "Conflict")
    assert "has non-empty .spec.schedulingGates" in answer.body["message"]


def test_a_pod_that_ends_is_not_bound(probe: Probe) -> None:
    made = probe.create(a_pod(probe, {"metadata.finalizers": ["example.com/wait"]}))
    probe.delete(made).expect(200)

    answer = bind(probe, made, "nowhere")

    assert (answer.code, answer.body["reason"]) == (409, "Conflict")
    assert "is being deleted, cannot be assigned to a host" in answer.body["message"]
    probe.api.patch(made, {"metadata": {"finalizers": None}}).expect(200)


def test_a_binding_names_a_node(probe: Probe) -> None:
    made = probe.create(a_pod(probe))

    answer = bind(probe, made, "")

    assert answer.body["status"] == "Failure"
    assert answer.message == "target.name: Required value"


def test_a_binding_of_no_pod_is_not_found(probe: Probe) -> None:
    answer = bind(probe, a_pod(probe), "nowhere")

    assert (answer.code, answer.body["reason"]) == (404, "NotFound")


def test_a_binding_is_tried_without_effect(probe: Probe) -> None:
    made = probe.create(a_pod(probe))

    bind(probe, made, "nowhere", dryRun="All").expect(201)

    assert "nodeName" not in probe.get(made)["spec"]


def test_a_pod_on_no_node_goes_at_once(probe: Probe) -> None:
    made = probe.create(a_pod(probe))

    answer = probe.delete(made).expect(200)

    assert answer["kind"] == "Pod"
    assert answer["metadata"]["deletionGracePeriodSeconds"] == 0
    assert probe.api.get(made).code == 404


def test_a_pod_on_a_node_is_given_time(probe: Probe) -> None:
    made = on_a_node(probe)

    probe.delete(made).expect(200)

    metadata = probe.get(made)["metadata"]
    assert metadata["deletionGracePeriodSeconds"] == 30
    assert metadata["deletionTimestamp"] > metadata["creationTimestamp"]
    assert metadata["generation"] == 2


def test_the_time_given_is_that_of_the_pod(probe: Probe) -> None:
    made = on_a_node(probe, {"spec.terminationGracePeriodSeconds": 7})

    probe.delete(made).expect(200)

    assert probe.get(made)["metadata"]["deletionGracePeriodSeconds"] == 7


def test_the_time_given_gets_shorter_and_not_longer(probe: Probe) -> None:
    made = on_a_node(probe)

    given = []
    for seconds in (20, 10, 15):
        probe.delete(made, gracePeriodSeconds=seconds).expect(200)
        given.append(probe.get(made)["metadata"]["deletionGracePeriodSeconds"])

    assert given == [20, 10, 10]


def test_a_pod_given_no_time_goes_at_once(probe: Probe) -> None:
    made = on_a_node(probe)
    probe.delete(made).expect(200)

    probe.delete(made, gracePeriodSeconds=0).expect(200)

    assert probe.api.get(made).code == 404


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_goes_at_once(phase: str, probe: Probe) -> None:
    made = on_a_node(probe)
    probe.set_status(made, phase=phase)

    probe.delete(made).expect(200)

    assert probe.api.get(made).code == 404


def test_a_pod_with_a_finalizer_stays_until_it_has_none(probe: Probe) -> None:
    made = probe.create(a_pod(probe, {"metadata.finalizers": ["example.com/wait"]}))

    probe.delete(made).expect(200)
    assert probe.get(made)["metadata"]["deletionGracePeriodSeconds"] == 0
    probe.api.patch(made, {"metadata": {"finalizers": None}}).expect(200)

    assert probe.api.get(made).code == 404


def test_a_pod_that_ends_gets_no_new_finalizer(probe: Probe) -> None:
    made = probe.create(a_pod(probe, {"metadata.finalizers": ["example.com/wait"]}))
    probe.delete(made).expect(200)

    patch = {"metadata": {"finalizers": ["example.com/wait", "example.com/more"]}}
    answer = probe.api.patch(made, patch)

    assert (answer.code, causes(answer)) == (
        422,
        [("FieldValueForbidden", "metadata.finalizers")] * 2,
    )
    probe.api.patch(made, {"metadata": {"finalizers": None}}).expect(200)


def test_an_eviction_ends_a_pod(probe: Probe) -> None:
    made = on_a_node(probe)

    answer = evict(probe, made).expect(201)

    assert (answer["kind"], answer["status"]) == ("Status", "Success")
    now = probe.get(made)
    assert now["metadata"]["deletionGracePeriodSeconds"] == 30
    disrupted = condition(now, "DisruptionTarget")
    assert (disrupted["status"], disrupted["reason"]) == ("True", "EvictionByEvictionAPI")
    assert disrupted["message"] == "Eviction API: evicting"


def test_an_eviction_has_options_of_deletion(probe: Probe) -> None:
    made = on_a_node(probe)

    evict(probe, made, deleteOptions={"gracePeriodSeconds": 3}).expect(201)

    assert probe.get(made)["metadata"]["deletionGracePeriodSeconds"] == 3


def test_an_eviction_is_tried_without_effect(probe: Probe) -> None:
    made = on_a_node(probe)

    evict(probe, made, deleteOptions={"dryRun": ["All"]}).expect(201)

    assert "deletionTimestamp" not in probe.get(made)["metadata"]


def test_an_eviction_of_another_pod_of_the_name_conflicts(probe: Probe) -> None:
    made = on_a_node(probe)

    answer = evict(probe, made, deleteOptions={"preconditions": {"uid": "other"}})

    assert (answer.code, answer.body["reason"]) == (409, "Conflict")
    assert "deletionTimestamp" not in probe.get(made)["metadata"]


def test_an_eviction_of_no_pod_is_not_found(probe: Probe) -> None:
    answer = evict(probe, a_pod(probe))

    assert (answer.code, answer.body["reason"]) == (404, "NotFound")


def guarded(probe: Probe) -> Manifest:
    """A running pod that must not be disrupted."""
    labels = {"probe": probe.a_name("guarded")}
    spec = {"minAvailable": 1, "selector": {"matchLabels": labels}}
    budget = probe.create(probe.a("PodDisruptionBudget", "policy/v1", spec=spec))
    made = on_a_node(probe, {"metadata.labels": labels})
    ready = {"type": "Ready", "status": "True"}
    probe.set_status(made, phase="Running", conditions=[ready])
    probe.until(budget, lambda now: now["status"]["currentHealthy"] == 1)
    return made


def test_a_budget_forbids_an_eviction(probe: Probe) -> None:
    made = guarded(probe)

    answer = evict(probe, made)

    assert (answer.code, answer.body["reason"]) == (429, "TooManyRequests")
    assert answer.body["message"] == (
        "Cannot evict pod as it would violate the pod's disruption budget."
    )
    assert [cause["reason"] for cause in answer.causes] == ["DisruptionBudget"]
    assert "needs 1 healthy pods and has 1 currently" in answer.causes[0]["message"]
    assert "deletionTimestamp" not in probe.get(made)["metadata"]


def test_a_budget_does_not_forbid_a_deletion(probe: Probe) -> None:
    made = guarded(probe)

    probe.delete(made).expect(200)

    assert "deletionTimestamp" in probe.get(made)["metadata"]
