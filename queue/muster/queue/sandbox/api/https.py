"""
One JSON question to a webhook over HTTPS, and its answer.

Who is asked, how it is trusted and how long it may take is in the `clientConfig` of whoever
registered it. What goes wrong is told in the words of the real server, for its users to recognize.
A handler in this process can stand in for a URL, so that simulations need no network.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import http
import json
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import aiohttp
import orjson

from muster.queue.clock import Clock
from muster.queue.sandbox.kinds.resources import Shared

Handler = Callable[[Shared], Awaitable[Mapping[str, Any]]]
"""Answers a review in this process."""

ANSWER_BYTES_MAX: Final = 3 * 1024 * 1024
_SHOWN_MAX: Final = 2048
_SUCCESS: Final = range(200, 300)
_TRUSTS_MAX: Final = 100


class CallFailed(Exception):  # noqa: N818 - the failure is the webhook's
    """There was no usable answer; the message says why."""


class Caller:
    """Asks webhooks; its connections are kept until it is closed."""

    def __init__(self, clock: Clock, handlers: Mapping[str, Handler] | None = None) -> None:
        """`handlers` answer for the URLs they stand under."""
        self._clock = clock
        self._handlers = {} if handlers is None else handlers
        self._session: aiohttp.ClientSession | None = None
        self._trusts: dict[str, ssl.SSLContext] = {}

    async def close(self) -> None:
        if self._session:
            await self._session.close()
            self._session = None

    async def ask(
        self, client_config: Shared, question: Shared, timeout_s: int
    ) -> Mapping[str, Any]:
        """Post a review to where a `clientConfig` points and return the answer, a JSON object.

        Raises CallFailed.
        """
        url = client_config.get("url")
        if not url:
            place = _service_url(client_config.get("service") or {})
            why = "no service network in the sandbox: use clientConfig.url"
            raise CallFailed(f'Post "{place}?timeout={timeout_s}s": {why}')
        shown = f"{url}?timeout={timeout_s}s"
        handler = self._handlers.get(url)
        asking = asyncio.ensure_future(
            handler(question) if handler else self._post(client_config, shown, question)
        )
        timer = asyncio.ensure_future(self._clock.sleep(timeout_s))
        try:
            await asyncio.wait({asking, timer}, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                raise CallFailed(f'Post "{shown}": context deadline exceeded')
            return asking.result()
        finally:
            asking.cancel()
            timer.cancel()

    async def _post(self, client_config: Shared, url: str, question: Shared) -> Mapping[str, Any]:
        self._session = self._session or aiohttp.ClientSession(timeout=aiohttp.ClientTimeout())
        try:
            async with self._session.post(
                url,
                # Maps are told in the order of their keys, as there.
                data=orjson.dumps(question, option=orjson.OPT_SORT_KEYS),
                headers={"Content-Type": "application/json", "Accept": "application/json, */*"},
                ssl=self._trust(client_config.get("caBundle") or ""),
                allow_redirects=False,
            ) as response:
                body = await _read(response)
                status, media_type = response.status, response.content_type
        except (aiohttp.ClientError, OSError) as error:
            raise CallFailed(f'Post "{url}": {_reason(error)}') from None
        if status not in _SUCCESS:
            text = body.decode(errors="replace") if media_type.startswith("text/") else ""
            raise CallFailed(_status_message(body) or _refusal(status, text.strip()))
        if not body:
            told = f"0-length response with status code: {status} and content type: {media_type}"
            raise CallFailed(told)
        return _decoded(body)

    def _trust(self, bundle: str) -> ssl.SSLContext:
        """Return what trusts the authorities of a `caBundle`, or those of the machine without."""
        if bundle not in self._trusts:
            if len(self._trusts) >= _TRUSTS_MAX:
                self._trusts.clear()
            try:
                authorities = base64.b64decode(bundle).decode("ascii").strip()
                self._trusts[bundle] = ssl.create_default_context(cadata=authorities or None)
            except (ssl.SSLError, ValueError, binascii.Error):
                raise CallFailed("unable to load root certificates from caBundle") from None
        return self._trusts[bundle]


def _service_url(service: Shared) -> str:
    host = f"{service.get('name')}.{service.get('namespace')}.svc"
    return f"https://{host}:{service.get('port', 443)}{service.get('path') or '/'}"


async def _read(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > ANSWER_BYTES_MAX:
            raise CallFailed(f"the answer is longer than {ANSWER_BYTES_MAX} bytes")
    return bytes(body)


def _reason(error: Exception) -> str:
    """Say what kept a request from being answered."""
    match error:
        case aiohttp.ClientConnectorCertificateError():
            why = error.certificate_error
            detail = getattr(why, "verify_message", "") or str(why)
            if "self-signed" in detail or "unable to get local issuer" in detail:
                detail = "certificate signed by unknown authority"
            return f"tls: failed to verify certificate: x509: {detail}"
        case aiohttp.ClientConnectorDNSError():
            return f"dial tcp: lookup {error.host}: no such host"
        case aiohttp.ClientConnectorSSLError():
            return f"tls: {error.os_error}"
        case aiohttp.ClientConnectorError() if isinstance(error.os_error, ConnectionRefusedError):
            return f"dial tcp {error.host}:{error.port}: connect: connection refused"
        case aiohttp.ServerDisconnectedError():
            return "EOF"
        case _:
            return str(error) or type(error).__name__


_REFUSALS: Final = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be"
    " processing the request",
}


def _status_message(body: bytes) -> str:
    """Return what a Status says, "" for any other body."""
    try:
        told = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    if isinstance(told, dict) and told.get("kind") == "Status":
        return str(told.get("message") or "")
    return ""


def _refusal(status: int, text: str) -> str:
    """Say what an answer with such a code, and perhaps a text, means."""
    text = text[:_SHOWN_MAX] or "unknown"
    if status == http.HTTPStatus.FORBIDDEN:
        return text
    if status in _REFUSALS:
        return _REFUSALS[status]
    if status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
        shown = json.dumps(text, ensure_ascii=False)
        return f"an error on the server ({shown}) has prevented the request from succeeding"
    return f"the server responded with the status code {status} but did not return more information"


def _decoded(body: bytes) -> Mapping[str, Any]:
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise CallFailed(f"couldn't get version/kind; json parse error: {error}") from None
    if not isinstance(answer, dict):
        raise CallFailed("couldn't get version/kind; json parse error: the answer is no object")
    return answer
