"""The answer of `muster plan` for people: who starts, who makes room, who waits, who uses what."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from muster.admission import explain
from muster.admission.amounts import FlavorResource
from muster.admission.conditions import QUOTA_RESERVED
from muster.admission.explain import Explanation, View
from muster.admission.plan import Admit, Eviction, Preempt
from muster.admission.queries import Use, quota_use, users_of
from muster.queue.api.timestamps import format_timestamp
from muster.queue.cli.tables import LINE_WIDTH, Row, table
from muster.queue.planning import Forecast
from muster.queue.world import World

ROWS_SHOWN_MAX: Final = 50
"""Rows of each table; `-o wide` shows all."""


def view_of(forecast: Forecast, world: World) -> View:
    """Return what explanations need to know of a forecast."""

    def users(cluster_queue: str, pair: FlavorResource) -> Sequence[Use]:
        return users_of(forecast.state, cluster_queue, pair)

    return View(users_of=users, name_of=world.name_of)


def lines(forecast: Forecast, world: World, notes: Iterable[str], *, wide: bool) -> Iterator[str]:
    """Yield the lines of the answer; `notes` are about what is not supported yet."""
    text = _Text(forecast, world, wide=wide)
    tables = (
        (("ADMITTED", "QUEUE", "PODS", "GETS"), list(text.admitted())),
        (("PREEMPTED", "QUEUE", "WHY"), list(text.preempted())),
        (("WAITING", "QUEUE", "WHY"), list(text.waiting())),
        (("QUOTA OF", "FLAVOR", "RESOURCE", "QUOTA", "USED", "BORROWED"), list(text.quota())),
    )
    yield text.summary()
    for heading, rows in tables:
        if rows:
            yield ""
            yield from _shown(heading, rows, wide=wide)
    if world.left_out:
        counted = (f"{count} {what}" for what, count in sorted(world.left_out.items()))
        yield ""
        yield f"Left out: {', '.join(counted)}."
    told = list(notes)
    if told:
        yield ""
    for note in told:
        yield from textwrap.wrap(f"Note: {note}", LINE_WIDTH, subsequent_indent="      ")


def _shown(heading: Sequence[str], rows: Sequence[Row], *, wide: bool) -> Iterator[str]:
    shown = rows if wide else rows[:ROWS_SHOWN_MAX]
    yield from table(heading, shown, width=None if wide else LINE_WIDTH)
    if len(rows) > len(shown):
        yield f"… and {len(rows) - len(shown)} more (-o wide shows all)"


class _Text:
    """Rows of the tables."""

    def __init__(self, forecast: Forecast, world: World, *, wide: bool) -> None:
        self._forecast = forecast
        self._world = world
        self._wide = wide
        self._view = view_of(forecast, world)
        self._several_cycles = len(forecast.plans) > 1
        self._standings = forecast.standings()

    def summary(self) -> str:
        forecast = self._forecast
        admitted = sum(1 for _ in forecast.admissions())
        preempted = sum(1 for _ in forecast.evictions())
        waiting = sum(1 for _ in forecast.waits()) + len(self._standings)
        counts = [f"{admitted} admitted", f"{preempted} preempted", f"{waiting} waiting"]
        when = format_timestamp(forecast.plans[0].now_us)
        cycles = f" in {len(forecast.plans)} cycles" if self._several_cycles else ""
        before = sum(each.status.is_true(QUOTA_RESERVED) for each in self._world.workloads)
        held = f"; {before} held quota before" if before else ""
        return f"Plan for {when}: {', '.join(counts)}{cycles}{held}."

    def admitted(self) -> Iterator[Row]:
        for cycle, admission in self._forecast.admissions():
            explanation = explain.admitted(admission)
            cells = (self._name(admission.workload), admission.cluster_queue, self._pods(admission))
            gets = explain.grants(admission.grants) or "nothing that is counted"
            yield Row(cells, (self._dated(gets, cycle), *explanation.details))

    def preempted(self) -> Iterator[Row]:
        for cycle, preemption, eviction in self._forecast.evictions():
            yield self._victim(cycle, preemption, eviction)

    def _victim(self, cycle: int, preemption: Preempt, eviction: Eviction) -> Row:
        now_us = self._forecast.plans[cycle - 1].now_us
        explanation = explain.preempted(eviction, preemption, self._view, now_us)
        cells = (self._name(eviction.workload), eviction.cluster_queue)
        return Row(cells, (self._dated(explanation.headline, cycle), *explanation.details))

    def waiting(self) -> Iterator[Row]:
        for decision in self._forecast.waits():
            explanation = (
                explain.preempting(decision, self._view)
                if isinstance(decision, Preempt)
                else explain.waiting(decision, self._view)
            )
            cells = (self._name(decision.workload), decision.cluster_queue)
            yield Row(cells, _told(explanation))
        yield from self._not_looked_at()

    def _not_looked_at(self) -> Iterator[Row]:
        alike: dict[tuple[str, Explanation], list[str]] = {}
        for each in self._standings:
            explanation = explain.standing(each, self._view, self._forecast.now_us)
            name = self._name(each.workload)
            alike.setdefault((each.cluster_queue or "-", explanation), []).append(name)
        for (queue, explanation), names in alike.items():
            if self._wide:
                yield from (Row((name, queue), _told(explanation)) for name in names)
            else:
                more = f" and {len(names) - 1} more" if len(names) > 1 else ""
                yield Row((names[0] + more, queue), _told(explanation))

    def quota(self) -> Iterator[Row]:
        state = self._forecast.state
        for name in sorted(state.queues):
            for use in quota_use(state, name):
                amounts = (use.nominal, use.used, use.borrowed)
                *cells, last = (explain.quantity(use.resource, amount) for amount in amounts)
                yield Row((name, use.flavor, use.resource, *cells), (last if use.borrowed else "",))

    def _name(self, key: str) -> str:
        return self._world.name_of(key)

    def _pods(self, admission: Admit) -> str:
        given = sum(pod_set.count for pod_set in admission.admission.pod_sets)
        workload = self._forecast.state.items[admission.workload].workload
        asked = sum(pod_set.count for pod_set in workload.pod_sets)
        return str(given) if given == asked else f"{given} of {asked}"

    def _dated(self, text: str, cycle: int) -> str:
        return f"{text}, in cycle {cycle}" if self._several_cycles else text


def _told(explanation: Explanation) -> tuple[str, ...]:
    return (explanation.headline, *explanation.details)
