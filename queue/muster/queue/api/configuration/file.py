"""The configuration file as a whole, and the door through which it comes in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from muster.queue.api import feature_gates
from muster.queue.api.configuration import v1beta1
from muster.queue.api.configuration.policy import (
    AdmissionFairSharing,
    FairSharing,
    MusterOptions,
    ObjectRetentionPolicies,
    Resources,
    WaitForPodsReady,
)
from muster.queue.api.configuration.process import (
    ClientConnection,
    Controller,
    Health,
    Integrations,
    InternalCertManagement,
    LeaderElection,
    Metrics,
    MultiKueue,
    TLSOptions,
    VisibilityServer,
    Webhook,
)
from muster.queue.api.configuration.scalars import FeatureGates
from muster.queue.api.meta import LabelSelector
from muster.queue.api.problems import Problems, structure_check
from muster.queue.api.schema import ApiModel, DnsLabel, empty_map, read
from muster.queue.api.wording import did_you_mean, shown

SYSTEM_NAMESPACE: Final = "kube-system"
NAMESPACE_LABEL: Final = "kubernetes.io/metadata.name"
"""The label by which selectors tell namespaces apart; each has its own name in it."""


class Configuration(ApiModel):
    api_version: Literal["config.kueue.x-k8s.io/v1beta2"]
    kind: Literal["Configuration"]

    # What decides about workloads.
    admission_fair_sharing: AdmissionFairSharing | None = None
    """Order by past use; off when empty."""
    fair_sharing: FairSharing | None = None
    """Lend and take back by share; off when empty."""
    feature_gates: FeatureGates = empty_map()
    """Features switched on or off against their defaults; `gates` has all of them."""
    object_retention_policies: ObjectRetentionPolicies = ObjectRetentionPolicies()
    """When objects that nobody needs are deleted."""
    resources: Resources = Resources()
    """How resources are counted."""
    wait_for_pods_ready: WaitForPodsReady = WaitForPodsReady()
    """What happens to workloads whose pods do not start; `pods_ready` knows whether it is on."""
    muster: MusterOptions = MusterOptions()
    """What only Muster has."""

    # What is managed.
    integrations: Integrations = Integrations()
    manage_jobs_without_queue_name: bool = False
    """Whether jobs without a queue-name label are suspended, too."""
    managed_jobs_namespace_selector: LabelSelector | None = None
    """Namespaces whose jobs are managed; empty means all but the system's and our own."""
    multi_kueue: MultiKueue = MultiKueue()

    # How the process runs.
    client_connection: ClientConnection = ClientConnection()
    controller: Controller | None = None
    health: Health = Health()
    internal_cert_management: InternalCertManagement = InternalCertManagement()
    leader_election: LeaderElection = LeaderElection()
    metrics: Metrics = Metrics()
    namespace: DnsLabel = "kueue-system"
    """The namespace we run in."""
    pprof_bind_address: str = ""
    tls: TLSOptions | None = None
    visibility_server: VisibilityServer = VisibilityServer()
    webhook: Webhook = Webhook()

    @property
    def gates(self) -> dict[str, bool]:
        """Whether each feature gate is on."""
        return feature_gates.resolve(self.feature_gates)

    @property
    def pods_ready(self) -> WaitForPodsReady | None:
        """The policy for workloads whose pods do not start, or None when there is none."""
        return None if self.gates["DisableWaitForPodsReady"] else self.wait_for_pods_ready

    @structure_check
    def _system_is_left_alone(self, problems: Problems) -> None:
        selector = self.managed_jobs_namespace_selector
        if selector is None:
            return
        for namespace in (SYSTEM_NAMESPACE, self.namespace):
            if selector.matches({NAMESPACE_LABEL: namespace}):
                message = f"must not select the namespace {namespace}"
                problems.add(("managedJobsNamespaceSelector",), message)


class ConfigurationKindError(ValueError):
    """The document is not a configuration file."""


def parse_configuration(document: Mapping[str, Any]) -> Configuration:
    """
    Return the configuration that a parsed file describes.

    Raises ConfigurationKindError when it is some other file, and pydantic's ValidationError when
    something in it is wrong (`problems.describe` puts that into words).
    """
    versions = (v1beta1.OLD, v1beta1.NEW)
    api_version, kind = document.get("apiVersion"), document.get("kind")
    if kind != "Configuration" or api_version not in versions:
        hint = did_you_mean(api_version, versions) if isinstance(api_version, str) else ""
        raise ConfigurationKindError(
            f"apiVersion must be {v1beta1.NEW} and kind Configuration, "
            f"not {shown(api_version)} and {shown(kind)}.{hint}"
        )
    return read(Configuration, v1beta1.upgrade(dict(document)).document)
