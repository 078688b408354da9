"""IP addresses for pods; nothing listens on them."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Final

from muster.queue.client.informer import Key

_FIRST: Final = int(IPv4Address("10.128.0.1"))
_COUNT: Final = 2**20


class Addresses:
    """Which pod has which address."""

    def __init__(self) -> None:
        self._by_pod: dict[Key, str] = {}
        self._taken: dict[str, Key] = {}
        self._next = 0

    def of(self, pod: Key, reported: str | None) -> str:
        """Return the address of a pod: the one it has, or one that is free."""
        address = self._by_pod.get(pod)
        if address is None:
            address = reported or self._free()
            self._by_pod[pod], self._taken[address] = address, pod
        return address

    def release(self, pod: Key) -> None:
        address = self._by_pod.pop(pod, None)
        if address is not None:
            self._taken.pop(address, None)

    def _free(self) -> str:
        for _ in range(_COUNT):
            address = str(IPv4Address(_FIRST + self._next))
            self._next = (self._next + 1) % _COUNT
            if address not in self._taken:
                return address
        raise AssertionError(f"more than {_COUNT} pods")
