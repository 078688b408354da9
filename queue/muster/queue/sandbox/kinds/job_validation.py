"""What may be in the spec of a Job, and what of it may change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from muster.queue.client.labels import matches_labels
from muster.queue.client.refusal import (
    FieldError,
    duplicate,
    invalid_value,
    not_supported,
    required,
    too_long,
    too_many,
)
from muster.queue.sandbox.kinds.conditions import is_true
from muster.queue.sandbox.kinds.index_intervals import IndexesError, count, intervals
from muster.queue.sandbox.kinds.metadata import (
    IMMUTABLE,
    negative,
    rule_errors,
    selector_errors,
    unchanged,
)
from muster.queue.sandbox.kinds.names import dns_label, domain_path, label_key
from muster.queue.sandbox.kinds.pod_validation import template_errors
from muster.queue.sandbox.kinds.resources import Object, Shared
from muster.queue.sandbox.kinds.strategy import entries, part, put_back

INDEXED: Final = "Indexed"
JOB_NAME: Final = ("batch.kubernetes.io/job-name", "job-name")
CONTROLLER_UID: Final = ("batch.kubernetes.io/controller-uid", "controller-uid")
HIGH_COMPLETIONS: Final = 100_000
PARALLELISM_MAX_FOR_HIGH: Final = 10_000

_PARALLELISM_MAX: Final = 100_000
_FAILED_INDEXES_MAX: Final = 100_000
_FAILED_INDEXES_MAX_FOR_HIGH: Final = 10_000
_RULES_MAX: Final = 20
_EXIT_CODES_MAX: Final = 255
_PATTERNS_MAX: Final = 20
_MANAGED_BY_MAX: Final = 63
_INDEXES_MAX: Final = 64 * 1024
_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS: Final = ("In", "NotIn")
_STATUSES: Final = ("False", "True", "Unknown")
_COUNTS: Final = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
_TEMPLATE: Final = "spec.template"


def job_errors(job: Shared, old: Shared | None = None) -> Iterator[FieldError]:
    """Yield what is wrong with a Job; what `old` lacked already may still be missing."""
    yield from _generated_errors(job, old)
    yield from _spec_errors(job["spec"])
    yield from _selector_errors(job["spec"])
    spec = job["spec"]
    if spec["completionMode"] == INDEXED and spec.get("completions", 0) > 0:
        name = job["metadata"].get("name", "")
        hostname = f"{name}-{spec['completions'] - 1}"
        if dns_label(hostname):
            detail = f"will not able to create pod with invalid DNS label: {hostname}"
            yield invalid_value("metadata.name", name, detail)


def _generated_errors(job: Shared, old: Shared | None) -> Iterator[FieldError]:
    """Yield what does not fit the selector that the server makes for a Job."""
    spec, metadata = job["spec"], job["metadata"]
    if spec["manualSelector"] or "selector" not in spec:
        return
    known = part(old or {}, "spec", "template", "metadata", "labels")
    qualified = old is None or (JOB_NAME[0] in known and CONTROLLER_UID[0] in known)
    expected = {CONTROLLER_UID[1]: metadata["uid"], JOB_NAME[1]: metadata["name"]}
    if qualified:
        expected |= {CONTROLLER_UID[0]: metadata["uid"], JOB_NAME[0]: metadata["name"]}
    labels = part(spec, "template", "metadata", "labels")
    for name, value in expected.items():
        place = f"{_TEMPLATE}.metadata.labels[{name}]"
        if name not in labels:
            yield required(place, f"must be '{value}'")
        elif labels[name] != value:
            yield invalid_value(place, labels, f"must be '{value}'")
    if not matches_labels(spec["selector"], expected):
        yield invalid_value("spec.selector", spec["selector"], "`selector` not auto-generated")


def _selector_errors(spec: Shared) -> Iterator[FieldError]:
    selector = spec.get("selector")
    if selector is None:
        yield required("spec.selector")
        return
    wrong = [*selector_errors("spec.selector", selector)]
    yield from wrong
    labels = part(spec, "template", "metadata", "labels")
    if not wrong and not matches_labels(selector, labels):
        place = f"{_TEMPLATE}.metadata.labels"
        yield invalid_value(place, labels or None, "`selector` does not match template `labels`")


def _spec_errors(spec: Shared) -> Iterator[FieldError]:
    for name in _COUNTS:
        yield from negative(f"spec.{name}", spec.get(name))
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        yield required("spec.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    if (manager := spec.get("managedBy")) is not None:
        yield from _manager_errors("spec.managedBy", manager)
    yield from _mode_errors(spec)
    if (policy := spec.get("podFailurePolicy")) is not None:
        yield from _failure_policy_errors("spec.podFailurePolicy.rules", spec, policy)
    if (policy := spec.get("successPolicy")) is not None:
        yield from _success_policy_errors("spec.successPolicy", spec, policy)
    allowed = ("Failed",) if "podFailurePolicy" in spec else ("Failed", "TerminatingOrFailed")
    if spec["podReplacementPolicy"] not in allowed:
        yield not_supported("spec.podReplacementPolicy", spec["podReplacementPolicy"], allowed)
    yield from template_errors(_TEMPLATE, spec["template"])
    yield from _restart_errors(f"{_TEMPLATE}.spec.restartPolicy", spec)


def _manager_errors(place: str, manager: str) -> Iterator[FieldError]:
    if not manager:
        yield required(place)
        return
    yield from rule_errors(place, manager, domain_path)
    if len(manager) > _MANAGED_BY_MAX:
        yield too_long(place, _MANAGED_BY_MAX)


def _restart_errors(place: str, spec: Shared) -> Iterator[FieldError]:
    policy = spec["template"]["spec"]["restartPolicy"]
    if policy == "Always":
        yield required(place, 'valid values: "OnFailure", "Never"')
    elif policy not in {"OnFailure", "Never"}:
        yield not_supported(place, policy, ("OnFailure", "Never"))
    elif policy != "Never" and "podFailurePolicy" in spec:
        detail = 'only "Never" is supported when podFailurePolicy is specified'
        yield invalid_value(place, policy, detail)


def _mode_errors(spec: Shared) -> Iterator[FieldError]:
    mode, failed = spec["completionMode"], spec.get("maxFailedIndexes")
    if mode == INDEXED:
        yield from _indexed_errors(spec)
    elif mode == "NonIndexed":
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if name in spec:
                yield invalid_value(f"spec.{name}", spec[name], "requires indexed completion mode")
    else:
        yield not_supported("spec.completionMode", mode, ("NonIndexed", INDEXED))
    if mode == INDEXED and failed is not None and failed > _FAILED_INDEXES_MAX:
        detail = f"must be less than or equal to {_FAILED_INDEXES_MAX}"
        yield invalid_value("spec.maxFailedIndexes", failed, detail)


def _indexed_errors(spec: Shared) -> Iterator[FieldError]:
    completions, parallelism = spec.get("completions"), spec["parallelism"]
    failed = spec.get("maxFailedIndexes")
    if completions is None:
        yield required("spec.completions", f"when completion mode is {INDEXED}")
    if parallelism > _PARALLELISM_MAX:
        detail = (
            f"must be less than or equal to {_PARALLELISM_MAX} when completion mode is {INDEXED}"
        )
        yield invalid_value("spec.parallelism", parallelism, detail)
    if completions is None:
        return
    if failed is not None and failed > completions:
        detail = "must be less than or equal to completions"
        yield invalid_value("spec.maxFailedIndexes", failed, detail)
    if completions <= HIGH_COMPLETIONS or "backoffLimitPerIndex" not in spec:
        return
    beyond = f"when completions are above {HIGH_COMPLETIONS} and used with backoff limit per index"
    if failed is None:
        detail = f"must be specified when completions is above {HIGH_COMPLETIONS}"
        yield required("spec.maxFailedIndexes", detail)
    if parallelism > PARALLELISM_MAX_FOR_HIGH:
        detail = f"must be less than or equal to {PARALLELISM_MAX_FOR_HIGH} {beyond}"
        yield invalid_value("spec.parallelism", parallelism, detail)
    if failed is not None and failed > _FAILED_INDEXES_MAX_FOR_HIGH:
        detail = f"must be less than or equal to {_FAILED_INDEXES_MAX_FOR_HIGH} {beyond}"
        yield invalid_value("spec.maxFailedIndexes", failed, detail)


# -- policies ----------------------------------------------------------------------------------


def invalid(place: str, detail: str) -> FieldError:
    """Return a fault of a field whose value is too much to show."""
    return FieldError("FieldValueInvalid", place, f"Invalid value: {detail}")


def _failure_policy_errors(place: str, spec: Shared, policy: Shared) -> Iterator[FieldError]:
    rules = policy.get("rules") or ()
    if len(rules) > _RULES_MAX:
        yield too_many(place, len(rules), _RULES_MAX)
    template = spec["template"]["spec"]
    containers = (*entries(template, "containers"), *entries(template, "initContainers"))
    names = [container["name"] for container in containers]
    for index, rule in enumerate(rules):
        at = f"{place}[{index}]"
        yield from _action_errors(f"{at}.action", spec, rule["action"])
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions")
        if codes is not None:
            yield from _exit_codes_errors(f"{at}.onExitCodes", codes, names)
        if conditions:
            yield from _patterns_errors(f"{at}.onPodConditions", conditions)
        if codes is not None and conditions:
            yield invalid(at, "specifying both OnExitCodes and OnPodConditions is not supported")
        if codes is None and not conditions:
            yield invalid(at, "specifying one of OnExitCodes and OnPodConditions is required")


def _action_errors(place: str, spec: Shared, action: str) -> Iterator[FieldError]:
    if not action:
        yield required(place, f"valid values: {_quoted(_ACTIONS)}")
    elif action == "FailIndex":
        if "backoffLimitPerIndex" not in spec:
            yield invalid_value(place, action, "requires the backoffLimitPerIndex to be set")
    elif action not in _ACTIONS:
        yield not_supported(place, action, _ACTIONS)


def _quoted(allowed: Sequence[str]) -> str:
    listed = " ".join(f'"{each}"' for each in allowed)
    return f"[{listed}]"


def _exit_codes_errors(place: str, codes: Shared, names: Sequence[str]) -> Iterator[FieldError]:
    operator, values = codes["operator"], codes.get("values") or []
    if not operator:
        yield required(f"{place}.operator", f"valid values: {_quoted(_OPERATORS)}")
    elif operator not in _OPERATORS:
        yield not_supported(f"{place}.operator", operator, _OPERATORS)
    container = codes.get("containerName")
    if container is not None and container not in names:
        detail = "must be one of the container or initContainer names in the pod template"
        yield invalid_value(f"{place}.containerName", container, detail)
    if not values:
        yield invalid_value(f"{place}.values", values, "at least one value is required")
    elif len(values) > _EXIT_CODES_MAX:
        yield too_many(f"{place}.values", len(values), _EXIT_CODES_MAX)
    seen: dict[int, None] = {}
    for index, value in enumerate(values):
        at = f"{place}.values[{index}]"
        if operator == "In" and value == 0:
            yield invalid_value(at, value, "must not be 0 for the In operator")
        if value in seen:
            yield duplicate(at, value)
        seen[value] = None
    if sorted(values) != values:
        yield invalid_value(f"{place}.values", values, "must be ordered")


def _patterns_errors(place: str, patterns: Sequence[Shared]) -> Iterator[FieldError]:
    if len(patterns) > _PATTERNS_MAX:
        yield too_many(place, len(patterns), _PATTERNS_MAX)
    for index, pattern in enumerate(patterns):
        at = f"{place}[{index}]"
        yield from rule_errors(f"{at}.type", pattern["type"], label_key)
        if pattern["status"] not in _STATUSES:
            yield not_supported(f"{at}.status", pattern["status"], _STATUSES)


def _success_policy_errors(place: str, spec: Shared, policy: Shared) -> Iterator[FieldError]:
    if spec["completionMode"] != INDEXED:
        yield invalid_value(place, policy, "requires indexed completion mode")
        return
    rules = policy.get("rules") or ()
    place = f"{place}.rules"
    if not rules:
        detail = "at least one rules must be specified when the successPolicy is specified"
        yield required(place, detail)
    if len(rules) > _RULES_MAX:
        yield too_many(place, len(rules), _RULES_MAX)
    for index, rule in enumerate(rules):
        yield from _success_rule_errors(f"{place}[{index}]", rule, spec.get("completions", 0))


def _success_rule_errors(place: str, rule: Shared, completions: int) -> Iterator[FieldError]:
    wanted, text = rule.get("succeededCount"), rule.get("succeededIndexes")
    if wanted is None and text is None:
        detail = "at least one of succeededCount or succeededIndexes must be specified"
        yield required(place, detail)
    total = 0
    if text is not None:
        at = f"{place}.succeededIndexes"
        if len(text) > _INDEXES_MAX:
            yield too_long(at, _INDEXES_MAX)
        try:
            total = count(intervals(text, completions))
        except IndexesError as error:
            yield invalid_value(at, text, f"error parsing succeededIndexes: {error}")
    if wanted is None:
        return
    at = f"{place}.succeededCount"
    yield from negative(at, wanted)
    if wanted > completions:
        what = "the number of specified completions"
        detail = f"must be less than or equal to {completions} ({what})"
        yield invalid_value(at, wanted, detail)
    if text is not None and wanted > total:
        what = "the number of indexes in the specified succeededIndexes field"
        yield invalid_value(at, wanted, f"must be less than or equal to {total} ({what})")


# -- changes -----------------------------------------------------------------------------------


def job_update_errors(job: Shared, old: Shared) -> Iterator[FieldError]:
    """Yield what of a Job may not have changed, besides what is wrong with it anyway."""
    spec, before = job["spec"], old["spec"]
    # The real one looks at the spec of a successor twice, and tells its faults as often.
    yield from _spec_errors(spec)
    yield from _selector_errors(spec)
    yield from _completions_errors(spec, before)
    yield from unchanged("spec.selector", spec.get("selector"), before.get("selector"))
    yield from _template_errors(spec, old)
    for name in (
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    ):
        yield from unchanged(f"spec.{name}", spec.get(name), before.get(name))


def _completions_errors(spec: Shared, before: Shared) -> Iterator[FieldError]:
    completions = spec.get("completions")
    if spec["completionMode"] != INDEXED:
        yield from unchanged("spec.completions", completions, before.get("completions"))
    elif completions not in {before.get("completions"), None, spec["parallelism"]}:
        detail = "can only be modified in tandem with spec.parallelism"
        yield invalid_value("spec.completions", completions, detail)


def _template_errors(spec: Shared, old: Shared) -> Iterator[FieldError]:
    """Yield that the template has changed; of a Job that waits some of it may."""
    template, before = spec["template"], old["spec"]["template"]
    if template == before:
        return
    if not _may_move(old):
        yield invalid_value(_TEMPLATE, template, IMMUTABLE)
        return
    new_spec = template["spec"]
    masked: Object = dict(before["spec"])
    for name in ("nodeSelector", "tolerations", "schedulingGates"):
        put_back(masked, new_spec, name)
    _take_node_affinity(masked, new_spec)
    for name in ("containers", "initContainers"):
        now, then = entries(new_spec, name), entries(masked, name)
        if len(now) == len(then):
            masked[name] = [_with_resources(*pair) for pair in zip(then, now, strict=True)]
            if not then:
                put_back(masked, new_spec, name)
    if masked != new_spec:
        yield invalid_value(f"{_TEMPLATE}.spec", new_spec, IMMUTABLE)


def _may_move(job: Shared) -> bool:
    """Say whether no pod of a Job runs, and none will for now."""
    status = job.get("status") or {}
    waits = "startTime" not in status or is_true(job, "Suspended")
    return bool(job["spec"]["suspend"]) and waits and not status.get("active")


def _take_node_affinity(masked: Object, spec: Shared) -> None:
    """Give a pod spec the node affinity of another."""
    affinity = {**(masked.get("affinity") or {})}
    put_back(affinity, spec.get("affinity") or {}, "nodeAffinity")
    if affinity or "affinity" in spec:
        masked["affinity"] = affinity
    else:
        masked.pop("affinity", None)


def _with_resources(container: Shared, other: Shared) -> Any:
    if container["name"] != other["name"]:
        return container
    return {**container, "resources": other["resources"]}
