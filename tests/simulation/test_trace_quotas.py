"""Where the quota for a trace comes from: manifests, nodes, or an amount."""

import io
from fractions import Fraction

import pytest

from muster.admission.amounts import FlavorResource
from muster.admission.config import Config
from muster.admission.objects import ClusterQueue, LocalQueue, PreemptionPolicy
from muster.queue.manifests.complaints import ManifestError, told
from muster.queue.simulation.experiment import Experiment
from muster.queue.simulation.traces import assemble, fleet, loading, quotas
from muster.queue.simulation.traces.fleet import Kind
from muster.queue.simulation.traces.job_trace import Trace, TraceJob
from muster.queue.simulation.traces.quotas import UnknownQueueError
from muster.queue.translate.structure import Structure

GPU = "nvidia.com/gpu"


def a_trace(*queues: str, owners: tuple[str, ...] = (), models: tuple[str, ...] = ()) -> Trace:
    jobs = tuple(
        TraceJob(
            name="job",
            arrival_us=10 - number,
            runtime_us=5,
            queue=queue,
            requests=((GPU, 1),),
            models=models,
        )
        for number, queue in enumerate(queues)
    )
    return Trace(title="t", jobs=jobs, owners=owners)


def made(trace: Trace, *kinds: Kind) -> Experiment:
    return assemble.experiment_of(trace, quotas.made_for(trace, kinds), Config())


def owned(experiment: Experiment) -> dict[str, dict[tuple[str, str], int]]:
    return {
        name: {(pair.flavor, pair.resource): quota.nominal for pair, quota in queue.quotas.items()}
        for name, queue in experiment.cluster_queues.items()
    }


# --- Made for a trace ----------------------------------------------------------------------------


def test_all_queues_own_the_same_part_and_nothing_is_lost() -> None:
    experiment = made(a_trace("b", "a", "c"), Kind("a10", 1, {GPU: 8}))

    assert owned(experiment) == {
        "a": {("a10", GPU): 2},
        "b": {("a10", GPU): 2},
        "c": {("a10", GPU): 4},
    }
    for queue in experiment.cluster_queues.values():
        assert queue.cohort == "everybody"
        assert queue.preemption.reclaim_within_cohort is PreemptionPolicy.ANY


def test_queues_that_own_nothing_live_on_what_is_idle() -> None:
    experiment = made(a_trace("be", "ls", owners=("ls",)), Kind("a10", 1, {GPU: 8}))

    assert owned(experiment) == {"be": {("a10", GPU): 0}, "ls": {("a10", GPU): 8}}
    best_effort = experiment.cluster_queues["be"].preemption
    assert best_effort.reclaim_within_cohort is PreemptionPolicy.NEVER


def test_every_flavor_has_every_resource() -> None:
    experiment = made(a_trace("q"), Kind("cpu", 1, {"cpu": 5}), Kind("a10", 1, {"cpu": 3, GPU: 8}))

    assert owned(experiment)["q"] == {
        ("cpu", "cpu"): 5,
        ("cpu", GPU): 0,
        ("a10", "cpu"): 3,
        ("a10", GPU): 8,
    }
    [group] = experiment.cluster_queues["q"].groups
    assert group.flavors == ("cpu", "a10")


def test_a_job_that_names_models_runs_on_no_other() -> None:
    trace = a_trace("q", models=("T4", "A10"))

    [job] = made(trace, Kind("p100", 1, {GPU: 8})).jobs

    [pod_set] = job.workload.pod_sets
    assert pod_set.affinity is not None
    [[requirement]] = pod_set.affinity
    assert (requirement.key, requirement.operator) == ("gpu-model", "In")
    assert requirement.values == ("a10", "t4")


def test_jobs_come_in_the_order_of_arrival_with_names_of_their_own() -> None:
    experiment = made(a_trace("q", "q", "q"), Kind("a10", 1, {GPU: 8}))

    assert [job.arrives_us for job in experiment.jobs] == [8, 9, 10]
    assert [job.name for job in experiment.jobs] == ["job", "job-1", "job-2"]
    assert experiment.start_us == 8


# --- Nodes ---------------------------------------------------------------------------------------

OPENB = "sn,cpu_milli,memory_mib,gpu,model\n"
NODES = (
    OPENB
    + "n1,32000,1024,0,\n"
    + "n2,8000,1,2,T4\n"
    + "".join(f"m{n},1000,1,1,P100\n" for n in range(5))
)


def nodes(text: str) -> tuple[fleet.Node, ...]:
    return fleet.read(loading.load_table("-", io.BytesIO(text.encode())))


def test_kinds_of_nodes_in_the_order_of_preference() -> None:
    """None without a GPU first; then the most plentiful."""
    kinds = fleet.kinds(nodes(NODES), Fraction(1))

    assert [(kind.name, kind.nodes) for kind in kinds] == [("cpu", 1), ("p100", 5), ("t4", 1)]
    assert kinds[0].amounts == {"cpu": 32_000, "memory": 2**30, "gpu-milli": 0}
    assert kinds[2].amounts == {"cpu": 8_000, "memory": 2**20, "gpu-milli": 2_000}


@pytest.mark.parametrize(
    "part, left",
    [(Fraction(1), 9), (Fraction(1, 3), 3), (Fraction(1, 2), 4), (Fraction(1, 100), 0)],
)
def test_a_part_of_a_fleet_is_whole_nodes(part: Fraction, left: int) -> None:
    text = OPENB + "".join(f"n{n},1000,1,1,A10\n" for n in range(9))

    assert sum(kind.nodes for kind in fleet.kinds(nodes(text), part)) == left


def test_spot_nodes() -> None:
    [kind] = fleet.kinds(
        nodes("gpu_model,gpu_capacity_num,cpu_num,node_name\nA100,8,128,0\n"), Fraction(1)
    )

    assert (kind.name, kind.amounts) == ("a100", {"cpu": 128_000, GPU: 8})


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "node,gpus\nn1,8\n",
            (
                "standard input is no list of nodes: its columns are node, gpus; expected sn, "
                "cpu_milli, memory_mib, gpu, model or node_name, gpu_model, gpu_capacity_num, "
                "cpu_num"
            ),
        ),
        (
            OPENB + "n1,1000,1,many,T4\n",
            "standard input:2 column gpu 'many' is not a whole number from 0 up",
        ),
    ],
)
def test_a_file_that_is_no_list_of_nodes(text: str, message: str) -> None:
    with pytest.raises(ManifestError) as raised:
        nodes(text)

    assert " ".join(line.strip() for line in told(raised.value.complaints)) == message


# --- Manifests -----------------------------------------------------------------------------------


def structure(*keys: str) -> Structure:
    return Structure(
        namespaces=(),
        checks=(),
        topologies=(),
        flavors=(),
        cohorts=(),
        cluster_queues=(ClusterQueue(name="cq"),),
        local_queues=tuple(
            LocalQueue(namespace=key.split("/")[0], name=key.split("/")[1], cluster_queue="cq")
            for key in keys
        ),
    )


@pytest.mark.parametrize(
    "keys, name, found",
    [
        (("vision/train", "language/train"), "vision/train", ("vision", "train")),
        (("vision/train", "language/debug"), "debug", ("language", "debug")),
        (("vision/train", "language/train"), "language", ("language", "train")),
        (("vision/train", "train/debug"), "train", ("vision", "train")),
    ],
)
def test_a_queue_is_found_by_key_name_or_namespace(
    keys: tuple[str, ...], name: str, found: tuple[str, str]
) -> None:
    assert quotas.of_manifests(structure(*keys), [name]).local_queues == {name: found}


@pytest.mark.parametrize(
    "keys, name, message",
    [
        (
            ("vision/train", "language/train"),
            "train",
            "'train' may be vision/train or language/train: write the namespace too",
        ),
        (
            ("vision/train",),
            "vison/train",
            "no LocalQueue is called 'vison/train'. Did you mean 'vision/train'?",
        ),
        (
            ("vision/train", "b/c"),
            "gpu",
            "no LocalQueue is called 'gpu'. There is b/c and vision/train.",
        ),
        ((), "gpu", "no LocalQueue is called 'gpu'. There is none."),
    ],
)
def test_a_queue_that_is_not_there(keys: tuple[str, ...], name: str, message: str) -> None:
    with pytest.raises(UnknownQueueError) as raised:
        quotas.of_manifests(structure(*keys), [name])

    assert str(raised.value) == message


def test_pairs_are_named_by_flavor_and_resource() -> None:
    experiment = made(a_trace("q"), Kind("a10", 1, {GPU: 8}))

    assert list(experiment.nominal()) == [("q", FlavorResource("a10", GPU), 8)]
