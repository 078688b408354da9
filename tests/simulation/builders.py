"""Small experiments, in seconds and whole units, and an audit of what came of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from muster.admission import events
from muster.admission.amounts import INFINITE, FlavorResource
from muster.admission.config import Config
from muster.admission.objects import ClusterQueue, Cohort, LocalQueue, Namespace, Workload
from muster.queue.simulation.experiment import Experiment, SimulatedJob
from muster.queue.simulation.history import Ending, History, Run
from muster.queue.simulation.runner import Options, Runner
from tests.admission.builders import a_flavor, a_gang

SECOND_US = 1_000_000
GPU = "gpu"


def a_job(
    name: str,
    queue: str = "cq",
    *,
    at_s: int = 0,
    runs_s: int = 10,
    gpus: int = 1,
    pods: int = 1,
    min_pods: int | None = None,
    ready_s: int = 0,
    priority_class: str = "",
    **workload: Any,
) -> SimulatedJob:
    """A gang whose pods ask for `gpus` each."""
    made: Workload = a_gang(
        name,
        queue,
        pods=pods,
        min_pods=min_pods,
        created_s=at_s,
        requests={GPU: gpus},
        **workload,
    )
    return SimulatedJob(
        name=name,
        workload=made,
        arrives_us=at_s * SECOND_US,
        runs_for_us=runs_s * SECOND_US,
        ready_after_us=ready_s * SECOND_US,
        priority_class=priority_class,
    )


def an_experiment(
    objects: Sequence[ClusterQueue | Cohort],
    jobs: Sequence[SimulatedJob],
    config: Config | None = None,
) -> Experiment:
    """Queues with a LocalQueue of the same name, the flavors they name, and jobs."""
    queues = [each for each in objects if isinstance(each, ClusterQueue)]
    flavors = dict.fromkeys(pair.flavor for each in objects for pair in each.quotas)
    return Experiment(
        title="test",
        # Nobody is spared for being nearly done, unless a test is about that.
        config=config or Config(patience_us=0),
        setup=(
            events.NamespaceSeen(Namespace(name="default")),
            *(events.FlavorSeen(a_flavor(flavor)) for flavor in flavors),
            *(events.CohortSeen(each) for each in objects if isinstance(each, Cohort)),
            *(events.ClusterQueueSeen(queue) for queue in queues),
            *(
                events.LocalQueueSeen(
                    LocalQueue(namespace="default", name=queue.name, cluster_queue=queue.name)
                )
                for queue in queues
            ),
        ),
        jobs=tuple(sorted(jobs, key=lambda job: job.arrives_us)),
    )


def played(experiment: Experiment, options: Options | None = None) -> History:
    return Runner(experiment, options or Options()).run()


def told(history: History) -> list[tuple[str, int, int, str]]:
    """Every run as (job, start, end, how it ended), in seconds, in the order of starts."""
    return [
        (
            history.experiment.jobs[run.job].name,
            run.started_us // SECOND_US,
            run.ended_us // SECOND_US,
            run.ending.value,
        )
        for run in history.runs
    ]


# --- An independent audit ------------------------------------------------------------------------


def complaints(history: History) -> Iterator[str]:
    """Say where a history breaks a law that every history has to keep."""
    yield from _counts(history)
    for index, runs in enumerate(history.runs_by_job()):
        yield from _one_job(history, index, runs)
    yield from _overuse(history)


def _counts(history: History) -> Iterator[str]:
    endings = [run.ending for run in history.runs]
    if history.admitted != len(history.runs):
        yield f"{history.admitted} admissions, but {len(history.runs)} runs"
    if history.finished != endings.count(Ending.FINISHED):
        yield f"{history.finished} finished, but {endings.count(Ending.FINISHED)} runs did"
    if history.evictions != endings.count(Ending.EVICTED):
        yield f"{history.evictions} evictions, but {endings.count(Ending.EVICTED)} runs ended so"


def _one_job(history: History, index: int, runs: Sequence[Run]) -> Iterator[str]:
    job = history.experiment.jobs[index]
    before_us = job.arrives_us
    for run in runs:
        if run.started_us < before_us:
            yield f"{job.name} starts at {run.started_us} us, before {before_us} us"
        if run.ended_us < run.started_us:
            yield f"{job.name} ends before it starts"
        before_us = run.ended_us
    if any(run.ending is not Ending.EVICTED for run in runs[:-1]):
        yield f"{job.name} goes on after its end"
    last = runs[-1] if runs else None
    if last is not None and last.ending is Ending.FINISHED:
        asked = sum(pod_set.count for pod_set in job.workload.pod_sets)
        given = sum(grant.amount for grant in last.grants)
        needed = sum(
            pod_set.count * amount
            for pod_set in job.workload.pod_sets
            for _, amount in pod_set.requests
        )
        work, owed = last.duration_us * given, job.runs_for_us * needed
        # Rounding up a run with fewer pods adds less than a microsecond of work a pod.
        if not owed <= work < owed + asked * given + 1:
            yield f"{job.name} did {work} of {owed}"


def _overuse(history: History) -> Iterator[str]:
    """Compare, at every instant, what runs with the quota of its queue and of its whole cohort."""
    queues = history.experiment.cluster_queues
    changes: list[tuple[int, int, str, FlavorResource, int]] = []
    for run in history.runs:
        for grant in run.grants:
            pair = FlavorResource(grant.flavor, grant.resource)
            # What ends at an instant is gone before something else starts.
            changes.append((run.started_us, 1, run.cluster_queue, pair, grant.amount))
            changes.append((run.ended_us, 0, run.cluster_queue, pair, -grant.amount))
    used: dict[tuple[str, FlavorResource], int] = {}
    for at_us, _, queue, pair, amount in sorted(changes):
        for node in (f"queue {queue}", f"cohort {queues[queue].cohort}"):
            used[node, pair] = used.get((node, pair), 0) + amount
        if used[f"queue {queue}", pair] > _queue_limit(queues[queue], pair):
            yield f"{queue} uses {used[f'queue {queue}', pair]} of {pair} at {at_us} us"
        cohort = queues[queue].cohort
        owned = _owned(history, cohort, pair)
        if cohort is not None and used[f"cohort {cohort}", pair] > owned:
            yield f"{cohort} uses {used[f'cohort {cohort}', pair]} of {pair} at {at_us} us"


def _queue_limit(queue: ClusterQueue, pair: FlavorResource) -> int:
    quota = queue.quotas[pair]
    if queue.cohort is None:
        return quota.nominal
    return INFINITE if quota.borrowing_limit is None else quota.nominal + quota.borrowing_limit


def _owned(history: History, cohort: str | None, pair: FlavorResource) -> int:
    """What the queues of a cohort without parents own together, with the cohort itself."""
    experiment = history.experiment
    members = [queue for queue in experiment.cluster_queues.values() if queue.cohort == cohort]
    owners: list[Mapping[FlavorResource, Any]] = [queue.quotas for queue in members]
    if cohort in experiment.cohorts:
        owners.append(experiment.cohorts[cohort].quotas)
    return sum(quotas[pair].nominal for quotas in owners if pair in quotas)
