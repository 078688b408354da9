"""
The clusters that end-to-end tests run on: each test on a real control plane and on the sandbox.

A server is started once, when the first test needs it. Options and `KUBEBUILDER_ASSETS` choose
others; the tests are the same.
"""

import os
import select
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Final

import pytest
import yaml

from muster.queue.controlplane.build import build
from muster.queue.controlplane.launch import start
from tests.e2e.api import Api
from tests.e2e.probes.gadgets import install
from tests.e2e.stored import Objects
from tests.queue.api.manifests import a_manifest

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]

REAL: Final = "real"
SANDBOX: Final = "sandbox"

_START_MAX_S: Final = 30.0
_END_MAX_S: Final = 10.0


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cluster",
        choices=(REAL, SANDBOX, "both"),
        help="where to run e2e tests: on both, or on those that are named by the next two",
    )
    parser.addoption("--kubeconfig", type=Path, help="a real cluster that runs already")
    parser.addoption("--sandbox-kubeconfig", type=Path, help="a sandbox that runs already")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.e2e)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    # By parameter of a session's fixture, pytest brings the tests of each cluster together.
    if "cluster" in metafunc.fixturenames:
        names = _chosen(metafunc.config)
        metafunc.parametrize("cluster", names, indirect=True, scope="session")


def _chosen(config: pytest.Config) -> tuple[str, ...]:
    choice: str | None = config.getoption("--cluster")
    if choice in {REAL, SANDBOX}:
        return (choice,)
    given = tuple(name for name, kubeconfig in _given(config).items() if kubeconfig)
    return (REAL, SANDBOX) if choice or not given else given


def _given(config: pytest.Config) -> Mapping[str, Path | None]:
    """Return the kubeconfigs of clusters that run already."""
    return {
        REAL: config.getoption("--kubeconfig"),
        SANDBOX: config.getoption("--sandbox-kubeconfig"),
    }


@pytest.fixture(scope="session")
def programs() -> Path:
    """A folder with etcd, kube-apiserver and the others; built if this is the first time."""
    if given := os.environ.get("KUBEBUILDER_ASSETS"):
        return Path(given)
    return build(print)


@pytest.fixture(scope="session")
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """The kubeconfig of a cluster for all tests; each has names of its own."""
    name: str = request.param
    kubeconfig = _given(request.config)[name]
    running: AbstractContextManager[Path]
    if kubeconfig:
        running = nullcontext(kubeconfig)
    elif name == SANDBOX:
        running = _sandbox(tmp_path_factory.mktemp(name))
    else:
        running = _control_plane(request.getfixturevalue("programs"), tmp_path_factory.mktemp(name))
    with running as kubeconfig:
        yield kubeconfig


@contextmanager
def _control_plane(programs: Path, directory: Path) -> Iterator[Path]:
    with start(programs, directory) as running:
        yield running.kubeconfig


@contextmanager
def _sandbox(directory: Path) -> Iterator[Path]:
    """Run a sandbox without nodes; it says its first words when it is ready."""
    kubeconfig = directory / "kubeconfig"
    muster = Path(sys.executable).with_name("muster")
    command = (str(muster), "sandbox", "up", "--nodes=0", f"--kubeconfig={kubeconfig}")
    # Apart from the one that this user may have.
    environment = {**os.environ, "XDG_STATE_HOME": str(directory)}
    with (
        (directory / "log").open("wb") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment) as server,
    ):
        assert server.stdout
        try:
            spoken, _, _ = select.select([server.stdout], [], [], _START_MAX_S)
            assert spoken, "the sandbox does not start"
            assert kubeconfig.exists(), (directory / "log").read_text(encoding="utf-8")
            with Api(kubeconfig) as api:
                api.request("GET", "/readyz").expect(200)
            yield kubeconfig
        finally:
            server.terminate()
            try:
                server.wait(_END_MAX_S)
            except subprocess.TimeoutExpired:
                server.kill()
                raise


@pytest.fixture(scope="session")
def api(cluster: Path) -> Iterator[Api]:
    with Api(cluster) as api:
        yield api


@pytest.fixture(scope="session")
def installed(api: Api) -> tuple[str, ...]:
    """Every definition in `crds/`, installed and established; returns what was warned of."""
    warnings: list[str] = []
    for path in sorted((REPOSITORY / "crds").glob("*.yaml")):
        manifest = yaml.safe_load(path.read_text(encoding="utf-8"))
        answer = api.apply(manifest, fieldValidation="Strict")
        assert answer.code in {200, 201}, answer
        warnings += answer.warnings
        api.wait_for_condition(manifest, "Established")
    return tuple(warnings)


@pytest.fixture(scope="session")
def namespace(api: Api) -> Iterator[str]:
    """The name of a namespace of this run's own."""
    manifest = a_manifest("Namespace", "v1", metadata={"generateName": "e2e-"})
    made = api.create(manifest).expect(201)
    yield made["metadata"]["name"]
    api.delete(made).expect(200)


@pytest.fixture(scope="session")
def gadgets(api: Api) -> None:
    """Let there be gadgets."""
    install(api)


@pytest.fixture(scope="session")
def objects(api: Api, namespace: str, installed: tuple[str, ...]) -> Objects:
    """Objects of our kinds."""
    assert installed == ()
    return Objects(api, namespace)
