"""Every decision in words, from its values alone."""

from dataclasses import replace

import pytest

from muster.admission.amounts import INFINITE, FlavorResource
from muster.admission.conditions import NoQuotaReason, PreemptionReason
from muster.admission.eligibility import (
    AffinityMismatch,
    InvalidAffinity,
    Refusal,
    SelectorMismatch,
    UnknownFlavor,
    UntoleratedTaint,
)
from muster.admission.explain import (
    Explanation,
    View,
    admitted,
    grants,
    preempted,
    preempting,
    quantity,
    refusal,
    standing,
    waiting,
)
from muster.admission.objects import Admission, Requirement, Taint
from muster.admission.plan import (
    Admit,
    Aside,
    Eviction,
    Grant,
    Obstacle,
    Preempt,
    Requeue,
    Wait,
)
from muster.admission.queries import Standing, Use, Why

GPU = "nvidia.com/gpu"
NOW_US = 1_000_000_000


def a_grant(amount: int, *, flavor: str = "h100", resource: str = GPU, borrowed: int = 0) -> Grant:
    return Grant(flavor=flavor, resource=resource, amount=amount, borrowed=borrowed)


# --- Amounts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "resource, amount, text",
    [
        ("cpu", 1500, "1500m"),
        ("cpu", 2000, "2"),
        ("memory", 4 * 2**30, "4Gi"),
        ("memory", 1000, "1000"),
        (GPU, 8, "8"),
        (GPU, 0, "0"),
        (GPU, INFINITE, "unlimited"),
    ],
)
def test_quantities_as_people_write_them(resource: str, amount: int, text: str) -> None:
    assert quantity(resource, amount) == text


def test_grants_are_told_flavor_by_flavor() -> None:
    given = [
        a_grant(8, borrowed=3),
        a_grant(4000, flavor="x86", resource="cpu"),
        a_grant(2**30, resource="memory"),
    ]

    assert grants(given) == "h100: 8 nvidia.com/gpu (3 borrowed), 1Gi memory; x86: 4 cpu"


# --- Admitted and preempted ----------------------------------------------------------------------

ADMIT = Admit(
    workload="team/train",
    uid="u",
    cluster_queue="team-a",
    admission=Admission(cluster_queue="team-a", pod_sets=()),
    grants=(a_grant(8, borrowed=3),),
    level=1,
)


def test_admitted() -> None:
    assert admitted(ADMIT) == Explanation(
        "admitted by team-a with h100: 8 nvidia.com/gpu (3 borrowed)"
    )


def test_admitted_once_checks_are_ready() -> None:
    assert str(admitted(replace(ADMIT, required_checks=("budget", "nodes")))) == (
        "quota reserved in team-a: h100: 8 nvidia.com/gpu (3 borrowed) — "
        "starts once these admission checks are ready: budget, nodes"
    )


def test_admitted_without_any_request() -> None:
    assert str(admitted(replace(ADMIT, grants=()))) == (
        "admitted by team-a with nothing that is counted"
    )


EVICTION = Eviction(
    workload="team/low",
    uid="l",
    cluster_queue="team-b",
    reason=PreemptionReason.IN_CLUSTER_QUEUE,
    priority=1,
    amounts=(a_grant(8),),
)
PREEMPT = Preempt(
    workload="team/high",
    uid="h",
    cluster_queue="team-a",
    priority=5,
    evictions=(EVICTION,),
    grants=(a_grant(8),),
    level=0,
)


@pytest.mark.parametrize(
    "eviction, detail",
    [
        (EVICTION, "same queue, priority 1 below 5"),
        (replace(EVICTION, priority=5), "same queue, same priority 5, but newer"),
        (
            replace(EVICTION, reason=PreemptionReason.IN_COHORT_RECLAMATION),
            "team-b uses more than its quota, and team-a takes its own back",
        ),
        (
            replace(EVICTION, reason=PreemptionReason.IN_COHORT_RECLAIM_WHILE_BORROWING),
            "team-b uses more than its quota, and team-a borrows in its place: priority 1 below 5",
        ),
        (
            replace(EVICTION, reason=PreemptionReason.IN_COHORT_FAIR_SHARING),
            "team-b has more than its fair share compared with team-a",
        ),
    ],
)
def test_why_somebody_makes_room(eviction: Eviction, detail: str) -> None:
    assert preempted(eviction, PREEMPT, View(), NOW_US) == Explanation(
        "makes room for team/high", (detail,)
    )


@pytest.mark.parametrize(
    "granted, whose",
    [
        (a_grant(8, borrowed=3), "the cohort of team-a"),
        (a_grant(8, flavor="spot", borrowed=3), "team-a"),
    ],
    ids=["of what the victim holds", "of something else"],
)
def test_who_borrows_what_it_takes_back_takes_it_for_its_cohort(granted: Grant, whose: str) -> None:
    reclaimed = replace(EVICTION, reason=PreemptionReason.IN_COHORT_RECLAMATION)
    preemptor = replace(PREEMPT, grants=(granted,))

    assert preempted(reclaimed, preemptor, View(), NOW_US).details == (
        f"team-b uses more than its quota, and {whose} takes its own back",
    )


def test_who_was_asked_before_or_may_finish() -> None:
    eviction = replace(EVICTION, already_asked=True, ends_by_us=NOW_US + 90_000_000)

    assert preempted(eviction, PREEMPT, View(), NOW_US).details[1:] == (
        "it was asked to stop before",
        "it is left to finish, which is expected within 90 s",
    )


def test_whom_a_preemptor_waits_for() -> None:
    three = replace(
        PREEMPT, evictions=tuple(replace(EVICTION, workload=f"team/{name}") for name in "abc")
    )

    assert str(preempting(PREEMPT, View())) == (
        "starts when team/low has stopped — then gets h100: 8 nvidia.com/gpu"
    )
    assert preempting(three, View()).headline == (
        "starts when team/a, team/b and team/c have stopped"
    )


def test_workloads_go_by_the_names_of_the_view() -> None:
    view = View(name_of=lambda key: f"Job {key}")

    assert preempting(PREEMPT, view).headline == "starts when Job team/low has stopped"


# --- Waiting -------------------------------------------------------------------------------------


def a_wait(
    reason: NoQuotaReason,
    *obstacles: Obstacle,
    requeue: Requeue = Requeue.NO_FIT,
    aside: Aside = Aside.GROUP_PARKED,
    detail: str = "",
) -> Wait:
    return Wait(
        workload="team/train",
        uid="u",
        cluster_queue="team-a",
        reason=reason,
        requeue=requeue,
        aside=aside,
        obstacles=obstacles,
        detail=detail,
    )


def lacks(asked: int, free: int, *, flavor: str = "a100", nominal: int = 16) -> Obstacle:
    return Obstacle(
        pod_set="main",
        flavor=flavor,
        resource=GPU,
        asked=asked,
        free=free,
        nominal=nominal,
        potential=16,
    )


def users(*amounts: int, evicting: bool = False) -> View:
    uses = [
        Use(
            workload=f"team-b/train-{number}",
            cluster_queue="team-b",
            amount=amount,
            evicting=evicting,
        )
        for number, amount in enumerate(amounts, start=1)
    ]

    def users_of(queue: str, pair: FlavorResource) -> list[Use]:
        assert (queue, pair) == ("team-a", FlavorResource("a100", GPU))
        return uses

    return View(users_of=users_of)


WAITING = NoQuotaReason.WAITING_FOR_QUOTA

WAITS = [
    pytest.param(
        a_wait(WAITING, lacks(8, 3)),
        users(8, 5),
        "waits for quota — a100: needs 8 nvidia.com/gpu, 3 free of 16; 13 in use by "
        "team-b/train-1 8, team-b/train-2 5",
        id="somebody holds it",
    ),
    pytest.param(
        a_wait(WAITING, lacks(8, 3)),
        users(5, 4, 2, 1, 1),
        "waits for quota — a100: needs 8 nvidia.com/gpu, 3 free of 16; 13 in use by "
        "team-b/train-1 5, team-b/train-2 4, team-b/train-3 2, 2 more",
        id="many hold it",
    ),
    pytest.param(
        a_wait(WAITING, lacks(8, 3)),
        users(13, evicting=True),
        "waits for quota — a100: needs 8 nvidia.com/gpu, 3 free of 16; 13 in use by "
        "team-b/train-1 13 (leaving)",
        id="who holds it is leaving",
    ),
    pytest.param(
        a_wait(WAITING, lacks(8, -2, nominal=4)),
        View(),
        "waits for quota — a100: needs 8 nvidia.com/gpu, 0 free of 16 (own quota 4)",
        id="less than nothing is free",
    ),
    pytest.param(
        a_wait(
            WAITING,
            lacks(8, 3),
            requeue=Requeue.NO_CANDIDATES,
        ),
        View(),
        "waits for quota — a100: needs 8 nvidia.com/gpu, 3 free of 16; "
        "nobody may be preempted for it",
        id="nobody may be preempted",
    ),
    pytest.param(
        a_wait(NoQuotaReason.EXCEEDS_MAX_QUOTA, lacks(24, 16), aside=Aside.HEAP),
        View(),
        "can never fit as it is — a100: asks 24 nvidia.com/gpu, the queue can never use more "
        "than 16; it stays first in line",
        id="too large",
    ),
    pytest.param(
        a_wait(
            NoQuotaReason.NO_MATCHING_FLAVOR,
            Obstacle(
                pod_set="main", flavor="spot", refusal=UntoleratedTaint(Taint("s", "", "NoExecute"))
            ),
        ),
        View(),
        "no flavor takes its pods — spot: its pods do not tolerate the taint s:NoExecute",
        id="refused",
    ),
    pytest.param(
        a_wait(
            NoQuotaReason.NO_MATCHING_FLAVOR,
            Obstacle(pod_set="main", flavor="", resource="cpu", asked=1500),
        ),
        View(),
        "cannot be admitted as things are set up — asks 1500m cpu, of which the queue has no quota",
        id="no quota at all",
    ),
    pytest.param(
        a_wait(
            NoQuotaReason.NO_MATCHING_FLAVOR,
            lacks(8, 3),
            Obstacle(pod_set="main", flavor="spot", refusal=UnknownFlavor("spot")),
        ),
        View(users_of=lambda _queue, _pair: ()),
        "waits for quota — a100: needs 8 nvidia.com/gpu, 3 free of 16; "
        "spot: no such ResourceFlavor",
        id="the last look began behind a flavor that was full",
    ),
    pytest.param(
        a_wait(WAITING, lacks(8, 3), replace(lacks(4, 0, flavor="h100"), pod_set="workers")),
        View(users_of=lambda _queue, _pair: ()),
        "waits for quota — pod set main, a100: needs 8 nvidia.com/gpu, 3 free of 16; "
        "pod set workers, h100: needs 4 nvidia.com/gpu, 0 free of 16",
        id="several pod sets",
    ),
    pytest.param(
        a_wait(NoQuotaReason.MISCONFIGURED, detail="namespace team does not exist"),
        View(),
        "cannot be admitted as things are set up — namespace team does not exist",
        id="a detail",
    ),
    pytest.param(
        a_wait(WAITING, lacks(8, 3), requeue=Requeue.FAILED_AFTER_NOMINATION, aside=Aside.HEAP),
        View(),
        "waits for quota — it would fit alone, but workloads before it took the room; "
        "it stays in line",
        id="others were first",
    ),
    pytest.param(
        a_wait(
            NoQuotaReason.WAITING_FOR_PREEMPTED_WORKLOADS,
            requeue=Requeue.PENDING_PREEMPTION,
            aside=Aside.HEAP,
        ),
        View(),
        "waits for preempted workloads to stop — their quota is promised to others first",
        id="victims of others",
    ),
]


@pytest.mark.parametrize("wait, view, text", WAITS)
def test_what_a_workload_waits_for(wait: Wait, view: View, text: str) -> None:
    assert str(waiting(wait, view)) == text


@pytest.mark.parametrize("reason", NoQuotaReason)
def test_every_reason_has_words(reason: NoQuotaReason) -> None:
    assert waiting(a_wait(reason), View()).headline


# --- Refusals ------------------------------------------------------------------------------------

IN_ZONE = Requirement("zone", "In", ("a", "b"))


@pytest.mark.parametrize(
    "found, text",
    [
        (UnknownFlavor("spot"), "no such ResourceFlavor"),
        (
            UntoleratedTaint(Taint("spot", "true", "NoSchedule")),
            "its pods do not tolerate the taint spot=true:NoSchedule",
        ),
        (
            SelectorMismatch("gpu", "h100", "a100"),
            "its pods want gpu=h100, the flavor has gpu=a100",
        ),
        (
            AffinityMismatch(((IN_ZONE, Requirement("cpus", "Gt", ("8",))), (IN_ZONE,))),
            "its pods want zone in (a, b) and cpus > 8 or zone in (a, b)",
        ),
        (
            AffinityMismatch(((Requirement("zone", "NotIn", ("a",)),),)),
            "its pods want zone not in (a)",
        ),
        (AffinityMismatch(((Requirement("x", "Exists"),),)), "its pods want x to exist"),
        (
            AffinityMismatch(((Requirement("x", "DoesNotExist"),),)),
            "its pods want x not to exist",
        ),
        (AffinityMismatch(((Requirement("x", "Lt", ("3",)),),)), "its pods want x < 3"),
        (
            InvalidAffinity(Requirement("x", "Gt", ("y",)), "operator Gt needs one integer"),
            "the node affinity on x is invalid: operator Gt needs one integer",
        ),
    ],
)
def test_why_a_flavor_refuses_pods(found: Refusal, text: str) -> None:
    assert refusal(found) == text


# --- Standing ------------------------------------------------------------------------------------


def a_standing(
    why: Why, *, other: str = "", names: tuple[str, ...] = (), until_us: int | None = None
) -> Standing:
    return Standing(
        workload="team/train",
        cluster_queue="team-a",
        why=why,
        other=other,
        names=names,
        until_us=until_us,
    )


STANDINGS = {
    a_standing(Why.BEHIND, other="team/x"): "waits behind team/x",
    a_standing(Why.BEHIND): "is next in line",
    a_standing(Why.SAME_SHAPE, other="team/x"): "waits like team/x, which asks for the same",
    a_standing(Why.PARKED): "set aside until something changes that could help it",
    a_standing(Why.BACKING_OFF): "was evicted and may not queue yet",
    a_standing(Why.BACKING_OFF, until_us=NOW_US + 61_500_000): "backs off for another 61 s",
    a_standing(Why.GATED, names=("a.b/c", "d.e/f")): "held back by admission gates: a.b/c, d.e/f",
    a_standing(Why.INACTIVE): "is deactivated (spec.active is false)",
    a_standing(Why.ON_HOLD): "is on hold until its job is complete",
    a_standing(Why.NO_LOCAL_QUEUE, names=("train",)): "its namespace has no LocalQueue 'train'",
    a_standing(Why.NO_LOCAL_QUEUE, names=("",)): "names no LocalQueue",
    a_standing(Why.LOCAL_QUEUE_STOPPED, names=("team/q",)): "LocalQueue team/q is stopped",
    a_standing(Why.NO_CLUSTER_QUEUE, names=("c",)): (
        "its LocalQueue leads to ClusterQueue 'c', which does not exist"
    ),
    a_standing(Why.CLUSTER_QUEUE_INACTIVE, names=("c", "Stopped")): (
        "ClusterQueue c admits nothing (Stopped)"
    ),
    a_standing(Why.CLUSTER_QUEUE_INACTIVE, names=("c", "TopologyNotFound")): (
        "ClusterQueue c admits nothing "
        "(TopologyNotFound: the Topology of one of its ResourceFlavors is missing)"
    ),
}


@pytest.mark.parametrize("found, text", STANDINGS.items())
def test_where_a_workload_stands(found: Standing, text: str) -> None:
    assert str(standing(found, View(), NOW_US)) == text


def test_every_standing_has_words() -> None:
    assert sorted({found.why.value for found in STANDINGS}) == sorted(why.value for why in Why)
