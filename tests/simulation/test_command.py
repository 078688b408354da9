"""`muster simulate`: what it prints and writes, and how it says no."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from muster.queue.cli.tables import LINE_WIDTH
from tests.queue.cli.running import run

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
TWO_TEAMS = EXAMPLES / "two-teams"

MUSTER = (sys.executable, "-c", "from muster.queue.cli import main; main()")

JOBS = "arrival,runtime,requests,queue\n0,60,cpu=1,a\n30,60,cpu=1,b\n"


def test_the_demo_tells_its_story_in_a_hundred_columns() -> None:
    ended = run("simulate", TWO_TEAMS)

    assert ended.code == 0
    assert ended.err == ""
    assert max(len(line) for line in ended.out.splitlines()) <= LINE_WIDTH
    assert len(ended.out.splitlines()) < 70
    told = " ".join(ended.out.split())
    for said in (
        "language/distill starts 2 pods x 2 gpu on h100, borrows 4 gpu from vision (uses 0 of 8)",
        "vision/detect preempts language/distill (4 gpu of h100)",
        "11m of its work is lost",
        "vision/segment waits for quota — h100: needs 8 nvidia.com/gpu, 0 free of 16",
        "vision/hotfix preempts vision/track (8 gpu of h100): same queue, priority 100 below 1000",
        "7 jobs arrived, 7 finished; 9 admissions, 2 evictions",
    ):
        assert said in told


@pytest.mark.parametrize(
    "folder, config",
    [
        (path.name, next(path.glob("config/*.yaml"), None))
        for path in sorted(EXAMPLES.iterdir())
        if path.is_dir() and path.name != "sandbox"  # which has nodes, and nothing to queue
    ],
)
def test_every_example_runs_and_fits(folder: str, config: Path | None) -> None:
    configured = ["--config", config] if config is not None else []

    ended = run("simulate", EXAMPLES / folder, *configured)

    assert (ended.code, ended.err) == (0, "")
    assert "What happened" in ended.out
    assert max(len(line) for line in ended.out.splitlines()) <= LINE_WIDTH


def test_the_picture_in_the_readme_is_the_one_the_program_draws(tmp_path: Path) -> None:
    command = (*MUSTER, "simulate", "examples/two-teams")
    drawn = tmp_path / "two-teams.svg"
    subprocess.run([*command, "--svg", drawn], cwd=ROOT, check=True, capture_output=True)

    kept = ROOT / "docs" / "images" / "two-teams.svg"
    assert drawn.read_text("utf-8") == kept.read_text("utf-8"), (
        "run `muster simulate examples/two-teams --svg docs/images/two-teams.svg`"
    )


# --- The same in every process -------------------------------------------------------------------


def in_another_process(hash_seed: str, folder: Path) -> tuple[str, str, str, str]:
    """Everything deterministic that is printed and written about a trace."""
    folder.mkdir()
    arguments = ["examples/two-teams", "--trace", "-", "--until", "40m"]
    written = ["--html", folder / "page.html", "--svg", folder / "picture.svg"]
    queues = ("vision", "language")
    rows = "".join(
        f"{n // 3},{60 + 7 * (n % 11)},{queues[n % 2]},{n % 4},nvidia.com/gpu=2\n"
        for n in range(90)
    )
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    outputs = [
        subprocess.run(
            [*MUSTER, "simulate", *arguments, *more],
            cwd=ROOT,
            env=environment,
            input="arrival,runtime,queue,priority,requests\n" + rows,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for more in (written, ["-o", "json"])
    ]
    figures = json.loads(outputs[1])
    assert figures["finished"] > 50
    del figures["engine_seconds"], figures["admissions_per_engine_second"]
    return (
        outputs[0],
        json.dumps(figures),
        (folder / "page.html").read_text("utf-8"),
        (folder / "picture.svg").read_text("utf-8"),
    )


def test_every_process_prints_and_writes_the_same_bytes(tmp_path: Path) -> None:
    first, second = (in_another_process(seed, tmp_path / seed) for seed in ("1", "2"))

    assert first == second


# --- Input ---------------------------------------------------------------------------------------


def figures(*arguments: object, stdin: str = "") -> dict[str, object]:
    ended = run("simulate", *arguments, "-o", "json", stdin=stdin)
    assert (ended.code, ended.err) == (0, "")
    found: dict[str, object] = json.loads(ended.out)
    return found


def test_the_figures_that_acceptance_reads() -> None:
    found = figures("--trace", "baseline", "--until", "2s")

    for key in (
        "makespan_seconds",
        "quota_working_share",
        "evictions",
        "admitted",
        "finished",
        "cycles",
        "rounds",
        "engine_seconds",
        "admissions_per_engine_second",
    ):
        assert isinstance(found[key], int | float), key
    assert found["arrived"] == 30 * (20 + 4 + 1)


def test_charged_engine_time_makes_things_later() -> None:
    free = figures("--trace", "baseline", "--until", "300ms")
    charged = figures("--trace", "baseline", "--until", "300ms", "--charge-engine-time")

    assert charged["cycles"] != 0
    assert charged["quota_working_share"] != free["quota_working_share"]


def test_a_trace_on_an_amount_of_quota() -> None:
    found = figures("--trace", "-", "--quota", "cpu=1", stdin=JOBS)

    # Each of two queues owns half a CPU: one job at a time.
    assert (found["makespan_seconds"], found["quota_working_share"]) == (120.0, 1.0)


def test_a_trace_on_the_queues_of_manifests() -> None:
    rows = "arrival,runtime,requests,queue\n0,60,nvidia.com/gpu=16,vision\n"

    found = figures(TWO_TEAMS / "queues.yaml", "--trace", "-", stdin=rows)

    assert (found["finished"], found["quota_working_share"]) == (1, 1.0)


def test_fair_sharing_is_a_configuration() -> None:
    folder = EXAMPLES / "fair-sharing"

    classical = figures(folder)
    fair = figures(folder, "--config", folder / "config" / "fair-sharing.yaml")

    assert (classical["evictions"], fair["evictions"]) == (0, 6)


def test_until_grace_rounds_and_seed_change_what_they_say() -> None:
    whole = figures(TWO_TEAMS)
    assert figures(TWO_TEAMS, "--until", "30m")["finished"] == 0
    assert figures(TWO_TEAMS, "--grace", "1m")["makespan_seconds"] != whole["makespan_seconds"]
    assert figures(TWO_TEAMS, "--rounds", "1")["makespan_seconds"] == whole["makespan_seconds"]
    rows = JOBS.replace("30,", "0,")
    orders = [
        run("simulate", "--trace", "-", "--quota", "cpu=1", "--seed", seed, stdin=rows).out
        for seed in range(6)
    ]
    assert len(set(orders)) == 2


def test_queues_without_jobs() -> None:
    ended = run("simulate", "examples/quota/queues.yaml")

    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "examples/quota/queues.yaml: 0 jobs for 1 ClusterQueue",
        "",
        "Nothing arrives: no Job, Pod or Workload names a queue, and there is no --trace.",
    ]


def test_run_times_that_are_not_annotated(tmp_path: Path) -> None:
    text = (TWO_TEAMS / "jobs.yaml").read_text("utf-8")
    bare = "".join(line for line in text.splitlines(keepends=True) if "runs-for" not in line)
    (tmp_path / "jobs.yaml").write_text(bare, "utf-8")
    arguments = (TWO_TEAMS / "queues.yaml", tmp_path / "jobs.yaml")

    refused = run("simulate", *arguments)
    given = figures(*arguments, "--runs-for", "10m")

    assert refused.code == 2
    assert "metadata.annotations[muster.dev/runs-for]" in refused.err
    assert "7 problems: nothing was simulated." in refused.err
    assert given["finished"] == 7


def test_annotations_that_make_no_sense(tmp_path: Path) -> None:
    text = (TWO_TEAMS / "jobs.yaml").read_text("utf-8")
    text = text.replace("runs-for: 1h10m", "runs-for: an hour").replace(
        "arrives-after: 2m", "arrive-after: 2m"
    )
    (tmp_path / "jobs.yaml").write_text(text, "utf-8")

    ended = run("simulate", TWO_TEAMS / "queues.yaml", tmp_path / "jobs.yaml")

    assert ended.code == 2
    assert "Job language/pretrain" in ended.err
    assert "'an hour' is not a duration" in ended.err
    assert "no such annotation. Did you mean 'muster.dev/arrives-after'?" in ended.err


REFUSED = [
    ([], "Nothing to simulate: name files or directories of manifests, or give a --trace."),
    (["--trace", "tas"], "topology-aware placement is not there yet"),
    (["--trace", "baselin"], "no file called 'baselin'. Did you mean 'baseline'?"),
    (["--trace", "zzz"], "no file called 'zzz'. Built in are baseline and large-scale."),
    (["--trace", "baseline", "--quota", "cpu=1"], "--quota says something about the file"),
    (["--trace", "baseline", "examples"], "has its own queues: leave out the paths"),
    (["examples", "--columns", "arrival=a"], "--columns says something about the file"),
    (["--trace", "-"], "Nothing says how much quota there is."),
    (
        ["--trace", "-", "--quota", "cpu=1", "--nodes", "n.csv"],
        "--nodes and --quota all say how much quota there is.",
    ),
    (["--trace", "-", "--quota", "cpu"], "'cpu' is not of the form resource=quantity"),
    (["--trace", "-", "--quota", "cpu=1K"], "'1K' is not a quantity: did you mean 1k"),
    (["--trace", "-", "--quota", "cpu=1", "--fleet", "1/2"], "give --nodes too"),
    (["--trace", "-", "--quota", "cpu=1", "--runs-for", "1m"], "--runs-for is for manifests"),
    (
        ["--trace", "-", "--quota", "cpu=1", "--columns", "arrival"],
        "is not of the form ours=theirs",
    ),
    (["--trace", "-", "--nodes", "n.csv", "--fleet", "3/2"], "'3/2' is not more than 0 and at"),
    (["--trace", "-", "--nodes", "n.csv", "--fleet", "half"], "is not a part such as 1/3 or 0.5"),
    (["examples", "--until", "5"], 'say the unit: "5s" for seconds'),
    (["--trace", "-", "examples/quota"], "no LocalQueue is called 'a'. There is vision/train."),
    (["--trace", "-", "--nodes", "no-such.csv"], "no-such.csv no such file."),
]


@pytest.mark.parametrize("arguments, message", REFUSED)
def test_what_cannot_be_simulated(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)

    ended = run("simulate", *arguments, stdin=JOBS)

    assert ended.code == 2
    assert ended.out == ""
    assert message in " ".join(ended.err.split())
    assert "Traceback" not in ended.err


def test_a_page_that_cannot_be_written(tmp_path: Path) -> None:
    ended = run("simulate", TWO_TEAMS, "--html", tmp_path / "none" / "page.html")

    assert ended.code == 2
    assert "cannot be written: no such file or directory" in ended.err
