"""Rows of characters: what they show, and that time is not lost in them."""

import pytest

from muster.admission.objects import PreemptionPolicy
from muster.queue.simulation.durations import UNITS_US
from muster.queue.simulation.timeline import ROUND_US, Mark, chart, round_up
from tests.admission.builders import a_cluster_queue
from tests.simulation.builders import GPU, a_job, an_experiment, played

QUEUES = [
    a_cluster_queue(name, quota={"h100": {GPU: 4}}, cohort="all", reclaim=PreemptionPolicy.ANY)
    for name in ("a", "b")
]
HISTORY = played(
    an_experiment(
        QUEUES,
        [
            a_job("own", "a", gpus=4, runs_s=20),
            a_job("lent", "a", at_s=2, gpus=4, runs_s=6),
            a_job("owner", "b", at_s=6, gpus=4, runs_s=4),
        ],
    )
)


def test_a_row_a_job() -> None:
    drawn = chart(HISTORY, GPU, 20)

    assert drawn.column_us == UNITS_US["s"]
    assert {job.name: job.marks for queue in drawn.queues for job in queue.jobs} == {
        "own": "████████████████████",
        "lent": f"  ▓▓▓{Mark.EVICTED}░░░░▓▓▓▓▓▓    ",
        "owner": "      ████          ",
    }
    assert drawn.ticks == "0         10s"


def test_a_bar_is_as_high_as_what_was_used() -> None:
    a, b = chart(HISTORY, GPU, 20).queues

    assert (a.bars, a.nominal) == ("▄▄████▄▄▄▄██████▄▄▄▄", 4)
    assert b.bars == "      ▄▄▄▄          "
    assert [index for index, beyond in enumerate(a.beyond) if beyond] == [
        2,
        3,
        4,
        5,
        *range(10, 16),
    ]


def test_columns_are_of_round_length_and_no_more_than_there_is_room_for() -> None:
    drawn = chart(HISTORY, GPU, 7)

    assert drawn.column_us == 5 * UNITS_US["s"]
    assert [len(queue.bars) for queue in drawn.queues] == [4, 4]


def test_many_jobs_have_no_rows() -> None:
    history = played(an_experiment(QUEUES, [a_job(f"j{n}", "a", at_s=n) for n in range(31)]))

    assert [queue.jobs for queue in chart(history, GPU, 20).queues] == [()]


def test_many_queues_are_the_busiest_next_to_their_cohort() -> None:
    queues = [a_cluster_queue(f"q{n:02}", quota={"h100": {GPU: 9}}) for n in range(20)]
    jobs = [a_job(f"j{n}", f"q{n:02}", runs_s=1 + n) for n in range(20)]

    drawn = chart(played(an_experiment(queues, jobs)), GPU, 20)

    assert [queue.name for queue in drawn.queues] == [f"q{n:02}" for n in range(8, 20)]
    assert drawn.queues_left_out == 8


@pytest.mark.parametrize("length", [1, 3, 999, 1_000_001, 61 * UNITS_US["s"], 25 * UNITS_US["h"]])
def test_lengths_people_count_in(length: int) -> None:
    found = round_up(length)

    assert found in ROUND_US
    assert all(step < length for step in ROUND_US if step < found)
    assert found >= length
