"""Objects with full defaults: a test names only what it is about."""

from collections.abc import Mapping, Sequence
from typing import Any

from muster.admission.amounts import FlavorResource
from muster.admission.objects import (
    Admission,
    Check,
    CheckRule,
    CheckState,
    ClusterQueue,
    Condition,
    LocalQueue,
    PodSet,
    PodSetAssignment,
    Quota,
    ResourceFlavor,
    ResourceGroup,
    Status,
    Taint,
    Workload,
)
from muster.admission.requests import NANO, Container, PodTemplate, Resources

SECOND_US = 1_000_000

SUFFIXES = {"n": 1, "u": 10**3, "m": 10**6, "": NANO, "Ki": NANO << 10, "Gi": NANO << 30}


# --- Nodes and quota -----------------------------------------------------------------------------


def a_flavor(name: str = "default", **named: Any) -> ResourceFlavor:
    return ResourceFlavor(name=name, **named)


def a_taint(key: str = "gpu", value: str = "h100", effect: str = "NoSchedule") -> Taint:
    return Taint(key, value, effect)


def a_cluster_queue(
    name: str = "cq",
    *,
    flavors: Sequence[str] = ("default",),
    cpu: int = 10_000,
    checks: Mapping[str, Sequence[str]] | None = None,
    **named: Any,
) -> ClusterQueue:
    """A queue with `cpu` milli-cores in each flavor; `checks` maps a check to its flavors."""
    return ClusterQueue(
        name=name,
        groups=(ResourceGroup(resources=("cpu",), flavors=tuple(flavors)),),
        quotas={FlavorResource(flavor, "cpu"): Quota(nominal=cpu) for flavor in flavors},
        checks=tuple(
            CheckRule(check=check, on_flavors=tuple(on)) for check, on in (checks or {}).items()
        ),
        **named,
    )


def a_local_queue(name: str = "lq", *, cluster_queue: str = "cq", **named: Any) -> LocalQueue:
    return LocalQueue(namespace="default", name=name, cluster_queue=cluster_queue, **named)


# --- Workloads -----------------------------------------------------------------------------------


def a_pod_set(name: str = "main", *, count: int = 1, cpu: int = 1_000, **named: Any) -> PodSet:
    return PodSet(name=name, count=count, **{"requests": (("cpu", cpu),), **named})


def a_workload(name: str = "wl", **named: Any) -> Workload:
    defaults: dict[str, Any] = {
        "namespace": "default",
        "uid": f"uid-{name}",
        "local_queue": "lq",
        "created_us": 0,
        "pod_sets": (a_pod_set(),),
    }
    return Workload(name=name, **{**defaults, **named})


def an_admission(
    cluster_queue: str = "cq", *, flavors: Mapping[str, str] | None = None, count: int = 1
) -> Admission:
    """One pod set; `flavors` maps each resource to its flavor."""
    assigned = {"cpu": "default"} if flavors is None else flavors
    return Admission(
        cluster_queue=cluster_queue,
        pod_sets=(
            PodSetAssignment(
                name="main",
                flavors=assigned,
                usage=dict.fromkeys(assigned, 1_000 * count),
                count=count,
            ),
        ),
    )


def a_check(name: str = "check", state: CheckState = CheckState.PENDING, **named: Any) -> Check:
    return Check(name=name, state=state, **named)


def a_status(conditions: Mapping[str, tuple[bool, str, int]] | None = None, **named: Any) -> Status:
    """`conditions` maps a type to its status, its reason and since when, in seconds."""
    return Status(
        conditions={
            name: Condition(status=status, reason=reason, since_us=since_s * SECOND_US)
            for name, (status, reason, since_s) in (conditions or {}).items()
        },
        **named,
    )


# --- Pod templates -------------------------------------------------------------------------------


def nanos(**texts: str) -> dict[str, int]:
    """Read quantities as people write them, for example cpu="500m", memory="4Gi"."""
    return {name: nano(text) for name, text in texts.items()}


def nano(text: str) -> int:
    digits = text.rstrip("numKiG")
    return int(digits) * SUFFIXES[text.removeprefix(digits)]


def a_container(
    name: str = "main",
    *,
    requests: Mapping[str, int] | None = None,
    limits: Mapping[str, int] | None = None,
    sidecar: bool = False,
) -> Container:
    resources = Resources(requests=requests or {}, limits=limits or {})
    return Container(name=name, resources=resources, restartable=sidecar)


def a_template(*containers: Container, init: Sequence[Container] = (), **named: Any) -> PodTemplate:
    return PodTemplate(containers=containers, init_containers=tuple(init), **named)
