"""What a Pod is when nobody runs it: its defaults, its bounds, and what of it may change."""

from typing import Any

import pytest

from tests.e2e.api import JSON_PATCH, STRATEGIC
from tests.e2e.probes.probe import Probe, causes
from tests.queue.api.manifests import Manifest, changed

POD: Manifest = {"containers": [{"name": "c", "image": "i"}]}
GATED = {"spec.schedulingGates": [{"name": "example.com/wait"}]}


def a_pod(probe: Probe, changes: Manifest | None = None) -> Manifest:
    """A pod that no scheduler touches, so that nothing but the probe changes it."""
    return probe.a("Pod", "v1", {"spec.schedulerName": "nobody", **(changes or {})}, spec=POD)


DEFAULTS = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
    "priority": 0,
    "tolerations": [
        {
            "key": f"node.kubernetes.io/{why}",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 300,
        }
        for why in ("not-ready", "unreachable")
    ],
}


@pytest.mark.parametrize("field", DEFAULTS)
def test_a_pod_gets_a_default(field: str, probe: Probe) -> None:
    made = probe.create(a_pod(probe))

    assert made["spec"][field] == DEFAULTS[field]


def test_a_pod_is_for_the_default_scheduler(probe: Probe) -> None:
    pod = a_pod(probe, GATED)
    del pod["spec"]["schedulerName"]

    assert probe.create(pod)["spec"]["schedulerName"] == "default-scheduler"


def test_a_new_pod_is_pending_with_its_class_of_service(probe: Probe) -> None:
    made = probe.create(a_pod(probe))

    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert made["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    "image, policy",
    [("i", "Always"), ("i:latest", "Always"), ("i:1", "IfNotPresent"), ("h:5000/i", "Always")],
)
def test_an_image_is_pulled_by_its_tag(image: str, policy: str, probe: Probe) -> None:
    made = probe.create(a_pod(probe, {"spec.containers[0].image": image}))

    (container,) = made["spec"]["containers"]
    assert container == {
        "name": "c",
        "image": image,
        "imagePullPolicy": policy,
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }


def test_a_port_is_of_tcp(probe: Probe) -> None:
    made = probe.create(a_pod(probe, {"spec.containers[0].ports": [{"containerPort": 80}]}))

    assert made["spec"]["containers"][0]["ports"] == [{"containerPort": 80, "protocol": "TCP"}]


def test_a_limit_is_the_request_of_who_makes_none(probe: Probe) -> None:
    limits = {"cpu": "2", "nvidia.com/gpu": "1"}
    requests = {"cpu": "1"}
    resources = {"limits": limits, "requests": requests}
    made = probe.create(a_pod(probe, {"spec.containers[0].resources": resources}))

    assert made["spec"]["containers"][0]["resources"] == {
        "limits": limits,
        "requests": {"cpu": "1", "nvidia.com/gpu": "1"},
    }


@pytest.mark.parametrize("given, kept", [("1000m", "1"), ("0.5", "500m"), ("1e3", "1e3")])
def test_quantities_are_kept_in_canonical_form(given: str, kept: str, probe: Probe) -> None:
    made = probe.create(a_pod(probe, {"spec.containers[0].resources.requests": {"cpu": given}}))

    assert made["spec"]["containers"][0]["resources"]["requests"] == {"cpu": kept}


@pytest.mark.parametrize(
    "resources, service",
    [
        ({}, "BestEffort"),
        ({"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}, "Burstable"),
    ],
)
def test_resources_make_the_class_of_service(
    resources: Manifest, service: str, probe: Probe
) -> None:
    made = probe.create(a_pod(probe, {"spec.containers[0].resources": resources}))

    assert made["status"]["qosClass"] == service


def test_a_priority_class_gives_its_number_and_policy(probe: Probe) -> None:
    name = probe.priority_class(7, preemptionPolicy="Never")
    made = probe.create(a_pod(probe, {"spec.priorityClassName": name}))

    spec = made["spec"]
    assert (spec["priorityClassName"], spec["priority"], spec["preemptionPolicy"]) == (
        name,
        7,
        "Never",
    )


def test_a_priority_class_must_exist(probe: Probe) -> None:
    pod = a_pod(probe, {"spec.priorityClassName": "nowhere"})

    answer = probe.refused(pod, 403, "Forbidden")

    name = pod["metadata"]["name"]
    says = "no PriorityClass with name nowhere was found"
    assert answer.message == f'pods "{name}" is forbidden: {says}'


def test_a_priority_of_ones_own_is_forbidden(probe: Probe) -> None:
    answer = probe.refused(a_pod(probe, {"spec.priority": 7}), 403, "Forbidden")

    assert "the integer value of priority (7) must not be provided in pod spec" in (answer.message)


def test_tolerations_of_ones_own_are_kept_before_those_added(probe: Probe) -> None:
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    made = probe.create(a_pod(probe, {"spec.tolerations": [own]}))

    assert [each.get("tolerationSeconds") for each in made["spec"]["tolerations"]] == [None, 300]


CONTAINER = "spec.containers[0]"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TERMS = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
INVALID = [
    ("no containers", {"spec.containers": []}, [("FieldValueRequired", "spec.containers")]),
    ("no name", {f"{CONTAINER}.name": ""}, [("FieldValueRequired", f"{CONTAINER}.name")]),
    ("a bad name", {f"{CONTAINER}.name": "A_"}, [("FieldValueInvalid", f"{CONTAINER}.name")]),
    ("no image", {f"{CONTAINER}.image": ""}, [("FieldValueRequired", f"{CONTAINER}.image")]),
    (
        "a name twice",
        {"spec.containers[1]": POD["containers"][0]},
        [("FieldValueDuplicate", "spec.containers[1].name")],
    ),
    (
        "an unknown restart policy",
        {"spec.restartPolicy": "Sometimes"},
        [("FieldValueNotSupported", "spec.restartPolicy")],
    ),
    (
        "more requested than allowed",
        {f"{CONTAINER}.resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}},
        [("FieldValueInvalid", f"{CONTAINER}.resources.requests")],
    ),
    (
        "a negative request",
        {f"{CONTAINER}.resources.requests": {"cpu": "-1"}},
        [("FieldValueInvalid", f"{CONTAINER}.resources.requests[cpu]")],
    ),
    (
        "a device requested without a limit",
        {f"{CONTAINER}.resources.requests": {"nvidia.com/gpu": "1"}},
        [("FieldValueRequired", f"{CONTAINER}.resources.limits")],
    ),
    (
        "half a device",
        {f"{CONTAINER}.resources.limits": {"nvidia.com/gpu": "500m"}},
        [
            ("FieldValueInvalid", f"{CONTAINER}.resources.limits[nvidia.com/gpu]"),
            ("FieldValueInvalid", f"{CONTAINER}.resources.requests[nvidia.com/gpu]"),
        ],
    ),
    (
        "a resource of no domain",
        {f"{CONTAINER}.resources.limits": {"gpu": "1"}},
        [
            ("FieldValueInvalid", f"{CONTAINER}.resources.limits[gpu]"),
            ("FieldValueInvalid", f"{CONTAINER}.resources.limits[gpu]"),
            ("FieldValueInvalid", f"{CONTAINER}.resources.requests[gpu]"),
            ("FieldValueInvalid", f"{CONTAINER}.resources.requests[gpu]"),
        ],
    ),
    (
        "a bad label",
        {"metadata.labels": {"k": "a b"}},
        [("FieldValueInvalid", "metadata.labels")],
    ),
    (
        "a bad annotation",
        {"metadata.annotations": {"a b": ""}},
        [("FieldValueInvalid", "metadata.annotations")],
    ),
    (
        "a toleration of a value that exists",
        {"spec.tolerations": [{"key": "k", "operator": "Exists", "value": "v"}]},
        [("FieldValueInvalid", "spec.tolerations[0].operator")],
    ),
    (
        "a toleration of everything by equality",
        {"spec.tolerations": [{"operator": "Equal", "value": "v"}]},
        [("FieldValueInvalid", "spec.tolerations[0].operator")],
    ),
    (
        "seconds of tolerating what does not evict",
        {"spec.tolerations": [{"key": "k", "effect": "NoSchedule", "tolerationSeconds": 1}]},
        [("FieldValueInvalid", "spec.tolerations[0].effect")],
    ),
    (
        "a bad node selector",
        {"spec.nodeSelector": {"a b": "c"}},
        [("FieldValueInvalid", "spec.nodeSelector")],
    ),
    (
        "an affinity to no value",
        {TERMS: [{"matchExpressions": [{"key": "k", "operator": "In"}]}]},
        [("FieldValueRequired", f"{TERMS}[0].matchExpressions[0].values")],
    ),
    (
        "a gate twice",
        {"spec.schedulingGates": [{"name": "a"}, {"name": "a"}]},
        [("FieldValueDuplicate", "spec.schedulingGates[1]")],
    ),
    (
        "a gate and a node",
        {**GATED, "spec.nodeName": "n"},
        [("FieldValueForbidden", "spec.nodeName")],
    ),
    (
        "a deadline of nothing",
        {"spec.activeDeadlineSeconds": 0},
        [("FieldValueInvalid", "spec.activeDeadlineSeconds")],
    ),
    (
        "a variable without a name",
        {f"{CONTAINER}.env": [{"value": "v"}]},
        [("FieldValueRequired", f"{CONTAINER}.env[0].name")],
    ),
    (
        "a port out of range",
        {f"{CONTAINER}.ports": [{"containerPort": 70000}]},
        [("FieldValueInvalid", f"{CONTAINER}.ports[0].containerPort")],
    ),
    (
        "an unknown volume",
        {f"{CONTAINER}.volumeMounts": [{"name": "v", "mountPath": "/v"}]},
        [("FieldValueNotFound", f"{CONTAINER}.volumeMounts[0].name")],
    ),
    (
        "an unknown pull policy",
        {f"{CONTAINER}.imagePullPolicy": "Maybe"},
        [("FieldValueNotSupported", f"{CONTAINER}.imagePullPolicy")],
    ),
    (
        "a bad hostname",
        {"spec.hostname": "A_"},
        [("FieldValueInvalid", "spec.hostname")],
    ),
    (
        "a spread over nothing",
        {"spec.topologySpreadConstraints": [{"maxSkew": 0, "whenUnsatisfiable": "DoNotSchedule"}]},
        [
            ("FieldValueInvalid", "spec.topologySpreadConstraints[0].maxSkew"),
            ("FieldValueRequired", "spec.topologySpreadConstraints[0].topologyKey"),
        ],
    ),
]


@pytest.mark.parametrize("why, changes, expected", INVALID, ids=[why for why, _, _ in INVALID])
def test_a_pod_is_refused(
    why: str, changes: Manifest, expected: list[tuple[str, str]], probe: Probe
) -> None:
    answer = probe.refused(a_pod(probe, changes))

    assert causes(answer) == expected, why
    assert answer.body["details"]["kind"] == "Pod"


MALFORMED = [
    (
        "a word for a quantity",
        f"{CONTAINER}.resources.requests",
        {"cpu": "much"},
        "quantities must",
    ),
    ("a word for a number", "spec.priority", "high", "into Go struct field PodSpec.spec.priority"),
    ("a list for a mapping", "spec.nodeSelector", [], "into Go struct field PodSpec.spec.nodeSel"),
    ("a number for a word", "spec.nodeName", 7, "into Go struct field PodSpec.spec.nodeName"),
]


@pytest.mark.parametrize("why, path, value, words", MALFORMED, ids=[row[0] for row in MALFORMED])
def test_a_malformed_pod_cannot_be_read(
    why: str, path: str, value: Any, words: str, probe: Probe
) -> None:
    answer = probe.refused(a_pod(probe, {path: value}), 400, "BadRequest")

    assert answer.message.startswith('Pod in version "v1" cannot be handled as a Pod: '), why
    assert words in answer.message


def test_a_bad_name_is_refused(probe: Probe) -> None:
    answer = probe.refused(a_pod(probe, {"metadata.name": "Not_A_Name"}))

    assert causes(answer) == [("FieldValueInvalid", "metadata.name")]


UNCHANGEABLE = [
    {"spec.containers[0].name": "d"},
    {"spec.containers[0].resources": {"requests": {"cpu": "1"}}},
    {"spec.nodeSelector": {"k": "v"}},
    {"spec.schedulerName": "default-scheduler"},
    {"spec.restartPolicy": "Never"},
    {"spec.nodeName": "n"},
]


@pytest.mark.parametrize("changes", UNCHANGEABLE, ids=lambda changes: next(iter(changes)))
def test_the_spec_of_a_pod_does_not_change(changes: Manifest, probe: Probe) -> None:
    made = probe.create(a_pod(probe))

    answer = probe.api.replace(changed(made, changes))

    assert (answer.code, answer.body["reason"]) == (422, "Invalid")
    assert "FieldValueForbidden" in [reason for reason, _ in causes(answer)]


CHANGEABLE = [
    {"spec.containers[0].image": "j"},
    {"spec.activeDeadlineSeconds": 5},
    {"spec.tolerations[2]": {"key": "k", "operator": "Exists"}},
    {"metadata.labels": {"k": "v"}},
    {"metadata.annotations": {"k": "v"}},
]


@pytest.mark.parametrize("changes", CHANGEABLE, ids=lambda changes: next(iter(changes)))
def test_some_of_a_pod_changes(changes: Manifest, probe: Probe) -> None:
    made = probe.create(a_pod(probe))

    now = probe.api.replace(changed(made, changes)).expect(200)

    (path,) = changes
    generation = 2 if path.startswith("spec") else 1
    assert now["metadata"]["generation"] == generation
    assert now == changed(now, changes)


def test_a_gate_may_go(probe: Probe) -> None:
    made = probe.create(a_pod(probe, GATED))

    now = probe.api.patch(made, {"spec": {"schedulingGates": None}}).expect(200)

    assert "schedulingGates" not in now["spec"]


def test_a_gate_may_not_come(probe: Probe) -> None:
    made = probe.create(a_pod(probe, GATED))

    answer = probe.api.replace(changed(made, {"spec.schedulingGates[1]": {"name": "b"}}))

    assert (answer.code, answer.body["reason"]) == (422, "Invalid")
    assert causes(answer)[0] == ("FieldValueForbidden", "spec.schedulingGates[1].name")


def test_a_gated_pod_is_known_as_such_at_once(probe: Probe) -> None:
    made = probe.create(a_pod(probe, GATED))

    (condition,) = made["status"]["conditions"]
    assert condition["type"] == "PodScheduled"
    assert condition["status"] == "False"
    assert condition["reason"] == "SchedulingGated"


def test_a_gated_pod_gets_a_narrower_selector(probe: Probe) -> None:
    made = probe.create(a_pod(probe, {**GATED, "spec.nodeSelector": {"a": "b"}}))

    wider = probe.api.patch(made, {"spec": {"nodeSelector": {"a": None}}})
    narrower = probe.api.patch(made, {"spec": {"nodeSelector": {"c": "d"}}})

    assert wider.code == 422
    assert narrower.expect(200)["spec"]["nodeSelector"] == {"a": "b", "c": "d"}


def test_labels_are_patched_in_all_three_ways(probe: Probe) -> None:
    made = probe.create(a_pod(probe, {"metadata.labels": {"a": "1"}}))

    probe.api.patch(made, {"metadata": {"labels": {"b": "2"}}}).expect(200)
    probe.api.patch(made, {"metadata": {"labels": {"c": "3"}}}, STRATEGIC).expect(200)
    operation = {"op": "remove", "path": "/metadata/labels/a"}
    now = probe.api.patch(made, [operation], JSON_PATCH).expect(200)

    assert now["metadata"]["labels"] == {"b": "2", "c": "3"}


def test_containers_are_patched_by_name(probe: Probe) -> None:
    spec = {"containers": [*POD["containers"], {"name": "d", "image": "i"}]}
    made = probe.create(a_pod(probe, {"spec": {**spec, "schedulerName": "nobody"}}))

    patch = {"spec": {"containers": [{"name": "d", "image": "j"}]}}
    now = probe.api.patch(made, patch, STRATEGIC).expect(200)

    images = {each["name"]: each["image"] for each in now["spec"]["containers"]}
    assert images == {"c": "i", "d": "j"}


def test_status_is_written_by_itself(probe: Probe) -> None:
    made = probe.create(a_pod(probe, {"status.phase": "Running"}))
    assert made["status"]["phase"] == "Pending"

    unchanged = probe.api.patch(made, {"status": {"phase": "Running"}}).expect(200)
    assert unchanged["status"]["phase"] == "Pending"

    now = probe.set_status(made, phase="Running", podIP="10.0.0.1")
    assert (now["status"]["phase"], now["status"]["podIP"]) == ("Running", "10.0.0.1")
    assert now["status"]["podIPs"] == [{"ip": "10.0.0.1"}]
    assert now["metadata"]["generation"] == 1


def test_conditions_are_patched_by_type(probe: Probe) -> None:
    made = probe.create(a_pod(probe))

    for name in ("Ready", "Initialized"):
        condition = {"type": name, "status": "True"}
        status = {"status": {"conditions": [condition]}}
        probe.api.patch(made, status, STRATEGIC, "/status").expect(200)

    names = [each["type"] for each in probe.get(made)["status"]["conditions"]]
    assert sorted(names) == ["Initialized", "Ready"]


def test_pods_are_selected_by_phase_and_node(probe: Probe) -> None:
    label = probe.a_name("l")
    labelled = {"metadata.labels": {"probe": label}}
    made = probe.create(a_pod(probe, {**labelled, "spec.nodeName": label}))
    other = probe.create(a_pod(probe, labelled))
    probe.set_status(made, phase="Succeeded")

    for selector, expected in (
        (f"spec.nodeName={label}", made),
        ("status.phase=Succeeded", made),
        ("status.phase!=Succeeded", other),
    ):
        listed = probe.found(made, labelSelector=f"probe={label}", fieldSelector=selector)
        assert [each["metadata"]["name"] for each in listed] == [expected["metadata"]["name"]]


def test_pods_are_not_selected_by_any_field(probe: Probe) -> None:
    pods = f"/api/v1/namespaces/{probe.namespace}/pods"
    answer = probe.api.request("GET", pods, fieldSelector="spec.hostname=x")

    assert (answer.code, answer.body["reason"]) == (400, "BadRequest")
    assert "field label not supported: spec.hostname" in answer.message
