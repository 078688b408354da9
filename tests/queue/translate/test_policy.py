"""The configuration file as the engine takes it."""

from typing import Any

from muster.admission.config import Config, FairStrategy, Gates, PodsReadyPolicy
from muster.admission.requests import NANO, CountingRules, Transformation
from muster.queue.api.configuration import parse_configuration
from muster.queue.api.feature_gates import FEATURE_GATES
from muster.queue.translate import policy


def config(**fields: Any) -> Config:
    document = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", **fields}
    return policy.config(parse_configuration(document))


def test_an_empty_file_changes_nothing() -> None:
    assert config() == Config()


def test_everything_that_decides() -> None:
    found = config(
        fairSharing={"preemptionStrategies": ["LessThanInitialShare"]},
        featureGates={"PartialAdmission": False, "PriorityBoost": True},
        resources={"quotaCheckStrategy": "IgnoreUndeclared"},
        waitForPodsReady={
            "timeout": "10m",
            "recoveryTimeout": "3m",
            "requeuingStrategy": {
                "timestamp": "Creation",
                "backoffLimitCount": 4,
                "backoffBaseSeconds": 10,
                "backoffMaxSeconds": 20,
            },
        },
        muster={"maxRoundsPerCycle": 1, "preemption": {"patience": "1500ms"}},
    )

    assert found == Config(
        fair_sharing=(FairStrategy.INITIAL_SHARE,),
        gates=Gates(partial_admission=False, priority_boost=True),
        ignore_undeclared_resources=True,
        pods_ready=PodsReadyPolicy(
            timeout_s=600,
            recovery_timeout_s=180,
            requeue_by_eviction_time=False,
            backoff_limit=4,
            backoff_base_s=10,
            backoff_max_s=20,
        ),
        patience_us=1_500_000,
        rounds_max=1,
    )


def test_gates_of_the_shell_decide_nothing() -> None:
    assert config(featureGates={"MultiKueue": False, "LocalQueueMetrics": False}) == Config()


def test_pods_need_not_get_ready_when_the_gate_says_so() -> None:
    assert config(featureGates={"DisableWaitForPodsReady": True}).pods_ready is None


def test_ignoring_undeclared_resources_needs_its_gate() -> None:
    found = config(
        resources={"quotaCheckStrategy": "IgnoreUndeclared"},
        featureGates={"QuotaCheckStrategy": False},
    )

    assert not found.ignore_undeclared_resources


def test_gates_have_the_defaults_of_the_api() -> None:
    defaults = {name: gate.default for name, gate in FEATURE_GATES.items()}

    assert policy.gates(defaults) == Gates()
    assert policy.GATE_FIELDS.keys() <= FEATURE_GATES.keys()


def test_counting_rules() -> None:
    document = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "resources": {
            "excludeResourcePrefixes": ["networking.example.com"],
            "transformations": [
                {
                    "input": "nvidia.com/gpu",
                    "strategy": "Replace",
                    "multiplyBy": "cpu",
                    "outputs": {"example.com/credits": "1500m"},
                }
            ],
        },
    }

    assert policy.counting_rules(parse_configuration(document).resources) == CountingRules(
        excluded_prefixes=("networking.example.com",),
        transformations=(
            Transformation(
                input="nvidia.com/gpu",
                outputs={"example.com/credits": NANO * 3 // 2},
                multiply_by="cpu",
                retain=False,
            ),
        ),
    )
