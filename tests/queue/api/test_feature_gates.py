"""Feature gates: their defaults, which needs which, and what cannot be chosen."""

import pytest

from muster.queue.api.feature_gates import FEATURE_GATES, complaints, resolve

OFF = [
    "ConcurrentAdmission",
    "CustomMetricLabels",
    "DisableWaitForPodsReady",
    "ElasticJobsViaWorkloadSlicesWithTAS",
    "FailureRecoveryPolicy",
    "FastQuotaReleaseInPodIntegration",
    "KueueDRAIntegrationConsumableCapacity",
    "MultiKueueClusterProfile",
    "MultiKueueManagerQuotaAutomation",
    "MultiKueueOrchestratedPreemption",
    "PrioritizePreemptorWorkloads",
    "PriorityBoost",
    "RejectUpdatesToCQWithInvalidOnFlavors",
    "SchedulerLibraryIntegration",
    "ShortWorkloadNames",
    "SparkApplicationIntegration",
    "TASBalancedPlacement",
    "TASReplaceNodeDueToNotReadyOverFixedTime",
    "TASRespectNodeAffinityPreferred",
    "UnadmittedWorkloadsExplicitStatus",
    "WorkloadRequestUseMergePatch",
]


def test_these_gates_are_off_unless_chosen() -> None:
    assert [name for name, on in resolve({}).items() if not on] == OFF
    assert len(FEATURE_GATES) == 80


def test_gates_are_listed_in_order() -> None:
    assert sorted(FEATURE_GATES) == list(FEATURE_GATES)


def test_every_needed_gate_exists() -> None:
    assert {need for gate in FEATURE_GATES.values() for need in gate.needs} <= set(FEATURE_GATES)


def test_a_choice_beats_the_default() -> None:
    gates = resolve({"PriorityBoost": True, "PartialAdmission": False})

    assert gates["PriorityBoost"]
    assert not gates["PartialAdmission"]


def test_a_gate_goes_off_with_the_one_it_needs() -> None:
    gates = resolve({"TopologyAwareScheduling": False})

    assert not any(on for name, on in gates.items() if name.startswith("TAS"))
    assert resolve({})["TASReplaceNodeOnNodeTaints"]


@pytest.mark.parametrize(
    "chosen, name, said",
    [
        ({"PartialAdmision": True}, "PartialAdmision", "Did you mean 'PartialAdmission'?"),
        ({"Zzz": False}, "Zzz", "'Zzz' is not a feature gate."),
        ({"TLSOptions": False}, "TLSOptions", "is locked to true"),
        (
            {"FlavorFungibility": False, "FlavorFungibilityPreserveScanProgress": True},
            "FlavorFungibilityPreserveScanProgress",
            "needs the feature gate FlavorFungibility, which is off",
        ),
        (
            {"UnadmittedWorkloadsExplicitStatus": True, "UnadmittedWorkloadsObservability": False},
            "UnadmittedWorkloadsExplicitStatus",
            "needs the feature gate UnadmittedWorkloadsObservability",
        ),
        (
            {"TopologyAwareScheduling": False, "TASReplaceNodeOnNodeTaints": True},
            "TASReplaceNodeOnNodeTaints",
            "needs the feature gate TASFailedNodeReplacement, which is off",
        ),
        (
            {"KueueDRAIntegration": False, "KueueDRAIntegrationExtendedResource": True},
            "KueueDRAIntegrationExtendedResource",
            "needs the feature gate KueueDRAIntegration",
        ),
    ],
)
def test_a_choice_that_cannot_be_is_told(chosen: dict[str, bool], name: str, said: str) -> None:
    ((found, complaint),) = complaints(chosen)

    assert found == name
    assert said in complaint


@pytest.mark.parametrize(
    "chosen",
    [
        {},
        {"TLSOptions": True},
        {"TopologyAwareScheduling": False},
        {"FlavorFungibility": False, "FlavorFungibilityPreserveScanProgress": False},
        {"ElasticJobsViaWorkloadSlicesWithTAS": True},
        {name: gate.default for name, gate in FEATURE_GATES.items()},
    ],
    ids=lambda chosen: ",".join(chosen)[:40],
)
def test_a_choice_that_can_be_is_fine(chosen: dict[str, bool]) -> None:
    assert list(complaints(chosen)) == []
