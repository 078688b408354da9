"""
The formats that expressions know by name, as in `format.dns1123Label()`.

Each tells what is wrong with a text in the sentences of a real server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlsplit

from muster.queue.client.refusal import quoted
from muster.queue.sandbox.schema import formats
from muster.queue.sandbox.schema.names import (
    dns_1035_label,
    dns_label,
    dns_subdomain,
    label_key,
    label_value,
)

_Rule = Callable[[str], tuple[str, ...]]
"""Returns what is wrong with a text; nothing when it is fine."""


def _prefix(rule: _Rule) -> _Rule:
    """Return the rule of what comes before a generated suffix, and so may end with a dash."""

    def prefix_rule(text: str) -> tuple[str, ...]:
        return rule(f"{text[:-2]}a" if len(text) > 1 and text.endswith("-") else text)

    return prefix_rule


def _format(name: str, told: str) -> _Rule:
    check = formats.check_of(name)
    assert check is not None
    return lambda text: () if check(text) else (told,)


def _uri(text: str) -> tuple[str, ...]:
    try:
        parts = urlsplit(text)
    except ValueError:
        return (f"parse {quoted(text)}: missing ']' in host",)
    if not text:
        return ('parse "": empty url',)
    if not parts.scheme and not text.startswith("/"):
        return (f"parse {quoted(text)}: invalid URI for request",)
    return ()


NAMED: Final[Mapping[str, _Rule]] = {
    "dns1123Label": dns_label,
    "dns1123Subdomain": dns_subdomain,
    "dns1035Label": dns_1035_label,
    "qualifiedName": label_key,
    "dns1123LabelPrefix": _prefix(dns_label),
    "dns1123SubdomainPrefix": _prefix(dns_subdomain),
    "dns1035LabelPrefix": _prefix(dns_1035_label),
    "labelValue": label_value,
    "uri": _uri,
    "uuid": _format("uuid", "does not match the UUID format"),
    "byte": _format("byte", "invalid base64"),
    "date": _format("date", "invalid date"),
    "datetime": _format("datetime", "invalid datetime"),
}
