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
    Column("Status", _node_status, "The status of the node."),
    Column("Roles", _node_roles, "The roles of the node."),
    AGE,
    Column("Version", at("status", "nodeInfo", "kubeletVersion"), "The version of the kubelet."),
    Column(
        "Internal-IP",
        lambda node, _now: _node_address(node, "InternalIP"),
        "The address of the node in the cluster.",
        priority=1,
    ),
    Column(
        "External-IP",
        lambda node, _now: _node_address(node, "ExternalIP"),
        "The address of the node outside.",
        priority=1,
    ),
    Column(
        "OS-Image",
        lambda node, _now: _node_info(node, "osImage"),
        "The operating system.",
        priority=1,
    ),
    Column("Kernel-Version", _kernel, "The kernel.", priority=1),
    Column(
        "Container-Runtime",
        lambda node, _now: _node_info(node, "containerRuntimeVersion"),
        "The container runtime.",
        priority=1,
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
    Column("Status", _job_status, "Status of the job."),
    Column("Completions", _completions, "How many pods have succeeded, of how many."),
    Column("Duration", _duration, "How long the job took or has run."),
    AGE,
    Column(
        "Containers",
        lambda job, _now: containers(job["spec"]["template"], "name"),
        "The containers of its pods.",
        priority=1,
    ),
    Column(
        "Images",
        lambda job, _now: containers(job["spec"]["template"], "image"),
        "The images of its pods.",
        priority=1,
    ),
    Column(
        "Selector",
        lambda job, _now: selector_text(job["spec"].get("selector")),
        "What selects its pods.",
        priority=1,
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
    Column("Last Seen", _last_seen, "When it was last observed."),
    Column("Type", at("type"), "Normal or Warning."),
    Column("Reason", at("reason"), "Why, in a word for programs."),
    Column("Object", _object, "What it is about."),
    Column(
        "Subobject",
        lambda event, _now: (_either(event, "involvedObject", "regarding") or {}).get(
            "fieldPath", ""
        ),
        "Which part of that.",
        priority=1,
    ),
    Column("Source", _source, "Who reports it.", priority=1),
    Column(
        "Message",
        lambda event, _now: (_either(event, "message", "note") or "").strip(),
        "What happened, in a sentence for people.",
    ),
    Column("First Seen", _first_seen, "When it was first observed.", priority=1),
    Column("Count", _count, "How often it was observed.", priority=1),
    Column(
        "Name",
        at("metadata", "name"),
        "Unique among the objects of this kind in its namespace.",
        format="name",
        priority=1,
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
        "Role",
        lambda obj, _now: f"{obj['roleRef']['kind']}/{obj['roleRef']['name']}",
        "The role that is bound.",
    ),
    AGE,
    Column(
        "Users", lambda obj, _now: _subjects(obj, "User"), "The users it is bound to.", priority=1
    ),
    Column(
        "Groups",
        lambda obj, _now: _subjects(obj, "Group"),
        "The groups it is bound to.",
        priority=1,
    ),
    Column(
        "ServiceAccounts",
        lambda obj, _now: _subjects(obj, "ServiceAccount"),
        "The service accounts it is bound to.",
        priority=1,
    ),
)


# -- others ------------------------------------------------------------------------------------

AGED: Final[Columns] = (AGE,)
DATED: Final[Columns] = (CREATED,)

NAMESPACE: Final[Columns] = (
    Column("Status", at("status", "phase"), "Whether the namespace is active or goes."),
    AGE,
)

CONFIG_MAP: Final[Columns] = (
    Column(
        "Data",
        lambda obj, _now: len(obj.get("data") or ()) + len(obj.get("binaryData") or ()),
        "How many entries there are.",
    ),
    AGE,
)

SECRET: Final[Columns] = (
    Column("Type", at("type"), "What the secret is for."),
    Column("Data", lambda obj, _now: len(obj.get("data") or ()), "How many entries there are."),
    AGE,
)

POD_TEMPLATE: Final[Columns] = (
    Column(
        "Containers",
        lambda obj, _now: containers(obj["template"], "name"),
        "The containers of the template.",
    ),
    Column(
        "Images",
        lambda obj, _now: containers(obj["template"], "image"),
        "The images of the template.",
    ),
    Column(
        "Pod Labels",
        lambda obj, _now: labels_text(part(obj, "template", "metadata").get("labels")),
        "The labels of the template.",
    ),
)

LEASE: Final[Columns] = (
    Column("Holder", at("spec", "holderIdentity"), "Who holds the lease."),
    AGE,
)

PRIORITY_CLASS: Final[Columns] = (
    Column(
        "Value",
        at("value", default=0),
        "The priority of pods of this class; more is sooner.",
        type="integer",
    ),
    Column(
        "Global-Default",
        at("globalDefault", default=False),
        "Whether it is the class of pods that name none.",
        type="boolean",
    ),
    AGE,
    Column(
        "PreemptionPolicy",
        at("preemptionPolicy"),
        "Whether pods of this class take the place of others.",
    ),
)

RUNTIME_CLASS: Final[Columns] = (
    Column("Handler", at("handler"), "What runs the pods."),
    AGE,
)


def _share(obj: Shared, name: str) -> str:
    share = part(obj, "spec").get(name)
    return "N/A" if share is None else str(share)


BUDGET: Final[Columns] = (
    Column(
        "Min Available",
        lambda obj, _now: _share(obj, "minAvailable"),
        "How many pods must be available at least.",
    ),
    Column(
        "Max Unavailable",
        lambda obj, _now: _share(obj, "maxUnavailable"),
        "How many pods may be unavailable at most.",
    ),
    Column(
        "Allowed Disruptions",
        at("status", "disruptionsAllowed", default=0),
        "How many pods may be evicted now.",
        type="integer",
    ),
    AGE,
)

WEBHOOKS: Final[Columns] = (
    Column(
        "Webhooks",
        lambda obj, _now: len(obj.get("webhooks") or ()),
        "How many webhooks there are.",
        type="integer",
    ),
    AGE,
)
