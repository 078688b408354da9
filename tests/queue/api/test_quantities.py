"""Quantities are read as Kubernetes reads them, and refused with a hint where it refuses them."""

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.admission.amounts import INFINITE
from muster.queue.api import quantities
from muster.queue.api.quantities import (
    LENGTH_MAX,
    NANO,
    QUANTITY_PATTERN,
    QuantityError,
    amount_quantity,
    format_quantity,
    parse_quantity,
    quota_amount,
    request_amount,
)

GOOD = {
    # one row a suffix
    "7n": 7,
    "7u": 7 * 10**3,
    "7m": 7 * 10**6,
    "7": 7 * NANO,
    "7k": 7 * 10**3 * NANO,
    "7M": 7 * 10**6 * NANO,
    "7G": 7 * 10**9 * NANO,
    "7T": 7 * 10**12 * NANO,
    "7P": 7 * 10**15 * NANO,
    "7E": 7 * 10**18 * NANO,
    "7Ki": 7 * 2**10 * NANO,
    "7Mi": 7 * 2**20 * NANO,
    "7Gi": 7 * 2**30 * NANO,
    "7Ti": 7 * 2**40 * NANO,
    "7Pi": 7 * 2**50 * NANO,
    "7Ei": 7 * 2**60 * NANO,
    # exponents, and the E that is none
    "7e3": 7000 * NANO,
    "7E3": 7000 * NANO,
    "7e+3": 7000 * NANO,
    "7e-3": 7 * 10**6,
    "7e0": 7 * NANO,
    # forms of the number
    "0": 0,
    "-0": 0,
    "0Ei": 0,
    "007": 7 * NANO,
    "+7": 7 * NANO,
    "-7": -7 * NANO,
    "7.": 7 * NANO,
    ".5": NANO // 2,
    "0.5Gi": 2**29 * NANO,
    "1.5Gi": 3 * 2**29 * NANO,
    "-0.5m": -500_000,
    # a part of a nano-unit counts as one, away from zero
    "0.1n": 1,
    "-0.1n": -1,
    "1.000000000001": NANO + 1,
    "1e-999999999": 1,
    "0.3Ki": 307_200_000_000,
    "0.0000000001Ki": 103,
    # beyond 64 bits is the largest 64-bit number
    "8Ei": INFINITE * NANO,
    "100E": INFINITE * NANO,
    "-100E": -INFINITE * NANO,
    "1e999999999": INFINITE * NANO,
    "9" * LENGTH_MAX: INFINITE * NANO,
}


@pytest.mark.parametrize("text", GOOD)
def test_a_quantity_is_its_number_times_its_suffix(text: str) -> None:
    assert parse_quantity(text) == GOOD[text]


@pytest.mark.parametrize("value, nanos", [(3, 3 * NANO), (-3, -3 * NANO), (0.5, NANO // 2)])
def test_numbers_of_json_are_quantities(value: object, nanos: int) -> None:
    assert parse_quantity(value) == nanos


def test_a_huge_json_number_is_capped_like_text() -> None:
    assert parse_quantity(10**5000) == INFINITE * NANO


BAD = {
    "": "an empty string",
    "1K": "did you mean 1k (x 1000) or 1Ki (x 1024)?",
    "1.5K": "did you mean 1.5k (x 1000) or 1.5Ki (x 1024)?",
    "1 Gi": "remove the space; did you mean 1Gi?",
    " 1": "remove the space; did you mean 1?",
    "1\n": "remove the space; did you mean 1?",
    "1 K": "remove the space; did you mean 1k (x 1000) or 1Ki (x 1024)?",
    "1_000": "digits are not grouped; did you mean 1000?",
    "1,000Mi": "digits are not grouped; did you mean 1000Mi?",
    "80GB": "did you mean 80G (x 1000^3) or 80Gi (x 1024^3)?",
    "80g": "did you mean 80G (x 1000^3) or 80Gi (x 1024^3)?",
    "80GiB": "did you mean 80Gi?",
    "80gi": "did you mean 80Gi?",
    "NaN": "a quantity is a number",
    "Inf": "a quantity is a number",
    "0x1": "a quantity is a number",
    ".": "a quantity is a number",
    "-": "a quantity is a number",
    "K": "a quantity is a number",
    "1e": "did you mean 1E (x 1000^6) or 1Ei (x 1024^6)?",
    "1e1.5": "a quantity is a number",
    "1mm": "a quantity is a number",
    "--1": "a quantity is a number",
    "1.2.3": "a quantity is a number",
    "٣": "a quantity is a number",
    "1" * (LENGTH_MAX + 1): f"longer than {LENGTH_MAX} characters",
}


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_quantity_is_refused_with_the_likely_intention(text: str) -> None:
    with pytest.raises(QuantityError) as caught:
        parse_quantity(text)

    assert BAD[text] in str(caught.value)
    assert repr(text[:20])[:-1] in str(caught.value) or text == ""


@pytest.mark.parametrize(
    "value, name",
    [
        (True, "true"),
        (None, "nothing"),
        ([1], "a list"),
        ({}, "a mapping"),
        (float("nan"), "nan"),
        (1 / 3, "too many digits"),
    ],
)
def test_other_values_are_no_quantities(value: object, name: str) -> None:
    with pytest.raises(QuantityError, match=name):
        parse_quantity(value)


# --- Canonical text ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, decimal, binary",
    [
        ("0", "0", "0"),
        ("0.5", "500m", "500m"),
        ("1000m", "1", "1"),
        ("1500m", "1500m", "1500m"),
        ("1000", "1k", "1k"),
        ("1023", "1023", "1023"),
        ("1024", "1024", "1Ki"),
        ("1536", "1536", "1536"),
        ("1.5Gi", "1610612736", "1536Mi"),
        ("1048576000", "1048576k", "1000Mi"),
        ("-2Gi", "-2147483648", "-2Gi"),
        ("1024.5", "1024500m", "1024500m"),
        ("3n", "3n", "3n"),
        ("1E", "1E", "976562500000000Ki"),
    ],
)
def test_canonical_text_takes_the_largest_suffix_without_a_fraction(
    text: str, decimal: str, binary: str
) -> None:
    nanos = parse_quantity(text)

    assert format_quantity(nanos, "decimal") == decimal
    assert format_quantity(nanos, "binary") == binary


# --- Amounts of the engine -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "resource, quantity, quota, request_",
    [
        ("cpu", "2", 2000, 2000),
        ("cpu", "100u", 1, 1),
        ("cpu", "1.0001", 1001, 1001),
        ("memory", "1Ki", 1024, 1024),
        ("memory", "0.1", 1, 1),
        ("memory", "-1.5", -2, -2),
        ("cpu", "9223372036854774", INFINITE - 1807, INFINITE - 1807),
        ("cpu", "9223372036854775", INFINITE, INFINITE - 807),
        ("cpu", "1E", INFINITE, INFINITE),
        ("memory", "9223372036854775806", INFINITE - 1, INFINITE - 1),
        ("memory", "8Ei", INFINITE, INFINITE),
        ("cpu", "-1E", -(10**21), -(2**63)),
    ],
)
def test_amounts_round_up_and_saturate(
    resource: str, quantity: str, quota: int, request_: int
) -> None:
    assert quota_amount(resource, quantity) == quota
    assert request_amount(resource, quantity) == request_


@pytest.mark.parametrize(
    "resource, amount, text",
    [
        ("cpu", 1500, "1500m"),
        ("cpu", 2000, "2"),
        ("cpu", 1_000_000, "1k"),
        ("memory", 2**30, "1Gi"),
        ("ephemeral-storage", 2**20, "1Mi"),
        ("hugepages-2Mi", 2**21, "2Mi"),
        ("nvidia.com/gpu", 1024, "1024"),
        ("pods", 0, "0"),
    ],
)
def test_amounts_are_written_as_kubernetes_writes_them(
    resource: str, amount: int, text: str
) -> None:
    assert amount_quantity(resource, amount) == text


# --- Properties ----------------------------------------------------------------------------------

DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12}
FACTORS = {suffix: Fraction(10) ** exponent for suffix, exponent in DECIMAL.items()} | {
    f"{prefix}i": Fraction(1024) ** power for power, prefix in enumerate("KMGTP", 1)
}


@given(
    sign=st.sampled_from(["", "-"]),
    whole=st.integers(0, 5000),
    fraction=st.text("0123456789", max_size=12),
    suffix=st.sampled_from(sorted(FACTORS)),
)
def test_the_value_agrees_with_fractions(sign: str, whole: int, fraction: str, suffix: str) -> None:
    """A second definition: the exact value, rounded away from zero, capped."""
    exact = (whole + Fraction(int(fraction or 0), 10 ** len(fraction))) * FACTORS[suffix] * NANO
    nanos = min(-(-exact.numerator // exact.denominator), INFINITE * NANO)

    assert parse_quantity(f"{sign}{whole}.{fraction}{suffix}") == (-nanos if sign else nanos)


@given(
    nanos=st.integers(-INFINITE * NANO, INFINITE * NANO)
    | st.integers(-3000, 3000).map(lambda n: n * NANO)
    | st.integers(-40, 40).map(lambda n: n * 2**30 * NANO),
    style=st.sampled_from(["decimal", "binary"]),
)
def test_canonical_text_reads_back_as_the_same_value(nanos: int, style: str) -> None:
    text = format_quantity(nanos, "binary" if style == "binary" else "decimal")

    assert parse_quantity(text) == nanos
    assert format_quantity(parse_quantity(text), "decimal") == format_quantity(nanos, "decimal")


@given(
    resource=st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]),
    amount=st.integers(0, INFINITE // 1000 - 1),
)
def test_an_amount_survives_being_written(resource: str, amount: int) -> None:
    text = amount_quantity(resource, amount)

    assert request_amount(resource, text) == amount
    assert quota_amount(resource, text) == amount


@given(
    text=st.text("0123456789.+-eEKMGTPimnuk _,B", max_size=8)
    | st.from_regex(QUANTITY_PATTERN, alphabet="0123456789.+-eEKMGTPimnuk").filter(
        lambda text: len(text) <= LENGTH_MAX
    )
)
def test_text_is_read_exactly_when_the_grammar_allows_it(text: str) -> None:
    if re.search(QUANTITY_PATTERN.replace("$", r"\Z"), text):
        assert isinstance(parse_quantity(text), int)
    else:
        with pytest.raises(QuantityError, match="quantity"):
            parse_quantity(text)


def test_what_is_remembered_is_bounded() -> None:
    for number in range(quantities._CACHE_MAX + 1):
        parse_quantity(f"{number}m")

    assert 0 < len(quantities._known) <= quantities._CACHE_MAX
    assert parse_quantity("7m") == 7 * 10**6
