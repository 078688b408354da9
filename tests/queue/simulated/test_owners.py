"""Whom the garbage collector looks at, and what it makes of owners."""

from __future__ import annotations

from dataclasses import replace

import pytest

from muster.queue.client.kinds import CONFIG_MAP, JOB, NODE, POD, Kind
from muster.queue.simulated.owners import (
    FOREGROUND,
    ORPHAN,
    Action,
    Delete,
    Disown,
    Graph,
    Item,
    Keep,
    Owner,
    item,
    judge,
)


def owned_by(*owners: Item, blocks: bool = True) -> tuple[Owner, ...]:
    return tuple(
        Owner(each.kind.api_version, each.kind.kind, each.name, each.uid, blocks) for each in owners
    )


def thing(
    name: str,
    *owners: Item,
    kind: Kind = CONFIG_MAP,
    namespace: str = "default",
    finalizers: tuple[str, ...] = (),
    deleted: bool = False,
) -> Item:
    return Item(
        kind=kind,
        namespace=namespace if kind.namespaced else "",
        name=name,
        uid=f"uid-{name}",
        owners=owned_by(*owners),
        is_deleted=deleted,
        finalizers=finalizers,
    )


def ending(subject: Item, finalizer: str) -> Item:
    return replace(subject, is_deleted=True, finalizers=(finalizer,))


def test_an_object_is_read() -> None:
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u"}
    manifest = {
        "metadata": {
            "name": "p",
            "namespace": "n",
            "uid": "v",
            "ownerReferences": [{**reference, "blockOwnerDeletion": True}, reference],
            "finalizers": ["f"],
            "deletionTimestamp": "2026-01-01T00:00:00Z",
        }
    }
    assert item(POD, manifest) == Item(
        kind=POD,
        namespace="n",
        name="p",
        uid="v",
        owners=(
            Owner("batch/v1", "Job", "j", "u", True),
            Owner("batch/v1", "Job", "j", "u", False),
        ),
        is_deleted=True,
        finalizers=("f",),
    )


# -- whom to look at --------------------------------------------------------------------------


def graph(*items: Item) -> Graph:
    known = Graph()
    for each in items:
        known.see(each)
    return known


OWNER = thing("owner")
CHILD = thing("child", OWNER)


def test_dependents_of_a_lost_owner_are_looked_at() -> None:
    known = graph(OWNER, CHILD, thing("stranger"))
    assert known.lose(OWNER.uid) == [CHILD.uid]
    assert known.lose(OWNER.uid) == []


def test_an_owner_that_is_there_raises_no_doubt() -> None:
    assert graph(OWNER).see(CHILD) == []


@pytest.mark.parametrize(
    "owner",
    [
        None,
        ending(OWNER, FOREGROUND),
        replace(OWNER, namespace="other"),
        replace(OWNER, name="renamed"),
        replace(OWNER, kind=JOB),
    ],
)
def test_doubtful_owners_are_looked_into(owner: Item | None) -> None:
    known = graph() if owner is None else graph(owner)
    assert known.see(CHILD) == [CHILD.uid]
    assert known.see(CHILD) == [], "nothing has changed"
    assert CHILD.uid in known.doubts()


def test_an_owner_without_namespace_is_the_same_everywhere() -> None:
    node = thing("node", kind=NODE)
    assert graph(node).see(thing("child", node, namespace="anywhere")) == []


def test_a_foreground_deletion_concerns_the_dependents() -> None:
    known = graph(OWNER, CHILD)
    assert known.see(ending(OWNER, FOREGROUND)) == [CHILD.uid, OWNER.uid]


def test_the_owner_is_looked_at_when_its_last_dependent_is_gone_or_lets_go() -> None:
    known = graph(ending(OWNER, FOREGROUND), CHILD, thing("other", OWNER))
    assert known.lose(CHILD.uid) == [OWNER.uid]
    assert known.see(thing("other")) == [OWNER.uid]
    assert known.dependents(OWNER.uid) == []


def test_an_orphaning_deletion_concerns_the_owner_alone() -> None:
    known = graph(OWNER, CHILD)
    assert known.see(ending(OWNER, ORPHAN)) == [OWNER.uid]


def test_dependents_are_known_whoever_is_seen_first() -> None:
    known = graph(CHILD, OWNER)
    assert known.dependents(OWNER.uid) == [CHILD]
    assert known.doubts() == []


# -- what to do -------------------------------------------------------------------------------

(ONE,) = owned_by(thing("one"))
(TWO,) = owned_by(thing("two"))
WAITING_CHILD = ending(thing("grandchild"), FOREGROUND)


@pytest.mark.parametrize(
    "solid, dangling, waiting, finalizer, dependents, action",
    [
        ([ONE], [], [], "", [], Keep()),
        ([ONE], [TWO], [], "", [], Disown((TWO.uid,))),
        ([ONE], [], [TWO], "", [], Disown((TWO.uid,))),
        ([], [ONE, TWO], [], "", [], Delete("Background")),
        ([], [ONE], [], ORPHAN, [], Delete("Orphan")),
        ([], [ONE], [], FOREGROUND, [], Delete("Foreground")),
        ([], [], [ONE], "", [], Delete("Background")),
        ([], [], [ONE], "", [thing("grandchild")], Delete("Foreground")),
        ([], [], [ONE], "", [WAITING_CHILD], Delete("Foreground", unblock=True)),
        ([], [ONE], [], "", [thing("grandchild")], Delete("Background")),
    ],
)
def test_owners_decide(
    solid: list[Owner],
    dangling: list[Owner],
    waiting: list[Owner],
    finalizer: str,
    dependents: list[Item],
    action: Action,
) -> None:
    subject = thing("subject", finalizers=(finalizer,) if finalizer else ())
    assert action == judge(subject, dependents, solid=solid, dangling=dangling, waiting=waiting)


def test_losing_one_reference_concerns_an_owner_that_waits_and_no_other() -> None:
    other = thing("other")
    known = graph(ending(OWNER, FOREGROUND), other, thing("child", OWNER, other))
    assert known.see(thing("child", OWNER)) == []
    assert known.see(thing("child")) == [OWNER.uid]
