"""Hypothesis strategies for JSON documents."""

from typing import Any

from hypothesis import strategies as st

Map = dict[str, Any]

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b"])
NAMES = st.sampled_from(["a", "b", "c", "a/b", "m~n"])


def documents(scalars: st.SearchStrategy[Any] = SCALARS) -> st.SearchStrategy[Map]:
    """Return objects a few levels deep, of few names, so that two of them overlap."""
    values = st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
        max_leaves=8,
    )
    return st.dictionaries(NAMES, values, max_size=4)
