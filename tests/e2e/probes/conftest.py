"""What every probe works with."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.api import Api
from tests.e2e.probes.hooks import Configured, Hooks
from tests.e2e.probes.kubectl import Kubectl
from tests.e2e.probes.kubelets import kubelets
from tests.e2e.probes.probe import Probe
from tests.queue.api.manifests import changed


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


@pytest.fixture(scope="session")
def nodes(cluster: Path, api: Api, namespace: str) -> Iterator[dict[str, str]]:
    """Two nodes that run what is placed on them; returns the label that only they have."""
    probe = Probe(api, namespace)
    label = probe.a_name("running")
    names = [probe.a_name("running") for _ in range(2)]
    with kubelets(str(cluster), label, names):
        yield {"probe": label}
    for name in names:
        probe.delete(changed(probe.a("Node", "v1"), {"metadata.name": name}))
        lease = probe.a("Lease", "coordination.k8s.io/v1")
        probe.delete({**lease, "metadata": {"name": name, "namespace": "kube-node-lease"}})
