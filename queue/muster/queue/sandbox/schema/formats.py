"""
The formats of texts that a definition may demand, and whether a text has one.

Formats that are not among them demand nothing, as on a real server.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlsplit

from muster.queue.sandbox.schema import literals


def check_of(name: str) -> Callable[[str], object] | None:
    """Return what tells whether a text has the format of that name, None if any text has."""
    return _CHECKS.get(name.replace("-", ""))


def _matching(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> Callable[[str], object]:
    return re.compile(pattern, flags | re.ASCII).fullmatch


def _attempting(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def parses(text: str) -> bool:
        try:
            parse(text)
        except ValueError:
            return False
        return True

    return parses


_TIME: Final = _matching(
    r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})"
)


def _is_date_time(text: str) -> bool:
    date, _, time = text.lower().partition("t")
    return bool(_TIME(time)) and _is_date(date)


def _is_date(text: str) -> bool:
    try:
        literals.time(f"{text}T00:00:00Z", micro=False)
    except ValueError:
        return False
    return True


_DURATION: Final = _matching(
    r"[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)"
)  # fmt: skip
_SPAN: Final = re.compile(r"[0-9]+\s*([A-Za-zµ]+)")
_UNIT: Final = re.compile(
    r"ns|nano.*|us|µs|micro.*|ms|milli.*|s|sec.*|m|min.*|h|hr|hour.*|d|day.*|w|wk|week.*"
)


_US: Final = {
    "ns": 0.001, "nano": 0.001, "us": 1, "µs": 1, "μs": 1, "micro": 1, "ms": 1e3, "milli": 1e3,
    "s": 1e6, "sec": 1e6, "m": 6e7, "min": 6e7, "h": 3.6e9, "hr": 3.6e9, "hour": 3.6e9,
    "d": 8.64e10, "day": 8.64e10, "w": 6.048e11, "wk": 6.048e11, "week": 6.048e11,
}  # fmt: skip
_NUMBER: Final = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")


def duration_us(text: str) -> int:
    """Return the microseconds of a text that has the format of a duration."""
    if _DURATION(text):
        total = sum(float(number) * _US[unit] for number, unit in _NUMBER.findall(text))
        return round(-total if text.startswith("-") else total)
    total = 0
    for number, unit in re.findall(r"([0-9]+)\s*([A-Za-zµ]+)", text):
        names = [name for name in _US if unit.lower().startswith(name)]
        if _UNIT.fullmatch(unit.lower()):
            total += int(number) * _US[max(names, key=len)]
    return round(total)


def _is_duration(text: str) -> bool:
    if _DURATION(text):
        return True
    # One span that makes sense is enough.
    return any(_UNIT.fullmatch(unit.lower()) for unit in _SPAN.findall(text))


def _is_uri(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    has_blank = any(character <= " " for character in text)
    return not has_blank and bool(parts.scheme or text.startswith("/"))


_SIGN: Final = r"(?:[^\W_]|[$+<=>^`|~])"
_HOST: Final = re.compile(
    rf"{_SIGN}(-?{_SIGN}{{0,62}})?"
    rf"|({_SIGN}((?:{_SIGN}|-){{0,61}}{_SIGN})?\.)+[^\W\d_]{{2,63}}"
)
_HOST_LENGTH_MAX: Final = 255
_LABEL_LENGTH_MAX: Final = 63


def _is_host(text: str) -> bool:
    labels = text.encode().split(b".")
    fits = len(text.encode()) <= _HOST_LENGTH_MAX
    return fits and max(map(len, labels)) <= _LABEL_LENGTH_MAX and bool(_HOST.fullmatch(text))


_EMAIL: Final = _matching(
    r"(.*<)?[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@[^\s@<>]+>?"
)


def _is_isbn(text: str, length: int) -> bool:
    digits = re.sub(r"[\s-]", "", text)
    if len(digits) != length or not re.fullmatch(r"[0-9]+[0-9Xx]", digits):
        return False
    values = [10 if digit in "Xx" else int(digit) for digit in digits]
    if length == 10:  # noqa: PLR2004 - the name of the format
        return sum((10 - place) * value for place, value in enumerate(values)) % 11 == 0
    return sum(value * (1, 3)[place % 2] for place, value in enumerate(values)) % 10 == 0


def _is_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    if not re.fullmatch(
        r"4[0-9]{12}([0-9]{3})?|5[1-5][0-9]{14}|6(011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
        r"|3(0[0-5]|[68][0-9])[0-9]{11}|(2131|1800|35[0-9]{3})[0-9]{11}",
        digits,
    ):
        return False
    doubled = [int(digit) * (1, 2)[place % 2] for place, digit in enumerate(reversed(digits))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0  # noqa: PLR2004 - of two digits, their sum


_HEX: Final = "[0-9a-f]"
_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SHORT_NAME: Final = _matching(_LABEL)
_LONG_NAME: Final = _matching(rf"{_LABEL}(\.{_LABEL})*")
_SHORT_NAME_MAX: Final = 63
_LONG_NAME_MAX: Final = 253


def _uuid(third: str, fourth: str) -> Callable[[str], object]:
    pattern = f"{_HEX}{{8}}-?{_HEX}{{4}}-?{third}-?{fourth}-?{_HEX}{{12}}"
    return _matching(pattern, re.IGNORECASE)


_OCTET: Final = "0*(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
_is_base64: Final = _attempting(literals.base64)
_is_ipv6: Final = _attempting(ipaddress.IPv6Address)
_VARIANT: Final = f"[89ab]{_HEX}{{3}}"

_CHECKS: Final[Mapping[str, Callable[[str], object]]] = {
    "bsonobjectid": _matching(f"{_HEX}{{24}}", re.IGNORECASE),
    "uri": _is_uri,
    "email": _EMAIL,
    "hostname": _is_host,
    "ipv4": _matching(rf"{_OCTET}(\.{_OCTET}){{3}}"),
    "ipv6": lambda text: "%" not in text and _is_ipv6(text),
    "cidr": lambda text: "/" in text and _is_network(text),
    "mac": _matching(
        rf"{_HEX}{{2}}([:-]{_HEX}{{2}}){{5,7}}|{_HEX}{{4}}(\.{_HEX}{{4}}){{2,3}}", re.IGNORECASE
    ),
    "uuid": _uuid(f"{_HEX}{{4}}", f"{_HEX}{{4}}"),
    "uuid3": _uuid(f"3{_HEX}{{3}}", f"{_HEX}{{4}}"),
    "uuid4": _uuid(f"4{_HEX}{{3}}", _VARIANT),
    "uuid5": _uuid(f"5{_HEX}{{3}}", _VARIANT),
    "isbn": lambda text: _is_isbn(text, 10) or _is_isbn(text, 13),
    "isbn10": lambda text: _is_isbn(text, 10),
    "isbn13": lambda text: _is_isbn(text, 13),
    "creditcard": _is_card,
    "ssn": _matching(r"[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}"),
    "hexcolor": _matching(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _matching(
        r"rgb\(\s*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\s*"
        r"(,\s*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\s*){2}\)"
    ),
    "byte": lambda text: bool(text) and _is_base64(text),
    "password": lambda _: True,
    "date": _is_date,
    "duration": _is_duration,
    "datetime": _is_date_time,
    "k8sshortname": lambda text: len(text) <= _SHORT_NAME_MAX and _SHORT_NAME(text),
    "k8slongname": lambda text: len(text) <= _LONG_NAME_MAX and _LONG_NAME(text),
}  # fmt: skip


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return "." not in text.partition("/")[2]
