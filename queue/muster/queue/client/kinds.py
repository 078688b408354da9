"""The kinds that our programs handle through an API server, and the paths of their objects."""

from __future__ import annotations

from typing import Final, NamedTuple


class Kind(NamedTuple):
    """One kind in one version of its group: enough to make any request about it."""

    group: str
    """"" for the core group."""
    version: str
    kind: str
    plural: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the path of a collection, an object or a sub-resource; "" leaves a part out."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        scope = f"/namespaces/{namespace}" if namespace else ""
        rest = "".join(f"/{part}" for part in (name, subresource) if part)
        return f"{root}{scope}/{self.plural}{rest}"


NAMESPACE: Final = Kind("", "v1", "Namespace", "namespaces", namespaced=False)
NODE: Final = Kind("", "v1", "Node", "nodes", namespaced=False)
POD: Final = Kind("", "v1", "Pod", "pods", namespaced=True)
CONFIG_MAP: Final = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)
SERVICE_ACCOUNT: Final = Kind("", "v1", "ServiceAccount", "serviceaccounts", namespaced=True)
CORE_EVENT: Final = Kind("", "v1", "Event", "events", namespaced=True)
EVENT: Final = Kind("events.k8s.io", "v1", "Event", "events", namespaced=True)
JOB: Final = Kind("batch", "v1", "Job", "jobs", namespaced=True)
LEASE: Final = Kind("coordination.k8s.io", "v1", "Lease", "leases", namespaced=True)
PRIORITY_CLASS: Final = Kind(
    "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False
)
DISRUPTION_BUDGET: Final = Kind(
    "policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", namespaced=True
)
CRD: Final = Kind(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)
WORKLOAD: Final = Kind("kueue.x-k8s.io", "v1beta2", "Workload", "workloads", namespaced=True)
