"""Whatever is written, the store answers for every revision as a list of snapshots would."""

from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from muster.queue.client.refusal import Refusal
from muster.queue.sandbox.store.memory import FIRST_REVISION, Change, Outdated, Store, Stored
from tests.queue.sandbox.store.objects import OTHERS, THINGS, Snapshot, key, thing

RESOURCES = (THINGS, OTHERS)
HISTORY_MAX = 6

resources = st.sampled_from(RESOURCES)
namespaces = st.sampled_from(["", "a", "a-b", "b"])
names = st.sampled_from(["x", "x-y", "y", "z"])


def content(stored: Stored) -> tuple[str, int]:
    return stored.value["data"], stored.revision


class Histories(RuleBasedStateMachine):
    """
    A store next to a snapshot of each resource after every write.

    `snapshots[resource][n]` is what there was at revision FIRST_REVISION + n.
    """

    @initialize()
    def begin(self) -> None:
        self.store = Store(history_max=HISTORY_MAX)
        self.snapshots: dict[str, list[Snapshot]] = {resource: [{}] for resource in RESOURCES}
        self.writes: dict[str, list[int]] = {resource: [] for resource in RESOURCES}
        self.since: dict[str, int] = dict.fromkeys(RESOURCES, FIRST_REVISION)
        """From when on each reader has followed."""
        self.followed: dict[str, Snapshot] = {resource: {} for resource in RESOURCES}
        self.ends: dict[str, Callable[[], None]] = {}
        self.left: list[tuple[Snapshot, Snapshot]] = []
        """What readers knew that left, and what they knew then."""

    def wrote(self, resource: str, now: Snapshot) -> None:
        self.writes[resource].append(self.store.revision)
        for each, states in self.snapshots.items():
            states.append(now if each == resource else states[-1])

    def now(self, resource: str) -> Snapshot:
        return self.snapshots[resource][-1]

    def oldest(self, resource: str) -> int:
        """Return the oldest revision of which the store has to know."""
        forgotten = self.writes[resource][:-HISTORY_MAX]
        return forgotten[-1] if forgotten else FIRST_REVISION

    @rule(resource=resources, namespace=namespaces, name=names, data=st.sampled_from("123"))
    def put(self, resource: str, namespace: str, name: str, data: str) -> None:
        place = key(name, namespace, resource)

        stored = self.store.put(place, thing(name, data, namespace), self.store.get(place))

        self.wrote(resource, self.now(resource) | {place[1:]: (data, stored.revision)})

    @precondition(lambda self: any(map(self.now, RESOURCES)))
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        there = [(each, place) for each in RESOURCES for place in self.now(each)]
        resource, place = data.draw(st.sampled_from(there))
        namespace, name = place
        seen = self.store.get(key(name, namespace, resource))
        assert seen is not None

        self.store.delete(key(name, namespace, resource), seen)

        self.wrote(resource, {each: it for each, it in self.now(resource).items() if each != place})

    @rule(resource=resources, namespace=namespaces, name=names)
    def write_what_was_not_seen(self, resource: str, namespace: str, name: str) -> None:
        place = key(name, namespace, resource)
        now = self.store.get(place)
        wrong = None if now else Stored({}, b"", 0)
        with pytest.raises(Outdated):
            self.store.put(place, thing(name), wrong)

    @rule(resource=resources, namespace=namespaces, back=st.integers(0, 12), data=st.data())
    def list_as_of(self, resource: str, namespace: str, back: int, data: st.DataObject) -> None:
        revision = max(FIRST_REVISION, self.store.revision - back)
        after = data.draw(st.none() | st.tuples(namespaces, names))
        if revision < self.oldest(resource):
            with pytest.raises(Refusal, match="too old"):
                next(self.store.select_at(resource, revision, namespace, after), None)
            return
        listed = [*self.store.select_at(resource, revision, namespace, after)]
        was = self.snapshots[resource][revision - FIRST_REVISION]
        places = [
            place
            for place in sorted(was, key="/".join)
            if namespace in {"", place[0]} and (after is None or "/".join(place) > "/".join(after))
        ]
        assert [content(stored) for stored in listed] == [was[place] for place in places]
        if revision == self.store.revision:
            assert listed == [*self.store.select(resource, namespace, after)]

    @rule(resource=resources, back=st.integers(0, 12))
    def replay(self, resource: str, back: int) -> None:
        """What happened since leads from what was to what is."""
        revision = max(FIRST_REVISION, self.store.revision - back)
        if revision < self.oldest(resource):
            with pytest.raises(Refusal, match="too old"):
                self.store.changes(resource, revision)
            return
        changes = self.store.changes(resource, revision)
        revisions = [change.new.revision for change in changes]
        assert revisions == [each for each in self.writes[resource] if each > revision]
        state = dict(self.snapshots[resource][revision - FIRST_REVISION])
        for change in changes:
            follow(state, change)
        assert state == self.now(resource)

    @rule(resource=resources)
    def begin_to_watch(self, resource: str) -> None:
        self.leave(resource)
        state = self.followed[resource] = dict(self.now(resource))
        self.ends[resource] = self.store.watch(resource, lambda change: follow(state, change))

    @rule(resource=resources)
    def leave(self, resource: str) -> None:
        if end := self.ends.pop(resource, None):
            end()
            known = self.followed[resource]
            self.left.append((known, dict(known)))

    @invariant()
    def watchers_know_what_is(self) -> None:
        for resource in getattr(self, "ends", ()):
            assert self.followed[resource] == self.now(resource)
        assert all(known == then for known, then in getattr(self, "left", ()))

    @invariant()
    def the_present_is_the_last_snapshot(self) -> None:
        for resource in RESOURCES if hasattr(self, "store") else ():
            now = self.now(resource)
            assert self.store.count(resource) == len(now)
            listed = [*self.store.select(resource)]
            assert [content(each) for each in listed] == [
                now[place] for place in sorted(now, key="/".join)
            ]
            for (namespace, name), state in now.items():
                stored = self.store.get(key(name, namespace, resource))
                assert stored is not None
                assert content(stored) == state


def follow(state: Snapshot, change: Change) -> None:
    """Do to a snapshot what was done to the store; the change must fit it."""
    place = change.key[1:]
    assert state.get(place) == (content(change.old) if change.old else None)
    if change.gone:
        del state[place]
    else:
        state[place] = content(change.new)


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=60, stateful_step_count=40)
