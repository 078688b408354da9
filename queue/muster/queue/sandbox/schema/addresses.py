"""What expressions can ask of IP addresses, of networks, and of addresses of the web."""

from __future__ import annotations

import ipaddress
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from muster.queue.sandbox.schema.opaque import kind_of, made, text_of

_LINK_LOCAL: Final = {4: "224.0.0.0/24", 6: "ff02::/16"}
_BROADCAST: Final = ipaddress.ip_address("255.255.255.255")


def ip(text: str) -> Any:
    """Return an address; raises ValueError."""
    if "%" in text:
        raise ValueError(f"IP address {text!r} with zone value is not allowed")
    parsed = ipaddress.ip_address(text)
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        raise ValueError(f"IPv4-mapped IPv6 address {text!r} is not allowed")
    return made("IP", parsed)


def cidr(text: str) -> Any:
    """Return a network with the address that it is written with; raises ValueError."""
    if "/" not in text or "%" in text or not text.partition("/")[2].isdigit():
        raise ValueError(f"network address parse error during conversion from string: {text}")
    return made("CIDR", ipaddress.ip_interface(text))


def address(value: Any) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return the address that is one, or that a network is written with."""
    return network(value).ip if kind_of(value) == "CIDR" else ipaddress.ip_address(text_of(value))


def network(value: Any) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface:
    """Return a network with the address that it is written with."""
    return ipaddress.ip_interface(text_of(value))


def contains_ip(whole: Any, part: Any) -> bool:
    """Tell whether an address, or the text of one, is in a network."""
    inner = ipaddress.ip_address(part) if isinstance(part, str) else address(part)
    return inner in network(whole).network


def contains_cidr(whole: Any, part: Any) -> bool:
    """Tell whether a network, or the text of one, is all in a network."""
    inner = ipaddress.ip_interface(part) if isinstance(part, str) else network(part)
    outer = network(whole).network
    return inner.ip in outer and inner.network.prefixlen >= outer.prefixlen


def is_link_local_multicast(value: Any) -> bool:
    """Tell whether it is an address of groups on one link."""
    asked = address(value)
    return asked in ipaddress.ip_network(_LINK_LOCAL[asked.version])


def is_global_unicast(value: Any) -> bool:
    """Tell whether it is the address of one host, on whatever network."""
    asked = address(value)
    return not (
        asked.is_unspecified
        or asked.is_loopback
        or asked.is_multicast
        or asked.is_link_local
        or asked == _BROADCAST
    )


def url(text: str) -> Any:
    """Return an address of the web; raises ValueError."""
    parts = urlsplit(text)
    if not parts.scheme and not text.startswith("/"):
        why = f"parse {text!r}: invalid URI for request"
        raise ValueError(f"URL parse error during conversion from string: {why}")
    _ = parts.port  # raises if it is none
    return made("URL", text)


def url_scheme(value: Any) -> str:
    """Return what comes before the colon."""
    return urlsplit(text_of(value)).scheme


def url_host(value: Any) -> str:
    """Return the host with its port, if it has one."""
    return urlsplit(text_of(value)).netloc.rpartition("@")[2]


def url_hostname(value: Any) -> str:
    """Return the host without its port and without brackets."""
    host = url_host(value)
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


def url_port(value: Any) -> str:
    """Return the port, "" if none is given."""
    port = urlsplit(text_of(value)).port
    return "" if port is None else str(port)


def url_path(value: Any) -> str:
    """Return the path as it is written."""
    return urlsplit(text_of(value)).path


def url_query(value: Any) -> dict[str, list[str]]:
    """Return the values of each name in the query, in order."""
    return parse_qs(urlsplit(text_of(value)).query, keep_blank_values=True)
