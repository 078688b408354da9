"""What a server makes of built-in kinds is what was recorded of a real one."""

import json

import pytest

from tests.e2e.api import Api
from tests.e2e.builtin_answers import RECORDED, Told, answers

EXPECTED: dict[str, Told] = json.loads(RECORDED.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def found(api: Api) -> dict[str, Told]:
    return answers(api)


def test_every_case_is_recorded(found: dict[str, Told]) -> None:
    assert found.keys() == EXPECTED.keys()


@pytest.mark.parametrize("case", EXPECTED)
def test_a_server_answers_as_recorded(case: str, found: dict[str, Told]) -> None:
    assert found[case] == EXPECTED[case]
