"""
Manifests as an experiment: jobs that say by annotations when they arrive and how long they run.

    muster.dev/arrives-after   from the start of the simulation to the arrival; 0s without it
    muster.dev/runs-for        how long the job runs once its pods are ready; in proportion longer
                               when it was admitted with fewer pods than it asks for
    muster.dev/ready-after     from admission until all pods are ready; 0s without it

What comes from a cluster may be waiting or running already: it is there from the start, which then
is the youngest creation time among the objects.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from muster.admission import events
from muster.admission.config import Config
from muster.queue.api.timestamps import parse_timestamp
from muster.queue.api.wording import did_you_mean
from muster.queue.manifests.complaints import Complaint, ManifestError
from muster.queue.manifests.loading import Manifest
from muster.queue.simulation.durations import DurationError, parse_duration
from muster.queue.simulation.experiment import Experiment, SimulatedJob, notes_on
from muster.queue.translate.priorities import PRIORITY_CLASS_LABEL
from muster.queue.world import World

PREFIX: Final = "muster.dev/"
ARRIVES_AFTER: Final = PREFIX + "arrives-after"
RUNS_FOR: Final = PREFIX + "runs-for"
READY_AFTER: Final = PREFIX + "ready-after"
ANNOTATIONS: Final = (ARRIVES_AFTER, RUNS_FOR, READY_AFTER)


def start_of(manifests: Iterable[Manifest]) -> int:
    """Return the instant a simulation of these objects starts: the youngest creation, else 0."""
    created = [manifest.model.metadata.creation_timestamp for manifest in manifests]
    return max((parse_timestamp(text) for text in created if text is not None), default=0)


def experiment_of(
    world: World, config: Config, title: str, *, runs_for_us: int | None = None
) -> Experiment:
    """
    Return the experiment that a world amounts to.

    `runs_for_us` is for jobs that do not say how long they run. Raises ManifestError.
    """
    reader = _Reader(world, start_of(world.manifests), runs_for_us)
    jobs = [reader.job(event) for event in world.workloads]
    if reader.complaints:
        raise ManifestError(reader.complaints)
    structure = world.structure
    return Experiment(
        title=title,
        config=config,
        setup=(*structure.quota_events(), *structure.local_queue_events()),
        jobs=tuple(sorted(jobs, key=lambda job: job.arrives_us)),
        start_us=reader.start_us,
        notes=notes_on(world.left_out),
    )


class _Reader:
    """Makes simulated jobs and collects what is wrong with their annotations."""

    def __init__(self, world: World, start_us: int, runs_for_us: int | None) -> None:
        self.start_us = start_us
        self.complaints: list[Complaint] = []
        self._world = world
        self._runs_for_us = runs_for_us
        self._manifests = {id(manifest.model): manifest for manifest in world.manifests}

    def job(self, event: events.WorkloadSeen) -> SimulatedJob:
        workload = event.workload
        model = self._world.submitted[workload.key]
        manifest = self._manifests[id(model)]
        self._check_names(manifest)
        runs_for_us = self._duration(manifest, RUNS_FOR, self._runs_for_us)
        if runs_for_us is None:
            self._complain(
                manifest,
                RUNS_FOR,
                'is required: how long the job runs, as in "30m"; or give one length of time to '
                "all jobs that have none with --runs-for",
            )
        return SimulatedJob(
            name=self._world.name_of(workload.key),
            workload=workload,
            arrives_us=self.start_us + (self._duration(manifest, ARRIVES_AFTER, 0) or 0),
            runs_for_us=runs_for_us or 0,
            ready_after_us=self._duration(manifest, READY_AFTER, 0) or 0,
            priority_class=model.metadata.labels.get(PRIORITY_CLASS_LABEL, ""),
            status=event.status,
        )

    def _duration(self, manifest: Manifest, annotation: str, default: int | None) -> int | None:
        text = manifest.model.metadata.annotations.get(annotation)
        if text is None:
            return default
        try:
            return parse_duration(text)
        except DurationError as error:
            self._complain(manifest, annotation, str(error))
            return 0

    def _check_names(self, manifest: Manifest) -> None:
        for annotation in manifest.model.metadata.annotations:
            if annotation.startswith(PREFIX) and annotation not in ANNOTATIONS:
                hint = (
                    did_you_mean(annotation, ANNOTATIONS) or f" There is {', '.join(ANNOTATIONS)}."
                )
                self._complain(manifest, annotation, f"no such annotation.{hint}")

    def _complain(self, manifest: Manifest, annotation: str, message: str) -> None:
        path = f"metadata.annotations[{annotation}]"
        self.complaints.append(manifest.complaint(path, message))
