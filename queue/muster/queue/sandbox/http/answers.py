"""Answers as HTTP: headers, media types, warnings, and refusals as Status objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final
from uuid import UUID

import orjson
from aiohttp import web

from muster.queue.client.refusal import Refusal
from muster.queue.sandbox.http.negotiation import JSON

TEXT: Final = "text/plain; charset=utf-8"


class Answers:
    """Makes the answers of one server."""

    def __init__(self) -> None:
        self._chance = Random(0)  # noqa: S311 - audit ids only have to differ

    def headers(self) -> dict[str, str]:
        """Return the headers that every answer has."""
        return {
            "Audit-Id": str(UUID(int=self._chance.getrandbits(128), version=4)),
            "Cache-Control": "no-cache, private",
        }

    def answer(
        self, code: int, body: bytes, media_type: str = JSON, warnings: Sequence[str] = ()
    ) -> web.Response:
        response = web.Response(body=body, status=code, headers=self.headers())
        response.headers["Content-Type"] = media_type
        for warning in warnings:
            response.headers.add("Warning", f'299 - "{_quoted(warning)}"')
        return response

    def refusal(self, refusal: Refusal) -> web.Response:
        body = orjson.dumps(refusal.status())
        response = self.answer(refusal.code, body, warnings=refusal.warnings)
        if seconds := (refusal.details or {}).get("retryAfterSeconds"):
            response.headers["Retry-After"] = str(seconds)
        return response

    def no_page(self) -> web.Response:
        """Say that nothing at all is served at a path."""
        return self.answer(404, b"404 page not found\n", TEXT)

    def success(
        self, code: int, details: Mapping[str, Any] | None = None, warnings: Sequence[str] = ()
    ) -> web.Response:
        """Return the Status of something that was done and leaves no object to show."""
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
        }
        if details:
            status["details"] = details
        else:
            status["code"] = code
        return self.answer(code, orjson.dumps(status), warnings=warnings)


def _quoted(text: str) -> str:
    cleaned = "".join(each if each.isprintable() else " " for each in text)
    return cleaned.replace("\\", "\\\\").replace('"', '\\"')
