"""Which flavors pods may run on, and which labels a selector selects: one rule a row."""

from dataclasses import dataclass, field
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.admission.eligibility import (
    AffinityMismatch,
    InvalidAffinity,
    Refusal,
    SelectorMismatch,
    UntoleratedTaint,
    ineligibility,
    selector_flaw,
    selects,
    tolerates,
)
from muster.admission.objects import (
    LabelSelector,
    PodSet,
    Requirement,
    ResourceFlavor,
    Taint,
    Toleration,
)
from tests.admission.builders import a_flavor, a_pod_set, a_taint

# --- Taints --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class TolerationCase:
    name: str
    toleration: Toleration
    taint: Taint
    want: bool


GPU = a_taint("gpu", "h100", "NoSchedule")

TOLERATIONS = [
    TolerationCase(
        name="equal", toleration=Toleration("gpu", "Equal", "h100"), taint=GPU, want=True
    ),
    TolerationCase(
        name="no operator means Equal",
        toleration=Toleration("gpu", "", "h100"),
        taint=GPU,
        want=True,
    ),
    TolerationCase(
        name="another value", toleration=Toleration("gpu", "Equal", "a100"), taint=GPU, want=False
    ),
    TolerationCase(
        name="another key", toleration=Toleration("tpu", "Exists"), taint=GPU, want=False
    ),
    TolerationCase(
        name="Exists looks at no value",
        toleration=Toleration("gpu", "Exists"),
        taint=GPU,
        want=True,
    ),
    TolerationCase(
        name="Exists without key tolerates everything",
        toleration=Toleration("", "Exists"),
        taint=GPU,
        want=True,
    ),
    TolerationCase(
        name="everything of one effect",
        toleration=Toleration("", "Exists", effect="NoExecute"),
        taint=GPU,
        want=False,
    ),
    TolerationCase(
        name="the same effect",
        toleration=Toleration("gpu", "Equal", "h100", "NoSchedule"),
        taint=GPU,
        want=True,
    ),
    TolerationCase(
        name="another effect",
        toleration=Toleration("gpu", "Equal", "h100", "NoExecute"),
        taint=GPU,
        want=False,
    ),
    TolerationCase(
        name="an unknown operator tolerates nothing",
        toleration=Toleration("gpu", "Contains", "h100"),
        taint=GPU,
        want=False,
    ),
    TolerationCase(
        name="Gt tolerates larger values",
        toleration=Toleration("score", "Gt", "800"),
        taint=a_taint("score", "1000"),
        want=True,
    ),
    TolerationCase(
        name="Gt does not tolerate the value itself",
        toleration=Toleration("score", "Gt", "800"),
        taint=a_taint("score", "800"),
        want=False,
    ),
    TolerationCase(
        name="Lt tolerates smaller values, as numbers",
        toleration=Toleration("failures", "Lt", "15"),
        taint=a_taint("failures", "2"),
        want=True,
    ),
    TolerationCase(
        name="Lt does not tolerate larger values",
        toleration=Toleration("failures", "Lt", "5"),
        taint=a_taint("failures", "15"),
        want=False,
    ),
    TolerationCase(
        name="Lt does not tolerate the value itself",
        toleration=Toleration("failures", "Lt", "5"),
        taint=a_taint("failures", "5"),
        want=False,
    ),
    TolerationCase(
        name="the smallest number of 64 bits is one",
        toleration=Toleration("score", "Lt", "1"),
        taint=a_taint("score", str(-(2**63))),
        want=True,
    ),
    TolerationCase(
        name="a number below 64 bits is no number",
        toleration=Toleration("score", "Lt", "1"),
        taint=a_taint("score", str(-(2**63) - 1)),
        want=False,
    ),
    TolerationCase(
        name="numbers may be negative",
        toleration=Toleration("score", "Gt", "-2"),
        taint=a_taint("score", "-1"),
        want=True,
    ),
    TolerationCase(
        name="leading zeros change nothing",
        toleration=Toleration("score", "Lt", "0" * 5000 + "9"),
        taint=a_taint("score", "+8"),
        want=True,
    ),
    TolerationCase(
        name="a number of the taint beyond 64 bits is no number",
        toleration=Toleration("score", "Gt", "1"),
        taint=a_taint("score", str(2**63)),
        want=False,
    ),
    TolerationCase(
        name="the largest number of 64 bits is one",
        toleration=Toleration("score", "Gt", "1"),
        taint=a_taint("score", str(2**63 - 1)),
        want=True,
    ),
    *(
        TolerationCase(
            name=f"{text!r} is no number",
            toleration=Toleration("score", "Lt", "9"),
            taint=a_taint("score", text),
            want=False,
        )
        for text in ("", "-", "1_0", " 1", "1.0", "٣", "²")
    ),
]


@pytest.mark.parametrize("case", TOLERATIONS, ids=lambda case: case.name)
def test_tolerates(case: TolerationCase) -> None:
    assert tolerates(case.toleration, case.taint) is case.want


# --- Flavors -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    pod_set: PodSet = field(default_factory=a_pod_set)
    flavor: ResourceFlavor = field(default_factory=a_flavor)
    want: Refusal | None = None


SPOT = a_flavor("spot", node_labels={"tier": "spot", "cores": "64"})


def pods_with_affinity(*terms: tuple[Requirement, ...]) -> PodSet:
    return a_pod_set(affinity=terms)


def tier(operator: str, *values: str) -> Requirement:
    return Requirement("tier", operator, values)


CASES = [
    Case(name="a flavor without labels and taints takes everything"),
    Case(
        name="a taint keeps pods off",
        flavor=a_flavor(node_taints=(a_taint(effect="NoSchedule"),)),
        want=UntoleratedTaint(a_taint(effect="NoSchedule")),
    ),
    Case(
        name="a taint that evicts keeps pods off as well",
        flavor=a_flavor(node_taints=(a_taint(effect="NoExecute"),)),
        want=UntoleratedTaint(a_taint(effect="NoExecute")),
    ),
    Case(
        name="a taint that is a mere preference does not",
        flavor=a_flavor(node_taints=(a_taint(effect="PreferNoSchedule"),)),
    ),
    Case(
        name="the pods tolerate the taint",
        pod_set=a_pod_set(tolerations=(Toleration("gpu", "Exists"),)),
        flavor=a_flavor(node_taints=(a_taint("gpu"),)),
    ),
    Case(
        name="the flavor tolerates the taint for them",
        flavor=a_flavor(node_taints=(a_taint("gpu"),), tolerations=(Toleration("gpu", "Exists"),)),
    ),
    Case(
        name="every taint has to be tolerated; the first that is not is named",
        pod_set=a_pod_set(tolerations=(Toleration("a", "Exists"),)),
        flavor=a_flavor(
            node_taints=(a_taint("a"), a_taint("b"), a_taint("c")),
            tolerations=(Toleration("c", "Exists"),),
        ),
        want=UntoleratedTaint(a_taint("b")),
    ),
    Case(
        name="the node selector asks for what the flavor has",
        pod_set=a_pod_set(node_selector=(("tier", "spot"),)),
        flavor=SPOT,
    ),
    Case(
        name="the node selector asks for something else",
        pod_set=a_pod_set(node_selector=(("tier", "reserved"),)),
        flavor=SPOT,
        want=SelectorMismatch("tier", wanted="reserved", has="spot"),
    ),
    Case(
        name="labels the flavor does not list are no business of the flavor",
        pod_set=a_pod_set(node_selector=(("zone", "a"), ("tier", "spot"))),
        flavor=SPOT,
    ),
    Case(name="In", pod_set=pods_with_affinity((tier("In", "a", "spot"),)), flavor=SPOT),
    Case(
        name="not In",
        pod_set=pods_with_affinity((tier("In", "a", "b"),)),
        flavor=SPOT,
        want=AffinityMismatch(((tier("In", "a", "b"),),)),
    ),
    Case(name="NotIn", pod_set=pods_with_affinity((tier("NotIn", "a"),)), flavor=SPOT),
    Case(
        name="not NotIn",
        pod_set=pods_with_affinity((tier("NotIn", "spot"),)),
        flavor=SPOT,
        want=AffinityMismatch(((tier("NotIn", "spot"),),)),
    ),
    Case(name="Exists", pod_set=pods_with_affinity((tier("Exists"),)), flavor=SPOT),
    Case(
        name="DoesNotExist",
        pod_set=pods_with_affinity((tier("DoesNotExist"),)),
        flavor=SPOT,
        want=AffinityMismatch(((tier("DoesNotExist"),),)),
    ),
    Case(
        name="Gt compares numbers",
        pod_set=pods_with_affinity((Requirement("cores", "Gt", ("8",)),)),
        flavor=SPOT,
    ),
    Case(
        name="Lt compares numbers",
        pod_set=pods_with_affinity((Requirement("cores", "Lt", ("8",)),)),
        flavor=SPOT,
        want=AffinityMismatch(((Requirement("cores", "Lt", ("8",)),),)),
    ),
    Case(
        name="a label that is no number is neither more nor less",
        pod_set=pods_with_affinity((tier("Gt", "8"),), (tier("Lt", "8"),)),
        flavor=SPOT,
        want=AffinityMismatch(((tier("Gt", "8"),), (tier("Lt", "8"),))),
    ),
    Case(
        name="all requirements of a term must hold",
        pod_set=pods_with_affinity((tier("Exists"), tier("In", "a"))),
        flavor=SPOT,
        want=AffinityMismatch(((tier("Exists"), tier("In", "a")),)),
    ),
    Case(
        name="one term is enough",
        pod_set=pods_with_affinity((tier("In", "a"),), (tier("In", "spot"),)),
        flavor=SPOT,
    ),
    Case(
        name="requirements on labels the flavor does not list are dropped",
        pod_set=pods_with_affinity((Requirement("zone", "In", ("a",)), tier("In", "spot"))),
        flavor=SPOT,
    ),
    Case(
        name="a refusal tells the terms as reduced to the labels of the flavor",
        pod_set=pods_with_affinity((Requirement("zone", "In", ("a",)), tier("In", "a"))),
        flavor=SPOT,
        want=AffinityMismatch(((tier("In", "a"),),)),
    ),
    Case(
        name="a term with nothing left is satisfied, whatever the others say",
        pod_set=pods_with_affinity((tier("In", "a"),), (Requirement("zone", "In", ("a",)),)),
        flavor=SPOT,
    ),
    Case(
        name="an affinity without terms asks for nothing", pod_set=pods_with_affinity(), flavor=SPOT
    ),
    Case(
        name="taints come before the selector, the selector before affinity",
        pod_set=a_pod_set(node_selector=(("tier", "a"),), affinity=((tier("In", "a"),),)),
        flavor=SPOT,
        want=SelectorMismatch("tier", wanted="a", has="spot"),
    ),
    Case(
        name="a requirement that cannot be evaluated is wrong for every flavor",
        pod_set=pods_with_affinity((tier("In", "a"),), (tier("Has", "x"),)),
        flavor=SPOT,
        want=InvalidAffinity(
            tier("Has", "x"),
            "unknown operator 'Has'; known: In, NotIn, Exists, DoesNotExist, Gt and Lt",
        ),
    ),
    Case(
        name="a term that matches makes up for one that cannot be evaluated",
        pod_set=pods_with_affinity((tier("Has", "x"),), (tier("In", "spot"),)),
        flavor=SPOT,
    ),
    Case(
        name="what cannot be evaluated is not evaluated where the flavor lacks the label",
        pod_set=pods_with_affinity((Requirement("zone", "Has", ("x",)), tier("In", "spot"))),
        flavor=SPOT,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_ineligibility(case: Case) -> None:
    assert ineligibility(case.pod_set, case.flavor) == case.want


@pytest.mark.parametrize(
    "requirement, flaw",
    [
        (tier("In"), "operator In needs at least one value"),
        (tier("NotIn"), "operator NotIn needs at least one value"),
        (tier("Exists", "x"), "operator Exists takes no values, got ['x']"),
        (tier("DoesNotExist", "x"), "operator DoesNotExist takes no values, got ['x']"),
        (tier("Gt"), "operator Gt needs exactly one integer, got []"),
        (tier("Lt", "1", "2"), "operator Lt needs exactly one integer, got ['1', '2']"),
        (tier("Gt", "x"), "operator Gt needs exactly one integer, got ['x']"),
        (
            tier("in", "x"),
            "unknown operator 'in'; known: In, NotIn, Exists, DoesNotExist, Gt and Lt",
        ),
    ],
)
def test_a_flaw_is_named(requirement: Requirement, flaw: str) -> None:
    pods = pods_with_affinity((requirement,))

    assert ineligibility(pods, SPOT) == InvalidAffinity(requirement, flaw)
    selector = LabelSelector((requirement,))
    assert selector_flaw(selector) == f"label tier: {flaw}"
    assert not selects(selector, {"tier": "spot"})


# --- Selectors -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "requirement, labels, want",
    [
        (tier("In", "a", "b"), {"tier": "b"}, True),
        (tier("In", "a", "b"), {"tier": "c"}, False),
        (tier("In", "a", "b"), {}, False),
        (tier("NotIn", "a", "b"), {"tier": "b"}, False),
        (tier("NotIn", "a", "b"), {"tier": "c"}, True),
        (tier("NotIn", "a", "b"), {}, True),
        (tier("Exists"), {"tier": ""}, True),
        (tier("Exists"), {"team": "x"}, False),
        (tier("DoesNotExist"), {"tier": ""}, False),
        (tier("DoesNotExist"), {"team": "x"}, True),
        (tier("Gt", "3"), {"tier": "4"}, True),
        (tier("Gt", "3"), {"tier": "3"}, False),
        (tier("Lt", "3"), {"tier": "2"}, True),
        (tier("Lt", "3"), {}, False),
    ],
)
def test_selects_one_requirement(
    requirement: Requirement, labels: dict[str, str], want: bool
) -> None:
    assert selects(LabelSelector((requirement,)), labels) is want


def test_no_selector_selects_nothing_and_an_empty_one_everything() -> None:
    assert not selects(None, {"tier": "a"})
    assert selects(LabelSelector(), {"tier": "a"})
    assert selects(LabelSelector(), {})


def test_all_requirements_of_a_selector_must_hold() -> None:
    requirements = (tier("In", "a"), Requirement("team", "Exists"))

    for ordered in permutations(requirements):
        selector = LabelSelector(tuple(ordered))
        assert selects(selector, {"tier": "a", "team": "x"})
        assert not selects(selector, {"tier": "a"})
        assert not selects(selector, {"team": "x"})


# --- Laws ----------------------------------------------------------------------------------------

keys = st.sampled_from(["a", "b"])
values = st.sampled_from(["1", "2", "x"])
taints = st.builds(
    Taint, keys, values, st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"])
)
tolerations = st.builds(
    Toleration,
    key=st.sampled_from(["", "a", "b"]),
    operator=st.sampled_from(["Equal", "Exists", "Gt", "Lt"]),
    value=values,
    effect=st.sampled_from(["", "NoSchedule", "NoExecute"]),
)
requirements = st.one_of(
    st.builds(
        Requirement,
        keys,
        st.sampled_from(["In", "NotIn"]),
        st.lists(values, min_size=1, max_size=2).map(tuple),
    ),
    st.builds(Requirement, keys, st.sampled_from(["Exists", "DoesNotExist"])),
    st.builds(Requirement, keys, st.sampled_from(["Gt", "Lt"]), st.sampled_from([("1",), ("2",)])),
)
flavors = st.builds(
    a_flavor,
    node_labels=st.dictionaries(keys, values),
    node_taints=st.lists(taints, max_size=2).map(tuple),
    tolerations=st.lists(tolerations, max_size=1).map(tuple),
)
pods = st.builds(
    a_pod_set,
    node_selector=st.dictionaries(keys, values, max_size=1).map(lambda d: tuple(d.items())),
    affinity=st.lists(st.lists(requirements, max_size=2).map(tuple), max_size=2).map(tuple),
    tolerations=st.lists(tolerations, max_size=2).map(tuple),
)


@given(pod_set=pods, flavor=flavors, toleration=tolerations)
def test_one_more_toleration_never_keeps_pods_off(
    pod_set: PodSet, flavor: ResourceFlavor, toleration: Toleration
) -> None:
    tolerant = a_pod_set(
        node_selector=pod_set.node_selector,
        affinity=pod_set.affinity,
        tolerations=(*pod_set.tolerations, toleration),
    )

    assert ineligibility(pod_set, flavor) is not None or ineligibility(tolerant, flavor) is None


@given(pod_set=pods, flavor=flavors)
def test_a_flavor_takes_pods_exactly_when_one_of_its_nodes_might(
    pod_set: PodSet, flavor: ResourceFlavor
) -> None:
    """Nodes of a flavor have its labels and, for all one knows, any value of any other label."""
    untolerated = [
        taint
        for taint in flavor.node_taints
        if taint.effect != "PreferNoSchedule"
        and not any(tolerates(t, taint) for t in (*pod_set.tolerations, *flavor.tolerations))
    ]
    labels = flavor.node_labels
    selected = all(labels.get(key, value) == value for key, value in pod_set.node_selector)
    allowed = not pod_set.affinity or any(
        all(
            requirement.key not in labels or selects(LabelSelector((requirement,)), labels)
            for requirement in term
        )
        for term in pod_set.affinity
    )

    takes = ineligibility(pod_set, flavor) is None

    assert takes == (not untolerated and selected and allowed)
