"""What the server fills in or refuses by what else there is."""

from typing import Any

import pytest

from muster.queue.client.refusal import Refusal
from muster.queue.sandbox.kinds.builtin import builtin_resources
from muster.queue.sandbox.kinds.limits import ANNOTATION
from muster.queue.sandbox.kinds.plugins import admit
from tests.queue.api.manifests import Manifest, changed

RESOURCES = {resource.key: resource for resource in builtin_resources()}
CLASSES = "priorityclasses.scheduling.k8s.io"
RUNTIMES = "runtimeclasses.node.k8s.io"
RANGES = "limitranges."
POD: Manifest = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "x", "namespace": "n"},
    "spec": {"containers": [{"name": "c", "image": "i", "resources": {}}]},
}


class Others:
    """Objects that are there, by the key of their resource."""

    def __init__(self, **objects: list[Manifest]) -> None:
        self._objects = objects

    def admit(self, key: str, obj: Manifest, old: Manifest | None = None) -> Manifest:
        admitted = changed(obj, {})
        admit(RESOURCES[key], admitted, self._look_up, self._list, old)
        return admitted

    def _list(self, key: str, _namespace: str) -> list[Manifest]:
        return self._objects.get(key, [])

    def _look_up(self, key: str, namespace: str, name: str) -> Manifest | None:
        found = self._list(key, namespace)
        return next((each for each in found if each["metadata"]["name"] == name), None)


def with_others(key: str, *objects: Manifest) -> Others:
    return Others(**{key: list(objects)})


def a_class(name: str, value: int, **content: Any) -> Manifest:
    return {"metadata": {"name": name}, "value": value, "preemptionPolicy": "Never", **content}


def refused(others: Others, key: str, obj: Manifest) -> str:
    with pytest.raises(Refusal) as caught:
        others.admit(key, obj)
    assert (caught.value.code, caught.value.reason) == (403, "Forbidden")
    return caught.value.message


# -- priorities --------------------------------------------------------------------------------


def test_a_pod_of_no_class_has_no_priority() -> None:
    spec = Others().admit("pods.", POD)["spec"]

    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert "priorityClassName" not in spec


def test_the_default_class_is_the_one_of_the_least_value() -> None:
    defaults = [a_class("b", 9, globalDefault=True), a_class("a", 3, globalDefault=True)]
    spec = with_others(CLASSES, *defaults, a_class("c", 1)).admit("pods.", POD)["spec"]

    assert (spec["priorityClassName"], spec["priority"]) == ("a", 3)
    assert spec["preemptionPolicy"] == "Never"


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"spec.priority": 4}, "the integer value of priority (4) must not be provided"),
        (
            {"spec.preemptionPolicy": "PreemptLowerPriority"},
            "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided",
        ),
        ({"spec.priorityClassName": "b"}, "no PriorityClass with name b was found"),
    ],
)
def test_a_pod_can_t_be_more_than_its_class(changes: Manifest, words: str) -> None:
    pod = changed(POD, {"spec.priorityClassName": "a", **changes})

    assert words in refused(with_others(CLASSES, a_class("a", 3)), "pods.", pod)


def test_a_priority_that_an_update_leaves_out_stays() -> None:
    old = changed(POD, {"spec.priority": 3, "spec.preemptionPolicy": "Never"})

    spec = Others().admit("pods.", POD, old)["spec"]

    assert (spec["priority"], spec["preemptionPolicy"]) == (3, "Never")


def test_there_is_one_default_class() -> None:
    others = with_others(CLASSES, a_class("a", 3, globalDefault=True))

    again = a_class("a", 3, globalDefault=True)
    assert others.admit(CLASSES, again, again) == again
    told = refused(others, CLASSES, a_class("b", 3, globalDefault=True))
    assert told.endswith("PriorityClass a is already marked as default. Only one default can exist")


# -- nodes -------------------------------------------------------------------------------------


def test_a_new_node_is_not_ready() -> None:
    own = {"key": "k", "effect": "NoExecute"}
    node: Manifest = {"metadata": {"name": "n"}, "spec": {"taints": [own]}}
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}

    admitted = Others().admit("nodes.", node)

    assert admitted["spec"]["taints"] == [own, taint]
    assert Others().admit("nodes.", admitted) == admitted
    assert Others().admit("nodes.", node, node) == node


def test_a_pod_that_tolerates_everything_needs_no_more() -> None:
    pod = changed(POD, {"spec.tolerations": [{"operator": "Exists"}]})

    assert Others().admit("pods.", pod)["spec"]["tolerations"] == [{"operator": "Exists"}]


# -- runtimes ----------------------------------------------------------------------------------

RUNTIME: Manifest = {
    "metadata": {"name": "r"},
    "handler": "h",
    "overhead": {"podFixed": {"cpu": "100m"}},
    "scheduling": {
        "nodeSelector": {"a": "b"},
        "tolerations": [{"key": "t", "operator": "Exists"}],
    },
}
ITS_POD = changed(POD, {"spec.runtimeClassName": "r"})


def test_a_runtime_costs_something_and_runs_somewhere() -> None:
    spec = with_others(RUNTIMES, RUNTIME).admit("pods.", ITS_POD)["spec"]

    assert spec["overhead"] == {"cpu": "100m"}
    assert spec["nodeSelector"] == {"a": "b"}
    assert spec["tolerations"][-1] == {"key": "t", "operator": "Exists"}


@pytest.mark.parametrize(
    "pod, words",
    [
        (changed(POD, {"spec.runtimeClassName": "s"}), 'pod rejected: RuntimeClass "s" not found'),
        (
            changed(POD, {"spec.overhead": {"cpu": "1"}}),
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        ),
        (
            changed(ITS_POD, {"spec.overhead": {"cpu": "1"}}),
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
        ),
        (
            changed(ITS_POD, {"spec.nodeSelector": {"a": "c"}}),
            "conflict: runtimeClass.scheduling.nodeSelector[a] = b; pod.spec.nodeSelector[a] = c",
        ),
    ],
)
def test_a_pod_fits_its_runtime(pod: Manifest, words: str) -> None:
    assert refused(with_others(RUNTIMES, RUNTIME), "pods.", pod).endswith(words)


# -- limits of a namespace ---------------------------------------------------------------------


def a_range(kind: str = "Container", **limits: Any) -> Others:
    return with_others(RANGES, {"spec": {"limits": [{"type": kind, **limits}]}})


def of_containers(*resources: Manifest) -> Manifest:
    containers = [
        {"name": f"c{index}", "image": "i", "resources": each}
        for index, each in enumerate(resources)
    ]
    return changed(POD, {"spec.containers": containers})


def test_containers_get_what_they_do_not_ask_for() -> None:
    others = a_range(default={"cpu": "2", "memory": "1Gi"}, defaultRequest={"cpu": "1"})

    admitted = others.admit("pods.", of_containers({}, {"limits": {"cpu": "3"}}))

    resources = [each["resources"] for each in admitted["spec"]["containers"]]
    assert resources == [
        {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}},
        {"limits": {"cpu": "3", "memory": "1Gi"}, "requests": {"cpu": "1"}},
    ]
    assert admitted["metadata"]["annotations"][ANNOTATION] == (
        "LimitRanger plugin set: cpu request for container c0; cpu, memory limit for container c0;"
        " cpu request for container c1; memory limit for container c1"
    )


ONE = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}
BOUNDS: list[tuple[str, Others, Manifest, str]] = [
    (
        "too little",
        a_range(min={"cpu": "1500m"}),
        of_containers(ONE),
        "minimum cpu usage per Container is 1500m, but request is 1",
    ),
    (
        "nothing where there must be something",
        a_range(min={"memory": "1Mi"}),
        of_containers(ONE),
        "minimum memory usage per Container is 1Mi.  No request is specified",
    ),
    (
        "too much",
        a_range(max={"cpu": "1500m"}),
        of_containers(ONE),
        "maximum cpu usage per Container is 1500m, but limit is 2",
    ),
    (
        "no limit where there is a most",
        a_range(max={"memory": "1Gi"}),
        of_containers(ONE),
        "maximum memory usage per Container is 1Gi.  No limit is specified",
    ),
    (
        "too far apart",
        a_range(maxLimitRequestRatio={"cpu": "1500m"}),
        of_containers(ONE),
        "cpu max limit to request ratio per Container is 1500m, but provided ratio is 2.000000",
    ),
    (
        "too much together",
        a_range("Pod", max={"cpu": "3"}),
        of_containers(ONE, ONE),
        "maximum cpu usage per Pod is 3, but limit is 4",
    ),
    (
        "two faults",
        a_range(min={"cpu": "1500m"}, max={"cpu": "1500m"}),
        of_containers(ONE),
        (
            "[minimum cpu usage per Container is 1500m, but request is 1, "
            "maximum cpu usage per Container is 1500m, but limit is 2]"
        ),
    ),
]


@pytest.mark.parametrize("why, others, pod, words", BOUNDS, ids=[case[0] for case in BOUNDS])
def test_a_pod_keeps_the_limits(why: str, others: Others, pod: Manifest, words: str) -> None:
    assert refused(others, "pods.", pod) == f'pods "x" is forbidden: {words}', why


def test_limits_are_met_exactly() -> None:
    bounds: Manifest = {
        "min": {"cpu": "1"},
        "max": {"cpu": "2"},
        "maxLimitRequestRatio": {"cpu": "2"},
    }

    assert a_range(**bounds).admit("pods.", of_containers(ONE))
    assert a_range("Pod", **bounds).admit("pods.", of_containers(ONE))
