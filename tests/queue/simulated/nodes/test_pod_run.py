"""What happens to pods and when, each as a history: one line whenever something is different."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.queue.api.timestamps import format_second
from muster.queue.simulated.nodes.behaviour import FOREVER_US
from muster.queue.simulated.nodes.pod_run import PodRun, RunSettings
from muster.queue.simulated.nodes.pod_status import Place, pod_status

Json = dict[str, Any]

S = 1_000_000
EPOCH_US = 1_767_225_600 * S
SETTINGS = RunSettings(seed=1, pod_duration_us=10 * S)
PLACE = Place(host_address="10.0.0.1", pod_address="10.128.0.1")
UNTIL_S = 1000


def a_pod(
    annotations: dict[str, str] | None = None,
    *,
    main: Json | None = None,
    inits: list[Json] | None = None,
    **spec: Any,
) -> Json:
    """Return a pod; the names of annotations lack their prefix."""
    given = {f"sim.muster.dev/{name}": value for name, value in (annotations or {}).items()}
    return {
        "metadata": {"name": "p", "namespace": "x", "uid": "u", "annotations": given},
        "spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "work", **(main or {})}],
            "initContainers": inits or [],
            **spec,
        },
    }


def told(run: PodRun, pod: Json, now_us: int) -> str:
    """Return phase and containers in short, as "Running main:running/ready"."""
    status = pod_status(run, pod, PLACE, now_us)
    containers = [*status.get("initContainerStatuses", ()), *status["containerStatuses"]]
    words: list[str] = [status.get("reason") or status["phase"]]
    for each in containers:
        [(kind, state)] = each["state"].items()
        word = {
            "running": "running",
            "waiting": state.get("reason", ""),
            "terminated": f"exit {state.get('exitCode')}",
        }[kind]
        again = f"({each['restartCount']})" if each["restartCount"] else ""
        ready = "/ready" if each["ready"] and kind == "running" else ""
        words.append(f"{each['name']}:{word}{again}{ready}")
    return " ".join(words)


def restarting_after(exit_code: int) -> Json:
    """Return what has a container of its own restart after an exit code and no other."""
    codes = {"operator": "In", "values": [exit_code]}
    rules = [{"action": "Restart", "exitCodes": codes}]
    return {"restartPolicy": "Never", "restartPolicyRules": rules}


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    pod: Json
    history: list[str]
    stop_at_s: float | None = None
    grace_s: int = 30
    until_s: int = UNTIL_S


def history(case: Case) -> list[str]:
    """Play a pod from the start on; each line begins with the seconds that have passed."""
    run = PodRun(case.pod, SETTINGS, EPOCH_US)
    lines: list[str] = []
    stop_us = FOREVER_US if case.stop_at_s is None else round(case.stop_at_s * S)
    now_us = 0
    while now_us <= case.until_s * S:
        if now_us >= stop_us:
            run.stop(EPOCH_US + now_us, case.grace_s * S)
            stop_us = FOREVER_US
        wake_us = run.advance(EPOCH_US + now_us)
        line = told(run, case.pod, EPOCH_US + now_us)
        if not lines or lines[-1].split(" ", 1)[1] != line:
            lines.append(f"{now_us / S:g} {line}")
        now_us = min(wake_us - EPOCH_US, stop_us)
    return lines


ALWAYS: Json = {"restartPolicy": "Always"}
ON_FAILURE: Json = {"restartPolicy": "OnFailure"}
SIDECAR: Json = {"name": "side", "image": "s", "restartPolicy": "Always"}

CASES = [
    Case(
        name="without annotations it succeeds after the default",
        pod=a_pod(),
        history=["0 Running main:running/ready", "10 Succeeded main:exit 0"],
    ),
    Case(
        name="a pod that always restarts runs on",
        pod=a_pod(**ALWAYS),
        history=["0 Running main:running/ready"],
    ),
    Case(
        name="delays of start and readiness",
        pod=a_pod({"start-delay": "2s", "readiness-delay": "3s", "duration": "10s"}),
        history=[
            "0 Pending main:ContainerCreating",
            "2 Running main:running",
            "5 Running main:running/ready",
            "12 Succeeded main:exit 0",
        ],
    ),
    Case(
        name="it may end before it is ready",
        pod=a_pod({"readiness-delay": "3s", "duration": "500ms"}),
        history=["0 Running main:running", "0.5 Succeeded main:exit 0"],
    ),
    Case(
        name="an exit code",
        pod=a_pod({"exit-code": "3"}),
        history=["0 Running main:running/ready", "10 Failed main:exit 3"],
    ),
    Case(
        name="crashes wait longer each time",
        pod=a_pod({"exit-code": "1", "duration": "1s"}, **ON_FAILURE),
        until_s=40,
        history=[
            "0 Running main:running/ready",
            "1 Running main:running(1)/ready",
            "2 Running main:CrashLoopBackOff(2)",
            "12 Running main:running(2)/ready",
            "13 Running main:CrashLoopBackOff(3)",
            "33 Running main:running(3)/ready",
            "34 Running main:CrashLoopBackOff(4)",
        ],
    ),
    Case(
        name="after running for long it crashes as if for the first time",
        pod=a_pod({"duration": "10m"}, **ALWAYS),
        until_s=1801,
        history=[
            "0 Running main:running/ready",
            "600 Running main:running(1)/ready",
            "1200 Running main:running(2)/ready",
            "1800 Running main:running(3)/ready",
        ],
    ),
    Case(
        name="success ends a pod that restarts on failure",
        pod=a_pod({"duration": "1s"}, **ON_FAILURE),
        history=["0 Running main:running/ready", "1 Succeeded main:exit 0"],
    ),
    Case(
        name="a container's own policy comes before the pod's",
        pod=a_pod({"exit-code": "1", "duration": "1s"}, main=ON_FAILURE),
        until_s=3,
        history=[
            "0 Running main:running/ready",
            "1 Running main:running(1)/ready",
            "2 Running main:CrashLoopBackOff(2)",
        ],
    ),
    Case(
        name="a rule for its exit code comes before any policy",
        pod=a_pod({"exit-code": "3", "duration": "1s"}, main=restarting_after(3)),
        until_s=3,
        history=[
            "0 Running main:running/ready",
            "1 Running main:running(1)/ready",
            "2 Running main:CrashLoopBackOff(2)",
        ],
    ),
    Case(
        name="a rule for other exit codes does not count",
        pod=a_pod({"exit-code": "4", "duration": "1s"}, main=restarting_after(3)),
        history=["0 Running main:running/ready", "1 Failed main:exit 4"],
    ),
    Case(
        name="init containers one by one",
        pod=a_pod(
            inits=[{"name": "a", "command": ["sleep", "2"]}, {"name": "b", "command": ["x"]}]
        ),
        history=[
            "0 Pending a:running b:PodInitializing main:PodInitializing",
            "2 Running a:exit 0 b:exit 0 main:running/ready",
            "12 Succeeded a:exit 0 b:exit 0 main:exit 0",
        ],
    ),
    Case(
        name="an init container that fails",
        pod=a_pod(inits=[{"name": "a", "command": ["sh", "-c", "sleep 1; exit 2"]}]),
        history=[
            "0 Pending a:running main:PodInitializing",
            "1 Failed a:exit 2 main:PodInitializing",
        ],
    ),
    Case(
        name="an init container that fails is run again",
        pod=a_pod(inits=[{"name": "a", "command": ["false"]}], **ALWAYS),
        until_s=9,
        history=["0 Pending a:CrashLoopBackOff(2) main:PodInitializing"],
    ),
    Case(
        name="a sidecar ends with the main container",
        pod=a_pod(inits=[SIDECAR]),
        history=[
            "0 Running side:running/ready main:running/ready",
            "10 Succeeded side:exit 143 main:exit 0",
        ],
    ),
    Case(
        name="a deadline",
        pod=a_pod({"duration": "forever"}, activeDeadlineSeconds=5),
        history=["0 Running main:running/ready", "5 DeadlineExceeded main:exit 143"],
    ),
    Case(
        name="a deadline that is heeded late",
        pod=a_pod(
            {"duration": "forever", "termination": "1h"},
            activeDeadlineSeconds=5,
            terminationGracePeriodSeconds=2,
        ),
        history=["0 Running main:running/ready", "7 DeadlineExceeded main:exit 137"],
    ),
    Case(
        name="stopped at once",
        pod=a_pod({"duration": "forever"}),
        stop_at_s=4,
        history=["0 Running main:running/ready", "4 Failed main:exit 143"],
    ),
    Case(
        name="stopped after a while",
        pod=a_pod({"duration": "forever", "termination": "3s"}),
        stop_at_s=4,
        history=["0 Running main:running/ready", "7 Failed main:exit 143"],
    ),
    Case(
        name="killed when its grace is over",
        pod=a_pod({"duration": "forever", "termination": "1m"}),
        stop_at_s=4,
        grace_s=20,
        history=["0 Running main:running/ready", "24 Failed main:exit 137"],
    ),
    Case(
        name="it may end by itself while it is being stopped",
        pod=a_pod({"duration": "5s", "termination": "3s"}, **ALWAYS),
        stop_at_s=4,
        history=["0 Running main:running/ready", "5 Succeeded main:exit 0"],
    ),
    Case(
        name="stopped before it started",
        pod=a_pod({"start-delay": "10s"}),
        stop_at_s=4,
        history=["0 Pending main:ContainerCreating", "4 Failed main:exit 137"],
    ),
    Case(
        name="stopped while it waits to restart",
        pod=a_pod({"duration": "1s", "exit-code": "7"}, **ALWAYS),
        stop_at_s=4,
        history=[
            "0 Running main:running/ready",
            "1 Running main:running(1)/ready",
            "2 Running main:CrashLoopBackOff(2)",
            "4 Failed main:exit 7(2)",
        ],
    ),
    Case(
        name="wrong annotations keep it from starting",
        pod=a_pod({"duration": "long"}),
        history=["0 Pending main:CreateContainerConfigError"],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_histories(case: Case) -> None:
    assert history(case) == case.history


def test_a_corrected_annotation_lets_a_pod_start() -> None:
    pod = a_pod({"duration": "long"})
    run = PodRun(pod, SETTINGS, EPOCH_US)
    assert run.advance(EPOCH_US + S) == FOREVER_US
    assert "'long' is not a duration" in run.problem
    pod = a_pod({"duration": "1s"})
    run.observe(pod)
    run.advance(EPOCH_US + 5 * S)
    assert told(run, pod, EPOCH_US + 5 * S) == "Succeeded main:exit 0"


def test_a_new_annotation_counts_for_the_run_under_way() -> None:
    run = PodRun(a_pod({"duration": "forever"}), SETTINGS, EPOCH_US)
    assert run.advance(EPOCH_US) == FOREVER_US
    run.observe(a_pod({"duration": "7s"}))
    assert run.advance(EPOCH_US) == EPOCH_US + 7 * S


def test_a_stop_can_only_become_quicker() -> None:
    run = PodRun(a_pod({"duration": "forever", "termination": "1h"}), SETTINGS, EPOCH_US)
    run.advance(EPOCH_US)
    run.stop(EPOCH_US, 30 * S)
    run.stop(EPOCH_US + S, 60 * S)
    assert run.advance(EPOCH_US + S) == EPOCH_US + 30 * S
    run.stop(EPOCH_US + 2 * S, 0)
    run.advance(EPOCH_US + 2 * S)
    assert run.is_over


# --- Starting anew, from what was reported -------------------------------------------------------


@dataclass(frozen=True)
class Life:
    """A pod, and when somebody looks at it."""

    pod: Json
    looks_s: list[int] = field(default_factory=list)


durations = st.integers(1, 30).map(lambda seconds: f"{seconds}s")
pods = st.builds(
    lambda annotations, policy, inits, deadline: a_pod(
        annotations, inits=inits, restartPolicy=policy, **deadline
    ),
    st.fixed_dictionaries(
        {"duration": durations},
        optional={
            "exit-code": st.sampled_from(["0", "1"]),
            "failure-rate": st.just("0.5"),
            "start-delay": durations,
            "readiness-delay": durations,
        },
    ),
    st.sampled_from(["Always", "OnFailure", "Never"]),
    st.sampled_from([[], [SIDECAR], [{"name": "i", "command": ["sleep", "4"]}, SIDECAR]]),
    st.sampled_from([{}, {"activeDeadlineSeconds": 40}]),
)
lives = st.builds(
    Life, pods, st.lists(st.integers(0, 60), min_size=1, max_size=6, unique=True).map(sorted)
)


@given(lives)
def test_it_does_not_matter_how_often_anybody_looks(life: Life) -> None:
    often = PodRun(life.pod, SETTINGS, EPOCH_US)
    for look_s in life.looks_s:
        often.advance(EPOCH_US + look_s * S)
    once = PodRun(life.pod, SETTINGS, EPOCH_US)
    now_us = EPOCH_US + life.looks_s[-1] * S
    assert once.advance(now_us) == often.advance(now_us)
    assert told(once, life.pod, now_us) == told(often, life.pod, now_us)


@given(lives)
def test_a_kubelet_that_starts_anew_goes_on_from_the_status(life: Life) -> None:
    """Instants of whole seconds survive being written down; those of this test all are."""
    steady = PodRun(life.pod, SETTINGS, EPOCH_US)
    pod = life.pod
    for look_s in life.looks_s:
        now_us = EPOCH_US + look_s * S
        steady.advance(now_us)
        anew = PodRun(pod, SETTINGS, EPOCH_US if look_s == life.looks_s[0] else now_us)
        if steady.is_over:
            return
        anew.advance(now_us)
        assert told(anew, pod, now_us) == told(steady, pod, now_us)
        pod = {**pod, "status": pod_status(anew, pod, PLACE, now_us)}


def test_the_first_report_says_when_the_pod_was_accepted() -> None:
    pod = a_pod({"start-delay": "1m"})
    run = PodRun(pod, SETTINGS, EPOCH_US)
    status = pod_status(run, pod, PLACE, EPOCH_US + 30 * S)
    assert status["startTime"] == format_second(EPOCH_US)
    anew = PodRun({**pod, "status": status}, SETTINGS, EPOCH_US + 50 * S)
    assert anew.advance(EPOCH_US + 50 * S) == EPOCH_US + 60 * S


def at(seconds: int) -> str:
    return format_second(EPOCH_US + seconds * S)


def ended(exit_code: int, start_s: int, end_s: int) -> Json:
    return {
        "terminated": {"exitCode": exit_code, "startedAt": at(start_s), "finishedAt": at(end_s)}
    }


@dataclass(frozen=True, kw_only=True)
class Adoption:
    """A status that was reported, and how it goes on for who looks first after 100 seconds."""

    name: str
    main: Json
    init: Json | None = None
    policy: str = "Never"
    next_s: int | None
    then: str


ADOPTIONS = [
    Adoption(
        name="a run goes on",
        main={"state": {"running": {"startedAt": at(95)}}},
        next_s=105,
        then="Running main:running/ready",
    ),
    Adoption(
        name="a run that should have ended has",
        main={"state": {"running": {"startedAt": at(85)}}},
        next_s=None,
        then="Succeeded main:exit 0",
    ),
    Adoption(
        name="an end stays",
        main={"state": ended(9, 80, 81)},
        next_s=None,
        then="Failed main:exit 9",
    ),
    Adoption(
        name="a first crash is followed by a run",
        main={"state": ended(9, 80, 81)},
        policy="OnFailure",
        next_s=None,
        then="Succeeded main:exit 0(1)",
    ),
    Adoption(
        name="a later crash is followed by its back-off",
        main={"state": ended(9, 89, 90), "restartCount": 2},
        policy="OnFailure",
        next_s=110,
        then="Running main:CrashLoopBackOff(3)",
    ),
    Adoption(
        name="a back-off goes on",
        main={
            "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": ended(9, 89, 90),
            "restartCount": 3,
        },
        policy="OnFailure",
        next_s=110,
        then="Running main:CrashLoopBackOff(3)",
    ),
    Adoption(
        name="main containers start that were about to",
        init={"state": ended(0, 90, 91)},
        main={"state": {"waiting": {"reason": "PodInitializing"}}},
        next_s=110,
        then="Running init:exit 0 main:running/ready",
    ),
]


@pytest.mark.parametrize("case", ADOPTIONS, ids=lambda case: case.name)
def test_adoptions(case: Adoption) -> None:
    inits = [] if case.init is None else [{"name": "init", "image": "i"}]
    status = {
        "startTime": at(0),
        "containerStatuses": [{"name": "main", **case.main}],
        "initContainerStatuses": [{"name": "init", **case.init}] if case.init else [],
    }
    pod = {**a_pod(inits=inits, restartPolicy=case.policy), "status": status}
    now_us = EPOCH_US + 100 * S
    run = PodRun(pod, SETTINGS, now_us)
    wake_us = run.advance(now_us)
    assert told(run, pod, now_us) == case.then
    assert wake_us == (FOREVER_US if case.next_s is None else EPOCH_US + case.next_s * S)
