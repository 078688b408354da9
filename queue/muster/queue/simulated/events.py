"""
Events as controllers record them: sent in the background, and lost rather than waited for.

Two styles are in use. Controllers of the controller manager *count*: the same event about the same
object is one Event whose count goes up. Scheduler and newer ones *report* each event by itself,
with the action that was tried.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable
from typing import Any, Final, NamedTuple
from zlib import crc32

from muster.queue.api.timestamps import format_micro_time, format_second
from muster.queue.client.kinds import CORE_EVENT, EVENT, Kind
from muster.queue.client.protocol import Client, Disconnected, Manifest
from muster.queue.client.refusal import Refusal
from muster.queue.clock import Clock

_NOTE_MAX: Final = 1024
_CUT: Final = " ..."
_WAITING_MAX: Final = 10_000
_KNOWN_MAX: Final = 4096
_LOG: Final = logging.getLogger(__name__)


class Subject(NamedTuple):
    """The object that an event is about."""

    kind: Kind
    manifest: Manifest

    @property
    def reference(self) -> dict[str, str]:
        metadata = self.manifest["metadata"]
        found = {
            "apiVersion": self.kind.api_version,
            "kind": self.kind.kind,
            **{
                field: metadata[field]
                for field in ("namespace", "name", "uid")
                if field in metadata
            },
        }
        if version := metadata.get("resourceVersion"):
            found["resourceVersion"] = version
        return found


class _Counted(NamedTuple):
    name: str
    times: int


class Recorder:
    """Records the events of one controller; nothing is sent unless it runs."""

    def __init__(self, client: Client, clock: Clock, component: str) -> None:
        self._client = client
        self._clock = clock
        self._component = component
        self._waiting: asyncio.Queue[tuple[Kind, dict[str, Any], int]] = asyncio.Queue()
        self._known: OrderedDict[tuple[str, ...], _Counted] = OrderedDict()
        self._last_ns = 0
        self._own_ns = crc32(component.encode()) % 1000

    def count(self, subject: Subject, type_: str, reason: str, message: str) -> None:
        """Record an event in the style of the controller manager."""
        metadata = self._metadata(subject)
        now = format_second(self._clock.now_us())
        told = _cut(message)
        identity = (metadata["namespace"], subject.manifest["metadata"]["uid"], type_, reason, told)
        known = self._known.pop(identity, None)
        count = known.times + 1 if known is not None else 1
        name = known.name if known is not None else metadata["name"]
        self._known[identity] = _Counted(name, count)
        if len(self._known) > _KNOWN_MAX:
            self._known.popitem(last=False)
        event = {
            "apiVersion": CORE_EVENT.api_version,
            "kind": CORE_EVENT.kind,
            "metadata": {**metadata, "name": name},
            "involvedObject": subject.reference,
            "reason": reason,
            "message": told,
            "type": type_,
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": "",
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": count,
        }
        self._enqueue(CORE_EVENT, event, count)

    def report(
        self,
        subject: Subject,
        type_: str,
        reason: str,
        action: str,
        note: str,
    ) -> None:
        """Record an event in the style of the scheduler."""
        event = {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.kind,
            "metadata": self._metadata(subject),
            "eventTime": format_micro_time(self._clock.now_us()),
            "regarding": subject.reference,
            "reason": reason,
            "action": action,
            "note": _cut(note),
            "type": type_,
            "reportingController": self._component,
            "reportingInstance": f"{self._component}-simulated",
        }
        self._enqueue(EVENT, event, 1)

    async def run(self) -> None:
        """Send events until cancelled."""
        while True:
            kind, event, count = await self._waiting.get()
            try:
                await self._send(kind, event, count)
            except (Refusal, Disconnected) as error:
                _LOG.info("an event is lost: %s", error)

    def _send(self, kind: Kind, event: Manifest, count: int) -> Awaitable[object]:
        metadata = event["metadata"]
        if count == 1:
            return self._client.create(kind, event, metadata["namespace"])
        again = {"count": count, "lastTimestamp": event["lastTimestamp"]}
        return self._client.merge_patch(kind, metadata["name"], again, metadata["namespace"])

    def _enqueue(self, kind: Kind, event: dict[str, Any], count: int) -> None:
        if self._waiting.qsize() < _WAITING_MAX:
            self._waiting.put_nowait((kind, event, count))

    def _metadata(self, subject: Subject) -> dict[str, str]:
        """
        Return name and namespace: the instant, made unique, tells events of an object apart.

        The clock counts microseconds; the nanoseconds between are the component's, because two may
        speak of an object at the same instant.
        """
        self._last_ns = max(self._clock.now_us() * 1000 + self._own_ns, self._last_ns + 1)
        metadata = subject.manifest["metadata"]
        return {
            "name": f"{metadata['name']}.{self._last_ns:x}",
            "namespace": metadata.get("namespace", "default"),
        }


def _cut(text: str) -> str:
    return text if len(text) <= _NOTE_MAX else text[: _NOTE_MAX - len(_CUT)] + _CUT
