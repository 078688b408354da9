"""The form of every object: fields, enums, bounds and defaults, on the wire's terms."""

from collections.abc import Iterator
from typing import Any, get_args, get_origin

import pytest
from pydantic import BaseModel

from muster.queue.api.registry import KINDS
from tests.queue.api.form_rules import ENUMS, LIMITS, Enum, Limit
from tests.queue.api.full_manifests import FULL
from tests.queue.api.manifests import MINIMAL, Manifest, changed, complaints, parsed


@pytest.mark.parametrize("kind", MINIMAL)
def test_what_is_not_needed_may_be_left_out(kind: str) -> None:
    assert complaints(kind) == []


def test_every_kind_has_an_example() -> None:
    assert sorted(MINIMAL) == sorted(kind for _, kind in KINDS)


@pytest.mark.parametrize("kind", FULL)
def test_an_object_is_given_back_as_it_was_written(kind: str) -> None:
    given_back = parsed(FULL[kind]).model_dump(mode="json", by_alias=True, exclude_unset=True)

    assert given_back == FULL[kind]


@pytest.mark.parametrize("manifest", [*MINIMAL.values(), *FULL.values()], ids=lambda m: m["kind"])
def test_an_object_with_its_defaults_is_still_a_valid_object(manifest: Manifest) -> None:
    first = parsed(manifest)

    second = parsed(first.model_dump(mode="json", by_alias=True, exclude_none=True))

    assert second == first


def fields(model: type[BaseModel], path: str = "") -> Iterator[str]:
    """Yield the path of every field below a model; entries of lists are written []."""
    for name, field in model.model_fields.items():
        here = f"{path}.{field.alias or name}".lstrip(".")
        yield here
        for nested, suffix in nested_models(field.annotation):
            yield from fields(nested, here + suffix)


def nested_models(annotation: Any, suffix: str = "") -> Iterator[tuple[type[BaseModel], str]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation, suffix
    is_list = get_origin(annotation) is tuple
    for argument in get_args(annotation):
        yield from nested_models(argument, "[]" if is_list else suffix)


def paths(value: Any, path: str = "") -> Iterator[str]:
    """Yield the path of every field in a manifest."""
    if isinstance(value, dict):
        for name, item in value.items():
            here = f"{path}.{name}".lstrip(".")
            yield here
            yield from paths(item, here)
    if isinstance(value, list):
        for item in value:
            yield from paths(item, f"{path}[]")


@pytest.mark.parametrize("kind", FULL)
def test_the_full_examples_name_every_field(kind: str) -> None:
    model = type(parsed(FULL[kind]))

    assert sorted(set(fields(model)) - set(paths(FULL[kind]))) == []


@pytest.mark.parametrize("rule", ENUMS, ids=lambda rule: f"{rule.kind} {rule.path}")
def test_an_enum_takes_its_values_and_no_other(rule: Enum) -> None:
    for value in rule.values:
        assert complaints(rule.kind, {**rule.given, rule.path: value}) == []
    for other in (rule.values[0].lower(), "Other", 7, True):
        (complaint,) = complaints(rule.kind, {**rule.given, rule.path: other})
        assert complaint.startswith(f"{rule.path}: ")
        assert "is not allowed: use" in complaint


@pytest.mark.parametrize("rule", LIMITS, ids=lambda rule: f"{rule.kind} {rule.path}")
def test_a_bound_is_the_last_value_allowed(rule: Limit) -> None:
    assert complaints(rule.kind, {**rule.given, rule.path: rule.allowed}) == []

    refused = complaints(rule.kind, {**rule.given, rule.path: rule.refused})

    assert refused
    assert all(complaint.startswith(rule.path) for complaint in refused)


DEFAULTS: list[tuple[str, str, Any]] = [
    ("ClusterQueue", "spec.queueing_strategy", "BestEffortFIFO"),
    ("ClusterQueue", "spec.cohort_name", None),
    ("ClusterQueue", "spec.namespace_selector", None),
    ("ClusterQueue", "spec.stop_policy", "None"),
    ("ClusterQueue", "spec.flavor_fungibility.when_can_borrow", "MayStopSearch"),
    ("ClusterQueue", "spec.flavor_fungibility.when_can_preempt", "TryNextFlavor"),
    ("ClusterQueue", "spec.flavor_fungibility.preference", None),
    ("ClusterQueue", "spec.preemption.reclaim_within_cohort", "Never"),
    ("ClusterQueue", "spec.preemption.within_cluster_queue", "Never"),
    ("ClusterQueue", "spec.preemption.borrow_within_cohort.policy", "Never"),
    ("ClusterQueue", "spec.preemption.borrow_within_cohort.max_priority_threshold", None),
    ("ClusterQueue", "spec.fair_sharing", None),
    ("ClusterQueue", "spec.resource_groups", ()),
    ("ClusterQueue", "status.conditions", ()),
    ("Cohort", "spec.parent_name", None),
    ("LocalQueue", "spec.stop_policy", "None"),
    ("LocalQueue", "spec.cluster_queue", None),
    ("ResourceFlavor", "spec.node_labels", {}),
    ("ResourceFlavor", "spec.topology_name", None),
    ("Workload", "spec.active", True),
    ("Workload", "spec.priority", None),
    ("Workload", "spec.queue_name", None),
    ("Workload", "spec.pod_sets.0.name", "main"),
    ("Workload", "spec.pod_sets.0.count", 1),
    ("Workload", "spec.pod_sets.0.min_count", None),
    ("Workload", "status.admission", None),
    ("Job", "spec.parallelism", 1),
    ("Job", "spec.completions", None),
    ("Job", "spec.suspend", False),
    ("Job", "spec.completion_mode", "NonIndexed"),
    ("Node", "spec.unschedulable", False),
    ("PriorityClass", "global_default", False),
    ("PriorityClass", "preemption_policy", "PreemptLowerPriority"),
    ("Pod", "metadata.namespace", None),
]


@pytest.mark.parametrize("kind, attribute, default", DEFAULTS)
def test_a_field_that_is_left_out_has_its_default(kind: str, attribute: str, default: Any) -> None:
    value: Any = parsed(kind)
    for step in attribute.split("."):
        value = value[int(step)] if step.isdecimal() else getattr(value, step)

    assert value == default


def test_a_weight_is_1_where_fair_sharing_says_nothing() -> None:
    queue: Any = parsed("ClusterQueue", {"spec.fairSharing": {}})

    assert queue.spec.fair_sharing.weight == "1"


@pytest.mark.parametrize(
    "kind, path",
    [
        ("ClusterQueue", "metadata"),
        ("ClusterQueue", "metadata.name"),
        ("Workload", "spec"),
        ("Workload", "spec.podSets"),
        ("Workload", "spec.podSets[0].template"),
        ("Workload", "spec.podSets[0].template.spec"),
        ("Workload", "spec.podSets[0].template.spec.containers"),
        ("Workload", "spec.podSets[0].template.spec.containers[0].name"),
        ("Topology", "spec.levels[0].nodeLabel"),
        ("WorkloadPriorityClass", "value"),
        ("AdmissionCheck", "spec.controllerName"),
        ("Job", "spec.template"),
        ("RuntimeClass", "handler"),
        ("LimitRange", "spec.limits[0].type"),
    ],
)
def test_a_field_that_is_needed_is_missed(kind: str, path: str) -> None:
    assert complaints(kind, {path: None}) == [f"{path}: is required"]


@pytest.mark.parametrize(
    "kind, path",
    [
        ("ClusterQueue", "spec"),
        ("ClusterQueue", "status"),
        ("ClusterQueue", "spec.resourceGroups"),
        ("ClusterQueue", "spec.queueingStrategy"),
        ("ClusterQueue", "spec.flavorFungibility"),
        ("ClusterQueue", "spec.namespaceSelector"),
        ("ClusterQueue", "metadata.labels"),
        ("Workload", "spec.podSets[0].count"),
        ("Workload", "spec.podSets[0].template.metadata"),
        ("Workload", "spec.podSets[0].template.spec.nodeSelector"),
        ("Workload", "spec.podSets[0].template.spec.containers[0].resources.limits"),
        ("Job", "status.conditions"),
    ],
)
def test_null_is_a_field_left_out(kind: str, path: str) -> None:
    """YAML makes null of a field that is left empty."""
    assert parsed(changed(kind, {path: None})) == parsed(kind)


@pytest.mark.parametrize(
    "kind, path",
    [
        ("ClusterQueue", "spec.preemption.x"),
        ("ClusterQueue", "spec.cohort"),
        ("Workload", "spec.podSets[0].template.spec.x"),
    ],
)
def test_null_does_not_hide_a_field_that_does_not_exist(kind: str, path: str) -> None:
    """In YAML, {nominalQuota: 1,000} is a quota of 1, and a field "000" that is empty."""
    where, _, name = path.rpartition(".")

    [problem] = complaints(kind, {path: None, "metadata.labels": None})

    assert problem.startswith(f"{where}: unknown field '{name}'.")
