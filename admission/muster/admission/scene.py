"""
The world as one step of a decision sees it: the state with imagined changes on top.

A `Scene` is what nomination, victim search and ordering read. It never changes the state; a what-if
is a new scene over the same state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from muster.admission.config import Config
from muster.admission.quota import UsageView
from muster.admission.records import Holder, Queue, by_rank


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    config: Config
    view: UsageView
    fresh: Mapping[Queue, list[Holder]] = field(default_factory=dict)
    """Holders that earlier rounds of this decision have admitted."""
    evicting: Mapping[Holder, None] = field(default_factory=dict)
    """Holders that earlier rounds of this decision have chosen as victims."""
    leavers: Mapping[Queue, list[Holder]] = field(default_factory=dict)
    """The same by queue and rank, together with those that were leaving before."""
    gone: Mapping[Holder, None] = field(default_factory=dict)
    """Holders to be imagined away; their usage is out of `view` already."""

    def without(self, holders: Mapping[Holder, None], view: UsageView) -> Scene:
        """Return the scene in which `holders` are gone and `view` is the usage."""
        return replace(self, gone={**self.gone, **holders}, view=view)

    def running(self, queue: Queue) -> list[Holder]:
        """Return the queue's holders that nobody has asked to leave, by rank."""
        holders = queue.holders
        fresh = self.fresh.get(queue)
        if fresh:
            holders = sorted([*holders, *fresh], key=by_rank)
        if self.gone or queue in self.leavers:
            return [h for h in holders if h not in self.evicting and h not in self.gone]
        return holders

    def leaving(self, queue: Queue) -> list[Holder]:
        """Return the queue's holders that are being evicted, by rank."""
        leaving = self.leavers.get(queue, queue.evicting)
        return [holder for holder in leaving if holder not in self.gone] if self.gone else leaving
