"""Paths into documents, as definitions and kubectl write them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.queue.sandbox.kinds.jsonpath import JsonPath, PathError, as_text

DOCUMENT = {
    "metadata": {"annotations": {"example.com/a": "dotted"}},
    "list": [1, 2, 3, 4],
    "entries": [
        {"name": "a", "size": 1, "ready": True},
        {"name": "b)", "size": 2, "ready": False},
        {"name": 'c"', "ratio": 0.5},
    ],
    "nothing": None,
}

FOUND: list[tuple[str, list[Any]]] = [
    (".list", [[1, 2, 3, 4]]),
    (".list[0]", [1]),
    (".list[-1]", [4]),
    (".list[*]", [1, 2, 3, 4]),
    (".list[1:3]", [2, 3]),
    (".list[::2]", [1, 3]),
    (".list[-2:]", [3, 4]),
    (".list[:-1]", [1, 2, 3]),
    (".list[2:2]", []),
    (".list[0,2]", [1, 3]),
    (".missing", []),
    (".missing.below", []),
    (".missing[0]", []),
    (".list.below", []),
    (".nothing", [None]),
    (".nothing[0]", []),
    (r".metadata.annotations.example\.com/a", ["dotted"]),
    (r".metadata.annotations['example\.com/a']", ["dotted"]),
    (".metadata['annotations']", [{"example.com/a": "dotted"}]),
    (".entries[*].name", ["a", "b)", 'c"']),
    (".entries[*]['name','size']", ["a", "b)", 'c"', 1, 2]),
    (".metadata.*", [{"example.com/a": "dotted"}]),
    ("..name", ["a", "b)", 'c"']),
    ('.entries[?(@.name=="a")].size', [1]),
    (".entries[?(@.name=='b)')].size", [2]),
    (r'.entries[?(@.name=="c\"")].ratio', [0.5]),
    (".entries[?(@.ratio)].name", ['c"']),
    (".entries[?(@.size>1)].name", ["b)"]),
    (".entries[?(@.size>=1)].name", ["a", "b)"]),
    (".entries[?(@.size<2)].name", ["a"]),
    (".entries[?(@.size<=2)].name", ["a", "b)"]),
    (".entries[?(@.size!=1)].name", ["b)"]),
    (".entries[?(@.ready==true)].name", ["a"]),
    (".entries[?(@.ratio==0.5)].name", ['c"']),
    ("$.list[0]", [1]),
    ("", [DOCUMENT]),
]


@pytest.mark.parametrize("path, values", FOUND)
def test_a_path_finds_values(path: str, values: list[Any]) -> None:
    assert JsonPath(path).find(DOCUMENT) == values


UNREADABLE = [
    ".list[",
    ".list[x]",
    ".list[?(@.a==1)",
    "a",
    ".a]",
    ".list[?(@.a=1)]",
    "{.a}",
    "1.2.3",
]


@pytest.mark.parametrize("path", UNREADABLE)
def test_a_path_may_be_unreadable(path: str) -> None:
    with pytest.raises(PathError):
        JsonPath(path)


MISGUIDED = [
    ".list[9]",
    ".list[-9]",
    ".list[3:9]",
    ".list[3:1]",
    ".list[0:2:0]",
    ".metadata[0]",
    ".metadata[?(@.a)]",
    '.entries[?(@.size=="a")]',
    ".entries[?(@.size==1.5)]",
    ".entries[?(@.size[*]==1)]",
    "..[?(@.a==1)]",
]


@pytest.mark.parametrize("path", MISGUIDED)
def test_a_path_may_ask_the_wrong_thing(path: str) -> None:
    with pytest.raises(PathError):
        JsonPath(path).find({**DOCUMENT, "entries": [{"size": [1, 2]}, {"size": 1}]})


TEXTS: list[tuple[Any, str]] = [
    ("text", "text"),
    (True, "true"),
    (False, "false"),
    (None, "<no value>"),
    (7, "7"),
    (1.5, "1.5"),
    (123456.5, "123456.5"),
    (1234567.5, "1.2345675e+06"),
    (0.0001, "0.0001"),
    (0.00001, "1e-05"),
    (-2.5e-7, "-2.5e-07"),
    (1e20, "1e+20"),
    (1e100, "1e+100"),
    ([1, "a"], '[1,"a"]'),
    ({"b": 1, "a": "<&>"}, r'{"a":"\u003c\u0026\u003e","b":1}'),
]


@pytest.mark.parametrize("value, text", TEXTS)
def test_a_value_is_shown_as_text(value: Any, text: str) -> None:
    assert as_text(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_text_of_a_number_is_that_number(value: float) -> None:
    assert float(as_text(value)) == value
