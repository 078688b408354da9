"""Templates that cannot run in their namespace, and how that is told."""

from dataclasses import dataclass

import pytest

from muster.admission.requests import (
    NANO,
    LimitRanges,
    Limits,
    PodTemplate,
    Quantities,
    Resources,
    problem,
    quantity_text,
)
from tests.admission.builders import a_container, a_template, nanos

NO_LIMITS = LimitRanges()


# --- What cannot run -----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ProblemCase:
    name: str
    template: PodTemplate
    limit_ranges: LimitRanges = NO_LIMITS
    want: str | None


def container_limits(**named: Quantities) -> LimitRanges:
    return LimitRanges(container=Limits(**named))


PROBLEMS = [
    ProblemCase(
        name="a request equal to the limit is fine",
        template=a_template(a_container(requests=nanos(cpu="1"), limits=nanos(cpu="1"))),
        want=None,
    ),
    ProblemCase(
        name="a request over the limit",
        template=a_template(a_container("web", requests=nanos(cpu="1500m"), limits=nanos(cpu="1"))),
        want="container 'web' requests 1500m of cpu, more than its own limit of 1",
    ),
    ProblemCase(
        name="a request over the limit in an init container",
        template=a_template(
            init=[a_container("copy", requests=nanos(memory="4Gi"), limits=nanos(memory="1Gi"))]
        ),
        want="container 'copy' requests 4Gi of memory, more than its own limit of 1Gi",
    ),
    ProblemCase(
        name="a request over the limit for the whole pod",
        template=a_template(pod_level=Resources(requests=nanos(cpu="2"), limits=nanos(cpu="1"))),
        want="the pod requests 2 of cpu, more than its own limit of 1",
    ),
    ProblemCase(
        name="a limit without a request and a request without a limit are fine",
        template=a_template(a_container(requests=nanos(cpu="2"), limits=nanos(memory="1Gi"))),
        want=None,
    ),
    ProblemCase(
        name="the bounds of the namespace are allowed themselves",
        template=a_template(a_container(requests=nanos(cpu="1"), limits=nanos(cpu="2"))),
        limit_ranges=container_limits(min=nanos(cpu="1"), max=nanos(cpu="2")),
        want=None,
    ),
    ProblemCase(
        name="the limit of a container may not be above the maximum",
        template=a_template(a_container(requests=nanos(cpu="1"), limits=nanos(cpu="3"))),
        limit_ranges=container_limits(max=nanos(cpu="2")),
        want=(
            "container 'main' asks for 3 of cpu, "
            "more than the 2 that a LimitRange of the namespace allows"
        ),
    ),
    ProblemCase(
        name="the request of a container may not be below the minimum",
        template=a_template(a_container(requests=nanos(cpu="1"), limits=nanos(cpu="3"))),
        limit_ranges=container_limits(min=nanos(cpu="2")),
        want=(
            "container 'main' asks for 1 of cpu, "
            "less than the 2 that a LimitRange of the namespace demands"
        ),
    ),
    ProblemCase(
        name="a request alone and a limit alone are within the bounds too",
        template=a_template(
            a_container("a", requests=nanos(cpu="9")), a_container("b", limits=nanos(cpu="1"))
        ),
        limit_ranges=container_limits(min=nanos(cpu="2"), max=nanos(cpu="8")),
        want=(
            "container 'a' asks for 9 of cpu, "
            "more than the 8 that a LimitRange of the namespace allows; "
            "container 'b' asks for 1 of cpu, "
            "less than the 2 that a LimitRange of the namespace demands"
        ),
    ),
    ProblemCase(
        name="bounds on what a container does not mention are no problem",
        template=a_template(a_container(requests=nanos(cpu="1"))),
        limit_ranges=container_limits(min=nanos(memory="1Gi"), max=nanos(disk="1")),
        want=None,
    ),
    ProblemCase(
        name="bounds for whole pods see what the pod needs in all, overhead included",
        template=a_template(
            a_container(requests=nanos(cpu="1")),
            a_container(requests=nanos(cpu="1")),
            overhead=nanos(cpu="1m"),
        ),
        limit_ranges=LimitRanges(pod=Limits(max=nanos(cpu="2"))),
        want=(
            "the pod asks for 2001m of cpu, "
            "more than the 2 that a LimitRange of the namespace allows"
        ),
    ),
]


@pytest.mark.parametrize("case", PROBLEMS, ids=lambda case: case.name)
def test_problem(case: ProblemCase) -> None:
    assert problem(case.template, case.limit_ranges) == case.want


@pytest.mark.parametrize(
    "resource, quantity, want",
    [
        ("cpu", 0, "0"),
        ("cpu", 2 * NANO, "2"),
        ("cpu", 2048 * NANO, "2048"),
        ("cpu", 1_500 * 10**6, "1500m"),
        ("cpu", 1_500 * 10**3, "1500u"),
        ("cpu", 1, "1n"),
        ("memory", 0, "0"),
        ("memory", (1 << 40) * NANO, "1Ti"),
        ("memory", (1536 << 20) * NANO, "1536Mi"),
        ("memory", 1025 * NANO, "1025"),
        ("hugepages-2Mi", (2 << 20) * NANO, "2Mi"),
        ("memory", 1_500 * 10**6, "1500m"),
        ("memory", -(4 << 30) * NANO, "-4Gi"),
    ],
)
def test_quantity_text(resource: str, quantity: int, want: str) -> None:
    assert quantity_text(resource, quantity) == want
