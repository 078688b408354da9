"""Connections that break, stall, or are many: nobody else is held up, and nothing is left."""

import asyncio
import json
import logging
import socket
from typing import Any

import pytest

from muster.queue.sandbox.http import bodies
from tests.queue.sandbox.http.connections import CONFIG_MAPS, Local, run

HEALTH = b"GET /readyz HTTP/1.1\r\nhost: sandbox\r\n\r\n"
MIB = 1024 * 1024


def config_map(name: str, size: int = 0) -> bytes:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    return json.dumps(manifest | {"data": {"x": "x" * size}}).encode()


# -- bodies that are not there yet ---------------------------------------------------------------


def test_who_waits_to_be_told_so_sends_a_body() -> None:
    async def story(local: Local) -> None:
        body = config_map("x")
        async with local.connected() as connection:
            connection.send_head(
                "POST", CONFIG_MAPS, content_length=len(body), expect="100-continue"
            )
            assert (await connection.head())[0] == 100
            connection.writer.write(body)
            assert (await connection.answer()).code == 201
            assert (await connection.ask("GET", CONFIG_MAPS)).code == 200

    run(story)


@pytest.mark.parametrize("encoding", [{"content_length": 9}, {"transfer_encoding": "chunked"}])
@pytest.mark.parametrize("part", [b"", b"{", b"no chunk\r\n"])
def test_a_body_that_never_comes_is_not_waited_for(
    encoding: dict[str, Any], part: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "_ARRIVAL_MAX_S", 0.05)

    async def story(local: Local) -> None:
        async with local.connected() as connection:
            connection.send_head("POST", CONFIG_MAPS, **encoding)
            connection.writer.write(part)
            assert (await connection.answer()).code in {400, 504}
        assert await local.is_well()

    run(story)


# -- many requests -------------------------------------------------------------------------------


def test_a_connection_serves_one_request_after_another() -> None:
    async def story(local: Local) -> None:
        async with local.connected() as connection:
            for number in range(100):
                made = await connection.ask("POST", CONFIG_MAPS, config_map(f"x-{number}"))
                assert made.code == 201
            listed = await connection.ask("GET", f"{CONFIG_MAPS}?limit=1")
            assert listed.json["metadata"]["remainingItemCount"] == 99

    run(story)


def test_requests_may_be_sent_before_the_answers_are_read() -> None:
    async def story(local: Local) -> None:
        async with local.connected() as connection:
            for number in range(10):
                body = config_map(f"x-{number}")
                connection.send_head("POST", CONFIG_MAPS, content_length=len(body))
                connection.writer.write(body)
            names = [(await connection.answer()).json["metadata"]["name"] for _ in range(10)]
            assert names == [f"x-{number}" for number in range(10)]

    run(story)


def test_hundreds_of_connections_are_served_at_once() -> None:
    async def story(local: Local) -> None:
        ready = asyncio.Barrier(200)

        async def ask(number: int) -> int:
            async with local.connected() as connection:
                await ready.wait()
                return (await connection.ask("POST", CONFIG_MAPS, config_map(f"x-{number}"))).code

        async with asyncio.TaskGroup() as group:
            asking = [group.create_task(ask(number)) for number in range(200)]
        assert [task.result() for task in asking] == [201] * 200

    run(story)


# -- bodies --------------------------------------------------------------------------------------


def test_a_body_that_is_too_large_is_refused() -> None:
    async def story(local: Local) -> None:
        async with local.connected() as connection:
            refused = await connection.ask("POST", CONFIG_MAPS, config_map("x", 3 * MIB))
            assert (refused.code, refused.json["reason"]) == (413, "RequestEntityTooLarge")
        assert await local.is_well()

    run(story)


def test_a_body_that_is_as_large_as_may_be_is_read() -> None:
    async def story(local: Local) -> None:
        async with local.connected() as connection:
            body = config_map("x", 2 * MIB)
            body = body[:-1] + b" " * (3 * MIB - len(body)) + body[-1:]
            refused = await connection.ask("POST", CONFIG_MAPS, body)
            # It is read, and found to be more than a ConfigMap may hold.
            assert (refused.code, refused.json["reason"]) == (422, "Invalid")
            assert (await connection.ask("GET", CONFIG_MAPS)).code == 200

    run(story)


def test_a_body_in_parts_is_read_until_it_is_too_large() -> None:
    async def story(local: Local) -> None:
        async with local.connected() as connection:
            connection.send_head("POST", CONFIG_MAPS, transfer_encoding="chunked")
            part = b"x" * 64 * 1024
            for _ in range(64):
                connection.writer.write(b"%x\r\n%b\r\n" % (len(part), part))
            connection.writer.write(b"0\r\n\r\n")
            assert (await connection.answer()).code == 413
        async with local.connected() as connection:
            body = config_map("x")
            connection.send_head("POST", CONFIG_MAPS, transfer_encoding="chunked")
            for byte in body:
                connection.writer.write(b"1\r\n%c\r\n" % byte)
            connection.writer.write(b"0\r\n\r\n")
            assert (await connection.answer()).code == 201

    run(story)


def test_who_goes_in_the_middle_of_a_body_has_said_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story(local: Local) -> None:
        body = config_map("x", 100_000)
        for sent in (0, 1, 50_000, len(body) - 1):
            async with local.connected() as connection:
                connection.send_head("POST", CONFIG_MAPS, content_length=len(body))
                connection.writer.write(body[:sent])
                await connection.writer.drain()
        assert await local.is_well()
        async with local.connected() as connection:
            assert (await connection.ask("GET", CONFIG_MAPS)).json["items"] == []

    with caplog.at_level(logging.WARNING):
        run(story)
    assert caplog.messages == []


# -- connections that stall or speak something else -----------------------------------------------


def test_half_open_connections_hold_up_neither_others_nor_the_end() -> None:
    async def story(local: Local) -> None:
        for sent in [b""] * 20 + [b"\x16\x03\x01\x02\x00\x01hello"]:
            connection = socket.create_connection(("127.0.0.1", local.port))
            local.leftover.callback(connection.close)
            connection.sendall(sent)
        assert await local.is_well()

    run(story, within_s=1)


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET /api", HEALTH, HEALTH[:-2], HEALTH.replace(b"\r\n\r\n", b"\r\nx: " + b"x" * 5000)],
)
def test_a_stalled_request_does_not_hold_up_the_end(sent: bytes) -> None:
    async def story(local: Local) -> None:
        connection = await local.leftover.enter_async_context(local.connected())
        connection.writer.write(sent)
        await connection.writer.drain()
        assert await local.is_well()

    run(story, within_s=1)


@pytest.mark.parametrize(
    "sent",
    [
        b"hello\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /api HTTP/1.1\r\nno colon\r\n\r\n",
        b"POST /api HTTP/1.1\r\nhost: x\r\ncontent-length: many\r\n\r\n",
        b"POST /api HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nnot hex\r\n",
        b"GET /api HTTP/1.1\r\nhost: x\r\n" + b"x: y\r\n" * 100_000 + b"\r\n",
        bytes(range(256)) * 10,
    ],
)
def test_what_is_no_http_is_refused(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async def story(local: Local) -> None:
        async with local.connected() as connection:
            connection.writer.write(sent)
            code, _ = await connection.head()
            assert 400 <= code < 500
            await connection.reader.read()  # the connection is closed
        assert await local.is_well()

    with caplog.at_level(logging.WARNING):
        run(story)
    assert caplog.messages == []


def test_who_goes_before_the_answer_is_not_missed(caplog: pytest.LogCaptureFixture) -> None:
    async def story(local: Local) -> None:
        for number in range(300):
            await local.create(f"x-{number}", data="x" * 10_000)
        for _ in range(10):
            async with local.connected() as connection:
                connection.send_head("GET", CONFIG_MAPS)
                await connection.writer.drain()
        assert await local.is_well()

    with caplog.at_level(logging.WARNING):
        run(story)
    assert caplog.messages == []


def test_who_has_no_token_is_told_so_before_the_body_is_read() -> None:
    async def story(local: Local) -> None:
        async with local.connected() as connection:
            for authorization in ("", "authorization: Bearer wrong\r\n", "authorization: \xff\r\n"):
                head = f"POST {CONFIG_MAPS} HTTP/1.1\r\nhost: x\r\n{authorization}\r\n"
                connection.writer.write(head.encode())
                refused = await connection.answer()
                assert (refused.code, refused.json["reason"]) == (401, "Unauthorized")

    run(story)
