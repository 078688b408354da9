"""The part of the configuration file that decides how the process runs and what it manages."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from muster.queue.api.configuration.scalars import (
    Framework,
    KindName,
    Number,
    Period,
    PeriodOrNanoseconds,
    Port,
)
from muster.queue.api.meta import LabelSelector
from muster.queue.api.problems import Problems, structure_check
from muster.queue.api.schema import (
    ApiModel,
    Int32,
    Items,
    LabelKey,
    ListMap,
    ListSet,
    Positive,
    empty_map,
)

# --- Which jobs are managed ----------------------------------------------------------------------


class Integrations(ApiModel):
    frameworks: Annotated[Items[Framework], ListSet()] = ("batch/job",)
    """Kinds of jobs that are managed."""
    external_frameworks: Annotated[Items[KindName], ListSet()] = ()
    """Kinds managed by other controllers, as Kind.version.group."""
    label_keys_to_copy: Items[LabelKey] = ()
    """Labels that a workload takes over from its job."""


class MultiKueueExternalFramework(ApiModel):
    name: KindName


class IncrementalDispatcherConfig(ApiModel):
    step_size: Positive = 3


class ClusterProfileProvider(ApiModel):
    name: str
    exec_config: dict[str, Any]


class ClusterProfile(ApiModel):
    access_providers: Items[ClusterProfileProvider] = ()
    credentials_providers: Items[ClusterProfileProvider] = ()


class MultiKueue(ApiModel):
    gc_interval: Period = timedelta(minutes=1)
    origin: str = "multikueue"
    worker_lost_timeout: Period = timedelta(minutes=15)
    dispatcher_name: str = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once"
    incremental_dispatcher_config: IncrementalDispatcherConfig | None = None
    external_frameworks: Annotated[Items[MultiKueueExternalFramework], ListMap(("name",))] = ()
    cluster_profile: ClusterProfile | None = None


# --- How the process runs ------------------------------------------------------------------------


class Webhook(ApiModel):
    host: str = ""
    port: Port = 9443
    cert_dir: str = ""


class CustomLabel(ApiModel):
    name: Annotated[str, Field(pattern="^[a-zA-Z_][a-zA-Z0-9_]*$")]
    source_label_key: LabelKey | None = None
    source_annotation_key: LabelKey | None = None
    source_kind: Literal["ClusterQueue", "LocalQueue", "Cohort", "Workload"] = "ClusterQueue"
    tracked_values: Items[str] = ()

    @structure_check
    def _parts_fit_together(self, problems: Problems) -> None:
        if self.source_label_key is not None and self.source_annotation_key is not None:
            problems.add(("sourceAnnotationKey",), "excludes sourceLabelKey")
        if self.source_kind == "Workload" and not self.tracked_values:
            problems.add(("trackedValues",), "is required for sourceKind Workload")


class LocalQueueMetrics(ApiModel):
    enable: bool = True
    local_queue_selector: LabelSelector | None = None


_WORKLOAD_LABELS_MAX: Final = 2


class Metrics(ApiModel):
    bind_address: str = ":8443"
    enable_cluster_queue_resources: bool = False
    custom_labels: Annotated[Items[CustomLabel], Field(max_length=20), ListMap(("name",))] = ()
    local_queue_metrics: LocalQueueMetrics = LocalQueueMetrics()

    @structure_check
    def _labels_are_few(self, problems: Problems) -> None:
        of_workloads = [each for each in self.custom_labels if each.source_kind == "Workload"]
        if len(of_workloads) > _WORKLOAD_LABELS_MAX:
            message = f"at most {_WORKLOAD_LABELS_MAX} labels may come from Workloads"
            problems.add(("customLabels",), message)


class Health(ApiModel):
    health_probe_bind_address: str = ":8081"
    readiness_endpoint_name: str = "/readyz"
    liveness_endpoint_name: str = "/healthz"


class LeaderElection(ApiModel):
    leader_elect: bool = True
    resource_name: str = "c1f6bfd2.kueue.x-k8s.io"
    resource_namespace: str = ""
    resource_lock: str = "leases"
    lease_duration: Period = timedelta(seconds=15)
    renew_deadline: Period = timedelta(seconds=10)
    retry_period: Period = timedelta(seconds=2)


class Controller(ApiModel):
    group_kind_concurrency: dict[str, Positive] = empty_map()
    """Workers for a kind, which is written as Kind.group."""
    cache_sync_timeout: PeriodOrNanoseconds | None = None
    """How long to wait for the first list of all objects."""


class ClientConnection(ApiModel):
    qps: Number = Fraction(300)
    """Requests to the API server a second; negative means no limit."""
    burst: Int32 = 500
    """Requests that may go beyond it at once."""


class InternalCertManagement(ApiModel):
    enable: bool = True
    webhook_service_name: str = "kueue-webhook-service"
    webhook_secret_name: str = "kueue-webhook-server-cert"  # noqa: S105  # a name, no secret


class TLSOptions(ApiModel):
    min_version: Literal["VersionTLS12", "VersionTLS13"] | None = None
    cipher_suites: Items[str] = ()
    curve_preferences: Items[str] = ()

    @structure_check
    def _suites_are_free(self, problems: Problems) -> None:
        if self.min_version == "VersionTLS13" and self.cipher_suites:
            problems.add(("cipherSuites",), "must be empty: those of TLS 1.3 cannot be chosen")


class VisibilityServer(ApiModel):
    bind_address: str = ""
    bind_port: Port = 8082
