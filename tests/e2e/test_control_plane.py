"""The control plane itself: it starts, does what a real one does, and leaves nothing behind."""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.queue.controlplane.build import PARTS
from muster.queue.controlplane.launch import ControlPlane, start
from tests.e2e.api import Api, collection, place
from tests.queue.api.manifests import POD, a_manifest, changed

START_MAX_S = 60.0  # an idle machine needs three
END_MAX_S = 15.0

# Starts a control plane in the folder of its second argument, says which processes, and waits.
STARTER = """
import sys
from pathlib import Path
from muster.queue.controlplane.launch import start
running = start(Path(sys.argv[1]), Path(sys.argv[2]))
print(*(server.process_id for server in running.servers), flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def ours(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with start(programs, tmp_path_factory.mktemp("ours"), audit_log=True) as running:
        yield running


@pytest.fixture
def api(ours: ControlPlane) -> Iterator[Api]:
    with Api(ours.kubeconfig) as api:
        yield api


def test_it_starts_and_stops_within_seconds_and_leaves_no_process(
    programs: Path, tmp_path: Path
) -> None:
    begun_s = time.monotonic()
    running = start(programs, tmp_path)
    ready_s = time.monotonic()
    assert [server.name for server in running.servers] == [*PARTS[:-1]]
    process_ids = [server.process_id for server in running.servers]

    running.stop()
    running.stop()

    ended_s = time.monotonic()
    assert ready_s - begun_s < START_MAX_S
    assert ended_s - ready_s < END_MAX_S
    for process_id in process_ids:
        with pytest.raises(ProcessLookupError):
            os.kill(process_id, 0)


def test_it_ends_when_its_starter_is_killed(programs: Path, tmp_path: Path) -> None:
    command = (sys.executable, "-c", STARTER, str(programs), str(tmp_path))
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout
        running = [os.pidfd_open(int(number)) for number in starter.stdout.readline().split()]
        starter.kill()

    ended = [select.select([each], [], [], END_MAX_S)[0] == [each] for each in running]

    for each in running:
        os.close(each)
    assert ended == [True] * 4


def test_it_stops_while_somebody_watches(programs: Path, tmp_path: Path) -> None:
    with (
        start(programs, tmp_path) as running,
        Api(running.kubeconfig) as api,
        api.watch("/api/v1/namespaces") as watch,
    ):
        assert next(watch)["type"] == "ADDED"
        begun_s = time.monotonic()
        running.stop()
    assert time.monotonic() - begun_s < END_MAX_S


def test_it_keeps_its_objects_for_the_next_start(programs: Path, tmp_path: Path) -> None:
    namespace = a_manifest("Namespace", "v1")
    with start(programs, tmp_path) as first, Api(first.kubeconfig) as api:
        api.create(namespace).expect(201)

    with start(programs, tmp_path) as second, Api(second.kubeconfig) as api:
        api.request("GET", place(namespace)).expect(200)


def test_it_is_the_kubernetes_it_says(ours: ControlPlane) -> None:
    command = (str(ours.kubectl), f"--kubeconfig={ours.kubeconfig}", "version", "-o", "json")
    versions = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)

    assert versions["serverVersion"]["gitVersion"] == "v1.36.3"
    assert versions["clientVersion"]["gitVersion"] == "v1.36.3"


def test_the_audit_log_says_who_did_what(ours: ControlPlane, api: Api) -> None:
    api.create(a_manifest("Namespace", "v1")).expect(201)

    assert ours.audit_log
    entries = [json.loads(line) for line in ours.audit_log.read_text().splitlines()]
    (made,) = [
        entry
        for entry in entries
        if entry["verb"] == "create" and entry.get("objectRef", {}).get("name") == "x"
    ]
    assert made["user"]["username"] == "admin"
    assert made["responseStatus"]["code"] == 201
    assert made["requestObject"]["kind"] == "Namespace"


def test_only_its_users_get_in(api: Api) -> None:
    api.headers["Authorization"] = "Bearer other"

    api.request("GET", "/api/v1/namespaces").expect(401)


def test_a_job_gets_a_pod_and_the_pod_a_node(api: Api) -> None:
    """The controller manager and the scheduler are at work."""
    node = a_manifest("Node", "v1")
    made = api.create(node).expect(201)
    status = {
        "capacity": {"cpu": "8", "pods": "10"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    api.replace({**made, "status": status}, "/status").expect(200)
    changes = {
        "metadata.namespace": "default",
        "spec.template.spec": {**POD, "restartPolicy": "Never"},
        "spec.template.spec.containers[0].image": "i",
    }
    job = changed(a_manifest("Job", "batch/v1", spec={}), changes)
    api.create(job).expect(201)

    pods = collection(a_manifest("Pod", "v1", metadata={"namespace": "default"}))
    with api.watch(pods) as events:
        seen = events.until(lambda event: "nodeName" in event["object"]["spec"])

    assert seen[-1]["object"]["spec"]["nodeName"] == "x"
