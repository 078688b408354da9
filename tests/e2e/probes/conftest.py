"""What every probe works with."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.api import Api
from tests.e2e.probes.hooks import Configured, Hooks
from tests.e2e.probes.kubectl import Kubectl
from tests.e2e.probes.probe import Probe


@pytest.fixture
def probe(api: Api, namespace: str) -> Iterator[Probe]:
    """Objects of one test, on the cluster that all of them share."""
    probe = Probe(api, namespace)
    yield probe
    probe.clean_up()


@pytest.fixture(scope="session")
def hooks() -> Iterator[Hooks]:
    """A server of webhooks in this process."""
    with Hooks() as hooks:
        yield hooks


@pytest.fixture
def configured(probe: Probe, hooks: Hooks) -> Configured:
    """Webhooks that are asked about this test's objects alone."""
    return Configured(probe, hooks)


@pytest.fixture(scope="session")
def kubectl(
    cluster: Path, programs: Path, namespace: str, tmp_path_factory: pytest.TempPathFactory
) -> Kubectl:
    """The kubectl of this Kubernetes, in the namespace of this run."""
    return Kubectl(programs / "kubectl", cluster, tmp_path_factory.mktemp("kubectl"), namespace)
