"""A client whose writes fail by chance, before or after they are done, and who hears late."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from random import Random
from typing import Any

from muster.queue.client.kinds import POD, Kind
from muster.queue.client.protocol import (
    EVERYTHING,
    Client,
    Disconnected,
    Manifest,
    Page,
    Selection,
    WatchEvent,
)
from muster.queue.clock import Clock


class FaultyClient:
    """
    Does what another client does, less well.

    `rate` of its writes end as Disconnected, and it hears of pods `pod_lag_s` too late.
    """

    def __init__(
        self, client: Client, clock: Clock, chance: Random, *, rate: float = 0, pod_lag_s: float = 0
    ) -> None:
        self._client = client
        self._clock = clock
        self._chance = chance
        self._rate = rate
        self._pod_lag_s = pod_lag_s

    async def get(
        self, kind: Kind, name: str, namespace: str = "", *, subresource: str = ""
    ) -> dict[str, Any]:
        return await self._client.get(kind, name, namespace, subresource=subresource)

    async def list(
        self,
        kind: Kind,
        selection: Selection = EVERYTHING,
        *,
        limit: int = 0,
        continued: str = "",
    ) -> Page:
        return await self._client.list(kind, selection, limit=limit, continued=continued)

    async def watch(
        self, kind: Kind, selection: Selection = EVERYTHING, *, resource_version: str
    ) -> AsyncGenerator[WatchEvent, None]:
        lag_s = self._pod_lag_s if kind == POD else 0
        late: asyncio.Queue[tuple[int, WatchEvent]] = asyncio.Queue()

        async def hear() -> None:
            watch = self._client.watch(kind, selection, resource_version=resource_version)
            async with aclosing(watch):
                async for event in watch:
                    late.put_nowait((self._clock.now_us(), event))

        hearing = asyncio.create_task(hear())
        try:
            while True:
                heard_us, event = await late.get()
                age_s = (self._clock.now_us() - heard_us) / 1_000_000
                await self._clock.sleep(max(lag_s - age_s, 0))
                yield event
        finally:
            hearing.cancel()

    async def create(
        self,
        kind: Kind,
        manifest: Manifest,
        namespace: str = "",
        *,
        name: str = "",
        subresource: str = "",
    ) -> dict[str, Any]:
        self._fail()
        answer = await self._client.create(
            kind, manifest, namespace, name=name, subresource=subresource
        )
        self._fail()
        return answer

    async def replace(
        self, kind: Kind, manifest: Manifest, *, subresource: str = ""
    ) -> dict[str, Any]:
        self._fail()
        answer = await self._client.replace(kind, manifest, subresource=subresource)
        self._fail()
        return answer

    async def merge_patch(
        self,
        kind: Kind,
        name: str,
        patch: Manifest,
        namespace: str = "",
        *,
        subresource: str = "",
    ) -> dict[str, Any]:
        self._fail()
        answer = await self._client.merge_patch(
            kind, name, patch, namespace, subresource=subresource
        )
        self._fail()
        return answer

    async def apply(
        self, kind: Kind, manifest: Manifest, *, manager: str, force: bool, subresource: str = ""
    ) -> dict[str, Any]:
        self._fail()
        return await self._client.apply(
            kind, manifest, manager=manager, force=force, subresource=subresource
        )

    async def delete(
        self, kind: Kind, name: str, namespace: str = "", *, options: Manifest | None = None
    ) -> dict[str, Any]:
        self._fail()
        answer = await self._client.delete(kind, name, namespace, options=options)
        self._fail()
        return answer

    def _fail(self) -> None:
        if self._chance.random() < self._rate / 2:
            raise Disconnected("by chance")
