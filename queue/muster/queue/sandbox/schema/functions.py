"""
The functions that Kubernetes adds to CEL: on lists, texts, quantities, addresses and so on.

Each has its declarations, by which expressions are checked, and one implementation, called with
whatever values there are. Quantities, addresses and the like are messages that hold their text,
since that is what CEL lets pass through. Not here, so that expressions with them are refused:
`sortBy` and `flatten`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from itertools import pairwise, permutations
from typing import Any, Final

from cel_expr_python import cel
from google.protobuf import duration_pb2, timestamp_pb2

from muster.queue.api.quantities import NANO, QuantityError, format_quantity, parse_quantity
from muster.queue.sandbox.schema import addresses, patterns, unordered
from muster.queue.sandbox.schema.named_formats import NAMED
from muster.queue.sandbox.schema.opaque import NAMES, PACKAGE, kind_of, made, text_of
from muster.queue.sandbox.schema.rewriting import CONTAINS, EQUAL, INSERTED, MERGED, UNEQUAL

_T = cel.Type
_STRING, _INT, _BOOL, _DOUBLE = _T.STRING, _T.INT, _T.BOOL, _T.DOUBLE
_QUANTITY, _URL, _IP, _CIDR, _SEMVER, _FORMAT = (_T(f"{PACKAGE}.{name}") for name in NAMES)
_STRINGS = _T.List(_STRING)
_SCALARS: Final = (_INT, _T.UINT, _DOUBLE, _STRING, _BOOL, _T.BYTES, _T.DURATION, _T.TIMESTAMP)
_NUMBERS: Final = (_INT, _T.UINT, _DOUBLE, _T.DURATION)

_Signature = tuple[Any, Sequence[Any]]
"""What is returned, and of what; the first of these is what a method is called on."""


# -- lists -------------------------------------------------------------------------------------


def _is_sorted(values: Sequence[Any]) -> bool:
    return all(one <= other for one, other in pairwise(values))


def _extreme(pick: Callable[[Iterable[Any]], Any]) -> Callable[[Sequence[Any]], Any]:
    def extreme(values: Sequence[Any]) -> Any:
        if not values:
            raise ValueError(f"{pick.__name__} called on empty list")
        return pick(values)

    return extreme


def _total(values: Sequence[Any]) -> Any:
    return sum(values[1:], values[0]) if values else 0


def _index_of(whole: Any, part: Any, *_: Any) -> int:
    return next((index for index, each in enumerate(whole) if _equal(each, part)), -1)


def _last_index_of(whole: Any, part: Any) -> int:
    found = (index for index in range(len(whole) - 1, -1, -1) if _equal(whole[index], part))
    return next(found, -1)


def _equal(one: Any, other: Any) -> bool:
    return bool(isinstance(one, bool) == isinstance(other, bool) and one == other)


def _contains(values: Sequence[Any], wanted: Any) -> bool:
    return any(_equal(each, wanted) for each in values)


def _is_subset(part: Sequence[Any], whole: Sequence[Any]) -> bool:
    return all(_contains(whole, each) for each in part)


def _distinct(values: Sequence[Any]) -> list[Any]:
    kept: list[Any] = []
    for each in values:
        if not _contains(kept, each):
            kept.append(each)
    return kept


def _slice(values: Sequence[Any], start: int, end: int) -> list[Any]:
    if not 0 <= start <= end <= len(values):
        raise ValueError(f"cannot slice({start}, {end}), list is length {len(values)}")
    return list(values[start:end])


# -- texts -------------------------------------------------------------------------------------


def _find(text: str, pattern: str) -> str:
    match = next(patterns.matches(pattern, text), None)
    return match[0] if match else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = [match[0] for match in patterns.matches(pattern, text)]
    return found if limit < 0 else found[:limit]


# -- quantities --------------------------------------------------------------------------------


def _quantity(text: str) -> Any:
    try:
        return _of_nanos(parse_quantity(text), binary=text.endswith("i"))
    except QuantityError as error:
        raise ValueError(
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        ) from error


def _of_nanos(nanos: int, *, binary: bool = False) -> Any:
    return made("Quantity", format_quantity(nanos, "binary" if binary else "decimal"))


def _nanos(quantity: Any) -> int:
    return parse_quantity(text_of(quantity))


def _is(make: Callable[..., Any]) -> Callable[..., bool]:
    def is_one(*arguments: Any) -> bool:
        try:
            make(*arguments)
        except ValueError:
            return False
        return True

    return is_one


def _as_integer(quantity: Any) -> int:
    whole, rest = divmod(_nanos(quantity), NANO)
    if rest or not -(2**63) <= whole < 2**63:
        raise ValueError("cannot convert value to integer")
    return whole


def _is_integer(quantity: Any) -> bool:
    return _nanos(quantity) % NANO == 0


def _added(sign: int) -> Callable[[Any, Any], Any]:
    def added(quantity: Any, other: Any) -> Any:
        more = other * NANO if isinstance(other, int) else _nanos(other)
        return _of_nanos(_nanos(quantity) + sign * more, binary=text_of(quantity).endswith("i"))

    return added


def _sign(quantity: Any) -> int:
    nanos = _nanos(quantity)
    return (nanos > 0) - (nanos < 0)


def _float(quantity: Any) -> float:
    return _nanos(quantity) / NANO


# -- versions ----------------------------------------------------------------------------------

_VERSION: Final = re.compile(
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    r"(?:-((?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*))?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)  # fmt: skip


def _semver(text: str, normalize: bool = False) -> Any:  # noqa: FBT001, FBT002 - as it is called in CEL
    if normalize:
        core, *rest = re.split(r"(?=[-+])", text.removeprefix("v"), maxsplit=1)
        numbers = [number.lstrip("0") or "0" for number in core.split(".")]
        text = ".".join([*numbers, "0", "0"][: max(3, len(numbers))]) + "".join(rest)
    if not _VERSION.fullmatch(text):
        raise ValueError(f"Invalid semantic version {text!r}")
    return made("Semver", text)


def _version(semver: Any) -> tuple[Any, ...]:
    match = _VERSION.fullmatch(text_of(semver))
    assert match is not None
    # A release comes after all that precede it; numbers come before words.
    rank = [
        (0, int(each), "") if each.isdigit() else (1, 0, each)
        for each in (match[4] or "").split(".")
    ]
    return (*map(int, match.groups()[:3]), not match[4], bool(match[4]) and rank)


def _part_of_version(index: int) -> Callable[[Any], int]:
    def part(semver: Any) -> int:
        number: int = _version(semver)[index]
        return number

    return part


def _compared(one: Any, other: Any) -> int:
    if kind_of(one) != kind_of(other):
        raise ValueError("no such overload")
    if kind_of(one) == "Quantity":
        first, second = (_nanos(one),), (_nanos(other),)
    else:
        first, second = _version(one), _version(other)
    return (first > second) - (first < second)


# -- formats ---------------------------------------------------------------------------------


def _named_format(name: str) -> list[Any]:
    return [made("NamedFormat", name)] if name in NAMED else []


def _faults(named_format: Any, text: str) -> list[list[str]]:
    faults = NAMED[text_of(named_format)](text)
    return [list(faults)] if faults else []


def _format_function(name: str) -> Callable[[], Any]:
    return lambda: made("NamedFormat", name)


# -- the table -----------------------------------------------------------------------------------


def _each(result: Any, of: Iterable[Any], *others: Any) -> list[_Signature]:
    """Return the signatures of a method on lists; None as a result means their entries."""
    return [(scalar if result is None else result, (_T.List(scalar), *others)) for scalar in of]


def _entry(of: Iterable[Any]) -> list[_Signature]:
    return [(_INT, (_T.List(scalar), scalar)) for scalar in of]


def _same(of: Iterable[Any]) -> list[_Signature]:
    return [(_T.List(scalar), (_T.List(scalar),)) for scalar in of]


def _optional(of: Any) -> Any:
    return _T.AbstractType("optional_type", [of])


def _pairs() -> list[_Signature]:
    return [(_BOOL, (_T.List(scalar), _T.List(scalar))) for scalar in _SCALARS]


_METHODS: Final[Mapping[str, tuple[Callable[..., Any], Sequence[_Signature]]]] = {
    "isSorted": (_is_sorted, _each(_BOOL, _SCALARS)),
    "sum": (_total, _each(None, _NUMBERS)),
    "min": (_extreme(min), _each(None, _SCALARS)),
    "max": (_extreme(max), _each(None, _SCALARS)),
    "indexOf": (_index_of, _entry(_SCALARS)),
    "lastIndexOf": (_last_index_of, _entry(_SCALARS)),
    "distinct": (_distinct, _same(_SCALARS)),
    "sort": (sorted, _same(_SCALARS)),
    "reverse": (lambda values: list(reversed(values)), _same(_SCALARS)),
    "slice": (_slice, [(_T.List(each), (_T.List(each), _INT, _INT)) for each in _SCALARS]),
    "find": (_find, [(_STRING, (_STRING, _STRING))]),
    "findAll": (
        _find_all,
        [(_STRINGS, (_STRING, _STRING)), (_STRINGS, (_STRING, _STRING, _INT))],
    ),
    "sign": (_sign, [(_INT, (_QUANTITY,))]),
    "isInteger": (_is_integer, [(_BOOL, (_QUANTITY,))]),
    "asInteger": (_as_integer, [(_INT, (_QUANTITY,))]),
    "asApproximateFloat": (_float, [(_DOUBLE, (_QUANTITY,))]),
    "add": (_added(1), [(_QUANTITY, (_QUANTITY, _QUANTITY)), (_QUANTITY, (_QUANTITY, _INT))]),
    "sub": (_added(-1), [(_QUANTITY, (_QUANTITY, _QUANTITY)), (_QUANTITY, (_QUANTITY, _INT))]),
    "isGreaterThan": (
        lambda one, other: _compared(one, other) > 0,
        [(_BOOL, (each, each)) for each in (_QUANTITY, _SEMVER)],
    ),
    "isLessThan": (
        lambda one, other: _compared(one, other) < 0,
        [(_BOOL, (each, each)) for each in (_QUANTITY, _SEMVER)],
    ),
    "compareTo": (_compared, [(_INT, (each, each)) for each in (_QUANTITY, _SEMVER)]),
    "major": (_part_of_version(0), [(_INT, (_SEMVER,))]),
    "minor": (_part_of_version(1), [(_INT, (_SEMVER,))]),
    "patch": (_part_of_version(2), [(_INT, (_SEMVER,))]),
    "family": (lambda ip: addresses.address(ip).version, [(_INT, (_IP,))]),
    "isUnspecified": (lambda ip: addresses.address(ip).is_unspecified, [(_BOOL, (_IP,))]),
    "isLoopback": (lambda ip: addresses.address(ip).is_loopback, [(_BOOL, (_IP,))]),
    "isLinkLocalMulticast": (addresses.is_link_local_multicast, [(_BOOL, (_IP,))]),
    "isLinkLocalUnicast": (lambda ip: addresses.address(ip).is_link_local, [(_BOOL, (_IP,))]),
    "isGlobalUnicast": (addresses.is_global_unicast, [(_BOOL, (_IP,))]),
    "ip": (lambda cidr: made("IP", addresses.network(cidr).ip), [(_IP, (_CIDR,))]),
    "prefixLength": (lambda cidr: addresses.network(cidr).network.prefixlen, [(_INT, (_CIDR,))]),
    "masked": (lambda cidr: made("CIDR", addresses.network(cidr).network), [(_CIDR, (_CIDR,))]),
    "containsIP": (addresses.contains_ip, [(_BOOL, (_CIDR, _STRING)), (_BOOL, (_CIDR, _IP))]),
    "containsCIDR": (addresses.contains_cidr, [(_BOOL, (_CIDR, _STRING)), (_BOOL, (_CIDR, _CIDR))]),
    "getScheme": (addresses.url_scheme, [(_STRING, (_URL,))]),
    "getHost": (addresses.url_host, [(_STRING, (_URL,))]),
    "getHostname": (addresses.url_hostname, [(_STRING, (_URL,))]),
    "getPort": (addresses.url_port, [(_STRING, (_URL,))]),
    "getEscapedPath": (addresses.url_path, [(_STRING, (_URL,))]),
    "getQuery": (addresses.url_query, [(_T.Map(_STRING, _STRINGS), (_URL,))]),
}

_FUNCTIONS: Final[Mapping[str, tuple[Callable[..., Any], Sequence[_Signature]]]] = {
    "quantity": (_quantity, [(_QUANTITY, (_STRING,))]),
    "isQuantity": (_is(_quantity), [(_BOOL, (_STRING,))]),
    "semver": (_semver, [(_SEMVER, (_STRING,)), (_SEMVER, (_STRING, _BOOL))]),
    "isSemver": (_is(_semver), [(_BOOL, (_STRING,)), (_BOOL, (_STRING, _BOOL))]),
    "ip": (addresses.ip, [(_IP, (_STRING,))]),
    "isIP": (_is(addresses.ip), [(_BOOL, (_STRING,))]),
    "ip.isCanonical": (lambda text: text_of(addresses.ip(text)) == text, [(_BOOL, (_STRING,))]),
    "cidr": (addresses.cidr, [(_CIDR, (_STRING,))]),
    "isCIDR": (_is(addresses.cidr), [(_BOOL, (_STRING,))]),
    "url": (addresses.url, [(_URL, (_STRING,))]),
    "isURL": (_is(addresses.url), [(_BOOL, (_STRING,))]),
    "string": (text_of, [(_STRING, (each,)) for each in (_IP, _CIDR)]),
    "sets.contains": (lambda whole, part: _is_subset(part, whole), _pairs()),
    "sets.equivalent": (lambda a, b: _is_subset(a, b) and _is_subset(b, a), _pairs()),
    "sets.intersects": (lambda a, b: any(_contains(b, each) for each in a), _pairs()),
    "lists.range": (lambda count: list(range(count)), [(_T.List(_INT), (_INT,))]),
    **{f"format.{name}": (_format_function(name), [(_FORMAT, ())]) for name in NAMED},
}

# Functions with an optional result, which `rewriting` makes of a list that has it or is empty.
_OPTIONAL: Final[Mapping[str, tuple[Callable[..., Any], bool, _Signature]]] = {
    "validate": (_faults, True, (_optional(_STRINGS), (_FORMAT, _STRING))),
    "format.named": (_named_format, False, (_optional(_FORMAT), (_STRING,))),
}


def _with_entry(made: Mapping[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    return _with_entries(made, {key: value})


def _with_entries(made: Mapping[Any, Any], more: Mapping[Any, Any]) -> dict[Any, Any]:
    for key in more:
        if key in made:
            raise ValueError(f"insert failed: key {key} already exists")
    return {**made, **more}


_DYN, _ENTRIES = _T.DYN, _T.Map(_T.DYN, _T.DYN)

# What no expression can call by name: macros and `rewriting` put them where they belong.
_PLACED: Final[Sequence[tuple[str, Callable[..., Any], Sequence[Any]]]] = (
    (INSERTED, _with_entry, (_ENTRIES, _DYN, _DYN)),
    (INSERTED, _with_entries, (_ENTRIES, _ENTRIES)),
    (EQUAL, unordered.equal, (_STRING, _DYN, _DYN)),
    (UNEQUAL, unordered.unequal, (_STRING, _DYN, _DYN)),
    (MERGED, unordered.merged, (_STRING, _DYN, _DYN)),
    (CONTAINS, unordered.contains, (_STRING, _DYN, _DYN)),
)


ON_LISTS: Final = tuple(
    name
    for name, (_, signatures) in _METHODS.items()
    if str(signatures[0][1][0].name()).lower().startswith("list")
)
"""The methods of lists."""


@cache
def declarations() -> list[Any]:
    """Return all functions with their types, to check expressions by."""
    declared: dict[str, list[Any]] = {}
    for table, is_member in ((_METHODS, True), (_FUNCTIONS, False)):
        for name, (_, signatures) in table.items():
            for number, (result, parameters) in enumerate(signatures):
                overload = cel.Overload(
                    f"kubernetes_{name}_{is_member}_{number}",
                    return_type=result,
                    parameters=list(parameters),
                    is_member=is_member,
                )
                declared.setdefault(name, []).append(overload)
    for name, (_, is_member, (result, parameters)) in _OPTIONAL.items():
        overload = cel.Overload(
            f"kubernetes_{name}",
            return_type=result,
            parameters=list(parameters),
            is_member=is_member,
        )
        declared[name] = [overload]
    for operator in ("_<_", "_<=_", "_>_", "_>=_"):
        declared[operator] = [
            cel.Overload(f"kubernetes{operator}{number}", return_type=_BOOL, parameters=list(pair))
            for number, pair in enumerate(permutations((_INT, _T.UINT, _DOUBLE), 2))
        ]
    return [cel.FunctionDecl(name, overloads) for name, overloads in declared.items()]


@cache
def implementations() -> list[Any]:
    """Return all functions as they are called, one for each number and kind of arguments."""
    declared: dict[str, list[Any]] = {}
    for table, is_member in ((_METHODS, True), (_FUNCTIONS, False)):
        for name, (function, signatures) in table.items():
            for shape in dict.fromkeys(_shape(of) for _, of in signatures):
                overload = cel.Overload(
                    f"kubernetes_{name}_{is_member}_{'_'.join(shape)}",
                    return_type=_T.DYN,
                    parameters=[_LOOSE[each] for each in shape],
                    is_member=is_member,
                    impl=_returning(function),
                )
                declared.setdefault(name, []).append(overload)
    optional = [(f"@{name}", function, of) for name, (function, _, (_, of)) in _OPTIONAL.items()]
    for name, function, parameters in (*_PLACED, *optional):
        overload = cel.Overload(
            f"kubernetes_{name}_{len(parameters)}",
            return_type=_DYN,
            parameters=list(parameters),
            is_member=False,
            impl=_returning(function),
        )
        declared.setdefault(name, []).append(overload)
    return [cel.FunctionDecl(name, overloads) for name, overloads in declared.items()]


def _returning(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the same function with times in the form in which CEL takes them back."""

    def returning(*arguments: Any) -> Any:
        return _taken_back(function(*arguments))

    return returning


def _taken_back(value: Any) -> Any:
    if isinstance(value, list):
        return [_taken_back(each) for each in value]
    if isinstance(value, dict):
        return {key: _taken_back(each) for key, each in value.items()}
    if isinstance(value, timedelta):
        span = duration_pb2.Duration()
        span.FromTimedelta(value)
        return span
    if isinstance(value, datetime):
        moment = timestamp_pb2.Timestamp()
        moment.FromDatetime(value)
        return moment
    return bytes(value) if isinstance(value, bytearray) else value


_LOOSE: Final = {
    "list": _T.List(_T.DYN),
    "message": _QUANTITY,
    **{str(scalar.name()).lower(): scalar for scalar in _SCALARS},
}


def _shape(parameters: Sequence[Any]) -> tuple[str, ...]:
    """Return the kinds of values by which the implementation is found."""
    return tuple(map(_kind_of_type, parameters))


def _kind_of_type(parameter: Any) -> str:
    name = str(parameter.name()).lower()
    if name.startswith("list"):
        return "list"
    return "message" if name.startswith(PACKAGE) else name
