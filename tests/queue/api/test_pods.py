"""Pods and the core objects around them: what is interpreted, what is kept, what is unknown."""

import pytest

from muster.queue.api.core import LimitRange, Namespace, Node, Pod, PriorityClass, RuntimeClass
from muster.queue.api.meta import LabelSelector
from muster.queue.api.pods import PodSpec, Toleration, is_counted
from muster.queue.api.registry import parse_object
from tests.queue.api.manifests import NOON, a_manifest, complaints, parsed

UNINTERPRETED = {
    "volumes": [{"name": "v", "emptyDir": {}}],
    "securityContext": {"runAsNonRoot": True},
    "topologySpreadConstraints": [{"maxSkew": 1}],
    "hostNetwork": True,
    "hostIPC": False,
    "setHostnameAsFQDN": True,
    "schedulerName": "default-scheduler",
}


def test_other_fields_of_a_pod_are_kept_as_they_are() -> None:
    spec = PodSpec.model_validate({"containers": [], **UNINTERPRETED})

    assert spec.model_extra == UNINTERPRETED
    assert spec.model_dump(mode="json", by_alias=True, exclude_unset=True) == {
        "containers": [],
        **UNINTERPRETED,
    }


def test_other_fields_of_a_container_are_kept_as_they_are() -> None:
    other = {"image": "i", "command": ["sleep"], "ports": [{"containerPort": 80, "hostPort": 80}]}

    spec = PodSpec.model_validate({"containers": [{"name": "c", **other}]})

    assert spec.containers[0].model_extra == other


@pytest.mark.parametrize(
    "kind, path",
    [
        ("Pod", "spec.volume"),
        ("Pod", "spec.containers[0].comand"),
        ("Job", "spec.backofLimit"),
        ("Node", "spec.taint"),
        ("Node", "metadata.managedField"),
    ],
)
def test_a_field_the_core_api_does_not_know_is_an_error(kind: str, path: str) -> None:
    (complaint,) = complaints(kind, {path: 1})

    assert "unknown field" in complaint
    assert "Did you mean" in complaint


def test_a_live_object_is_read_with_its_bookkeeping() -> None:
    node = parse_object(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": "n",
                "creationTimestamp": NOON,
                "managedFields": [{"manager": "kubelet"}],
                "selfLink": "/api/v1/nodes/n",
                "ownerReferences": [],
            },
            "spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"], "providerID": "x"},
            "status": {
                "capacity": {"cpu": "96", "nvidia.com/gpu": 8},
                "allocatable": {"cpu": "95500m"},
                "conditions": [
                    {"type": "Ready", "status": "True", "lastHeartbeatTime": NOON},
                    {"type": "DiskPressure", "status": "False"},
                ],
                "images": [{"names": ["i"]}],
                "nodeInfo": {"kubeletVersion": "v1.36.0"},
                "somethingOfTomorrow": {},
            },
        }
    )

    assert isinstance(node, Node)
    assert node.status.capacity == {"cpu": "96", "nvidia.com/gpu": "8"}
    assert [(each.type, each.status) for each in node.status.conditions] == [
        ("Ready", "True"),
        ("DiskPressure", "False"),
    ]


def test_a_template_without_metadata_of_its_own_is_fine() -> None:
    """Every tool writes creationTimestamp: null into templates."""
    assert complaints("Job", {"spec.template.metadata": {"creationTimestamp": None}}) == []


def test_an_object_may_leave_its_name_to_the_server() -> None:
    assert complaints("Pod", {"metadata": {"generateName": "x-"}}) == []


def test_core_objects_are_what_they_say() -> None:
    limits = parsed(
        a_manifest(
            "LimitRange",
            "v1",
            spec={
                "limits": [
                    {
                        "type": "Container",
                        "default": {"cpu": "2"},
                        "defaultRequest": {"cpu": "500m"},
                        "max": {"cpu": "8"},
                        "min": {"cpu": "100m"},
                        "maxLimitRequestRatio": {"cpu": "4"},
                    }
                ]
            },
        )
    )
    runtime = parsed("RuntimeClass", {"overhead.podFixed": {"cpu": "250m"}, "scheduling": {}})
    priority = parsed("PriorityClass", {"globalDefault": True, "value": -10})
    namespace = parsed("Namespace", {"metadata.labels": {"team": "a"}})
    pod = parsed("Pod", {"spec.nodeName": "n", "status.phase": "Running", "status.hostIP": "x"})

    assert isinstance(limits, LimitRange)
    assert limits.spec.limits[0].default_request == {"cpu": "500m"}
    assert isinstance(runtime, RuntimeClass)
    assert runtime.overhead is not None
    assert runtime.overhead.pod_fixed == {"cpu": "250m"}
    assert isinstance(priority, PriorityClass)
    assert (priority.value, priority.global_default) == (-10, True)
    assert isinstance(namespace, Namespace)
    assert namespace.metadata.labels == {"team": "a"}
    assert isinstance(pod, Pod)
    assert (pod.spec.node_name, pod.status.phase) == ("n", "Running")


@pytest.mark.parametrize(
    "resource, counted",
    [
        ("cpu", False),
        ("memory", False),
        ("ephemeral-storage", False),
        ("hugepages-2Mi", False),
        ("pods", True),
        ("nvidia.com/gpu", True),
        ("example.com/dongle", True),
        ("kubernetes.io/batch-cpu", False),
        ("node.kubernetes.io/x", False),
        ("mykubernetes.io/x", True),
    ],
)
def test_devices_are_counted(resource: str, *, counted: bool) -> None:
    assert is_counted(resource) is counted


def test_an_empty_operator_of_a_toleration_is_equal() -> None:
    assert Toleration.model_validate({"key": "a", "operator": ""}).operator == "Equal"
    assert Toleration.model_validate({"key": "a", "effect": ""}).effect == ""


SELECTIONS = [
    ({}, {}, True),
    ({"matchLabels": {"a": "1"}}, {"a": "1", "b": "2"}, True),
    ({"matchLabels": {"a": "1"}}, {"a": "2"}, False),
    ({"matchLabels": {"a": "1"}}, {}, False),
    (
        {"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]},
        {"a": "2"},
        True,
    ),
    ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1"]}]}, {}, False),
    ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, {}, True),
    ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, {"a": "1"}, False),
    ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {"a": ""}, True),
    ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {"b": ""}, False),
    ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, {"b": ""}, True),
    ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, {"a": ""}, False),
    (
        {"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]},
        {"a": "1"},
        False,
    ),
]


@pytest.mark.parametrize("selector, labels, selected", SELECTIONS)
def test_a_selector_selects(
    selector: dict[str, object], labels: dict[str, str], *, selected: bool
) -> None:
    assert LabelSelector.model_validate(selector).matches(labels) is selected
