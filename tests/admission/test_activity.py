"""Why a ClusterQueue is inactive: one reason, the first that applies, and what activity changes."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from muster.admission import events
from muster.admission.activity import MULTI_KUEUE, PROVISIONING_REQUEST, why_inactive
from muster.admission.objects import (
    AdmissionCheck,
    ClusterQueue,
    StopPolicy,
    Topology,
)
from muster.admission.quota import BOOKED, available
from tests.admission.builders import a_cluster_queue, a_flavor, a_gang
from tests.admission.world import World

FLAVORS = {
    "f": a_flavor("f"),
    "g": a_flavor("g"),
    "racks": a_flavor("racks", topology="blocks"),
    "lost": a_flavor("lost", topology="nowhere"),
}
CHECKS = {
    "plain": AdmissionCheck(name="plain"),
    "asleep": AdmissionCheck(name="asleep", active=False),
    "remote": AdmissionCheck(name="remote", controller=MULTI_KUEUE),
    "remote2": AdmissionCheck(name="remote2", controller=MULTI_KUEUE),
    "provision": AdmissionCheck(name="provision", controller=PROVISIONING_REQUEST),
}
TOPOLOGIES = {"blocks": Topology(name="blocks", levels=("block", "rack"))}


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    queue: ClusterQueue
    want: str | None


def a_queue(*flavors: str, **named: object) -> ClusterQueue:
    return a_cluster_queue(flavors=flavors or ("f", "g"), **named)  # type: ignore[arg-type]


CASES = [
    Case(name="all is there", queue=a_queue(checks={"plain": ()}), want=None),
    Case(name="being deleted", queue=a_queue(terminating=True), want="Terminating"),
    Case(
        name="being deleted goes before stopped",
        queue=a_queue(terminating=True, stop_policy=StopPolicy.HOLD),
        want="Terminating",
    ),
    Case(name="held", queue=a_queue(stop_policy=StopPolicy.HOLD), want="Stopped"),
    Case(name="drained", queue=a_queue(stop_policy=StopPolicy.HOLD_AND_DRAIN), want="Stopped"),
    Case(
        name="stopped goes before a missing flavor",
        queue=a_queue("h", stop_policy=StopPolicy.HOLD),
        want="Stopped",
    ),
    Case(name="a missing flavor", queue=a_queue("f", "h"), want="FlavorNotFound"),
    Case(
        name="a missing flavor goes before a missing check",
        queue=a_queue("h", checks={"none": ()}),
        want="FlavorNotFound",
    ),
    Case(name="a missing check", queue=a_queue(checks={"none": ()}), want="AdmissionCheckNotFound"),
    Case(
        name="a missing check goes before an inactive one",
        queue=a_queue(checks={"asleep": (), "none": ()}),
        want="AdmissionCheckNotFound",
    ),
    Case(
        name="an inactive check",
        queue=a_queue(checks={"asleep": ()}),
        want="AdmissionCheckInactive",
    ),
    Case(
        name="two remote checks",
        queue=a_queue(checks={"remote": (), "remote2": ()}),
        want="MultipleMultiKueueAdmissionChecks",
    ),
    Case(
        name="a remote check for some flavors",
        queue=a_queue(checks={"remote": ("f",)}),
        want="MultiKueueAdmissionCheckAppliedPerFlavor",
    ),
    Case(
        name="a remote check that names every flavor",
        queue=a_queue(checks={"remote": ("f", "g")}),
        want=None,
    ),
    Case(
        name="a remote check beside one that provisions",
        queue=a_queue(checks={"provision": (), "remote": ()}),
        want="MultiKueueWithProvisioningRequest",
    ),
    Case(name="its topology is there", queue=a_queue("racks"), want=None),
    Case(name="a missing topology", queue=a_queue("racks", "lost"), want="TopologyNotFound"),
    Case(
        name="a missing topology does not matter to a remote check",
        queue=a_queue("lost", checks={"remote": ()}),
        want=None,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_why_inactive(case: Case) -> None:
    assert why_inactive(case.queue, FLAVORS, CHECKS, TOPOLOGIES) == case.want


QUEUE = a_cluster_queue("q", cohort="k", cpu=4, checks={"c": ()})

CHANGES: dict[str, tuple[Callable[[World], None], Callable[[World], None]]] = {
    "it is stopped": (
        lambda world: world.see(replace(QUEUE, stop_policy=StopPolicy.HOLD)),
        lambda world: world.see(QUEUE),
    ),
    "its flavor goes": (
        lambda world: world.apply(events.FlavorGone("default")),
        lambda world: world.see(a_flavor("default")),
    ),
    "its check sleeps": (
        lambda world: world.see(AdmissionCheck(name="c", active=False)),
        lambda world: world.see(AdmissionCheck(name="c")),
    ),
    "its check goes": (
        lambda world: world.apply(events.CheckGone("c")),
        lambda world: world.see(AdmissionCheck(name="c")),
    ),
}


@pytest.mark.parametrize("stops, starts", CHANGES.values(), ids=CHANGES)
def test_an_inactive_queue_admits_nobody_and_goes_on_lending(
    stops: Callable[[World], None], starts: Callable[[World], None]
) -> None:
    world = World(QUEUE, AdmissionCheck(name="c"), a_cluster_queue("r", cohort="k", cpu=0))
    world.run(a_gang("held", "q", cpu=1))
    world.see(a_gang("w", "q", cpu=1))

    stops(world)

    assert world.cycle(rounds=None).decided == []
    assert world.running == ["held"]
    assert available(BOOKED, world.cell("r")) == 3
    starts(world)
    assert world.cycle(rounds=None).admitted == ["w"]
