"""
The control plane that end-to-end tests run against, made once: ours, or another one.

`KUBEBUILDER_ASSETS` names a folder with other programs to start, `--kubeconfig` a cluster that
runs already; the tests are the same.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from muster.queue.controlplane.build import build
from muster.queue.controlplane.launch import start
from tests.e2e.api import Api
from tests.e2e.stored import Objects
from tests.queue.api.manifests import a_manifest

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kubeconfig", type=Path, help="run e2e tests against this cluster")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.e2e)


@dataclass(frozen=True)
class Cluster:
    """Where the tests run: how to get in, and the kubectl to do it with."""

    kubeconfig: Path
    kubectl: Path


@pytest.fixture(scope="session")
def programs() -> Path:
    """A folder with etcd, kube-apiserver and the others; built if this is the first time."""
    if given := os.environ.get("KUBEBUILDER_ASSETS"):
        return Path(given)
    return build(print)


@pytest.fixture(scope="session")
def control_plane(
    pytestconfig: pytest.Config, programs: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """A control plane for all tests; each has names of its own."""
    kubeconfig: Path | None = pytestconfig.getoption("--kubeconfig")
    if kubeconfig:
        yield Cluster(kubeconfig, programs / "kubectl")
        return
    with start(programs, tmp_path_factory.mktemp("control-plane")) as ours:
        yield Cluster(ours.kubeconfig, ours.kubectl)


@pytest.fixture(scope="session")
def api(control_plane: Cluster) -> Iterator[Api]:
    with Api(control_plane.kubeconfig) as api:
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
def objects(api: Api, namespace: str, installed: tuple[str, ...]) -> Objects:
    """Objects of our kinds."""
    assert installed == ()
    return Objects(api, namespace)
