"""Everything a state remembers, as plain values that can be compared."""

from dataclasses import replace
from typing import Any

from muster.admission.conditions import ADMITTED
from muster.admission.records import Item, Queue
from muster.admission.state import State


def snapshot(state: State) -> dict[str, Any]:
    """By names only: two states that lived through the same are equal."""
    return {
        "cycle": state.cycle,
        "items": {key: _item(item) for key, item in sorted(state.items.items())},
        "queues": {name: _queue(queue) for name, queue in sorted(state.queues.items())},
        "usage": {
            (name, pair): cell.used
            for name, cohort in sorted(state.forest.cohorts.items())
            for pair, cell in sorted(cohort.cells.items())
            if cell.used
        },
        "alarms": sorted(state.lines.alarms),
    }


def _item(item: Item) -> dict[str, Any]:
    conditions = dict(item.status.conditions)
    if item.holding and item.status.is_false(ADMITTED):
        # Left by a refusal, if there was one: a decision writes only the last word on a workload.
        del conditions[ADMITTED]
    return {
        "workload": item.workload,
        "status": replace(item.status, conditions=conditions),
        "place": item.place,
        "queue": None if item.queue is None else item.queue.name,
        "order": item.order,
        "progress": item.progress,
        "evaluated": 0 if item.holding else item.evaluated_generation,
    }


def _queue(queue: Queue) -> dict[str, Any]:
    pending = queue.pending
    return {
        "heads": [group.waiting[0].workload.key for _, group in pending.heads],
        "waiting": [i.workload.key for _, group in pending.heads for i in group.waiting],
        "failed": sorted(str(group.shape) for group in pending.groups.values() if group.failed),
        "sticky": _key(pending.sticky),
        "preemptor": (_key(pending.preemptor), pending.preemptor_generation),
        "holders": [holder.item.workload.key for holder in queue.holders],
        "evicting": [holder.item.workload.key for holder in queue.evicting],
        "usage": {pair: cell.used for pair, cell in sorted(queue.cells.items()) if cell.used},
        "generation": queue.generation,
        "active": queue.active,
    }


def _key(item: Item | None) -> str | None:
    return None if item is None else item.workload.key
