"""Objects with full defaults: a test names only what it is about."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from muster.admission.amounts import FlavorResource
from muster.admission.conditions import ADMITTED, EVICTED, QUOTA_RESERVED
from muster.admission.objects import (
    Admission,
    Check,
    CheckRule,
    CheckState,
    ClusterQueue,
    Cohort,
    Condition,
    FlavorFungibility,
    LabelSelector,
    LocalQueue,
    PodSet,
    PodSetAssignment,
    Preemption,
    PreemptionPolicy,
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


NEVER = PreemptionPolicy.NEVER
LOWER = PreemptionPolicy.LOWER_PRIORITY
LOWER_OR_NEWER = PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY
ANY = PreemptionPolicy.ANY

Limits = int | tuple[int | None, ...]
"""A nominal quota, or (nominal, borrowing limit, lending limit) with None for no limit."""

Quotas = Mapping[str, Mapping[str, Limits]]
"""Flavor -> resource -> limits, flavors in order of preference."""


# --- Nodes and quota -----------------------------------------------------------------------------


def a_flavor(name: str = "default", **named: Any) -> ResourceFlavor:
    return ResourceFlavor(name=name, **named)


def a_taint(key: str = "gpu", value: str = "h100", effect: str = "NoSchedule") -> Taint:
    return Taint(key, value, effect)


def a_quota(limits: Limits) -> Quota:
    nominal, *rest = (limits,) if isinstance(limits, int) else limits
    borrowing, lending = (*rest, None, None)[:2]
    assert nominal is not None
    return Quota(nominal=nominal, borrowing_limit=borrowing, lending_limit=lending)


def quotas(table: Quotas) -> dict[FlavorResource, Quota]:
    return {
        FlavorResource(flavor, resource): a_quota(limits)
        for flavor, resources in table.items()
        for resource, limits in resources.items()
    }


def resource_groups(table: Quotas) -> tuple[ResourceGroup, ...]:
    """Flavors that list the same resources make one group."""
    flavors: dict[tuple[str, ...], list[str]] = {}
    for flavor, resources in table.items():
        flavors.setdefault(tuple(resources), []).append(flavor)
    return tuple(
        ResourceGroup(resources=resources, flavors=tuple(names))
        for resources, names in flavors.items()
    )


def a_cluster_queue(
    name: str = "cq",
    *,
    flavors: Sequence[str] = ("default",),
    cpu: Limits = 10_000,
    quota: Quotas | None = None,
    checks: Mapping[str, Sequence[str]] | None = None,
    within: PreemptionPolicy = NEVER,
    reclaim: PreemptionPolicy = NEVER,
    borrow: bool = False,
    borrow_up_to: int | None = None,
    **named: Any,
) -> ClusterQueue:
    """A queue for every namespace with `quota`, or just `cpu` in each flavor.

    `checks` maps a check to its flavors; `borrow` allows preemption while borrowing, of priorities
    up to `borrow_up_to`.
    """
    table = {flavor: {"cpu": cpu} for flavor in flavors} if quota is None else quota
    defaults: dict[str, Any] = {
        "namespace_selector": LabelSelector(),
        "preemption": Preemption(
            within_cluster_queue=within,
            reclaim_within_cohort=reclaim,
            borrow_within_cohort=borrow,
            borrow_max_priority=borrow_up_to,
        ),
        "checks": tuple(
            CheckRule(check=check, on_flavors=tuple(on)) for check, on in (checks or {}).items()
        ),
    }
    return ClusterQueue(
        name=name, groups=resource_groups(table), quotas=quotas(table), **{**defaults, **named}
    )


def a_fungibility(
    *, borrowing: str = "MayStopSearch", preempting: str = "TryNextFlavor", prefer: str = ""
) -> FlavorFungibility:
    """whenCanBorrow, whenCanPreempt and preference, by the names they have in manifests."""
    return FlavorFungibility(
        try_next_when_borrowing=borrowing == "TryNextFlavor",
        try_next_when_preempting=preempting == "TryNextFlavor",
        prefer_preemption_over_borrowing=prefer == "PreemptionOverBorrowing",
    )


def a_cohort(
    name: str, parent: str | None = None, *, quota: Quotas | None = None, **named: Any
) -> Cohort:
    return Cohort(name=name, parent=parent, quotas=quotas(quota or {}), **named)


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


def a_gang(
    name: str,
    queue: str,
    *,
    pods: int = 1,
    min_pods: int | None = None,
    created_s: int = 0,
    requests: Mapping[str, int] | None = None,
    cpu: int = 1,
    **named: Any,
) -> Workload:
    """Pods that ask for `requests`, or just for `cpu`, each; `queue` is a LocalQueue."""
    asked = tuple(sorted(({"cpu": cpu} if requests is None else requests).items()))
    pod_set = a_pod_set(count=pods, min_count=min_pods, requests=asked)
    defaults: dict[str, Any] = {
        "local_queue": queue,
        "created_us": created_s * SECOND_US,
        "pod_sets": (pod_set,),
    }
    return a_workload(name, **{**defaults, **named})


def a_holder(
    workload: Workload,
    cluster_queue: str,
    *,
    flavors: str | Mapping[str, str] = "default",
    reserved_us: int = 0,
    evicted: bool = False,
) -> Status:
    """The status of a workload that runs with all it asks for, in one flavor or one a resource."""
    conditions = {
        QUOTA_RESERVED: Condition(True, "QuotaReserved", reserved_us),
        ADMITTED: Condition(True, "Admitted", reserved_us),
    }
    if evicted:
        conditions[EVICTED] = Condition(True, "Preempted", reserved_us)
    return Status(
        admission=Admission(
            cluster_queue=cluster_queue,
            pod_sets=tuple(
                PodSetAssignment(
                    name=pod_set.name,
                    flavors={
                        resource: flavors if isinstance(flavors, str) else flavors[resource]
                        for resource, _ in pod_set.requests
                    },
                    usage={resource: each * pod_set.count for resource, each in pod_set.requests},
                    count=pod_set.count,
                )
                for pod_set in workload.pod_sets
            ),
        ),
        conditions=conditions,
    )


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
    container = Container(name=name, resources=resources)
    return replace(container, restartable=True) if sidecar else container


def a_template(*containers: Container, init: Sequence[Container] = (), **named: Any) -> PodTemplate:
    return PodTemplate(containers=containers, init_containers=tuple(init), **named)
