"""PodDisruptionBudgets: how many pods may be missing at one time, by somebody's will."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from muster.queue.client.refusal import FieldError, invalid_value, not_supported
from muster.queue.sandbox.kinds.conditions import conditions_errors
from muster.queue.sandbox.kinds.metadata import negative, selector_errors
from muster.queue.sandbox.kinds.names import pattern_error
from muster.queue.sandbox.kinds.resources import Shared
from muster.queue.sandbox.kinds.strategy import StatusStrategy

_POLICIES: Final = ("AlwaysAllow", "IfHealthyBudget")
_PERCENT: Final = "[0-9]+%"
_PERCENT_SAYS: Final = "a valid percent string must be a numeric string followed by an ending '%'"
_ALL: Final = 100
_COUNTS: Final = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


class BudgetStrategy(StatusStrategy):
    """The strategy of PodDisruptionBudgets."""

    generation = True
    allows_unconditional_update = False
    standard_finalizers = False

    def new_status(self, obj: Shared) -> dict[str, int]:
        return dict.fromkeys(sorted(_COUNTS), 0)

    def create_errors(self, obj: Shared) -> Iterable[FieldError]:
        return [*_budget_errors(obj["spec"])]

    def update_errors(self, obj: Shared, old: Shared, subresource: str) -> Iterable[FieldError]:
        if subresource == "status":
            return [*_status_errors(obj["status"])]
        return self.create_errors(obj)


def _budget_errors(spec: Shared) -> Iterator[FieldError]:
    if "minAvailable" in spec and "maxUnavailable" in spec:
        yield invalid_value("spec", spec, "minAvailable and maxUnavailable cannot be both set")
    for name in ("minAvailable", "maxUnavailable"):
        if name in spec:
            yield from _share_errors(f"spec.{name}", spec[name])
    yield from selector_errors("spec.selector", spec.get("selector"))
    policy = spec.get("unhealthyPodEvictionPolicy", "IfHealthyBudget")
    if policy not in _POLICIES:
        yield not_supported("spec.unhealthyPodEvictionPolicy", policy, _POLICIES)


def _share_errors(place: str, share: int | str) -> Iterator[FieldError]:
    if isinstance(share, int):
        yield from negative(place, share)
    elif not re.fullmatch(_PERCENT, share):
        detail = pattern_error(_PERCENT_SAYS, _PERCENT, "1%", "93%")
        yield invalid_value(place, share, detail)
    elif int(share[:-1]) > _ALL:
        yield invalid_value(place, share, "must not be greater than 100%")


def _status_errors(status: Shared) -> Iterator[FieldError]:
    yield from conditions_errors("status.conditions", status.get("conditions") or ())
    for name in _COUNTS:
        yield from negative(f"status.{name}", status.get(name))
