"""Text becomes values as kubectl would read them, or is refused with what is wrong and where."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from muster.queue.manifests.parsing import DEPTH_MAX, SyntaxProblem, parse


def values(text: str, *, is_json: bool = False) -> list[Any]:
    return [document.value for document in parse(text, is_json=is_json)]


def flaws(text: str) -> list[tuple[int | None, str]]:
    return [
        (flaw.line, flaw.message)
        for document in parse(text, is_json=False)
        for flaw in document.flaws
    ]


def refusal(text: str, *, is_json: bool = False) -> tuple[int | None, str]:
    with pytest.raises(SyntaxProblem) as caught:
        values(text, is_json=is_json)
    return caught.value.line, caught.value.message


@pytest.mark.parametrize(
    "written, read",
    [
        ("text", "text"),
        ("'12'", "12"),
        ("12", 12),
        ("-7", -7),
        ("+7", 7),
        ("0x1F", 31),
        ("0o17", "0o17"),
        ("0777", 511),
        ("1_000", 1000),
        ("0.5", 0.5),
        ("1e3", "1e3"),
        ("true", True),
        ("yes", True),
        ("off", False),
        ("~", None),
        ("", None),
        ("500m", "500m"),
        ("12:30", "12:30"),
        ("1:30.5", "1:30.5"),
        ("2026-01-31", "2026-01-31"),
        ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"),
        ("!!str 12", "12"),
        ("=", "="),
    ],
)
def test_scalars_are_read_as_kubectl_reads_them(written: str, read: object) -> None:
    [value] = values(f"key: {written}")

    assert value == {"key": read}
    assert type(value["key"]) is type(read)


@pytest.mark.parametrize("key", ["1", "true", "2026-01-31", "0.5", "yes"])
def test_keys_are_text_as_written(key: str) -> None:
    assert values(f"{key}: x") == [{key: "x"}]


def test_several_documents() -> None:
    assert values("a: 1\n---\n---\n# nothing\n---\nb: 2\n") == [{"a": 1}, None, None, {"b": 2}]


def test_documents_know_their_line() -> None:
    documents = list(parse("# comment\na: 1\n---\n\nb: 2\n", is_json=False))

    assert [document.line for document in documents] == [2, 5]


def test_aliases_and_merges() -> None:
    text = "base: &base {a: 1, b: 2}\nother: &other {b: 3, c: 4}\nx: {<<: [*base, *other], b: 5}"

    assert values(text)[0]["x"] == {"a": 1, "b": 5, "c": 4}


def test_the_earlier_merge_wins() -> None:
    text = "one: &one {a: 1}\ntwo: &two {a: 2}\nx: {<<: [*one, *two]}"

    assert values(text)[0]["x"] == {"a": 1}


JSON_STREAM = '{"a": 1}\n{"b": [1.5, null, "x"]}'


def test_json_documents_may_follow_each_other() -> None:
    assert values(JSON_STREAM) == [{"a": 1}, {"b": [1.5, None, "x"]}]
    assert values(JSON_STREAM, is_json=True) == [{"a": 1}, {"b": [1.5, None, "x"]}]


def test_yaml_in_flow_style_only_looks_like_json() -> None:
    assert values("{a: 1, b: [x]}") == [{"a": 1, "b": ["x"]}]


@dataclass(frozen=True)
class Flawed:
    name: str
    text: str
    line: int | None
    message: str


FLAWED = [
    Flawed("a key twice", "a: 1\nb: 2\na: 3", 3, "the key 'a' is given twice, first in line 1"),
    Flawed(
        "a key twice, deep",
        "x:\n- y:\n    cpu: 1\n    cpu: 2",
        4,
        "the key 'cpu' is given twice, first in line 3",
    ),
    Flawed("a key twice in JSON", '{"a": 1, "b": 3, "a": 2}', None, "the key 'a' is given 2 times"),
    Flawed("no number in JSON", '{"a": NaN}', None, "NaN is not a number"),
    Flawed("no number", "a: .inf", 1, ".inf is not a usable number"),
    Flawed("a mapping as key", "? {a: 1}\n: 2", 1, "a key must be text"),
    Flawed("an empty key", "? \n: 2", 1, "a key must be text"),
    Flawed("a tag of one's own", "a: !secret x", 1, "the tag !secret is not understood: remove it"),
    Flawed("a set", "a: !!set {x}", 1, "the tag !!set is not understood: remove it"),
    Flawed("a merge of text", "a: {<<: x}", 1, "<< must be followed by mappings to merge"),
    Flawed("digits", f"a: {'9' * 5000}", 1, f"'{'9' * 58}… is not a usable number"),
]


@pytest.mark.parametrize("case", FLAWED, ids=lambda case: case.name)
def test_flaws(case: Flawed) -> None:
    assert flaws(case.text) == [(case.line, case.message)]


TOO_DEEP = f"is nested more than {DEPTH_MAX} levels deep (or contains itself)"


@dataclass(frozen=True)
class Refused:
    name: str
    text: str
    line: int | None
    message: str
    is_json: bool = False


REFUSED = [
    Refused("nested lists", "[" * 10_000 + "]" * 10_000, None, TOO_DEEP),
    Refused("nested mappings", "{a: " * 10_000 + "}" * 10_000, 1, TOO_DEEP),
    Refused("nested by indentation", "".join(" " * i + "a:\n" for i in range(500)), 101, TOO_DEEP),
    Refused("nested JSON", '{"a":' * 10_000 + "1" + "}" * 10_000, None, TOO_DEEP, is_json=True),
    Refused("a list in itself", "a: &a [*a]", 1, TOO_DEEP),
    Refused("a tab", "a:\n\t- b", 2, "not YAML: a tab where only spaces may indent"),
    Refused("two colons", "a: b: c", 1, "not YAML: mapping values are not allowed in this context"),
    Refused(
        "no end of a list",
        "a: [1, 2\nb: 3",
        2,
        "not YAML: did not find expected ',' or ']' while parsing a flow sequence",
    ),
    Refused("an unknown alias", "a: *b", 1, "not YAML: found undefined alias"),
    Refused("binary", "a\0b: 1", None, "not text: it contains characters that YAML does not allow"),
    Refused(
        "bad JSON",
        '{"a": 1,\n "b" 2}',
        2,
        "not JSON: expecting ':' delimiter",
        is_json=True,
    ),
    Refused(
        "digits in JSON",
        f'{{"a": {"9" * 5000}}}',
        None,
        "a number has more digits than can be read",
        is_json=True,
    ),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_refused(case: Refused) -> None:
    assert refusal(case.text, is_json=case.is_json) == (case.line, case.message)


def test_aliases_that_unfold_without_end_are_refused() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]"
        for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    ]

    assert refusal("\n".join(lines)) == (1, "aliases unfold it to more than can be meant")


def test_the_deepest_nesting_that_is_read() -> None:
    text = "[" * DEPTH_MAX + "]" * DEPTH_MAX

    assert len(values(text)) == 1
    assert refusal(f"[{text}]") == (None, TOO_DEEP)


@pytest.mark.parametrize(
    "path, line",
    [
        ("spec", 3),
        ("spec.podSets[1].count", 8),
        ("spec.podSets[1]", 7),
        ("spec.podSets[0].requests[nvidia.com/gpu]", 6),
        ("spec.podSets[0].nothing", 5),
        ("spec.podSets[7].count", 4),
        ("spec.podSets[x]", 4),
        ("nothing", 2),
        ("", 2),
    ],
)
def test_the_line_of_a_path(path: str, line: int) -> None:
    text = """# comment
kind: X
spec:
  podSets:
  - name: a
    requests: {nvidia.com/gpu: 1}
  - name: b
    count: 2
"""
    [document] = parse(text, is_json=False)

    assert document.line_of(path) == line


texts = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=8)
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda children: st.lists(children, max_size=4) | st.dictionaries(texts, children, max_size=4),
    max_leaves=20,
)


@given(document=st.dictionaries(texts, documents, min_size=1))
def test_what_was_written_is_read(document: dict[str, Any]) -> None:
    """The same in JSON, in YAML, and in YAML that looks like JSON."""
    as_yaml = yaml.safe_dump(document, allow_unicode=True)
    as_flow = yaml.safe_dump(document, allow_unicode=True, default_flow_style=True)

    assert values(json.dumps(document), is_json=True) == [document]
    assert values(as_yaml) == [document]
    assert values(as_flow) == [document]
