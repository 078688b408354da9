"""
What names and labels may look like: each rule returns what is wrong with a text.

The sentences are those that people know from Kubernetes. Rules are pure functions of the text, and
remember what they have seen: the same few names come with every request.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

LABEL_MAX: Final = 63
SUBDOMAIN_MAX: Final = 253
MEMORY: Final = 8192
"""How many texts a rule remembers."""

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_OLD_LABEL: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

_LABEL_SAYS: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must"
    " start and end with an alphanumeric character"
)
_SUBDOMAIN_SAYS: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.',"
    " and must start and end with an alphanumeric character"
)
_OLD_LABEL_SAYS: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an"
    " alphabetic character, and end with an alphanumeric character"
)
_KEY_SAYS: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
    " alphanumeric character"
)
_LABEL_VALUE_SAYS: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.',"
    " and must start and end with an alphanumeric character"
)


def pattern_error(says: str, pattern: str, *examples: str) -> str:
    """Return what is said of a text that does not match a pattern."""
    shown = "".join(
        f"{' or ' if index else ''}'{example}', " for index, example in enumerate(examples)
    )
    return f"{says} ({'e.g. ' if examples else ''}{shown}regex used for validation is '{pattern}')"


def too_long(limit: int, unit: str = "characters") -> str:
    """Return what is said of a text that is too long."""
    return f"must be no more than {limit} {unit}"


@lru_cache(MEMORY)
def dns_label(value: str) -> tuple[str, ...]:
    """Of namespaces and containers: one part of a domain name."""
    wrong = []
    if len(value) > LABEL_MAX:
        wrong.append(too_long(LABEL_MAX))
    if not re.fullmatch(_LABEL, value):
        if re.fullmatch(_SUBDOMAIN, value):
            wrong.append("must not contain dots")
        else:
            wrong.append(pattern_error(_LABEL_SAYS, _LABEL, "my-name", "123-abc"))
    return tuple(wrong)


@lru_cache(MEMORY)
def dns_subdomain(value: str) -> tuple[str, ...]:
    """Of most objects: a domain name in lower case."""
    return _subdomain(value, "characters")


def _subdomain(value: str, unit: str) -> tuple[str, ...]:
    wrong = []
    if len(value) > SUBDOMAIN_MAX:
        wrong.append(too_long(SUBDOMAIN_MAX, unit))
    if not re.fullmatch(_SUBDOMAIN, value):
        wrong.append(pattern_error(_SUBDOMAIN_SAYS, _SUBDOMAIN, "example.com"))
    return tuple(wrong)


@lru_cache(MEMORY)
def dns_1035_label(value: str) -> tuple[str, ...]:
    """Of services: a part of a domain name that starts with a letter."""
    wrong = []
    if len(value) > LABEL_MAX:
        wrong.append(too_long(LABEL_MAX))
    if not re.fullmatch(_OLD_LABEL, value):
        wrong.append(pattern_error(_OLD_LABEL_SAYS, _OLD_LABEL, "my-name", "abc-123"))
    return tuple(wrong)


@lru_cache(MEMORY)
def label_key(value: str) -> tuple[str, ...]:
    """Of labels, resources and finalizers: a name, and before a slash maybe a domain."""
    pattern = pattern_error(_KEY_SAYS, _KEY, "MyName", "my.name", "123-abc")
    prefix, slash, name = value.partition("/")
    if not slash:
        prefix, name = "", value
    if "/" in name:
        domain = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return (f"a valid label key {pattern} {domain}",)
    wrong = []
    if slash and not prefix:
        wrong.append("prefix part must be non-empty")
    elif prefix:
        wrong += [f"prefix part {each}" for each in _subdomain(prefix, "bytes")]
    if not name:
        wrong.append("name part must be non-empty")
    elif len(name) > LABEL_MAX:
        wrong.append(f"name part {too_long(LABEL_MAX, 'bytes')}")
    if not re.fullmatch(_KEY, name):
        wrong.append(f"name part {pattern}")
    return tuple(wrong)


@lru_cache(MEMORY)
def label_value(value: str) -> tuple[str, ...]:
    """Of labels: a short word, or nothing."""
    wrong = []
    if len(value) > LABEL_MAX:
        wrong.append(too_long(LABEL_MAX, "bytes"))
    pattern = f"({_KEY})?"
    if not re.fullmatch(pattern, value):
        wrong.append(pattern_error(_LABEL_VALUE_SAYS, pattern, "MyValue", "my_value", "12345"))
    return tuple(wrong)
