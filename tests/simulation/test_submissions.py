"""Manifests as experiments: when jobs arrive, and what was there already."""

import io
from pathlib import Path

from muster.queue.api.timestamps import parse_timestamp
from muster.queue.cli.inputs import configuration
from muster.queue.simulation.experiment import Experiment
from muster.queue.simulation.history import Ending
from muster.queue.simulation.submissions import experiment_of
from muster.queue.translate import policy
from muster.queue.world import read_world
from tests.queue.texts import (
    a_flavor,
    a_job,
    a_local_queue,
    a_queue,
    a_running_workload,
    joined,
)
from tests.simulation.builders import SECOND_US, played

QUEUES = joined(a_flavor("a100"), a_queue("vision", {"a100": 8}), a_local_queue("vision", "vision"))


def read(folder: Path, *documents: str, runs_for_s: int | None = None) -> Experiment:
    (folder / "all.yaml").write_text(joined(QUEUES, *documents), "utf-8")
    settings = configuration(None)
    world = read_world([str(folder)], io.BytesIO(), settings, 0)
    runs_for_us = None if runs_for_s is None else runs_for_s * SECOND_US
    return experiment_of(world, policy.config(settings), "test", runs_for_us=runs_for_us)


def annotated(job: str, **annotations: str) -> str:
    told = ", ".join(f"muster.dev/{key.replace('_', '-')}: {v}" for key, v in annotations.items())
    return job.replace("namespace: team,", f"namespace: team, annotations: {{{told}}},")


def test_annotations_say_when_a_job_comes_and_how_long_it_takes(tmp_path: Path) -> None:
    experiment = read(
        tmp_path,
        annotated(a_job("late", "vision"), runs_for="1h", arrives_after="5m", ready_after="30s"),
        annotated(a_job("early", "vision", pods=2, gpus=3), runs_for="90s"),
    )

    assert [
        (job.name, job.arrives_us, job.runs_for_us, job.ready_after_us) for job in experiment.jobs
    ] == [
        ("team/early", 0, 90 * SECOND_US, 0),
        ("team/late", 300 * SECOND_US, 3600 * SECOND_US, 30 * SECOND_US),
    ]


def test_what_runs_in_a_cluster_runs_from_the_start(tmp_path: Path) -> None:
    """The start is the youngest creation: nothing here is younger than the running Workload."""
    experiment = read(
        tmp_path,
        a_running_workload("pretrain", "vision", pods=3, gpus=2, flavor="a100"),
        annotated(a_job("detect", "vision", gpus=4), runs_for="1m", arrives_after="10s"),
        runs_for_s=60,
    )

    history = played(experiment)

    assert experiment.start_us == parse_timestamp("2026-01-01T10:00:00Z")
    assert [
        (
            experiment.jobs[run.job].name,
            (run.started_us - experiment.start_us) // SECOND_US,
            run.ending,
        )
        for run in history.runs
    ] == [("team/pretrain", 0, Ending.FINISHED), ("team/detect", 60, Ending.FINISHED)]
    assert history.admitted == 1


def test_what_decides_nothing_is_noted(tmp_path: Path) -> None:
    config_map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: team}"

    experiment = read(tmp_path, config_map, annotated(a_job("j", "vision"), runs_for="1m"))

    assert experiment.notes == ("Left out: ConfigMap (1).",)
