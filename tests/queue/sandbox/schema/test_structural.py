"""Schemas of definitions are refused for what a real server refused them."""

import pytest

from muster.queue.api import crds
from muster.queue.sandbox.schema.structural import structural_errors
from tests.queue.sandbox.schema.recorded import Json, answers, causes, label

CASES = answers("schemas")["cases"]
PATH = "spec.validation.openAPIV3Schema"


@pytest.mark.parametrize("case", CASES, ids=label)
def test_a_schema_is_refused_for_what_a_real_server_refuses_it(case: Json) -> None:
    assert causes(structural_errors(case["schema"], PATH)) == case["causes"]


@pytest.mark.parametrize(
    "manifest",
    [manifest for _, manifest in crds.definitions()],
    ids=lambda m: m["metadata"]["name"],
)
def test_our_definitions_are_accepted(manifest: Json) -> None:
    for version in manifest["spec"]["versions"]:
        assert not structural_errors(version["schema"]["openAPIV3Schema"], PATH)
