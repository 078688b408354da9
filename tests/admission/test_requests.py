"""What one pod asks for, row by row: each row is one rule of how requests are worked out."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from muster.admission.requests import (
    NANO,
    CountingRules,
    LimitRanges,
    Limits,
    PodTemplate,
    Quantities,
    Resources,
    Transformation,
    adjusted,
    effective_requests,
    pod_requests,
    summary,
)
from tests.admission.builders import a_container, a_template, nano, nanos

GPU = "nvidia.com/gpu"
NO_LIMITS = LimitRanges()


@dataclass(frozen=True, kw_only=True)
class PodCase:
    name: str
    template: PodTemplate
    want: Quantities


PODS = [
    PodCase(
        name="containers run at once, so their requests add up",
        template=a_template(
            a_container(requests=nanos(cpu="500m")),
            a_container(requests=nanos(cpu="250m", memory="1Gi")),
        ),
        want=nanos(cpu="750m", memory="1Gi"),
    ),
    PodCase(
        name="init containers run one after the other, so the largest counts",
        template=a_template(
            a_container(requests=nanos(cpu="1")),
            init=[
                a_container(requests=nanos(cpu="2")),
                a_container(requests=nanos(cpu="3")),
            ],
        ),
        want=nanos(cpu="3"),
    ),
    PodCase(
        name="the larger of start and run counts resource by resource",
        template=a_template(
            a_container(requests=nanos(cpu="1", memory="4Gi")),
            init=[a_container(requests=nanos(cpu="3", memory="1Gi"))],
        ),
        want=nanos(cpu="3", memory="4Gi"),
    ),
    PodCase(
        name="a sidecar runs beside the containers",
        template=a_template(
            a_container(requests=nanos(cpu="1")),
            init=[a_container(requests=nanos(cpu="100m"), sidecar=True)],
        ),
        want=nanos(cpu="1100m"),
    ),
    PodCase(
        name="a sidecar runs beside the init containers after it",
        template=a_template(
            a_container(requests=nanos(cpu="1m")),
            init=[
                a_container(requests=nanos(cpu="1"), sidecar=True),
                a_container(requests=nanos(cpu="2")),
            ],
        ),
        want=nanos(cpu="3"),
    ),
    PodCase(
        name="a sidecar does not run beside the init containers before it",
        template=a_template(
            a_container(requests=nanos(cpu="1m")),
            init=[
                a_container(requests=nanos(cpu="2")),
                a_container(requests=nanos(cpu="1"), sidecar=True),
            ],
        ),
        want=nanos(cpu="2"),
    ),
    PodCase(
        name="sidecar, init container, containers and overhead together",
        template=a_template(
            a_container(requests=nanos(cpu="500m")),
            a_container(requests=nanos(cpu="250m")),
            init=[
                a_container(requests=nanos(cpu="100m"), sidecar=True),
                a_container(requests=nanos(cpu="1")),
            ],
            overhead=nanos(cpu="50m"),
        ),
        want=nanos(cpu="1150m"),
    ),
    PodCase(
        name="CPU, memory and huge pages of the whole pod replace the sums, other resources do not",
        template=a_template(
            a_container(requests={**nanos(cpu="1", memory="1Gi"), GPU: NANO}),
            pod_level=Resources(
                requests={
                    **nanos(cpu="3"),
                    "hugepages-2Mi": nano("4Ki"),
                    GPU: 8 * NANO,
                }
            ),
        ),
        want={**nanos(cpu="3", memory="1Gi"), GPU: NANO, "hugepages-2Mi": nano("4Ki")},
    ),
    PodCase(
        name="the overhead comes on top of the resources of the whole pod",
        template=a_template(
            a_container(requests=nanos(cpu="1")),
            pod_level=Resources(requests=nanos(cpu="2")),
            overhead=nanos(cpu="100m"),
        ),
        want=nanos(cpu="2100m"),
    ),
    PodCase(name="no container asks for anything", template=a_template(a_container()), want={}),
]


@pytest.mark.parametrize("case", PODS, ids=lambda case: case.name)
def test_pod_requests(case: PodCase) -> None:
    assert pod_requests(case.template) == case.want


# --- What the namespace and the runtime class add ------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class AdjustedCase:
    name: str
    template: PodTemplate
    limit_ranges: LimitRanges = NO_LIMITS
    overheads: Mapping[str, Quantities]
    want: PodTemplate


ADJUSTED = [
    AdjustedCase(
        name="the runtime class gives its overhead",
        template=a_template(runtime_class="gvisor"),
        overheads={"gvisor": nanos(cpu="250m")},
        want=a_template(runtime_class="gvisor", overhead=nanos(cpu="250m")),
    ),
    AdjustedCase(
        name="an overhead that is written stays",
        template=a_template(runtime_class="gvisor", overhead=nanos(cpu="1m")),
        overheads={"gvisor": nanos(cpu="250m")},
        want=a_template(runtime_class="gvisor", overhead=nanos(cpu="1m")),
    ),
    AdjustedCase(
        name="an unknown runtime class gives nothing",
        template=a_template(runtime_class="gvisr"),
        overheads={"gvisor": nanos(cpu="250m")},
        want=a_template(runtime_class="gvisr"),
    ),
    AdjustedCase(
        name="what is limited and not requested is requested",
        template=a_template(
            a_container(limits=nanos(cpu="2", memory="1Gi"), requests=nanos(cpu="1")),
            init=[a_container(limits=nanos(cpu="3"))],
            pod_level=Resources(limits=nanos(cpu="4")),
        ),
        overheads={},
        want=a_template(
            a_container(limits=nanos(cpu="2", memory="1Gi"), requests=nanos(cpu="1", memory="1Gi")),
            init=[a_container(limits=nanos(cpu="3"), requests=nanos(cpu="3"))],
            pod_level=Resources(limits=nanos(cpu="4"), requests=nanos(cpu="4")),
        ),
    ),
    AdjustedCase(
        name="defaults of the namespace fill in what a container leaves out",
        template=a_template(
            a_container(), init=[a_container(requests=nanos(cpu="1"), limits=nanos(cpu="2"))]
        ),
        limit_ranges=LimitRanges(
            container=Limits(default=nanos(cpu="500m"), default_request=nanos(cpu="200m"))
        ),
        overheads={},
        want=a_template(
            a_container(requests=nanos(cpu="200m"), limits=nanos(cpu="500m")),
            init=[a_container(requests=nanos(cpu="1"), limits=nanos(cpu="2"))],
        ),
    ),
    AdjustedCase(
        name="a default limit is a request where there is no default request",
        template=a_template(a_container()),
        limit_ranges=LimitRanges(container=Limits(default=nanos(cpu="500m"))),
        overheads={},
        want=a_template(a_container(requests=nanos(cpu="500m"), limits=nanos(cpu="500m"))),
    ),
    AdjustedCase(
        name="defaults for whole pods are for pods that declare resources as a whole",
        template=a_template(a_container(), pod_level=Resources(requests=nanos(memory="1Gi"))),
        limit_ranges=LimitRanges(pod=Limits(default_request=nanos(cpu="2"))),
        overheads={},
        want=a_template(a_container(), pod_level=Resources(requests=nanos(memory="1Gi", cpu="2"))),
    ),
    AdjustedCase(
        name="a pod that declares nothing as a whole gets no such default",
        template=a_template(a_container()),
        limit_ranges=LimitRanges(pod=Limits(default_request=nanos(cpu="2"))),
        overheads={},
        want=a_template(a_container()),
    ),
]


@pytest.mark.parametrize("case", ADJUSTED, ids=lambda case: case.name)
def test_adjusted(case: AdjustedCase) -> None:
    assert adjusted(case.template, case.limit_ranges, case.overheads) == case.want


def test_limit_ranges_taken_together_keep_the_strictest_bound_and_the_first_default() -> None:
    first = Limits(
        min=nanos(cpu="1"), max=nanos(cpu="8"), default=nanos(cpu="4"), default_request={}
    )
    second = Limits(
        min=nanos(cpu="2"),
        max=nanos(cpu="6", memory="1Gi"),
        default=nanos(cpu="5", memory="1Gi"),
        default_request=nanos(cpu="3"),
    )

    assert summary([first, second]) == Limits(
        min=nanos(cpu="2"),
        max=nanos(cpu="6", memory="1Gi"),
        default=nanos(cpu="4", memory="1Gi"),
        default_request=nanos(cpu="3"),
    )
    assert summary([]) == Limits()


# --- How it is counted ---------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class CountingCase:
    name: str
    requests: Quantities
    excluded: tuple[str, ...] = ()
    transformations: tuple[Transformation, ...] = ()
    want: dict[str, int]


def to_credits(each: str, **named: object) -> Transformation:
    return Transformation(input=GPU, outputs=nanos(credits=each), **named)  # type: ignore[arg-type]


COUNTING = [
    CountingCase(
        name="CPU is counted in thousandths, everything else in units, sorted by name",
        requests={"nvidia.com/gpu": nano("2"), **nanos(memory="1Ki", cpu="1500m")},
        want={"cpu": 1500, "memory": 1024, "nvidia.com/gpu": 2},
    ),
    CountingCase(
        name="a fraction rounds up",
        requests=nanos(cpu="1u", memory="1m", disk="1001m"),
        want={"cpu": 1, "disk": 2, "memory": 1},
    ),
    CountingCase(
        name="a request of nothing is a request",
        requests=nanos(cpu="0"),
        want={"cpu": 0},
    ),
    CountingCase(
        name="a negative request counts as nothing",
        requests=nanos(cpu="-1"),
        want={"cpu": 0},
    ),
    CountingCase(
        name="more than 64 bits is the most there is",
        requests={"memory": 2**63 * NANO, "cpu": 2**62 * NANO},
        want={"cpu": 2**63 - 1, "memory": 2**63 - 1},
    ),
    CountingCase(
        name="excluded prefixes are not counted",
        requests=nanos(cpu="1", **{"networking.example.com/vpc1": "1", "example.com/x": "1"}),
        excluded=("networking.example.com/", "nothing"),
        want={"cpu": 1000, "example.com/x": 1},
    ),
    CountingCase(
        name="a replaced input is counted as its outputs only",
        requests={GPU: nano("2")},
        transformations=(to_credits("10", retain=False),),
        want={"credits": 20},
    ),
    CountingCase(
        name="a retained input is counted as well",
        requests={GPU: nano("2")},
        transformations=(to_credits("10"),),
        want={"credits": 20, GPU: 2},
    ),
    CountingCase(
        name="replacing by nothing ignores a resource",
        requests={GPU: nano("2"), **nanos(cpu="1")},
        transformations=(Transformation(input=GPU, retain=False),),
        want={"cpu": 1000},
    ),
    CountingCase(
        name="an input that is not requested gives nothing",
        requests=nanos(cpu="1"),
        transformations=(to_credits("10", retain=False),),
        want={"cpu": 1000},
    ),
    CountingCase(
        name="another resource of the pod may be a factor",
        requests=nanos(slices="3", cards="2500m"),
        transformations=(
            Transformation(
                input="slices", outputs=nanos(credits="4"), multiply_by="cards", retain=False
            ),
        ),
        want={"cards": 3, "credits": 30},
    ),
    CountingCase(
        name="a factor that the pod does not request is one",
        requests=nanos(slices="3"),
        transformations=(
            Transformation(input="slices", outputs=nanos(credits="4"), multiply_by="cards"),
        ),
        want={"credits": 12, "slices": 3},
    ),
    CountingCase(
        name="a factor of nothing makes nothing",
        requests=nanos(slices="3", cards="0"),
        transformations=(
            Transformation(input="slices", outputs=nanos(credits="4"), multiply_by="cards"),
        ),
        want={"cards": 0, "credits": 0, "slices": 3},
    ),
    CountingCase(
        name="an excluded resource is neither input nor factor",
        requests=nanos(a="3", b="5"),
        excluded=("b",),
        transformations=(
            Transformation(input="a", outputs=nanos(x="1"), multiply_by="b"),
            Transformation(input="b", outputs=nanos(y="1")),
        ),
        want={"a": 3, "x": 3},
    ),
    CountingCase(
        name="outputs of one name add up over the inputs and with what is requested",
        requests=nanos(small="1", large="2", credits="5"),
        transformations=(
            Transformation(input="small", outputs=nanos(credits="1"), retain=False),
            Transformation(input="large", outputs=nanos(credits="10"), retain=False),
        ),
        want={"credits": 26},
    ),
    CountingCase(
        name="what is generated never takes away from what is requested",
        requests=nanos(a="1", credits="5"),
        transformations=(Transformation(input="a", outputs=nanos(credits="-3"), retain=False),),
        want={"credits": 5},
    ),
    CountingCase(
        name="a negative output may lower another output",
        requests=nanos(a="1", b="1"),
        transformations=(
            Transformation(input="a", outputs=nanos(credits="-3"), retain=False),
            Transformation(input="b", outputs=nanos(credits="5"), retain=False),
        ),
        want={"credits": 2},
    ),
    CountingCase(
        name="an output is not the input of another transformation",
        requests=nanos(a="1"),
        transformations=(
            Transformation(input="a", outputs=nanos(b="2"), retain=False),
            Transformation(input="b", outputs=nanos(c="2"), retain=False),
        ),
        want={"b": 2},
    ),
    CountingCase(
        name="products are exact and rounded once, at the end",
        requests=nanos(a="1n", b="1n", factor="1n"),
        transformations=(
            Transformation(input="a", outputs=nanos(x="1n"), multiply_by="factor", retain=False),
            Transformation(input="b", outputs=nanos(x="1"), retain=False),
        ),
        want={"factor": 1, "x": 1},
    ),
]


@pytest.mark.parametrize("case", COUNTING, ids=lambda case: case.name)
def test_effective_requests(case: CountingCase) -> None:
    template = a_template(a_container(requests=case.requests))
    rules = CountingRules(excluded_prefixes=case.excluded, transformations=case.transformations)

    assert effective_requests(template, rules) == tuple(sorted(case.want.items()))
