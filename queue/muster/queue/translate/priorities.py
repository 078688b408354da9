"""Where the priority of a job comes from: the class it names, or the one that is the default."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from muster.queue.api.core import PriorityClass
from muster.queue.api.kueue import WorkloadPriorityClass
from muster.queue.api.wording import did_you_mean, listed

PRIORITY_CLASS_LABEL: Final = "kueue.x-k8s.io/priority-class"
DEFAULT_CLASS: Final = "default"
"""The WorkloadPriorityClass of jobs that name none."""

_BUILT_IN: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


ClassKind: TypeAlias = type[PriorityClass] | type[WorkloadPriorityClass]


class UnknownClassError(ValueError):
    """A priority class does not exist; the message says which do."""

    def __init__(self, kind: ClassKind, name: str, message: str) -> None:
        self.kind = kind
        self.name = name
        super().__init__(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Priorities:
    """Priority classes by name."""

    for_workloads: Mapping[str, int] = field(default_factory=dict)
    for_pods: Mapping[str, int] = field(default_factory=dict)
    default: int = 0
    """The priority of pods that name no class."""

    def of_workload_class(self, name: str) -> int:
        """Return the value of a WorkloadPriorityClass. Raises UnknownClassError."""
        return _find(WorkloadPriorityClass, name, self.for_workloads)

    def of_job(self, labels: Mapping[str, str], pod_class: str | None) -> int:
        """
        Return the priority of a job with these labels whose pods name `pod_class`.

        Raises UnknownClassError.
        """
        name = labels.get(PRIORITY_CLASS_LABEL)
        if name is None and DEFAULT_CLASS in self.for_workloads:
            name = DEFAULT_CLASS
        if name is not None:
            return self.of_workload_class(name)
        if pod_class:
            return _find(PriorityClass, pod_class, {**_BUILT_IN, **self.for_pods})
        return self.default


def priorities(
    workload_classes: Iterable[WorkloadPriorityClass], pod_classes: Iterable[PriorityClass]
) -> Priorities:
    """Return the classes; of several global defaults the lowest counts."""
    for_pods = {each.metadata.name: each for each in pod_classes}
    defaults = [each.value for each in for_pods.values() if each.global_default]
    return Priorities(
        for_workloads={each.metadata.name: each.value for each in workload_classes},
        for_pods={name: each.value for name, each in for_pods.items()},
        default=min(defaults, default=0),
    )


def _find(kind: ClassKind, name: str, known: Mapping[str, int]) -> int:
    if name in known:
        return known[name]
    hint = did_you_mean(name, known)
    if not hint:
        hint = f" There is {listed(sorted(known), 'and')}." if known else " There is none."
    raise UnknownClassError(kind, name, f"no {kind.__name__} is called {name!r}.{hint}")
