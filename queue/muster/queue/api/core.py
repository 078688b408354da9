"""
Objects of Kubernetes itself that decide about quota and placement.

Namespaces select queues; nodes and pods are capacity and its use; LimitRanges, RuntimeClasses and
PriorityClasses change what a pod template amounts to.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import ConfigDict

from muster.queue.api.meta import CoreCondition, ObjectMeta
from muster.queue.api.pods import PodSpec, Taint, Toleration
from muster.queue.api.schema import (
    ApiModel,
    Int32,
    Items,
    Quantities,
    StatusModel,
    Timestamp,
    empty_map,
)


class Namespace(ApiModel):
    api_version: Literal["v1"]
    kind: Literal["Namespace"]
    metadata: ObjectMeta
    spec: dict[str, Any] = empty_map()
    status: dict[str, Any] = empty_map()


# --- Nodes and pods ------------------------------------------------------------------------------

_NodeField = Literal["configSource", "externalID", "podCIDR", "podCIDRs", "providerID"]


class NodeSpec(ApiModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[_NodeField, Any]  # type: ignore[assignment]  # only these keys
    ACCEPTED = frozenset(get_args(_NodeField))

    taints: Items[Taint] = ()
    unschedulable: bool = False


class NodeStatus(StatusModel):
    capacity: Quantities = empty_map()
    allocatable: Quantities = empty_map()
    conditions: Items[CoreCondition] = ()


class Node(ApiModel):
    api_version: Literal["v1"]
    kind: Literal["Node"]
    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class PodStatus(StatusModel):
    phase: Literal["Pending", "Running", "Succeeded", "Failed", "Unknown"] | None = None
    conditions: Items[CoreCondition] = ()
    reason: str = ""
    start_time: Timestamp | None = None


class Pod(ApiModel):
    api_version: Literal["v1"]
    kind: Literal["Pod"]
    metadata: ObjectMeta
    spec: PodSpec
    status: PodStatus = PodStatus()


# --- What changes a pod template -----------------------------------------------------------------


class LimitRangeItem(ApiModel):
    type: Literal["Container", "Pod", "PersistentVolumeClaim"]
    max: Quantities = empty_map()
    min: Quantities = empty_map()
    default: Quantities = empty_map()
    """Limits of containers that state none."""
    default_request: Quantities = empty_map()
    """Requests of containers that state none."""
    max_limit_request_ratio: Quantities = empty_map()


class LimitRangeSpec(ApiModel):
    limits: Items[LimitRangeItem]


class LimitRange(ApiModel):
    api_version: Literal["v1"]
    kind: Literal["LimitRange"]
    metadata: ObjectMeta
    spec: LimitRangeSpec


class RuntimeClassOverhead(ApiModel):
    pod_fixed: Quantities = empty_map()
    """Added to every pod that runs with the class."""


class RuntimeClassScheduling(ApiModel):
    node_selector: dict[str, str] = empty_map()
    tolerations: Items[Toleration] = ()


class RuntimeClass(ApiModel):
    api_version: Literal["node.k8s.io/v1"]
    kind: Literal["RuntimeClass"]
    metadata: ObjectMeta
    handler: str
    overhead: RuntimeClassOverhead | None = None
    scheduling: RuntimeClassScheduling | None = None


class PriorityClass(ApiModel):
    api_version: Literal["scheduling.k8s.io/v1"]
    kind: Literal["PriorityClass"]
    metadata: ObjectMeta
    value: Int32
    global_default: bool = False
    description: str = ""
    preemption_policy: Literal["Never", "PreemptLowerPriority"] = "PreemptLowerPriority"
