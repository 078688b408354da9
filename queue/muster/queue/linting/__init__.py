"""
What is legal in manifests but surely not meant: `lint` finds it, nothing here is an error.

What was written in an old version or has no effect yet is told here, `quota` looks at queues,
cohorts and flavors, `nodes` compares quota with nodes, `jobs` asks the engine about workloads that
can never start. A warning is a `Complaint` with its place.
"""

from __future__ import annotations

from collections.abc import Iterator

from muster.admission.config import Config
from muster.queue import unsupported
from muster.queue.linting import jobs, nodes, quota
from muster.queue.linting.index import Index
from muster.queue.manifests.complaints import Complaint
from muster.queue.world import World


def lint(world: World, config: Config) -> Iterator[Complaint]:
    """Yield all warnings, in the order of the files within each kind of warning."""
    for manifest in world.manifests:
        if not manifest.stored:
            yield from (
                manifest.complaint("", f"is of an old version: {note}")
                for note in manifest.upgraded
            )
    yield from unsupported.in_settings(world)
    index = Index(world)
    yield from quota.warnings(index)
    yield from nodes.warnings(index)
    yield from jobs.warnings(index, config)
