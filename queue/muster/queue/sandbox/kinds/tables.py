"""The columns in which built-in kinds are shown, but for pods."""

from __future__ import annotations

from typing import Any, Final

from muster.queue.api.timestamps import parse_timestamp
from muster.queue.sandbox.kinds.ages import age, short_duration
from muster.queue.sandbox.kinds.cells import (
    AGE,
    CREATED,
    NONE,
    UNKNOWN,
    at,
    containers,
    labels_text,
    selector_text,
)
from muster.queue.sandbox.kinds.resources import Column, Shared
from muster.queue.sandbox.kinds.strategy import entries, part

Columns = tuple[Column, ...]

_US: Final = 1_000_000
_ROLE_PREFIX: Final = "node-role.kubernetes.io/"
_ROLE: Final = "kubernetes.io/role"


# -- nodes -------------------------------------------------------------------------------------


def _node_status(node: Shared, _now: int) -> str:
    words = [
        "Ready" if each["status"] == "True" else "NotReady"
        for each in entries(node, "status", "conditions")
        if each["type"] == "Ready"
    ] or ["Unknown"]
    if part(node, "spec").get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _node_roles(node: Shared, _now: int) -> str:
    roles: dict[str, None] = {}
    for key, value in part(node, "metadata", "labels").items():
        if key.startswith(_ROLE_PREFIX):
            roles[key.removeprefix(_ROLE_PREFIX)] = None
        elif key == _ROLE:
            roles[value] = None
    return ",".join(sorted(role for role in roles if role)) or NONE


def _node_address(node: Shared, kind: str) -> str:
    found = (each for each in entries(node, "status", "addresses") if each["type"] == kind)
    return next((each["address"] for each in found), NONE)


def _node_info(node: Shared, name: str) -> str:
    return part(node, "status", "nodeInfo").get(name) or UNKNOWN


def _kernel(node: Shared, _now: int) -> str:
    architecture = part(node, "status", "nodeInfo").get("architecture")
    version = _node_info(node, "kernelVersion")
    return f"{version} ({architecture})" if architecture else version


NODE: Final[Columns] = (
    Column(name="Status", value=_node_status, description="The status of the node."),
    Column(name="Roles", value=_node_roles, description="The roles of the node."),
    AGE,
    Column(
        name="Version",
        value=at("status", "nodeInfo", "kubeletVersion"),
        description="The version of the kubelet.",
    ),
    Column(
        name="Internal-IP",
        value=lambda node, _now: _node_address(node, "InternalIP"),
        priority=1,
        description="The address of the node in the cluster.",
    ),
    Column(
        name="External-IP",
        value=lambda node, _now: _node_address(node, "ExternalIP"),
        priority=1,
        description="The address of the node outside.",
    ),
    Column(
        name="OS-Image",
        value=lambda node, _now: _node_info(node, "osImage"),
        priority=1,
        description="The operating system.",
    ),
    Column(name="Kernel-Version", value=_kernel, priority=1, description="The kernel."),
    Column(
        name="Container-Runtime",
        value=lambda node, _now: _node_info(node, "containerRuntimeVersion"),
        priority=1,
        description="The container runtime.",
    ),
)


# -- jobs --------------------------------------------------------------------------------------

_JOB_WORDS: Final = ("Suspended", "FailureTarget", "SuccessCriteriaMet")


def _job_status(job: Shared, _now: int) -> str:
    true = [
        each["type"] for each in entries(job, "status", "conditions") if each["status"] == "True"
    ]
    for word in ("Complete", "Failed"):
        if word in true:
            return word
    if "deletionTimestamp" in job["metadata"]:
        return "Terminating"
    return next((word for word in _JOB_WORDS if word in true), "Running")


def _completions(job: Shared, _now: int) -> str:
    spec, succeeded = job["spec"], part(job, "status").get("succeeded", 0)
    if "completions" in spec:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism", 0)
    return f"{succeeded}/1" + (f" of {parallelism}" if parallelism > 1 else "")


def _duration(job: Shared, now_us: int) -> str:
    status = part(job, "status")
    if not status.get("startTime"):
        return ""
    end = status.get("completionTime")
    end_us = parse_timestamp(end) if end else now_us
    return short_duration(int((end_us - parse_timestamp(status["startTime"])) / _US))


JOB: Final[Columns] = (
    Column(name="Status", value=_job_status, description="Status of the job."),
    Column(
        name="Completions",
        value=_completions,
        description="How many pods have succeeded, of how many.",
    ),
    Column(name="Duration", value=_duration, description="How long the job took or has run."),
    AGE,
    Column(
        name="Containers",
        value=lambda job, _now: containers(job["spec"]["template"], "name"),
        priority=1,
        description="The containers of its pods.",
    ),
    Column(
        name="Images",
        value=lambda job, _now: containers(job["spec"]["template"], "image"),
        priority=1,
        description="The images of its pods.",
    ),
    Column(
        name="Selector",
        value=lambda job, _now: selector_text(job["spec"].get("selector")),
        priority=1,
        description="What selects its pods.",
    ),
)


# -- events ------------------------------------------------------------------------------------


def _either(event: Shared, *names: str) -> Any:
    """Return a field of an event in whichever of its forms it is."""
    return next((event[name] for name in names if event.get(name)), None)


def _first_seen(event: Shared, now_us: int) -> str:
    return age(_either(event, "firstTimestamp", "deprecatedFirstTimestamp", "eventTime"), now_us)


def _last_seen(event: Shared, now_us: int) -> str:
    if series := event.get("series"):
        return age(series.get("lastObservedTime"), now_us)
    last = _either(event, "lastTimestamp", "deprecatedLastTimestamp")
    return age(last, now_us) if last else _first_seen(event, now_us)


def _object(event: Shared, _now: int) -> str:
    about = _either(event, "involvedObject", "regarding") or {}
    kind, name = about.get("kind", "").lower(), about.get("name")
    return f"{kind}/{name}" if name else kind


def _source(event: Shared, _now: int) -> str:
    source = _either(event, "source", "deprecatedSource") or {}
    reporter = _either(event, "reportingComponent", "reportingController") or ""
    component = source.get("component") or reporter
    instance = source.get("host") or event.get("reportingInstance", "")
    return f"{component}, {instance}" if instance else component


def _count(event: Shared, _now: int) -> int:
    series = event.get("series") or {}
    return int(series.get("count") or _either(event, "count", "deprecatedCount") or 1)


EVENT: Final[Columns] = (
    Column(name="Last Seen", value=_last_seen, description="When it was last observed."),
    Column(name="Type", value=at("type"), description="Normal or Warning."),
    Column(name="Reason", value=at("reason"), description="Why, in a word for programs."),
    Column(name="Object", value=_object, description="What it is about."),
    Column(
        name="Subobject",
        value=lambda event, _now: (_either(event, "involvedObject", "regarding") or {}).get(
            "fieldPath", ""
        ),
        priority=1,
        description="Which part of that.",
    ),
    Column(name="Source", value=_source, priority=1, description="Who reports it."),
    Column(
        name="Message",
        value=lambda event, _now: (_either(event, "message", "note") or "").strip(),
        description="What happened, in a sentence for people.",
    ),
    Column(
        name="First Seen",
        value=_first_seen,
        priority=1,
        description="When it was first observed.",
    ),
    Column(name="Count", value=_count, priority=1, description="How often it was observed."),
    Column(
        name="Name",
        format="name",
        value=at("metadata", "name"),
        priority=1,
        description="Unique among the objects of this kind in its namespace.",
    ),
)


# -- bindings ----------------------------------------------------------------------------------


def _subjects(binding: Shared, kind: str) -> str:
    names = [
        f"{each.get('namespace', '')}/{each['name']}" if kind == "ServiceAccount" else each["name"]
        for each in binding.get("subjects") or ()
        if each["kind"] == kind
    ]
    return ", ".join(names)


BINDING: Final[Columns] = (
    Column(
        name="Role",
        value=lambda obj, _now: f"{obj['roleRef']['kind']}/{obj['roleRef']['name']}",
        description="The role that is bound.",
    ),
    AGE,
    Column(
        name="Users",
        value=lambda obj, _now: _subjects(obj, "User"),
        priority=1,
        description="The users it is bound to.",
    ),
    Column(
        name="Groups",
        value=lambda obj, _now: _subjects(obj, "Group"),
        priority=1,
        description="The groups it is bound to.",
    ),
    Column(
        name="ServiceAccounts",
        value=lambda obj, _now: _subjects(obj, "ServiceAccount"),
        priority=1,
        description="The service accounts it is bound to.",
    ),
)


# -- others ------------------------------------------------------------------------------------

AGED: Final[Columns] = (AGE,)
DATED: Final[Columns] = (CREATED,)

NAMESPACE: Final[Columns] = (
    Column(
        name="Status",
        value=at("status", "phase"),
        description="Whether the namespace is active or goes.",
    ),
    AGE,
)

CONFIG_MAP: Final[Columns] = (
    Column(
        name="Data",
        value=lambda obj, _now: len(obj.get("data") or ()) + len(obj.get("binaryData") or ()),
        description="How many entries there are.",
    ),
    AGE,
)

SECRET: Final[Columns] = (
    Column(name="Type", value=at("type"), description="What the secret is for."),
    Column(
        name="Data",
        value=lambda obj, _now: len(obj.get("data") or ()),
        description="How many entries there are.",
    ),
    AGE,
)

POD_TEMPLATE: Final[Columns] = (
    Column(
        name="Containers",
        value=lambda obj, _now: containers(obj["template"], "name"),
        description="The containers of the template.",
    ),
    Column(
        name="Images",
        value=lambda obj, _now: containers(obj["template"], "image"),
        description="The images of the template.",
    ),
    Column(
        name="Pod Labels",
        value=lambda obj, _now: labels_text(part(obj, "template", "metadata").get("labels")),
        description="The labels of the template.",
    ),
)

LEASE: Final[Columns] = (
    Column(
        name="Holder",
        value=at("spec", "holderIdentity"),
        description="Who holds the lease.",
    ),
    AGE,
)

PRIORITY_CLASS: Final[Columns] = (
    Column(
        name="Value",
        type="integer",
        value=at("value", default=0),
        description="The priority of pods of this class; more is sooner.",
    ),
    Column(
        name="Global-Default",
        type="boolean",
        value=at("globalDefault", default=False),
        description="Whether it is the class of pods that name none.",
    ),
    AGE,
    Column(
        name="PreemptionPolicy",
        value=at("preemptionPolicy"),
        description="Whether pods of this class take the place of others.",
    ),
)

RUNTIME_CLASS: Final[Columns] = (
    Column(name="Handler", value=at("handler"), description="What runs the pods."),
    AGE,
)


def _share(obj: Shared, name: str) -> str:
    share = part(obj, "spec").get(name)
    return "N/A" if share is None else str(share)


BUDGET: Final[Columns] = (
    Column(
        name="Min Available",
        value=lambda obj, _now: _share(obj, "minAvailable"),
        description="How many pods must be available at least.",
    ),
    Column(
        name="Max Unavailable",
        value=lambda obj, _now: _share(obj, "maxUnavailable"),
        description="How many pods may be unavailable at most.",
    ),
    Column(
        name="Allowed Disruptions",
        type="integer",
        value=at("status", "disruptionsAllowed", default=0),
        description="How many pods may be evicted now.",
    ),
    AGE,
)

WEBHOOKS: Final[Columns] = (
    Column(
        name="Webhooks",
        type="integer",
        value=lambda obj, _now: len(obj.get("webhooks") or ()),
        description="How many webhooks there are.",
    ),
    AGE,
)
