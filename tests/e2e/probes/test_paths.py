"""Paths and verbs: what is served where, and how it is said that something isn't."""

import pytest

from tests.e2e.api import place
from tests.e2e.probes.gadgets import GADGET, GROUP
from tests.e2e.probes.probe import Probe

pytestmark = pytest.mark.usefixtures("gadgets")

NO_RESOURCE = "the server could not find the requested resource"
NO_METHOD = "the server does not allow this method on the requested resource"

NAMESPACED = "/api/v1/namespaces/default"


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/nothings",
        "/api/v2",
        "/api/v2/pods",
        f"{NAMESPACED}/nothings",
        f"{NAMESPACED}/nodes",
        f"{NAMESPACED}/configmaps/x/status",
        f"{NAMESPACED}/configmaps/x/a/b",
        "/apis/batch/v1/namespaces/default/pods",
    ],
)
def test_an_unknown_resource_is_not_found(path: str, probe: Probe) -> None:
    answer = probe.api.request("GET", path)

    assert answer.expect_refusal(404, "NotFound") == {}
    assert answer.message == NO_RESOURCE


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/apis/nothing",
        "/apis/nothing.example.com/v1",
        "/apis/nothing.example.com/v1/things",
        f"/apis/{GROUP}/v2/gadgets",
        f"/apis/{GROUP}/v1/gizmos",
    ],
)
def test_an_unknown_path_is_no_page(path: str, probe: Probe) -> None:
    answer = probe.api.request("GET", path)

    assert answer.expect(404) == {"text": "404 page not found\n"}
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    "method, path",
    [
        ("POST", f"{NAMESPACED}/configmaps/x"),
        ("PUT", f"{NAMESPACED}/configmaps"),
        ("PATCH", f"{NAMESPACED}/configmaps"),
        ("POST", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/namespaces"),
        ("POST", NAMESPACED),
        ("DELETE", "/apis/batch/v1/namespaces/default/jobs/x/status"),
        ("POST", "/apis/batch/v1/namespaces/default/jobs/x/status"),
        ("HEAD", f"{NAMESPACED}/configmaps/x"),
        ("OPTIONS", f"{NAMESPACED}/configmaps"),
        ("SING", f"{NAMESPACED}/configmaps"),
    ],
)
def test_a_verb_that_makes_no_sense_is_not_allowed(method: str, path: str, probe: Probe) -> None:
    body = None if method in {"HEAD", "OPTIONS"} else b"{}"

    answer = probe.api.request(method, path, body)

    assert answer.code == 405
    if method != "HEAD":  # whose answers have no body
        assert answer.expect_refusal(405, "MethodNotAllowed") == {}
        assert answer.message == NO_METHOD


def test_a_verb_is_not_allowed_on_custom_resources_either(probe: Probe) -> None:
    path = f"/apis/{GROUP}/v1/namespaces/default/gadgets/x/status"

    answer = probe.api.request("DELETE", path)

    message = f'delete is not supported on resources of kind "gadgets.{GROUP}"'
    details = answer.expect_refusal(405, "MethodNotAllowed", message)
    assert details == {"group": GROUP, "kind": "gadgets"}


@pytest.mark.parametrize("kind", [("ConfigMap", "v1"), GADGET], ids=str)
def test_an_unknown_object_is_not_found(kind: tuple[str, str], probe: Probe) -> None:
    manifest = probe.a(*kind)
    name = manifest["metadata"]["name"]

    answer = probe.api.get(manifest)

    details = answer.expect_refusal(404, "NotFound")
    assert answer.message in {
        f'configmaps "{name}" not found',
        f'gadgets.{GROUP} "{name}" not found',
    }
    assert details["name"] == name
    assert details["kind"] in {"configmaps", "gadgets"}
    assert details.get("group") in {None, GROUP}


def test_a_slash_at_the_end_is_no_matter(probe: Probe) -> None:
    path = f"{NAMESPACED}/configmaps"

    answer = probe.api.request("GET", f"{path}/")

    assert answer.expect(200)["kind"] == "ConfigMapList"


def test_an_answer_is_json_and_not_to_be_kept(probe: Probe) -> None:
    made = probe.create(probe.a("ConfigMap", "v1"))

    headers = probe.api.get(made).headers

    assert headers["Content-Type"] == "application/json"
    assert headers["Cache-Control"] == "no-cache, private"
    assert len(headers["Audit-Id"]) == len(made["metadata"]["uid"])


def test_names_in_paths_are_escaped(probe: Probe) -> None:
    made = probe.create(probe.a("ConfigMap", "v1"))
    path = place(made)
    escaped = path.replace("-", "%2D")

    assert probe.api.request("GET", escaped).expect(200) == made
