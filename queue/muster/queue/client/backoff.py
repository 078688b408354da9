"""How long to wait before trying again: twice as long each time, spread by chance."""

from __future__ import annotations

from random import Random
from typing import Final

_DOUBLINGS_MAX: Final = 60


def backoff_s(failures: int, rng: Random, *, first_s: float, longest_s: float) -> float:
    """
    Return the seconds to wait after that many failures in a row, 1 or more.

    Between half and all of what is due, so that many who failed together come back one by one.
    """
    due = min(longest_s, first_s * (1 << min(failures - 1, _DOUBLINGS_MAX)))
    return due * rng.uniform(0.5, 1.0)
