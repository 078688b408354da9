"""The configuration file: the peer's files work unchanged, and slips in them are told."""

from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from muster.queue.api.configuration import (
    Configuration,
    ConfigurationKindError,
    parse_configuration,
    upgrade,
)
from muster.queue.api.problems import describe
from tests.queue.api.manifests import Manifest, changed

EMPTY: Manifest = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
OLD: Manifest = {**EMPTY, "apiVersion": "config.kueue.x-k8s.io/v1beta1"}

SHIPPED = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
health:
  healthProbeBindAddress: :8081
metrics:
  bindAddress: :8443
  enableClusterQueueResources: true
  localQueueMetrics:
    enable: true
    localQueueSelector: {matchLabels: {team: a}}
  customLabels:
  - name: team
    sourceLabelKey: example.com/team
webhook:
  port: 9443
  certDir: /certs
  host: ""
leaderElection:
  leaderElect: true
  resourceName: c1f6bfd2.kueue.x-k8s.io
  leaseDuration: 15s
controller:
  groupKindConcurrency:
    Job.batch: 5
    Pod: 5
    Workload.kueue.x-k8s.io: 5
  cacheSyncTimeout: 120000000000
clientConnection:
  qps: 50
  burst: 100
pprofBindAddress: :8083
waitForPodsReady:
  timeout: 5m
  recoveryTimeout: 3m
  blockAdmission: true
  requeuingStrategy:
    timestamp: Creation
    backoffLimitCount: 3
    backoffBaseSeconds: 10
    backoffMaxSeconds: 100
manageJobsWithoutQueueName: true
managedJobsNamespaceSelector:
  matchExpressions:
  - key: kubernetes.io/metadata.name
    operator: NotIn
    values: [kube-system, kueue-system]
internalCertManagement:
  enable: false
  webhookServiceName: ""
  webhookSecretName: ""
tls:
  minVersion: VersionTLS12
  cipherSuites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]
integrations:
  frameworks: [batch/job, jobset.x-k8s.io/jobset, pod]
  externalFrameworks: [Foo.v1.example.com]
  labelKeysToCopy: [example.com/team]
multiKueue:
  gcInterval: 1m
  origin: multikueue
  workerLostTimeout: 15m
  dispatcherName: kueue.x-k8s.io/multikueue-dispatcher-incremental
  incrementalDispatcherConfig: {stepSize: 5}
  externalFrameworks: [{name: Foo.v1.example.com}]
  clusterProfile:
    accessProviders: [{name: p, execConfig: {command: c}}]
fairSharing:
  preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]
admissionFairSharing:
  usageHalfLifeTime: 168h
  usageSamplingInterval: 5m
  resourceWeights: {cpu: 0.5, memory: 0}
resources:
  excludeResourcePrefixes: [example.com/]
  transformations:
  - input: nvidia.com/mig-4g.5gb
    strategy: Replace
    multiplyBy: pods
    outputs: {example.com/accelerator-memory: 5Gi, example.com/credits: 10}
  deviceClassMappings:
  - name: gpu.memory
    deviceClassNames: [mig.nvidia.com]
    sources: [{counter: {name: memory, driver: gpu.nvidia.com}}]
objectRetentionPolicies:
  workloads:
    afterFinished: 1h
    afterDeactivatedByKueue: 0s
visibilityServer: {bindAddress: "", bindPort: 8082}
featureGates: {PriorityBoost: true, PartialAdmission: false}
namespace: kueue-system
muster:
  maxRoundsPerCycle: 1
"""


def configured(changes: Manifest, base: Manifest = EMPTY) -> Configuration:
    return parse_configuration(changed(base, changes))


def said(changes: Manifest, base: Manifest = EMPTY) -> list[str]:
    try:
        configured(changes, base)
    except ValidationError as error:
        return [str(problem) for problem in describe(error, Configuration)]
    return []


def test_a_file_with_everything_is_read() -> None:
    configuration = parse_configuration(yaml.safe_load(SHIPPED))

    assert configuration.wait_for_pods_ready.timeout == timedelta(minutes=5)
    assert configuration.wait_for_pods_ready.recovery == timedelta(minutes=3)
    assert configuration.fair_sharing is not None
    assert configuration.admission_fair_sharing is not None
    assert configuration.admission_fair_sharing.resource_weights == {
        "cpu": Fraction(1, 2),
        "memory": Fraction(0),
    }
    assert configuration.resources.transformations[0].outputs["example.com/credits"] == "10"
    assert configuration.controller is not None
    assert configuration.controller.cache_sync_timeout == timedelta(minutes=2)
    assert configuration.object_retention_policies.workloads.after_finished == timedelta(hours=1)
    assert configuration.gates["PriorityBoost"]
    assert configuration.muster.max_rounds_per_cycle == 1


def test_a_configuration_is_given_back_as_a_file() -> None:
    configuration = parse_configuration(yaml.safe_load(SHIPPED))

    given_back = configuration.model_dump(mode="json", by_alias=True, exclude_unset=True)

    assert given_back["waitForPodsReady"]["timeout"] == "5m"
    assert parse_configuration(given_back) == configuration


DEFAULTS: list[tuple[str, Any]] = [
    ("namespace", "kueue-system"),
    ("manage_jobs_without_queue_name", False),
    ("managed_jobs_namespace_selector", None),
    ("fair_sharing", None),
    ("admission_fair_sharing", None),
    ("wait_for_pods_ready.timeout", timedelta(minutes=30)),
    ("wait_for_pods_ready.recovery", timedelta(minutes=30)),
    ("wait_for_pods_ready.block_admission", False),
    ("wait_for_pods_ready.requeuing_strategy.timestamp", "Eviction"),
    ("wait_for_pods_ready.requeuing_strategy.backoff_limit_count", None),
    ("wait_for_pods_ready.requeuing_strategy.backoff_base_seconds", 60),
    ("wait_for_pods_ready.requeuing_strategy.backoff_max_seconds", 3600),
    ("integrations.frameworks", ("batch/job",)),
    ("resources.quota_check_strategy", "BlockUndeclared"),
    ("resources.transformations", ()),
    ("object_retention_policies.workloads.after_finished", None),
    ("client_connection.qps", Fraction(300)),
    ("client_connection.burst", 500),
    ("leader_election.lease_duration", timedelta(seconds=15)),
    ("leader_election.renew_deadline", timedelta(seconds=10)),
    ("leader_election.retry_period", timedelta(seconds=2)),
    ("metrics.bind_address", ":8443"),
    ("metrics.local_queue_metrics.enable", True),
    ("health.health_probe_bind_address", ":8081"),
    ("webhook.port", 9443),
    ("internal_cert_management.enable", True),
    ("visibility_server.bind_port", 8082),
    ("multi_kueue.worker_lost_timeout", timedelta(minutes=15)),
    ("muster.max_rounds_per_cycle", None),
]


@pytest.mark.parametrize("attribute, default", DEFAULTS)
def test_an_empty_file_has_the_defaults(attribute: str, default: Any) -> None:
    value: Any = configured({})
    for step in attribute.split("."):
        value = getattr(value, step)

    assert value == default


def test_waiting_for_pods_is_on_unless_its_gate_says_no() -> None:
    assert configured({}).pods_ready == configured({}).wait_for_pods_ready
    assert configured({"featureGates": {"DisableWaitForPodsReady": True}}).pods_ready is None


SLIPS: list[tuple[Manifest, str]] = [
    ({"waitForPodReady": {}}, "unknown field 'waitForPodReady'. Did you mean 'waitForPodsReady'?"),
    (
        {"muster.rounds": 1},
        "muster: unknown field 'rounds'. Known here: maxRoundsPerCycle, preemption.",
    ),
    ({"muster.maxRoundsPerCycle": 0}, "muster.maxRoundsPerCycle: 0 is too small: at least 1"),
    ({"waitForPodsReady.enable": True}, "waitForPodsReady: unknown field 'enable'."),
    ({"waitForPodsReady.timeout": 300}, "'300' is not a duration: write it as in 90s or 1h30m"),
    ({"waitForPodsReady.timeout": "-1m"}, "waitForPodsReady.timeout: -1m is negative: at least 0s"),
    (
        {"waitForPodsReady.requeuingStrategy.backoffBaseSeconds": -1},
        "waitForPodsReady.requeuingStrategy.backoffBaseSeconds: -1 is too small: at least 0",
    ),
    (
        {"waitForPodsReady.requeuingStrategy.timestamp": "eviction"},
        "'eviction' is not allowed: use 'Eviction' or 'Creation'. Did you mean 'Eviction'?",
    ),
    ({"fairSharing": {}}, "fairSharing.preemptionStrategies: is required"),
    (
        {"fairSharing.preemptionStrategies": []},
        "fairSharing.preemptionStrategies: must be [LessThanOrEqualToFinalShare] or",
    ),
    (
        {
            "fairSharing.preemptionStrategies": [
                "LessThanInitialShare",
                "LessThanOrEqualToFinalShare",
            ]
        },
        "fairSharing.preemptionStrategies: must be [LessThanOrEqualToFinalShare] or",
    ),
    ({"admissionFairSharing": {}}, "admissionFairSharing.usageHalfLifeTime: is required"),
    (
        {"admissionFairSharing": {"usageHalfLifeTime": "0s", "usageSamplingInterval": "0s"}},
        "admissionFairSharing.usageSamplingInterval: must be longer than 0s",
    ),
    (
        {"admissionFairSharing": {"usageHalfLifeTime": "0s", "resourceWeights": {"cpu": -1}}},
        "admissionFairSharing.resourceWeights.cpu: -1 is negative: at least 0",
    ),
    (
        {"admissionFairSharing": {"usageHalfLifeTime": "0s", "resourceWeights": {"cpu": "1"}}},
        "admissionFairSharing.resourceWeights.cpu: '1' is not a number: remove the quotes",
    ),
    (
        {
            "resources": {
                "quotaCheckStrategy": "IgnoreUndeclared",
                "excludeResourcePrefixes": ["example.com/"],
            }
        },
        "resources.excludeResourcePrefixes: is not allowed with quotaCheckStrategy",
    ),
    (
        {"resources.transformations": [{"input": "cpu"}, {"input": "cpu"}]},
        "resources.transformations[1].input: 'cpu' is listed twice, first at [0]",
    ),
    (
        {"resources.transformations": [{"input": "cpu", "outputs": {"x": "1K"}}]},
        "resources.transformations[0].outputs.x: '1K' is not a quantity",
    ),
    (
        {"resources.deviceClassMappings": [{"name": "x", "deviceClassNames": []}]},
        "resources.deviceClassMappings[0].deviceClassNames: has 0 entries",
    ),
    (
        {
            "resources.deviceClassMappings": [
                {"name": "x", "deviceClassNames": ["a"], "sources": [{}]}
            ]
        },
        "resources.deviceClassMappings[0].sources[0]: needs exactly one of counter, capacity",
    ),
    (
        {"integrations.frameworks": ["batch/jobs"]},
        "integrations.frameworks[0]: 'batch/jobs' is not a framework: use one of batch/job,",
    ),
    (
        {"integrations.frameworks": ["pod", "pod"]},
        "integrations.frameworks[1]: 'pod' is listed twice, first at [0]",
    ),
    (
        {"integrations.externalFrameworks": ["Foo"]},
        "integrations.externalFrameworks[0]: 'Foo' is not a kind: write Kind.version.group",
    ),
    (
        {"managedJobsNamespaceSelector": {}},
        "managedJobsNamespaceSelector: must not select the namespace kube-system",
    ),
    (
        {
            "managedJobsNamespaceSelector.matchLabels": {
                "kubernetes.io/metadata.name": "kueue-system"
            }
        },
        "managedJobsNamespaceSelector: must not select the namespace kueue-system",
    ),
    ({"featureGates": {"X": True}}, "featureGates.X: 'X' is not a feature gate."),
    ({"featureGates": {"TLSOptions": False}}, "featureGates.TLSOptions: is locked to true"),
    ({"featureGates": {"PriorityBoost": "true"}}, "featureGates.PriorityBoost: 'true' is not true"),
    (
        {"tls": {"minVersion": "VersionTLS13", "cipherSuites": ["x"]}},
        "tls.cipherSuites: must be empty",
    ),
    (
        {"metrics.customLabels": [{"name": "a", "sourceKind": "Workload"}]},
        "metrics.customLabels[0].trackedValues: is required for sourceKind Workload",
    ),
    (
        {
            "metrics.customLabels": [
                {"name": name, "sourceKind": "Workload", "trackedValues": ["x"]} for name in "abc"
            ]
        },
        "metrics.customLabels: at most 2 labels may come from Workloads",
    ),
    (
        {
            "metrics.customLabels": [
                {"name": "a", "sourceLabelKey": "b", "sourceAnnotationKey": "c"},
            ]
        },
        "metrics.customLabels[0].sourceAnnotationKey: excludes sourceLabelKey",
    ),
    ({"metrics.customLabels": [{"name": "a-b"}]}, "metrics.customLabels[0].name: 'a-b' is not all"),
    ({"webhook.port": 0}, "webhook.port: 0 is too small: at least 1"),
    ({"clientConnection.qps": "x"}, "clientConnection.qps: 'x' is not a number"),
    (
        {"objectRetentionPolicies.workloads.afterFinished": "-1s"},
        "objectRetentionPolicies.workloads.afterFinished: -1s is negative",
    ),
]  # fmt: skip


@pytest.mark.parametrize("changes, complaint", SLIPS, ids=[complaint for _, complaint in SLIPS])
def test_a_slip_is_told(changes: Manifest, complaint: str) -> None:
    assert any(complaint in each for each in said(changes))


def test_two_labels_may_come_from_workloads() -> None:
    label = {"sourceKind": "Workload", "trackedValues": ["x"]}

    assert said({"metrics.customLabels": [{"name": name, **label} for name in "ab"]}) == []


def test_no_limit_of_requests_is_written_as_a_negative_one() -> None:
    assert configured({"clientConnection.qps": -1}).client_connection.qps == -1


def test_fields_left_empty_are_absent() -> None:
    assert configured({"tls": None, "waitForPodsReady": None, "featureGates": None}) == (
        configured({})
    )


@pytest.mark.parametrize(
    "document, hint",
    [
        ({}, "not null and null"),
        ({"apiVersion": "v1", "kind": "ConfigMap"}, "not 'v1' and 'ConfigMap'"),
        (
            {"apiVersion": "config.kueue.x-k8s.io/v1", "kind": "Configuration"},
            "Did you mean 'config.kueue.x-k8s.io/v1beta",
        ),
    ],
)
def test_another_file_is_no_configuration(document: Manifest, hint: str) -> None:
    with pytest.raises(ConfigurationKindError) as caught:
        parse_configuration(document)

    assert hint in str(caught.value)


# --- v1beta1 -------------------------------------------------------------------------------------


def test_in_an_old_file_features_are_off_unless_enabled() -> None:
    for block in ({}, {"fairSharing": {}, "waitForPodsReady": {"timeout": "1m"}}):
        configuration = parse_configuration({**OLD, **block})

        assert configuration.fair_sharing is None
        assert configuration.pods_ready is None


def test_an_old_file_enables_features_with_the_defaults_of_its_time() -> None:
    configuration = parse_configuration(
        {**OLD, "fairSharing": {"enable": True}, "waitForPodsReady": {"enable": True}}
    )

    assert configuration.fair_sharing is not None
    assert configuration.fair_sharing.preemption_strategies == (
        "LessThanOrEqualToFinalShare",
        "LessThanInitialShare",
    )
    assert configuration.pods_ready is not None
    assert configuration.pods_ready.timeout == timedelta(minutes=5)
    assert configuration.pods_ready.block_admission


def test_an_old_file_may_say_otherwise() -> None:
    configuration = parse_configuration(
        {
            **OLD,
            "fairSharing": {"enable": True, "preemptionStrategies": ["LessThanInitialShare"]},
            "waitForPodsReady": {"enable": True, "timeout": "7m", "blockAdmission": False},
        }
    )

    assert configuration.fair_sharing is not None
    assert configuration.fair_sharing.preemption_strategies == ("LessThanInitialShare",)
    assert configuration.wait_for_pods_ready.timeout == timedelta(minutes=7)
    assert not configuration.wait_for_pods_ready.block_admission


def test_what_an_old_file_loses_is_told() -> None:
    upgraded = upgrade(
        {
            **OLD,
            "queueVisibility": {"updateIntervalSeconds": 5},
            "integrations": {"frameworks": ["pod"], "podOptions": {}},
            "fairSharing": {"enable": False},
            "featureGates": {"PriorityBoost": True},
        }
    )

    assert upgraded.document == {
        **EMPTY,
        "integrations": {"frameworks": ["pod"]},
        "featureGates": {"DisableWaitForPodsReady": True, "PriorityBoost": True},
    }
    assert [note.partition(" ")[0] for note in upgraded.notes] == [
        "fairSharing.enable",
        "waitForPodsReady",
        "queueVisibility",
        "integrations.podOptions",
    ]


def test_a_current_file_is_left_alone() -> None:
    assert upgrade(EMPTY).document is EMPTY


@pytest.mark.parametrize(
    "changes",
    [{"waitForPodsReady": 7}, {"fairSharing": []}, {"integrations": "x"}, {"featureGates": [1]}],
)
def test_what_has_no_form_in_an_old_file_is_told(changes: Manifest) -> None:
    (path,) = changes

    assert said(changes, OLD)[0].startswith(path)
