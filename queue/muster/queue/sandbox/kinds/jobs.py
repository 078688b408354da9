"""
Jobs: what they become when they are written.

A new Job selects its pods by its own uid, unless it says otherwise. What may be in its spec is
decided in `job_validation`, what in its status in `job_status`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from muster.queue.client.refusal import FieldError
from muster.queue.sandbox.kinds.job_status import job_status_errors
from muster.queue.sandbox.kinds.job_validation import (
    CONTROLLER_UID,
    HIGH_COMPLETIONS,
    INDEXED,
    JOB_NAME,
    PARALLELISM_MAX_FOR_HIGH,
    job_errors,
    job_update_errors,
)
from muster.queue.sandbox.kinds.names import dns_label
from muster.queue.sandbox.kinds.pod_defaults import fill_pod_spec
from muster.queue.sandbox.kinds.pod_validation import INT32_MAX
from muster.queue.sandbox.kinds.resources import Object, Shared
from muster.queue.sandbox.kinds.strategy import StatusStrategy

_BACKOFF_LIMIT: Final = 6


class JobStrategy(StatusStrategy):
    """The strategy of Jobs."""

    generation = True
    orphans_dependents = True
    orphan_warning = (
        "child pods are preserved by default when jobs are deleted; set "
        "propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress "
        "this warning"
    )

    def fill(self, obj: Object) -> None:
        spec = obj["spec"]
        template = spec["template"]
        fill_pod_spec(template.setdefault("spec", {"containers": None}))
        if "completions" not in spec and "parallelism" not in spec:
            spec["completions"] = 1
        spec.setdefault("parallelism", 1)
        if "backoffLimit" not in spec:
            endless = "backoffLimitPerIndex" in spec
            spec["backoffLimit"] = INT32_MAX if endless else _BACKOFF_LIMIT
        labels = template["metadata"].get("labels")
        if labels and not obj["metadata"].get("labels"):
            # The same mapping on purpose: what is added to one below is added to both.
            obj["metadata"]["labels"] = labels
        spec.setdefault("completionMode", "NonIndexed")
        spec.setdefault("suspend", False)
        spec.setdefault("manualSelector", False)
        policy = spec.get("podFailurePolicy")
        if "podReplacementPolicy" not in spec:
            spec["podReplacementPolicy"] = "TerminatingOrFailed" if policy is None else "Failed"
        for rule in (policy or {}).get("rules") or ():
            for pattern in rule.get("onPodConditions") or ():
                if not pattern.get("status"):
                    pattern["status"] = "True"

    def prepare_create(self, obj: Object, now: str) -> None:
        super().prepare_create(obj, now)
        if not obj["spec"]["manualSelector"]:
            _select_own_pods(obj)

    def create_errors(self, obj: Shared) -> Iterable[FieldError]:
        return job_errors(obj)

    def update_errors(self, obj: Shared, old: Shared, subresource: str) -> Iterable[FieldError]:
        if subresource == "status":
            return job_status_errors(obj, old)
        return (*job_errors(obj, old), *job_update_errors(obj, old))

    def warnings(self, obj: Shared, old: Shared | None) -> Iterator[str]:
        if old is None:
            if wrong := dns_label(obj["metadata"]["name"]):
                yield (
                    "metadata.name: this is used in Pod names and hostnames, which can result in "
                    f"surprising behavior; a DNS label is recommended: [{' '.join(wrong)}]"
                )
        elif obj["spec"] == old["spec"]:
            return
        spec = obj["spec"]
        many = spec.get("completions", 0) > HIGH_COMPLETIONS
        wide = spec["parallelism"] > PARALLELISM_MAX_FOR_HIGH
        if spec["completionMode"] == INDEXED and many and wide:
            yield (
                "spec: In Indexed Jobs with a number of completions higher than 10^5 and a "
                "parallelism higher than 10^4, Kubernetes might not be able to track "
                "completedIndexes when a big number of indexes fail"
            )


def _select_own_pods(job: Object) -> None:
    """Label the pods to come with the Job's name and uid, and select them by the uid."""
    metadata, spec = job["metadata"], job["spec"]
    template = spec["template"]["metadata"]
    labels = template.setdefault("labels", {})
    for name in JOB_NAME:
        labels.setdefault(name, metadata["name"])
    for name in CONTROLLER_UID:
        labels.setdefault(name, metadata["uid"])
    if not metadata.get("labels"):
        metadata["labels"] = dict(labels)
    selector = spec.setdefault("selector", {})
    selector.setdefault("matchLabels", {}).setdefault(CONTROLLER_UID[0], metadata["uid"])
