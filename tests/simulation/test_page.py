"""The page and the picture: complete in themselves, and true to the history."""

import json
import re
from typing import Any
from xml.etree import ElementTree as ET

from muster.admission.objects import PreemptionPolicy
from muster.queue.simulation.decisions import DecisionLog
from muster.queue.simulation.experiment import Experiment
from muster.queue.simulation.page import page
from muster.queue.simulation.picture import picture
from muster.queue.simulation.report import Report, report_of
from muster.queue.simulation.runner import Runner
from tests.admission.builders import a_cluster_queue
from tests.simulation.builders import GPU, a_job, an_experiment

EVIL = "</script><img src=x onerror=alert(1)>"

EXPERIMENT = an_experiment(
    [
        a_cluster_queue(name, quota={"h100": {GPU: 4}}, cohort="all", reclaim=PreemptionPolicy.ANY)
        for name in ("a", "b")
    ],
    [
        a_job("own", "a", gpus=4, runs_s=20),
        a_job("lent", "a", at_s=2, gpus=4, runs_s=6),
        a_job("owner", "b", at_s=6, gpus=4, runs_s=4),
        a_job(EVIL, "b", at_s=7, gpus=1, runs_s=1),
    ],
)


def played(experiment: Experiment) -> tuple[Report, DecisionLog]:
    log = DecisionLog(experiment)
    return report_of(Runner(experiment, observe=log).run()), log


REPORT, LOG = played(EXPERIMENT)
PAGE = page(REPORT, LOG.entries)


def data() -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', PAGE, re.DOTALL)
    assert found is not None
    parsed: dict[str, Any] = json.loads(found[1])
    return parsed


def test_the_page_fetches_nothing() -> None:
    policy = re.search(r'http-equiv="Content-Security-Policy"\s+content="([^"]+)"', PAGE)

    assert policy is not None
    assert policy[1].startswith("default-src 'none';")
    addresses = re.findall(r"(?:src|href|url|fetch|import)\s*[=(]\s*[\"']?([^\"')\s>]+)", PAGE)
    assert [a for a in addresses if a not in ("data:,", "x")] == []
    assert not re.search(r"https?://", PAGE)


def test_no_name_can_break_out_of_the_page() -> None:
    assert EVIL not in PAGE
    assert EVIL in [job[0] for job in data()["jobs"]]


def test_the_script_finds_everything_it_looks_for() -> None:
    wanted = re.findall(r'(?:getElementById|byId)\("([a-z]+)"\)', PAGE)

    assert len(wanted) > 10
    assert [name for name in wanted if f'id="{name}"' not in PAGE] == []
    assert "{{" not in PAGE


def test_the_page_has_every_run_and_every_decision() -> None:
    found = data()

    runs = [
        (found["jobs"][job][0], start, end, ending, amount, borrowed)
        for job, _, start, end, ending, amount, borrowed, *_ in found["runs"]
    ]
    assert runs == [
        ("own", 0, 20_000_000, 0, 4, 0),
        ("lent", 2_000_000, 6_000_000, 1, 4, 4),
        ("owner", 6_000_000, 10_000_000, 0, 4, 0),
        (EVIL, 10_000_000, 11_000_000, 0, 1, 0),
        ("lent", 11_000_000, 17_000_000, 0, 4, 4),
    ]
    assert found["queues"] == [["a", "all", 4], ["b", "all", 4]]
    evicted = found["runs"][1]
    assert found["jobs"][evicted[9]][0] == "owner"
    decided = [(found["jobs"][job][0], kind) for job, _, kind, *_ in found["notes"]]
    assert [kind for name, kind in decided if name == "lent"] == [0, 2, 0]
    assert ("owner", 1) in decided
    [preemption] = [note for note in found["notes"] if note[2] == 1]
    assert found["jobs"][preemption[4]][0] == "lent"
    assert "preempts lent (4 gpu of h100)" in found["words"][preemption[3]]


def test_the_picture_is_well_formed_and_shows_every_job() -> None:
    root = ET.fromstring(picture(REPORT))  # noqa: S314 - made two lines above

    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    for job in EXPERIMENT.jobs:
        assert job.name.rpartition("/")[2] in texts
    kinds = [element.get("class") for element in root.iter("{http://www.w3.org/2000/svg}rect")]
    assert kinds.count("borrowed lost") == 1
    assert (
        kinds.count("waiting") == 2 + 1
    )  # two jobs wait, and the legend says what that looks like
