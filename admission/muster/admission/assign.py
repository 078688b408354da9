"""
Choose flavors for a workload: which ones, how well they fit, and where the search stopped.

For every pod set and every resource group it needs, flavors are tried in the order the queue lists
them. A flavor is rated by its worst resource: it fits, could fit after evictions, or does not fit.
The queue's fungibility policy says when to stop looking. What comes out is an `Assignment`: flavors
and amounts, the worst mode, the distance to the quota that is borrowed, and every attempt with its
numbers, so that a refusal can be explained.

Source: flavor assignment and flavor fungibility as the Kueue API documents them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from muster.admission.compile import Choice, PodSetRequest, Request, Undeclared
from muster.admission.conditions import NoQuotaReason
from muster.admission.eligibility import Refusal
from muster.admission.objects import PreemptionPolicy
from muster.admission.quota import Cell, Imagined, available, borrowing_level, release_all
from muster.admission.records import Queue, Victim
from muster.admission.scene import Scene


class Mode(IntEnum):
    """How well a flavor fits; greater is better."""

    NO_FIT = 0
    NO_CANDIDATES = 1
    """Evictions could help, but there is nobody who may be evicted."""
    PREEMPT = 2
    """Fits after evictions, some of them in the own queue."""
    RECLAIM = 3
    """Fits after evictions in other queues only."""
    FIT = 4


#: From least to most severe; see `no_fit_reason`.
SEVERITY = (
    NoQuotaReason.TOPOLOGY_PLACEMENT_FAILED,
    NoQuotaReason.WAITING_FOR_QUOTA,
    NoQuotaReason.EXCEEDS_MAX_QUOTA,
    NoQuotaReason.NO_MATCHING_FLAVOR,
)


class Fitness(NamedTuple):
    mode: Mode
    level: int
    """Borrowing level: 0 at home, greater the farther away the borrowed quota is."""


class Rating(NamedTuple):
    """What one cell says to one amount."""

    cell: Cell
    asked: int
    """With what earlier pod sets of the same workload take from the cell."""
    free: int
    """What the queue could use of the cell; may be negative."""
    fitness: Fitness


class Attempt(NamedTuple):
    """A flavor that was looked at."""

    flavor: str
    refusal: Refusal | None
    """Why the pods may not run on it at all; then there are no ratings."""
    ratings: tuple[Rating, ...]
    fitness: Fitness

    @property
    def reason(self) -> NoQuotaReason:
        """The most severe obstacle of a flavor that does not fit."""
        if self.refusal is not None:
            return NoQuotaReason.NO_MATCHING_FLAVOR
        hopeless = any(r.asked > r.cell.potential for r in self.ratings)
        return NoQuotaReason.EXCEEDS_MAX_QUOTA if hopeless else NoQuotaReason.WAITING_FOR_QUOTA


class Selection(NamedTuple):
    """The outcome of one `Choice`."""

    choice: Choice
    attempts: tuple[Attempt, ...]
    selected: Attempt | None
    last_tried: int
    """Index of the last flavor examined, -1 if that was the last there is."""


class PodSetResult(NamedTuple):
    request: PodSetRequest
    selections: tuple[Selection, ...]
    undeclared: Undeclared | None = None

    @property
    def fits_somehow(self) -> bool:
        return self.undeclared is None and all(s.selected is not None for s in self.selections)

    def flavors(self) -> dict[str, str]:
        """Return the chosen flavor per resource."""
        return {
            resource: selection.selected.flavor
            for selection in self.selections
            if selection.selected is not None
            for resource in selection.choice.resources
        }

    def amounts(self) -> dict[str, int]:
        """Return the total amount per resource."""
        return {
            resource: amount
            for selection in self.selections
            for resource, amount in zip(
                selection.choice.resources, selection.choice.amounts, strict=True
            )
        }


class Assignment(NamedTuple):
    """Flavors for every pod set; with mode NO_FIT the last pod set is the one that failed."""

    pod_sets: tuple[PodSetResult, ...]
    mode: Mode
    """NO_FIT, PREEMPT or FIT."""
    level: int
    usage: tuple[tuple[Cell, int], ...]
    preempting: tuple[Cell, ...]
    """The cells that need evictions."""
    last_tried: tuple[Mapping[str, int], ...]

    def no_fit_reason(self) -> NoQuotaReason:
        """
        Return why the pod set that failed found no flavors.

        Of the flavors that could have been taken instead of each other the least severe obstacle
        counts, of the resource groups that are all needed the most severe.
        """
        in_the_way: list[NoQuotaReason] = []
        for selection in self.pod_sets[-1].selections:
            reasons = [a.reason for a in selection.attempts if a.fitness.mode is Mode.NO_FIT]
            if reasons:
                in_the_way.append(min(reasons, key=SEVERITY.index))
        return max(in_the_way, key=SEVERITY.index, default=NoQuotaReason.NO_MATCHING_FLAVOR)


FindVictims = Callable[[Sequence[Cell], Sequence[tuple[Cell, int]]], tuple[Victim, ...]]
"""(cells that need evictions, all requests) -> victims for the workload at hand, or none."""

NOTHING_FITS = Fitness(Mode.NO_FIT, 0)


class Assigner:
    """Rates and chooses flavors for one workload in one scene."""

    def __init__(
        self,
        scene: Scene,
        queue: Queue,
        find_victims: FindVictims,
        *,
        resume: Sequence[Mapping[str, int]] = (),
        pinned: Sequence[Mapping[str, str]] | None = None,
    ) -> None:
        self._scene = scene
        self._queue = queue
        self._find_victims = find_victims
        self._resume = resume
        self._pinned = pinned
        self._fungible = scene.config.gates.flavor_fungibility
        preemption = queue.spec.preemption
        self._may_preempt_while_borrowing = preemption.borrow_within_cohort or (
            scene.config.fair and preemption.reclaim_within_cohort is not PreemptionPolicy.NEVER
        )

    def assign(self, request: Request) -> Assignment:
        results: list[PodSetResult] = []
        last_tried: list[Mapping[str, int]] = []
        assumed: dict[Cell, int] = {}
        preempting: dict[Cell, None] = {}
        level = 0
        mode = Mode.FIT
        for index, pod_set in enumerate(request.pod_sets):
            result = self._assign_pod_set(index, pod_set, assumed)
            results.append(result)
            if not result.fits_somehow:
                mode = Mode.NO_FIT
                break
            tried: dict[str, int] = {}
            for selection in result.selections:
                assert selection.selected is not None
                for resource, amount, rating in zip(
                    selection.choice.resources,
                    selection.choice.amounts,
                    selection.selected.ratings,
                    strict=True,
                ):
                    cell = rating.cell
                    assumed[cell] = assumed.get(cell, 0) + amount
                    tried[resource] = selection.last_tried
                    level = max(level, rating.fitness.level)
                    if rating.fitness.mode is not Mode.FIT:
                        preempting[cell] = None
                        mode = Mode.PREEMPT
            last_tried.append(tried)
        return Assignment(
            pod_sets=tuple(results),
            mode=mode,
            level=level,
            usage=tuple(assumed.items()),
            preempting=tuple(preempting),
            last_tried=tuple(last_tried),
        )

    def _assign_pod_set(
        self, index: int, pod_set: PodSetRequest, assumed: Mapping[Cell, int]
    ) -> PodSetResult:
        selections: list[Selection] = []
        for step in pod_set.steps:
            if isinstance(step, Undeclared):
                return PodSetResult(pod_set, tuple(selections), step)
            first = step.resources[0]
            start = 0
            if self._fungible and index < len(self._resume):
                start = self._resume[index].get(first, -1) + 1
                if start >= len(step.options):
                    start = 0  # the queue lists fewer flavors now
            pin = None if self._pinned is None else self._pinned[index].get(first, "")
            selection = self._choose(step, assumed, start, pin)
            selections.append(selection)
            if selection.selected is None:
                break
        return PodSetResult(pod_set, tuple(selections))

    def _choose(
        self, choice: Choice, assumed: Mapping[Cell, int], start: int, pin: str | None
    ) -> Selection:
        attempts: list[Attempt] = []
        best: Attempt | None = None
        index = -1
        for index in range(start, len(choice.options)):
            option = choice.options[index]
            if pin is not None and option.flavor != pin:
                continue
            if option.refusal is not None:
                attempts.append(Attempt(option.flavor, option.refusal, (), NOTHING_FITS))
                continue
            ratings = tuple(
                self._rate(cell, amount + assumed.get(cell, 0))
                for cell, amount in zip(option.cells, choice.amounts, strict=True)
            )
            fitness = ratings[0].fitness
            for rating in ratings[1:]:
                if self._preferred(fitness, rating.fitness):
                    fitness = rating.fitness
            attempt = Attempt(option.flavor, None, ratings, fitness)
            attempts.append(attempt)
            if self._is_good_enough(fitness):
                best = attempt
                break
            if fitness.mode is not Mode.NO_FIT and (
                best is None or self._preferred(fitness, best.fitness)
            ):
                best = attempt
        if not self._fungible:
            index = 0
        elif index == len(choice.options) - 1:
            index = -1
        return Selection(choice, tuple(attempts), best, index)

    def _is_good_enough(self, fitness: Fitness) -> bool:
        """Whether the search stops at a flavor, even if an earlier one was preferred."""
        if fitness.mode <= Mode.NO_CANDIDATES:
            return False
        if not self._fungible:
            return fitness.mode is Mode.FIT
        policy = self._queue.spec.fungibility
        if fitness.mode is not Mode.FIT and policy.try_next_when_preempting:
            return False
        return not (fitness.level > 0 and policy.try_next_when_borrowing)

    def _preferred(self, a: Fitness, b: Fitness) -> bool:
        """Whether `a` is strictly better than `b`."""
        if a.mode is Mode.NO_FIT or b.mode is Mode.NO_FIT:
            return a.mode > b.mode
        if not self._fungible:
            return a.mode > b.mode
        if (a.mode is Mode.NO_CANDIDATES) is not (b.mode is Mode.NO_CANDIDATES):
            return b.mode is Mode.NO_CANDIDATES
        if self._queue.spec.fungibility.prefer_preemption_over_borrowing:
            return (a.level, -a.mode) < (b.level, -b.mode)
        return (-a.mode, a.level) < (-b.mode, b.level)

    def _rate(self, cell: Cell, asked: int) -> Rating:
        """Say how well one amount fits one cell: the place where borrowing is decided."""
        view = self._scene.view
        free = available(view, cell)
        if asked > cell.potential:
            return Rating(cell, asked, free, NOTHING_FITS)
        level, short_of_root = borrowing_level(view, cell, asked)
        if asked <= max(0, free):
            return Rating(cell, asked, free, Fitness(Mode.FIT, level))
        if not (asked <= cell.nominal or short_of_root or self._may_preempt_while_borrowing):
            return Rating(cell, asked, free, NOTHING_FITS)
        victims = self._find_victims((cell,), ((cell, asked),))
        if not victims:
            return Rating(cell, asked, free, Fitness(Mode.NO_CANDIDATES, level))
        without = Imagined(view)
        for victim in victims:
            release_all(without, victim.holder.usage)
        level, _ = borrowing_level(without, cell, asked)
        own = any(victim.holder.queue is self._queue for victim in victims)
        mode = Mode.PREEMPT if own else Mode.RECLAIM
        return Rating(cell, asked, free, Fitness(mode, level))
