"""What annotations and commands make of a container."""

from __future__ import annotations

from random import Random

import pytest

from muster.queue.simulated.nodes.behaviour import (
    FOREVER_US,
    Behaviour,
    BehaviourError,
    Run,
    plan_init_run,
    plan_run,
    read_behaviour,
)

S = 1_000_000


def test_annotations() -> None:
    assert read_behaviour(
        {
            "sim.muster.dev/duration": "1m30s",
            "sim.muster.dev/exit-code": "3",
            "sim.muster.dev/failure-rate": ".25",
            "sim.muster.dev/start-delay": "250ms",
            "sim.muster.dev/readiness-delay": "5s",
            "sim.muster.dev/termination": "1s",
            "example.com/other": "x",
        }
    ) == Behaviour(
        duration_us=90 * S,
        exit_code=3,
        failure_rate=0.25,
        start_delay_us=250_000,
        readiness_delay_us=5 * S,
        termination_us=1 * S,
    )


def test_no_annotations() -> None:
    assert read_behaviour({}) == Behaviour()


def test_forever() -> None:
    assert read_behaviour({"sim.muster.dev/duration": "forever"}).duration_us == FOREVER_US


WRONG = {
    "duration without a unit": ({"duration": "30"}, "say the unit"),
    "duration of nothing": ({"duration": ""}, 'or "forever"'),
    "start delay for ever": ({"start-delay": "forever"}, "is not a duration"),
    "exit code too great": ({"exit-code": "256"}, "'256' is not an exit code"),
    "exit code below zero": ({"exit-code": "-1"}, "a whole number from 0 to 255"),
    "exit code in foreign digits": ({"exit-code": "٣"}, "is not an exit code"),
    "exit code of many digits": ({"exit-code": "9" * 5000}, "is not an exit code"),
    "rate above one": ({"failure-rate": "1.5"}, "a number from 0 to 1"),
    "rate in percent": ({"failure-rate": "5%"}, "'5%' is not a rate"),
    "rate that is no number": ({"failure-rate": "nan"}, "'nan' is not a rate"),
    "misspelt": ({"exit-cod": "1"}, "Did you mean 'sim.muster.dev/exit-code'?"),
    "two at once": ({"exit-code": "x", "duration": "y"}, "duration: 'y' is not a duration"),
    "the other of two": ({"exit-code": "x", "duration": "y"}, "'x' is not an exit code"),
}


@pytest.mark.parametrize("annotations, says", WRONG.values(), ids=WRONG)
def test_wrong_annotations(annotations: dict[str, str], says: str) -> None:
    with pytest.raises(BehaviourError) as caught:
        read_behaviour({f"sim.muster.dev/{name}": text for name, text in annotations.items()})
    assert says in str(caught.value)


COMMANDS: list[tuple[list[str], Run]] = [
    ([], Run(10 * S, 0)),
    (["echo", "hello"], Run(10 * S, 0)),
    (["sleep", "30"], Run(30 * S, 0)),
    (["sleep", "0.5"], Run(500_000, 0)),
    (["sleep", "2m"], Run(120 * S, 0)),
    (["sleep", "1d"], Run(86_400 * S, 0)),
    (["sleep", "infinity"], Run(FOREVER_US, 0)),
    (["sleep", "9" * 5000], Run(FOREVER_US, 0)),
    (["sh", "-c", "echo a; sleep 5; exit 3"], Run(5 * S, 3)),
    (["sh", "-c", "exit 256"], Run(10 * S, 0)),
    (["false"], Run(10 * S, 1)),
    (["sh", "-c", "oversleep 5"], Run(10 * S, 0)),
    (["sh", "-c", "exit 1 || true"], Run(10 * S, 0)),
]


@pytest.mark.parametrize("words, run", COMMANDS)
def test_commands(words: list[str], run: Run) -> None:
    split = {"command": words[:1], "args": words[1:]}
    assert plan_run(Behaviour(), {"command": words}, Random(1), 10 * S) == run
    assert plan_run(Behaviour(), split, Random(1), 10 * S) == run


def test_annotations_come_before_the_command() -> None:
    container = {"command": ["sh", "-c", "sleep 30; exit 2"]}
    behaviour = Behaviour(duration_us=S, exit_code=0)
    assert plan_run(behaviour, container, Random(1), 10 * S) == Run(S, 0)


def test_an_init_container_takes_no_time_unless_its_command_does() -> None:
    assert plan_init_run({"command": ["prepare"]}) == Run(0, 0)
    assert plan_init_run({"command": ["sleep", "3"]}) == Run(3 * S, 0)


@pytest.mark.parametrize("code, failed", [(None, 1), (0, 1), (42, 42)])
def test_failure_rate_is_the_share_of_runs_that_fail(code: int | None, failed: int) -> None:
    behaviour = Behaviour(exit_code=code, failure_rate=0.2)
    codes = [plan_run(behaviour, {}, Random(seed), S).exit_code for seed in range(2000)]
    assert set(codes) == {0, failed}
    assert 300 < codes.count(failed) < 500


@pytest.mark.parametrize("rate, codes", [(0.0, {0}), (1.0, {1})])
def test_certain_rates(rate: float, codes: set[int]) -> None:
    behaviour = Behaviour(failure_rate=rate)
    assert {plan_run(behaviour, {}, Random(seed), S).exit_code for seed in range(100)} == codes
