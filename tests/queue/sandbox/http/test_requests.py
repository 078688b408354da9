"""What the parts of a request are read as, byte by byte."""

from muster.queue.sandbox.api.catalogue import Catalogue
from muster.queue.sandbox.http.documents import Documents
from tests.queue.sandbox.http.connections import CONFIG_MAPS as PATH
from tests.queue.sandbox.http.connections import Local, run


def test_a_token_that_is_no_text_is_a_wrong_one() -> None:
    async def story(local: Local) -> int:
        async with local.connected() as connection:
            head = f"GET {PATH} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer "
            connection.writer.write(head.encode() + b"\xff\r\n\r\n")
            return (await connection.answer()).code

    assert run(story) == 401


def test_a_query_is_unquoted_once() -> None:
    async def story(local: Local) -> str:
        async with local.connected() as connection:
            body = b'{"metadata":{"name":"x"},"data":{"a":"b"}}'
            answer = await connection.ask("POST", f"{PATH}?fieldManager=a%2541", body)
            manager: str = answer.json["metadata"]["managedFields"][0]["manager"]
            return manager

    assert run(story) == "a%41"


def test_nothing_is_kept_of_paths_where_nothing_is() -> None:
    documents = Documents(Catalogue(()))

    assert documents.find(["apis", "nobody.example.com"], "") is None
    assert documents.find(["apis"], "") is documents.find(["apis"], "")
    assert list(documents._known) == [(("apis",), False)]
