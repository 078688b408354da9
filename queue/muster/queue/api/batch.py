"""Jobs of the batch API: the pods they run, how many at once, and how far they are."""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import ConfigDict

from muster.queue.api.meta import CoreCondition, ObjectMeta
from muster.queue.api.pods import PodTemplateSpec
from muster.queue.api.schema import ApiModel, Count, Items, StatusModel, Timestamp

_JobField = Literal[
    "activeDeadlineSeconds",
    "backoffLimit",
    "backoffLimitPerIndex",
    "manualSelector",
    "maxFailedIndexes",
    "podFailurePolicy",
    "podReplacementPolicy",
    "selector",
    "successPolicy",
    "ttlSecondsAfterFinished",
]


class JobSpec(ApiModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[_JobField, Any]  # type: ignore[assignment]  # only these keys
    ACCEPTED = frozenset(get_args(_JobField))

    template: PodTemplateSpec
    parallelism: Count = 1
    """Pods that may run at once."""
    completions: Count | None = None
    """Pods that must succeed; empty means that one success ends the job."""
    completion_mode: Literal["NonIndexed", "Indexed"] = "NonIndexed"
    suspend: bool = False
    managed_by: str | None = None
    """The controller in charge, when it is not the built-in one."""


class UncountedTerminatedPods(StatusModel):
    succeeded: Items[str] = ()
    failed: Items[str] = ()


class JobStatus(StatusModel):
    active: Count = 0
    ready: Count = 0
    terminating: Count = 0
    succeeded: Count = 0
    failed: Count = 0
    completed_indexes: str = ""
    failed_indexes: str = ""
    uncounted_terminated_pods: UncountedTerminatedPods = UncountedTerminatedPods()
    conditions: Items[CoreCondition] = ()
    start_time: Timestamp | None = None
    completion_time: Timestamp | None = None


class Job(ApiModel):
    api_version: Literal["batch/v1"]
    kind: Literal["Job"]
    metadata: ObjectMeta
    spec: JobSpec
    status: JobStatus = JobStatus()
