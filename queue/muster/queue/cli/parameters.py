"""Values on the command line that click does not know: lengths of time and parts of a whole."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import click

from muster.queue.simulation.durations import DurationError, parse_duration


class Duration(click.ParamType[int]):
    """A length of time such as 1h30m, as microseconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            return parse_duration(value)
        except DurationError as error:
            self.fail(str(error), param, ctx)


class Part(click.ParamType[Fraction]):
    """A part of a whole such as 1/3 or 0.5, exact."""

    name = "part"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Fraction:
        if isinstance(value, Fraction):
            return value
        try:
            part = Fraction(value)
        except (ValueError, ZeroDivisionError):
            self.fail(f"{value!r} is not a part such as 1/3 or 0.5", param, ctx)
        if not 0 < part <= 1:
            self.fail(f"{value!r} is not more than 0 and at most 1", param, ctx)
        return part
