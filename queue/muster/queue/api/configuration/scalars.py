"""Kinds of values in the configuration file: spans of time, exact numbers, names of kinds."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction
from typing import Annotated, Final

from pydantic import AfterValidator, Field, PlainSerializer, PlainValidator

from muster.queue.api import feature_gates
from muster.queue.api.durations import DurationError, format_duration, parse_duration
from muster.queue.api.problems import Problems
from muster.queue.api.quantities import NANO, QuantityError, parse_quantity
from muster.queue.api.schema import custom_error
from muster.queue.api.wording import did_you_mean, shown


def _period(value: object) -> timedelta:
    if isinstance(value, timedelta):
        return value
    try:
        duration = parse_duration(value if isinstance(value, str) else str(value))
    except DurationError as error:
        raise custom_error("duration", str(error)) from None
    if duration < timedelta(0):
        raise custom_error("duration", f"{value} is negative: at least 0s")
    return duration


def _period_or_nanoseconds(value: object) -> timedelta:
    if isinstance(value, int) and not isinstance(value, bool):
        value = f"{value}ns"
    return _period(value)


def _number(value: object) -> Fraction:
    if isinstance(value, Fraction):
        return value
    if isinstance(value, str):
        raise custom_error("number", f"{shown(value)} is not a number: remove the quotes")
    try:
        return Fraction(parse_quantity(value), NANO)
    except QuantityError:
        raise custom_error("number", f"{shown(value)} is not a number") from None


def _weight(value: object) -> Fraction:
    weight = _number(value)
    if weight < 0:
        raise custom_error("number", f"{value} is negative: at least 0")
    return weight


Period = Annotated[timedelta, PlainValidator(_period), PlainSerializer(format_duration)]
"""A span of time, at least 0s, written as in 1h30m."""
PeriodOrNanoseconds = Annotated[
    timedelta, PlainValidator(_period_or_nanoseconds), PlainSerializer(format_duration)
]
"""A span of time that may also be a number of nanoseconds."""
Number = Annotated[Fraction, PlainValidator(_number), PlainSerializer(float)]
"""A decimal number, exactly as it was written."""
Weight = Annotated[Fraction, PlainValidator(_weight), PlainSerializer(float)]
"""A decimal number that is not negative."""
Port = Annotated[int, Field(ge=1, le=65535)]


# --- Names ---------------------------------------------------------------------------------------

FRAMEWORKS: Final = (
    "batch/job",
    "deployment",
    "jobset.x-k8s.io/jobset",
    "kubeflow.org/jaxjob",
    "kubeflow.org/mpijob",
    "kubeflow.org/paddlejob",
    "kubeflow.org/pytorchjob",
    "kubeflow.org/tfjob",
    "kubeflow.org/xgboostjob",
    "leaderworkerset.x-k8s.io/leaderworkerset",
    "pod",
    "ray.io/raycluster",
    "ray.io/rayjob",
    "ray.io/rayservice",
    "sparkoperator.k8s.io/sparkapplication",
    "statefulset",
    "trainer.kubeflow.org/trainjob",
    "workload.codeflare.dev/appwrapper",
)
"""Kinds of jobs by the names that the configuration file uses."""

_KIND_VERSION_GROUP: Final = re.compile(
    r"[A-Za-z][A-Za-z0-9]*\.[a-z][a-z0-9]*\.[a-z0-9][-a-z0-9.]*"
)


def _framework(name: str) -> str:
    if name not in FRAMEWORKS:
        message = f"{name!r} is not a framework: use one of {', '.join(FRAMEWORKS)}."
        raise custom_error("framework", message + did_you_mean(name, FRAMEWORKS))
    return name


def _kind(name: str) -> str:
    if not _KIND_VERSION_GROUP.fullmatch(name):
        message = f"{shown(name)} is not a kind: write Kind.version.group, as in Foo.v1.example.com"
        raise custom_error("kind", message)
    return name


def _gates(chosen: dict[str, bool]) -> dict[str, bool]:
    problems = Problems()
    for name, complaint in feature_gates.complaints(chosen):
        problems.add((name,), complaint)
    problems.raise_if_any()
    return chosen


FeatureGates = Annotated[dict[str, bool], AfterValidator(_gates)]
"""Feature gates switched on or off; each exists, and may be set so."""
Framework = Annotated[str, AfterValidator(_framework)]
KindName = Annotated[str, AfterValidator(_kind)]
"""A kind as Kind.version.group."""
