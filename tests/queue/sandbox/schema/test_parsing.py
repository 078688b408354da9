"""Texts of all kinds as values: what a real server makes of them, and what it refuses."""

import json
import time

import pytest

from muster.queue.sandbox.schema.parsing import DEPTH_MAX, ParseError, parse_json, parse_yaml
from tests.queue.api.manifests import Manifest

# As a real server tells them: numbers, then what only looks like one, then tags.
SCALARS: dict[str, object] = {
    "0o17": 15,
    "017": 15,
    "08": 8,
    "0_8": 8,
    "1_": 1,
    "1__0": 10,
    "0x1F": 31,
    "-0x1": -1,
    "0b101": 5,
    "-0": 0,
    "1e3": 1000,
    ".5": 0.5,
    "5.": 5,
    "-.5e1": -5,
    "1_.5": 1.5,
    "18446744073709551615": 2**64 - 1,
    "18446744073709551616": 2.0**64,
    "-9223372036854775809": -(2.0**63),
    "01777777777777777777777777": 1777777777777777777777777.0,
    "0b_": "0b_",
    "0x_": "0x_",
    "0o_": "0o_",
    "0o8": "0o8",
    "._1": "._1",
    "1.e": "1.e",
    "1e": "1e",
    "_1": "_1",
    "1:30": "1:30",
    "1:2.5": "1:2.5",
    "1e999": "1e999",
    "1" * 400: "1" * 400,
    "1" * 5000: "1" * 5000,
    "0xFFFFFFFFFFFFFFFFF": "0xFFFFFFFFFFFFFFFFF",
    "2001-01-01": "2001-01-01",
    "yEs": "yEs",
    "nULL": "nULL",
    "<<": "<<",
    "=": "=",
    "On": True,
    "y": True,
    "N": False,
    "~": None,
    '!!int "5"': 5,
    "!!int 0x1f": 31,
    "!!float 1": 1,
    '!!bool "yes"': True,
    '!!null ""': None,
    "!!str 1": "1",
    "!!binary aGk=": "hi",
    "!!binary /w==": "\ufffd",
    "!!timestamp 2001-01-01": "2001-01-01",
    "!!set {a, b}": {"a": None, "b": None},
    "!!omap [a: 1]": [{"a": 1}],
    "!!seq {}": {},
    "!!map a": "a",
    "!foo bar": "bar",
    "!!python/name:os.system x": "x",
    "!!python/object/apply:os.system [x]": ["x"],
}
BAD_YAML = {
    "!!int x": "yaml: cannot decode !!str `x` as a !!int",
    "!!int 190:20:30": "yaml: cannot decode !!str `190:20:30` as a !!int",
    "!!float x": "yaml: cannot decode !!str `x` as a !!float",
    "!!bool maybe": "yaml: cannot decode !!str `maybe` as a !!bool",
    "!!null x": "yaml: cannot decode !!str `x` as a !!null",
    '!!binary "%%"': "yaml: !!binary value contains invalid base64 data",
    ".inf": "json: unsupported value: .inf",
    "-.Inf": "json: unsupported value: -.Inf",
    ".NaN": "json: unsupported value: .NaN",
    "&a [*a]": "yaml: line 1",
    "&a {b: *a}": "yaml: line 1",
    "{<<: *x}": "yaml: line 1",
    "[" * 5000: "yaml: line 1",
    "[" * 900 + "]" * 900: "yaml: ",
}


def nested(depth: int, opening: str = '{"a":') -> str:
    """Return a value in so many objects, or lists, all told."""
    closing = "}" if opening.startswith("{") else "]"
    return f"{opening * depth}1{closing * depth}"


@pytest.mark.parametrize("text", SCALARS, ids=lambda text: text[:30])
def test_a_yaml_value_means_what_it_means_to_a_real_server(text: str) -> None:
    assert parse_yaml(f"a: {text}".encode()) == ({"a": SCALARS[text]}, [])


@pytest.mark.parametrize("text", BAD_YAML, ids=lambda text: text[:30])
def test_yaml_without_a_meaning_is_refused(text: str) -> None:
    with pytest.raises(ParseError, match=BAD_YAML[text].replace(".", "[.]")):
        parse_yaml(f"a: {text}".encode())


def aliases(levels: int, each: int, start: str = "&a0 [x, x, x]", merge: str = "") -> bytes:
    """Return a document whose value has `each` to the power of `levels` copies of its start."""
    lines = [f"a0: {start}"]
    for level in range(1, levels + 1):
        many = ", ".join(each * [f"*a{level - 1}"])
        lines.append(
            f"a{level}: &a{level} {{<<: [{many}]}}" if merge else f"a{level}: &a{level} [{many}]"
        )
    return "\n".join(lines).encode()


@pytest.mark.parametrize(
    "document",
    [
        aliases(4, 9),
        aliases(9, 9),
        aliases(100, 2),
        aliases(9, 9, "&a0 {x: 1}", "merge"),
        b"a: &a [" + b"x," * 10_000 + b"]\nb: [" + b"*a," * 10_000 + b"]",
    ],
    ids=["some", "many", "deep", "merged", "wide"],
)
def test_aliases_that_blow_up_a_document_are_refused(document: bytes) -> None:
    with pytest.raises(ParseError, match="yaml: document contains excessive aliasing"):
        parse_yaml(document)


def test_a_few_aliases_are_what_they_stand_for() -> None:
    value, _ = parse_yaml(b"a: &a {x: 1}\nb: [*a, *a]\nc: {<<: *a, z: 2}")

    assert value == {"a": {"x": 1}, "b": [{"x": 1}, {"x": 1}], "c": {"x": 1, "z": 2}}


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1" * 400, "1" * 5000, "-" + "1" * 400])
@pytest.mark.parametrize("text", ['{{"a":{}}}', '{{"a":1,"a":{}}}'])
def test_numbers_beyond_all_numbers_are_refused(number: str, text: str) -> None:
    with pytest.raises(ParseError, match=f"cannot unmarshal number {number} into Go value"):
        parse_json(text.format(number).encode())


@pytest.mark.parametrize("number", [2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 10**30])
def test_numbers_of_more_than_64_bits_are_floats(number: int) -> None:
    plain, _ = parse_json(b'{"a":%d}' % number)
    repeated, _ = parse_json(b'{"a":1,"a":%d}' % number)

    expected = number if -(2**63) <= number < 2**64 else float(number)
    assert (plain, repeated) == ({"a": expected}, {"a": expected})
    assert type(plain["a"]) is type(repeated["a"]) is type(expected)


@pytest.mark.parametrize("opening", ['{"a":', "[", '{"a":0,"a":'])
@pytest.mark.parametrize("depth", [DEPTH_MAX + 1, 255, 330, 900, 990, 1100, 10_000, 200_000])
def test_too_many_levels_are_refused(opening: str, depth: int) -> None:
    for parse in (parse_json, parse_yaml):
        with pytest.raises(ParseError, match="exceeded max"):
            parse(nested(depth, opening).encode())


@pytest.mark.parametrize("opening", ['{"a":', "["])
def test_as_many_levels_as_there_may_be_are_read(opening: str) -> None:
    text = nested(DEPTH_MAX, opening)

    assert parse_json(text.encode()) == (json.loads(text), [])
    assert parse_yaml(b"#\n" + text.encode()) == (json.loads(text), [])


def test_many_repeated_fields_take_no_longer_than_others() -> None:
    fields: list[Manifest] = [{f"k{number}": 1} for number in range(50_000)]
    text = ",".join(json.dumps(field)[1:-1] for field in fields)
    started_s = time.monotonic()

    _, faults = parse_json(f"{{{text},{text}}}".encode())

    assert time.monotonic() - started_s < 5
    assert len(faults) == len(fields)
