"""A trace and queues with quota, put together: the experiment that the runner plays."""

from __future__ import annotations

from muster.admission import objects
from muster.admission.config import Config
from muster.queue.simulation.experiment import Experiment, SimulatedJob
from muster.queue.simulation.traces.job_trace import Trace, TraceJob
from muster.queue.simulation.traces.quotas import MODEL_LABEL, Quotas


def experiment_of(trace: Trace, quotas: Quotas, config: Config) -> Experiment:
    """Return the experiment in which the jobs of a trace go to these queues."""
    shapes: dict[objects.PodSet, tuple[objects.PodSet, ...]] = {}
    names: dict[str, None] = {}
    jobs = []
    for number, job in enumerate(sorted(trace.jobs, key=lambda job: job.arrival_us)):
        pod_set = _pod_set(job)
        name = job.name if job.name not in names else f"{job.name}-{number}"
        names[name] = None
        namespace, local_queue = quotas.local_queues[job.queue]
        workload = objects.Workload(
            namespace=namespace,
            name=name,
            uid=f"{number:08d}",
            local_queue=local_queue,
            created_us=job.arrival_us,
            # Equal jobs share one value: a trace has many jobs and few shapes.
            pod_sets=shapes.setdefault(pod_set, (pod_set,)),
            priority=job.priority,
        )
        jobs.append(
            SimulatedJob(
                name=name,
                workload=workload,
                arrives_us=job.arrival_us,
                runs_for_us=job.runtime_us,
                priority_class=job.priority_class,
                recorded_wait_us=job.recorded_wait_us,
            )
        )
    return Experiment(
        title=trace.title,
        config=config,
        setup=quotas.setup,
        jobs=tuple(jobs),
        start_us=jobs[0].arrives_us if jobs else 0,
        notes=trace.notes,
    )


def _pod_set(job: TraceJob) -> objects.PodSet:
    affinity = None
    if job.models:
        models = tuple(sorted(model.lower() for model in job.models))
        affinity = ((objects.Requirement(key=MODEL_LABEL, operator="In", values=models),),)
    return objects.PodSet(name="main", count=job.pods, requests=job.requests, affinity=affinity)
