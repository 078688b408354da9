"""
What names, labels and keys may look like: each rule returns what is wrong with a text.

The sentences are those that people know from Kubernetes. Rules are pure functions of the text, and
remember what they have seen: the same few names come with every request.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from muster.queue.sandbox.schema.names import (
    MEMORY,
    SUBDOMAIN_MAX,
    dns_1035_label,
    dns_label,
    dns_subdomain,
    label_key,
    label_value,
    pattern_error,
    too_long,
)

__all__ = [
    "NameRule",
    "config_key",
    "dns_1035_label",
    "dns_label",
    "dns_subdomain",
    "domain_path",
    "generated",
    "label_key",
    "label_value",
    "path_segment",
    "pattern_error",
    "port_name",
    "range_error",
    "variable_name",
]

NameRule = Callable[[str], tuple[str, ...]]
"""Returns what is wrong with a name; nothing when it is fine."""

_PORT_NAME_MAX: Final = 15

_CONFIG_KEY: Final = "[-._a-zA-Z0-9]+"

_CONFIG_KEY_SAYS: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
)
_VARIABLE_SAYS: Final = (
    "a valid environment variable name must consist only of printable ASCII characters other than"
    " '='"
)


def range_error(low: int, high: int) -> str:
    """Return what is said of a number out of a range."""
    return f"must be between {low} and {high}, inclusive"


def domain_path(value: str) -> tuple[str, ...]:
    """Of controllers: a domain and a path below it, as in "example.com/queue"."""
    domain, _, path = value.partition("/")
    if not domain or not path:
        return ('must be a domain-prefixed path (such as "acme.io/foo")',)
    wrong = list(dns_subdomain(domain))
    pattern = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
    if not re.fullmatch(pattern, path):
        wrong.append(pattern_error("Invalid path", pattern))
    return tuple(wrong)


def path_segment(value: str) -> tuple[str, ...]:
    """Of any object: what a name must be to be part of a path."""
    if value in {".", ".."}:
        return (f"may not be '{value}'",)
    return tuple(f"may not contain '{each}'" for each in "/%" if each in value)


@lru_cache(MEMORY)
def config_key(value: str) -> tuple[str, ...]:
    """Of the entries of ConfigMaps and Secrets."""
    wrong = []
    if len(value) > SUBDOMAIN_MAX:
        wrong.append(too_long(SUBDOMAIN_MAX))
    if not re.fullmatch(_CONFIG_KEY, value):
        examples = ("key.name", "KEY_NAME", "key-name")
        wrong.append(pattern_error(_CONFIG_KEY_SAYS, _CONFIG_KEY, *examples))
    if value in {".", ".."}:
        wrong.append(f"must not be '{value}'")
    elif value.startswith(".."):
        wrong.append("must not start with '..'")
    return tuple(wrong)


@lru_cache(MEMORY)
def variable_name(value: str) -> tuple[str, ...]:
    """Of environment variables."""
    if not value:
        return ("environment variable name must be non-empty",)
    return () if re.fullmatch(r"[ -<>-~]+", value) else (_VARIABLE_SAYS,)


@lru_cache(MEMORY)
def port_name(value: str) -> tuple[str, ...]:
    """Of ports of containers."""
    wrong = []
    if len(value) > _PORT_NAME_MAX:
        wrong.append(too_long(_PORT_NAME_MAX))
    if not re.fullmatch("[-a-z0-9]+", value):
        wrong.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", value):
        wrong.append("must contain at least one letter (a-z)")
    if "--" in value:
        wrong.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        wrong.append("must not begin or end with a hyphen")
    return tuple(wrong)


def generated(rule: NameRule, prefix: str) -> tuple[str, ...]:
    """Return what is wrong with a prefix of generated names: unlike a name it may end in "-"."""
    return rule(f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix)
