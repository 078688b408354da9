"""`muster plan`: what it prints, in every form, and how it says no."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.queue.cli.running import run
from tests.queue.test_scenario import OUTCOME, a_scenario
from tests.queue.texts import (
    NOON,
    a_flavor,
    a_job,
    a_local_queue,
    a_queue,
    a_running_workload,
    joined,
)

RECLAIMING = """
cohortName: research
namespaceSelector: {}
queueingStrategy: StrictFIFO
preemption: {reclaimWithinCohort: Any}
"""

STORY = joined(
    a_flavor("a100", "nodeLabels: {gpu: a100}"),
    a_flavor("spot", "nodeTaints: [{key: spot, value: 'true', effect: NoSchedule}]"),
    a_queue("vision", {"a100": 8, "spot": 4}, RECLAIMING),
    a_queue("language", {"a100": 8, "spot": 4}, "cohortName: research\nnamespaceSelector: {}"),
    a_local_queue("vision", "vision"),
    a_local_queue("language", "language"),
    a_running_workload("pretrain", "language", pods=6, gpus=2, flavor="a100"),
    a_job("detect", "vision", pods=4, gpus=2),
    a_job("track", "vision", pods=4, gpus=2),
    a_job("distill", "language", pods=2, gpus=2, pod="tolerations: [{operator: Exists}]"),
    a_job("huge", "language", pods=20, gpus=2),
    a_job("huge-again", "language", pods=20, gpus=2),
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}",
)

TABLE = """\
Plan for 2026-01-01T12:00:00Z: 1 admitted, 1 preempted, 4 waiting; 1 held quota before.

ADMITTED      QUEUE     PODS  GETS
team/distill  language  2     a100: 4 nvidia.com/gpu (4 borrowed)

PREEMPTED      QUEUE     WHY
team/pretrain  language  makes room for team/detect
                         language uses more than its quota, and vision takes its own back

WAITING          QUEUE     WHY
team/detect      vision    starts when team/pretrain has stopped
                           then gets a100: 8 nvidia.com/gpu
team/huge        language  can never fit as it is
                           a100: asks 40 nvidia.com/gpu, the queue can never use more than 16
                           spot: its pods do not tolerate the taint spot=true:NoSchedule
team/huge-again  language  waits like team/huge, which asks for the same
team/track       vision    waits behind team/detect

QUOTA OF  FLAVOR  RESOURCE        QUOTA  USED  BORROWED
language  a100    nvidia.com/gpu  8      16    8
language  spot    nvidia.com/gpu  4      0
vision    a100    nvidia.com/gpu  8      0
vision    spot    nvidia.com/gpu  4      0

Left out: 1 ConfigMap.
"""


def planned(*options: str, text: str = STORY) -> str:
    ended = run("plan", "-", "--now", NOON, *options, stdin=text)
    assert (ended.code, ended.err) == (0, "")
    return ended.out


def test_the_story_of_a_plan() -> None:
    shown = planned()

    assert sorted(shown.splitlines()) == sorted(TABLE.splitlines())
    assert max(map(len, shown.splitlines())) <= 100


@pytest.mark.parametrize("form", ["wide", "json"])
def test_the_same_input_gives_the_same_output_in_every_process(form: str) -> None:
    command = (sys.executable, "-c", "from muster.queue.cli import main; main()")
    outputs = [
        subprocess.run(
            [*command, "plan", "-", "--now", NOON, "--cycles", "3", "-o", form],
            input=STORY,
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]

    assert outputs[0] == outputs[1]


def test_two_cycles() -> None:
    shown = planned("--cycles", "2")

    assert "2 admitted, 1 preempted, 4 waiting in 2 cycles" in shown
    assert "team/detect   vision    4     a100: 8 nvidia.com/gpu, in cycle 2" in shown


def test_partial_admission_shows_both_counts() -> None:
    annotated = a_job("train", "q", pods=8).replace(
        "labels:", "annotations: {kueue.x-k8s.io/job-min-parallelism: '2'}, labels:"
    )

    shown = planned(
        text=joined(a_flavor("f"), a_queue("q", {"f": 5}), a_local_queue("q", "q"), annotated)
    )

    assert "team/train  q      5 of 8  f: 5 nvidia.com/gpu" in shown


MANY = joined(
    a_flavor("f"),
    a_queue("q", {"f": 60}),
    a_local_queue("q", "q"),
    *(a_job(f"j{number:03}", "q") for number in range(200)),
)


def test_long_tables_are_cut_unless_wide() -> None:
    shown, wide = planned(text=MANY), planned("-o", "wide", text=MANY)

    assert "… and 10 more (-o wide shows all)" in shown
    assert "team/j061 and 138 more  q      waits like team/j060, which asks for the same" in shown
    assert shown.count("\n") < 80
    assert wide.count("\n") > 200
    assert "team/j199" in wide
    assert "; 60 in use by team/j000 1, team/j001 1, team/j002 1, 57 more\n" in wide


def test_nothing_to_decide() -> None:
    assert planned(text=joined(a_flavor("f"))) == (
        "Plan for 2026-01-01T12:00:00Z: 0 admitted, 0 preempted, 0 waiting.\n"
    )


# --- For programs --------------------------------------------------------------------------------


def named(answer: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in answer}


def test_json() -> None:
    answer = json.loads(planned("-o", "json"))

    assert {key: answer[key] for key in ("apiVersion", "kind", "now", "cycles", "summary")} == {
        "apiVersion": "muster.dev/v1",
        "kind": "Plan",
        "now": NOON,
        "cycles": 1,
        "summary": {"admitted": 1, "preempted": 1, "waiting": 4},
    }
    assert answer["leftOut"] == {"ConfigMap": 1}
    [admitted] = answer["admitted"]
    assert admitted == {
        "kind": "Job",
        "namespace": "team",
        "name": "distill",
        "workload": admitted["workload"],
        "localQueue": "language",
        "clusterQueue": "language",
        "cycle": 1,
        "podSets": [
            {
                "name": "main",
                "count": 2,
                "asked": 2,
                "flavors": {"nvidia.com/gpu": "a100"},
                "resourceUsage": {"nvidia.com/gpu": "4"},
            }
        ],
        "grants": [
            {"flavor": "a100", "resource": "nvidia.com/gpu", "amount": "4", "borrowed": "4"}
        ],
        "admissionChecks": [],
        "explanation": "admitted by language with a100: 4 nvidia.com/gpu (4 borrowed)",
    }


def test_json_of_an_eviction() -> None:
    [preempted] = json.loads(planned("-o", "json"))["preempted"]

    assert preempted["name"] == "pretrain"
    assert preempted["reason"] == "InCohortReclamation"
    assert preempted["for"]["name"] == "detect"
    assert preempted["amounts"] == [
        {"flavor": "a100", "resource": "nvidia.com/gpu", "amount": "12", "borrowed": "0"}
    ]
    assert preempted["explanation"] == (
        "makes room for team/detect — language uses more than its quota, "
        "and vision takes its own back"
    )


def test_json_of_who_waits() -> None:
    waiting = named(json.loads(planned("-o", "json"))["waiting"])

    assert {name: (each["reason"], each["place"]) for name, each in waiting.items()} == {
        "detect": ("WaitingForPreemptedWorkloads", "heap"),
        "huge": ("ExceedsMaxQuota", "parked"),
        "huge-again": (None, "parked"),
        "track": (None, "heap"),
    }
    assert waiting["huge"]["obstacles"] == [
        {
            "podSet": "main",
            "flavor": "a100",
            "resource": "nvidia.com/gpu",
            "asked": "40",
            "free": "0",
            "missing": "40",
            "nominal": "8",
            "potential": "16",
        },
        {
            "podSet": "main",
            "flavor": "spot",
            "refusal": "its pods do not tolerate the taint spot=true:NoSchedule",
        },
    ]


def test_json_of_the_queues() -> None:
    queues = named(json.loads(planned("-o", "json"))["clusterQueues"])

    assert (queues["language"]["cohort"], queues["language"]["active"]) == ("research", True)
    assert queues["language"]["quota"][0] == {
        "flavor": "a100",
        "resource": "nvidia.com/gpu",
        "nominal": "8",
        "used": "16",
        "borrowed": "8",
        "potential": "16",
    }


def test_yaml_says_the_same() -> None:
    assert yaml.safe_load(planned("-o", "yaml")) == json.loads(planned("-o", "json"))


# --- Scenarios -----------------------------------------------------------------------------------


def test_scenarios_are_answered_line_by_line() -> None:
    text = "\n".join([json.dumps(a_scenario(name="one")), "", json.dumps(a_scenario(name="two"))])

    ended = run("plan", "--jsonl", "--rounds", "1", stdin=text)

    assert (ended.code, ended.err) == (0, "")
    assert [json.loads(line) for line in ended.out.splitlines()] == [
        {**OUTCOME, "name": "one"},
        {**OUTCOME, "name": "two"},
    ]


def test_a_bad_line_does_not_keep_the_others_from_an_answer() -> None:
    ended = run("plan", "--jsonl", stdin="{\n" + json.dumps(a_scenario()))

    message = "not JSON: unexpected end of data: line 2 column 1 (char 2)"
    assert ended.code == 2
    assert ended.err == f"line 1: {message}\n"
    assert [json.loads(line) for line in ended.out.splitlines()] == [
        {"line": 1, "error": message},
        OUTCOME,
    ]


# --- Refusals ------------------------------------------------------------------------------------


def test_mistakes_in_manifests() -> None:
    ended = run("plan", "-", stdin=joined(STORY, a_job("x", "visoin"), a_flavor("y", "z: 1")))

    assert (ended.code, ended.out) == (2, "")
    assert "no LocalQueue in namespace team is called 'visoin'" in ended.err
    assert "unknown field 'z'" in ended.err
    assert ended.err.endswith("\n2 problems: nothing was planned.\n")


def test_one_mistake_is_one_problem() -> None:
    ended = run("plan", "-", stdin=joined(STORY, a_job("x", "visoin")))

    assert ended.code == 2
    assert ended.err.endswith("Did you mean 'vision'?\n1 problem: nothing was planned.\n")


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "Missing argument 'PATH...'"),
        (["-", "--now", "noon"], "'noon' is not a timestamp"),
        (["-", "--cycles", "0"], "0 is not in the range x>=1"),
        (["-", "--rounds", "no"], "'no' is not a valid integer"),
        (["-", "-o", "xml"], "'xml' is not one of"),
        (["-", "--config", "."], ".\n  cannot be read: is a directory\n"),
        (["-", "--config", ""], "a path must not be empty"),
        (["--jsonl", "--cycles", "3", "-o", "json"], "leave out '--cycles', '-o' / '--output'."),
        (["--jsonl", "queues.yaml"], "leave out 'PATH...'."),
    ],
)
def test_bad_arguments(arguments: list[str], message: str) -> None:
    ended = run("plan", *arguments, stdin=STORY)

    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err


# --- The configuration file ----------------------------------------------------------------------

CONFIGURATION = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"


def test_the_configuration_decides(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(CONFIGURATION + "muster: {maxRoundsPerCycle: 1}\n")

    shown = planned("--config", str(path), text=MANY)

    assert "Plan for 2026-01-01T12:00:00Z: 1 admitted" in shown


BAD_CONFIGURATIONS = [
    pytest.param(None, ["  no such file."], id="no file"),
    pytest.param(
        "a: [",
        ["  line 2", "    not YAML: did not find expected node content while parsing a flow node"],
        id="no YAML",
    ),
    pytest.param("", ["  expected one document, of kind Configuration"], id="empty"),
    pytest.param(
        "kind: ClusterQueue",
        [
            (
                "  apiVersion must be config.kueue.x-k8s.io/v1beta2 and kind Configuration, "
                "not null and 'ClusterQueue'."
            )
        ],
        id="another kind",
    ),
    pytest.param(
        CONFIGURATION + "fairSharing:\n  preemptionStrategies: [Last]\nfairSharing: {}\n",
        [
            "  line 5",
            "    the key 'fairSharing' is given twice, first in line 3",
            "  line 4, fairSharing.preemptionStrategies",
            "    is required",
        ],
        id="mistakes in it",
    ),
]


@pytest.mark.parametrize("text, told", BAD_CONFIGURATIONS)
def test_bad_configurations(text: str | None, told: list[str], tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    if text is not None:
        path.write_text(text)

    ended = run("plan", "-", "--config", path, stdin=STORY)

    assert ended.code == 2
    assert ended.err.splitlines()[0] == str(path)
    assert ended.err.splitlines()[1:-1] == told
