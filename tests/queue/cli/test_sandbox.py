"""`muster sandbox`: its life as a terminal sees it, and what it says when something is off."""

import os
import shlex
import signal
import socket
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import orjson
import pytest
import yaml

from muster.queue.client.kubeconfig_text import kubeconfig as kubeconfig_text
from tests.queue.cli.running import run
from tests.queue.cli.sandboxes import Home, end_of

RUNS_ALREADY = (
    "A sandbox runs already: see `muster sandbox status`, or end it with `muster sandbox down`.\n"
)
RUNS_NOT = "No sandbox is running: start one with `muster sandbox up`.\n"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "state")


def url_in(kubeconfig: Path) -> str:
    document = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    url: str = document["clusters"][0]["cluster"]["server"]
    return url


def answers(url: str) -> bool:
    port = int(url.rpartition(":")[2])
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


# -- its life ------------------------------------------------------------------------------------


def test_it_says_where_it_is_and_what_to_type_next(home: Home) -> None:
    with home.up("--nodes", 3) as up:
        assert f"The sandbox is ready at {up.url}, with 3 simulated nodes.\n" in up.greeting
        assert f"export KUBECONFIG={home.kubeconfig}\n" in up.greeting
        assert url_in(home.kubeconfig) == up.url

        status = home.run("status")
        assert status.code == 0
        assert status.out.splitlines() == [
            f"The sandbox runs at {up.url} (process {up.process.pid}).",
            "",
            f"  export KUBECONFIG={home.kubeconfig}",
        ]

        assert home.run("down") == (0, "The sandbox has ended.\n", "")
        ended = up.end()

    assert (ended.code, ended.err) == (0, "")
    assert not home.kubeconfig.exists()
    assert not answers(up.url)
    assert home.run("status") == (2, "", RUNS_NOT)
    assert home.run("down") == (0, "No sandbox was running.\n", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_in_order(home: Home, number: signal.Signals) -> None:
    with home.up("--nodes", 0) as up:
        assert "with no nodes.\n" in up.greeting
        up.process.send_signal(number)
        ended = up.end()

    assert (ended.code, ended.err) == (0, "")
    assert sorted(each.name for each in home.directory.iterdir()) == ["lock"]


def test_it_may_be_left_running_in_the_background(home: Home) -> None:
    with home.start("--nodes", 1, "--detach") as starting:
        started = end_of(starting)
    url = url_in(home.kubeconfig)

    assert (started.code, started.err) == (0, "")
    assert started.out.startswith(f"The sandbox is ready at {url}, with 1 simulated node.\n")
    assert started.out.endswith("It runs in the background: end it with `muster sandbox down`.\n")
    assert home.run("down").out == "The sandbox has ended.\n"
    assert not answers(url)
    assert not home.kubeconfig.exists()


def test_there_is_one_at_a_time(home: Home) -> None:
    with home.up("--nodes", 0) as up:
        assert home.run("up") == (2, "", RUNS_ALREADY)
        with home.start("--detach") as second:
            assert end_of(second) == (2, "", RUNS_ALREADY)

        assert url_in(home.kubeconfig) == up.url
        assert up.url in home.run("status").out


def test_other_state_is_another_sandbox(home: Home, tmp_path: Path) -> None:
    other = Home(tmp_path / "other")
    with home.up("--nodes", 0) as one, other.up("--nodes", 0) as two:
        assert one.url != two.url
        other.run("down")
        assert two.end().code == 0
        assert answers(one.url)


def test_what_a_killed_one_left_behind_misleads_nobody(home: Home) -> None:
    with home.up("--nodes", 0) as killed:
        killed.process.kill()
        killed.end()

    assert home.kubeconfig.exists()
    assert home.run("status") == (2, "", RUNS_NOT)
    assert home.run("down") == (0, "No sandbox was running.\n", "")
    assert home.run("node", "fail", "node-0") == (2, "", RUNS_NOT)
    with home.up("--nodes", 0) as up:
        assert url_in(home.kubeconfig) == up.url
        assert up.url in home.run("status").out


def test_a_record_of_a_killed_one_is_not_taken_for_that_of_its_successor(home: Home) -> None:
    """While the next one starts, nobody is to signal the process that the record speaks of."""
    with home.up("--nodes", 0) as killed:
        record = home.directory / "record.json"
        stale = record.read_bytes()
        killed.process.kill()
        killed.end()
    with home.up("--nodes", 0) as up:
        up.process.send_signal(signal.SIGSTOP)
        stale_again = record.with_name("stale")
        stale_again.write_bytes(orjson.dumps(orjson.loads(stale) | {"process_id": os.getpid()}))
        fresh = record.read_bytes()
        stale_again.replace(record)

        assert home.run("status") == (2, "", RUNS_NOT)
        assert home.run("down") == (0, "No sandbox was running.\n", "")

        assert orjson.loads(fresh)["process_id"] == up.process.pid


# -- the kubeconfig ------------------------------------------------------------------------------


def test_the_kubeconfig_is_private_from_the_start(home: Home) -> None:
    before = os.umask(0)
    try:
        with home.up("--nodes", 0):
            assert stat.S_IMODE(home.kubeconfig.stat().st_mode) == 0o600
            assert stat.S_IMODE(home.directory.stat().st_mode) == 0o700
    finally:
        os.umask(before)


def test_the_kubeconfig_may_be_elsewhere(home: Home, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "it's here"
    with home.up("--nodes", 0, "--kubeconfig", kubeconfig) as up:
        assert stat.S_IMODE(kubeconfig.stat().st_mode) == 0o600
        assert url_in(kubeconfig) == up.url
        assert shlex.quote(str(kubeconfig)) in home.run("status").out
        assert home.run("node", "heal", "node").err == "There is no node node.\n"
        home.run("down")
        assert up.end().code == 0

    assert not kubeconfig.exists()


def test_a_kubeconfig_of_other_clusters_is_left_alone(home: Home, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text("precious", encoding="utf-8")

    refused = home.run("up", "--kubeconfig", kubeconfig)

    assert refused.code == 2
    assert f"--kubeconfig {kubeconfig} exists already: name a new file." in refused.err
    assert kubeconfig.read_text(encoding="utf-8") == "precious"


def test_a_kubeconfig_that_a_killed_one_left_is_replaced(home: Home, tmp_path: Path) -> None:
    left = tmp_path / "config"
    authority = {"certificate-authority-data": ""}
    left.write_text(kubeconfig_text("https://127.0.0.1:1", "old", authority), encoding="utf-8")

    with home.up("--nodes", 0, "--kubeconfig", left) as up:
        assert '"old"' not in left.read_text(encoding="utf-8")
        home.run("down")
        assert up.end().code == 0


# -- what can't be started -----------------------------------------------------------------------


@pytest.mark.parametrize("detach", [(), ("--detach",)])
def test_a_port_that_is_taken_is_said(home: Home, detach: tuple[str, ...]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        with home.start("--nodes", 0, "--port", port, *detach) as starting:
            refused = end_of(starting)

    message = f"Port {port} is taken: leave --port out, or name another one.\n"
    assert refused == (2, "", message)
    assert not home.kubeconfig.exists()
    assert home.run("status").code == 2


def test_a_port_may_be_chosen(home: Home) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    with home.up("--nodes", 0, "--port", port) as up:
        assert up.url == f"https://127.0.0.1:{port}"


def test_a_store_of_another_version_is_refused(home: Home, tmp_path: Path) -> None:
    store = tmp_path / "objects.db"
    with home.up("--nodes", 0, "--store", store) as up:
        assert f"Its objects are kept in {store}.\n" in home.run("status").out
        assert "is used by another sandbox" in Home(tmp_path).run("up", "--store", store).err
        home.run("down")
        up.end()
    with closing(sqlite3.connect(store, isolation_level=None)) as database:
        database.execute("pragma user_version = 99")

    refused = home.run("up", "--store", store)

    assert refused.code == 2
    assert refused.out == ""
    assert refused.err.startswith(f"{store} was written by another version of muster")
    assert home.run("status").code == 2


@pytest.mark.parametrize("detach", [(), ("--detach",)])
def test_a_state_folder_that_cannot_be_made_is_said(
    tmp_path: Path, detach: tuple[str, ...]
) -> None:
    (tmp_path / "file").touch()
    home = Home(tmp_path / "file")

    refused = home.run("up", "--nodes", 0, *detach)

    assert (refused.code, refused.out) == (2, "")
    assert refused.err == f"Not a directory: {tmp_path}/file/muster/sandbox\n"
    assert (home.run("status").code, home.run("status").err) == (2, RUNS_NOT)
    assert home.run("down").out == "No sandbox was running.\n"


def test_output_that_goes_nowhere_is_said(home: Home) -> None:
    with (
        Path("/dev/full").open("w", encoding="utf-8") as full,
        home.start("--nodes", 0, stdout=full) as starting,
    ):
        _, said = starting.communicate(timeout=60)

    assert (starting.returncode, said) == (2, "No space left on device\n")
    assert not home.kubeconfig.exists()


def test_a_file_that_describes_no_cluster_is_explained(home: Home, tmp_path: Path) -> None:
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text("kind: Custer\n", encoding="utf-8")

    refused = home.run("up", "-f", cluster)

    assert refused.code == 2
    assert str(cluster) in refused.err
    assert refused.err.endswith("nothing was started.\n")
    assert "Traceback" not in refused.err


@pytest.mark.parametrize(
    "options, said",
    [
        (("--nodes", "-1"), "-1 is not in the range 0<=x<=5000"),
        (("--nodes", "many"), "'many' is not a valid integer range"),
        (("--gpus-per-node", "1025"), "1025 is not in the range 0<=x<=1024"),
        (("--port", "65536"), "65536 is not in the range 0<=x<=65535"),
        (("--pod-duration", "soon"), "soon"),
        (("--pod-duration", "-1s"), "-1s"),
        (("-f", "c.yaml", "--nodes", "3"), "--file says which nodes there are"),
        (("-f", "c.yaml", "--gpus-per-node", "0"), "--file says which nodes there are"),
        (("--real", "--store", "s.db"), "are for the sandbox's own API server only"),
        (("--real", "--port", "8443"), "are for the sandbox's own API server only"),
        (("--audit-log", "a.log"), "add --real"),
        (("--kubeconfig", "missing/kubeconfig"), "there is no such folder"),
        (("--kubeconfig", "."), "'.' is a directory"),
        (("-f", "missing.yaml"), "missing.yaml"),
        (("surplus",), "Got unexpected extra argument (surplus)"),
        (("--nodse", "3"), "No such option"),
    ],
)
def test_wrong_options_are_explained(
    options: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)

    refused = run("sandbox", "up", *options)

    assert refused.code == 2
    assert said in refused.err
    assert refused.out == ""
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    "command, said",
    [
        ((), ("down", "node", "status", "up")),
        (("up",), ("--nodes", "--gpus-per-node", "--file", "--store", "--detach", "--real")),
        (("status",), ("Say whether a sandbox runs",)),
        (("down",), ("End the sandbox",)),
        (("node",), ("drain", "fail", "heal")),
        (("node", "fail"), ("NAME", "--kubeconfig")),
        (("node", "heal"), ("NAME", "--kubeconfig")),
        (("node", "drain"), ("NAME", "--kubeconfig")),
    ],
)
def test_help_says_what_there_is(command: tuple[str, ...], said: tuple[str, ...]) -> None:
    helped = run("sandbox", *command, "--help")

    assert helped.code == 0
    assert [each for each in said if each not in helped.out] == []


# -- nodes ---------------------------------------------------------------------------------------


def test_nodes_fail_heal_and_are_drained(home: Home, tmp_path: Path) -> None:
    with home.up("--nodes", 1):
        failed = home.run("node", "fail", "node-0")
        assert (failed.code, failed.err) == (0, "")
        assert failed.out.startswith("Node node-0 is cut off.")
        assert home.run("node", "heal", "node-0") == (0, "Node node-0 is back.\n", "")
        assert home.run("node", "drain", "node-0").out == (
            "Node node-0 is empty and takes no new pods; `node heal` ends that.\n"
        )
        unknown = "There is no node node-1. Did you mean 'node-0'?\n"
        for verb in ("fail", "heal", "drain"):
            assert home.run("node", verb, "node-1") == (2, "", unknown)
        missing = home.run("node", "fail", "node-0", "--kubeconfig", tmp_path / "missing")
        assert missing.code == 2
        assert "missing" in missing.err
        assert "Traceback" not in missing.err
