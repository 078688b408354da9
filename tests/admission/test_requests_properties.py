"""What a pod asks for, against second definitions that are slow and obviously right."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random

from hypothesis import example, given
from hypothesis import strategies as st

from muster.admission.requests import (
    NANO,
    Container,
    CountingRules,
    PodTemplate,
    Resources,
    Transformation,
    effective_requests,
    pod_requests,
)
from tests.admission.builders import a_container, a_template

NAMES = ("cpu", "gpu", "memory")

# Small on purpose: ties between start and run, where the mistakes live, must come up often.
quantities = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 4))
plain = st.builds(a_container, requests=quantities)
init = st.builds(a_container, requests=quantities, sidecar=st.booleans())
templates = st.builds(
    lambda containers, init, overhead: a_template(*containers, init=init, overhead=overhead),
    containers=st.lists(plain, max_size=3),
    init=st.lists(init, max_size=4),
    overhead=quantities,
)


def moments(template: PodTemplate) -> list[list[Container]]:
    """The containers that run together, at each moment of a pod's life."""
    together: list[list[Container]] = []
    sidecars: list[Container] = []
    for container in template.init_containers:
        together.append([*sidecars, container])
        if container.restartable:
            sidecars.append(container)
    return [*together, [*sidecars, *template.containers]]


def of(resource: str, containers: Sequence[Container]) -> int:
    return sum(container.resources.requests.get(resource, 0) for container in containers)


@given(template=templates)
def test_a_pod_asks_for_its_busiest_moment(template: PodTemplate) -> None:
    asked = pod_requests(template)

    for name in NAMES:
        busiest = max(of(name, running) for running in moments(template))
        assert asked.get(name, 0) == busiest + template.overhead.get(name, 0)


@given(template=templates)
def test_a_resource_is_asked_for_exactly_when_something_mentions_it(template: PodTemplate) -> None:
    containers = (*template.init_containers, *template.containers)
    mentioned = [name for c in containers for name in c.resources.requests]

    assert set(pod_requests(template)) == {*mentioned, *template.overhead}


@given(template=templates, order=st.randoms(use_true_random=False))
def test_the_order_of_containers_is_irrelevant(template: PodTemplate, order: Random) -> None:
    shuffled = list(template.containers)
    order.shuffle(shuffled)

    assert pod_requests(replace(template, containers=tuple(shuffled))) == pod_requests(template)


@given(template=templates, times=st.integers(0, 5))
def test_a_pod_that_asks_for_more_everywhere_asks_for_as_much_more(
    template: PodTemplate, times: int
) -> None:
    def more(requests: Mapping[str, int]) -> dict[str, int]:
        return {name: quantity * times for name, quantity in requests.items()}

    def scaled(container: Container) -> Container:
        return replace(container, resources=Resources(requests=more(container.resources.requests)))

    larger = PodTemplate(
        containers=tuple(map(scaled, template.containers)),
        init_containers=tuple(map(scaled, template.init_containers)),
        overhead=more(template.overhead),
    )

    assert pod_requests(larger) == more(pod_requests(template))


# --- How it is counted ---------------------------------------------------------------------------

# Around one unit, so that rounding is met as often as whole numbers.
nano_quantities = st.integers(-3, 3).flatmap(
    lambda units: st.integers(-2, 2).map(lambda nanos: units * NANO + nanos)
)
requested = st.dictionaries(st.sampled_from(NAMES), nano_quantities)
transformations = st.lists(
    st.builds(
        Transformation,
        input=st.sampled_from(NAMES),
        outputs=st.dictionaries(st.sampled_from((*NAMES, "credits")), nano_quantities),
        multiply_by=st.sampled_from((None, *NAMES)),
        retain=st.booleans(),
    ),
    unique_by=lambda rule: rule.input,
    max_size=3,
)


def counted(
    quantity: Mapping[str, Fraction], rules: Sequence[Transformation]
) -> dict[str, Fraction]:
    """The definition, in fractions of a unit."""
    replaced = [rule.input for rule in rules if not rule.retain]
    totals = {name: q for name, q in quantity.items() if name not in replaced}
    outputs: dict[str, Fraction] = {}
    for rule in rules:
        if rule.input in quantity:
            factor = quantity.get(rule.multiply_by or "", Fraction(1))
            for name, each in rule.outputs.items():
                generated = quantity[rule.input] * factor * Fraction(each, NANO)
                outputs[name] = outputs.get(name, Fraction(0)) + generated
    for name, generated in outputs.items():
        totals[name] = totals.get(name, Fraction(0)) + max(generated, Fraction(0))
    return totals


@given(requests=requested, rules=transformations)
@example(requests={"gpu": 3 * NANO}, rules=[Transformation(input="gpu", outputs={"cpu": 1})])
def test_counting_is_exact_and_rounds_up_once(
    requests: dict[str, int], rules: list[Transformation]
) -> None:
    totals = counted({name: Fraction(q, NANO) for name, q in requests.items()}, rules)
    want = {
        name: max(0, math.ceil(total * 1000 if name == "cpu" else total))
        for name, total in totals.items()
    }

    got = effective_requests(
        a_template(a_container(requests=requests)), CountingRules(transformations=tuple(rules))
    )

    assert got == tuple(sorted(want.items()))
