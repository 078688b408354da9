"""What a server says of itself: versions, health, groups, resources and their schemas."""

from typing import Any

import pytest

from tests.e2e.api import JSON, Answer, Api
from tests.e2e.probes.gadgets import GADGET, GROUP
from tests.e2e.probes.probe import Probe
from tests.queue.api.manifests import Manifest

pytestmark = pytest.mark.usefixtures("gadgets")

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
ALL = {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
OF_STATUS = {"get", "patch", "update"}

PUBLISHED_MAX_S = 20


def get(api: Api, path: str, accept: str = JSON) -> Answer:
    answer = api.request("GET", path, None, JSON, {"Accept": accept})
    answer.expect(200)
    return answer


def test_the_version_is_told(api: Api) -> None:
    version = get(api, "/version").body

    assert (version["major"], version["minor"]) == ("1", "36")
    assert version["gitVersion"].startswith("v1.36.")
    assert version.keys() >= {"gitCommit", "buildDate", "goVersion", "compiler", "platform"}


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_health_is_a_word(path: str, api: Api) -> None:
    answer = get(api, path)

    assert answer.body == {"text": "ok"}
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"


def test_the_core_has_one_version(api: Api) -> None:
    body = get(api, "/api").body

    assert (body["kind"], body["versions"]) == ("APIVersions", ["v1"])


def a_group(name: str) -> Manifest:
    version = {"groupVersion": f"{name}/v1", "version": "v1"}
    return {"name": name, "versions": [version], "preferredVersion": version}


@pytest.mark.parametrize(
    "name",
    ["batch", "coordination.k8s.io", "scheduling.k8s.io", "apiextensions.k8s.io", GROUP],
)
def test_a_group_is_told_with_its_versions(name: str, api: Api) -> None:
    groups = get(api, "/apis").body
    group = get(api, f"/apis/{name}").body

    assert (groups["kind"], groups["apiVersion"]) == ("APIGroupList", "v1")
    assert a_group(name) in groups["groups"]
    assert group == {"kind": "APIGroup", "apiVersion": "v1", **a_group(name)}


RESOURCES: dict[str, dict[str, Manifest]] = {
    "/api/v1": {
        "pods": {
            "singularName": "pod",
            "namespaced": True,
            "kind": "Pod",
            "shortNames": ["po"],
            "categories": ["all"],
            "verbs": ALL,
        },
        "pods/status": {
            "singularName": "",
            "namespaced": True,
            "kind": "Pod",
            "verbs": OF_STATUS,
        },
        "pods/binding": {
            "singularName": "",
            "namespaced": True,
            "kind": "Binding",
            "verbs": {"create"},
        },
        "pods/eviction": {
            "singularName": "",
            "namespaced": True,
            "group": "policy",
            "version": "v1",
            "kind": "Eviction",
            "verbs": {"create"},
        },
        "nodes": {
            "singularName": "node",
            "namespaced": False,
            "kind": "Node",
            "shortNames": ["no"],
            "verbs": ALL,
        },
        "namespaces": {
            "singularName": "namespace",
            "namespaced": False,
            "kind": "Namespace",
            "shortNames": ["ns"],
            "verbs": ALL - {"deletecollection"},
        },
        "configmaps": {
            "singularName": "configmap",
            "namespaced": True,
            "kind": "ConfigMap",
            "shortNames": ["cm"],
            "verbs": ALL,
        },
        "events": {
            "singularName": "event",
            "namespaced": True,
            "kind": "Event",
            "shortNames": ["ev"],
            "verbs": ALL,
        },
    },
    "/apis/batch/v1": {
        "jobs": {
            "singularName": "job",
            "namespaced": True,
            "kind": "Job",
            "categories": ["all"],
            "verbs": ALL,
        },
        "jobs/status": {
            "singularName": "",
            "namespaced": True,
            "kind": "Job",
            "verbs": OF_STATUS,
        },
    },
    f"/apis/{GROUP}/v1": {
        "gadgets": {
            "singularName": "gadget",
            "namespaced": True,
            "kind": "Gadget",
            "shortNames": ["gd"],
            "verbs": ALL,
        },
        "gadgets/status": {
            "singularName": "",
            "namespaced": True,
            "kind": "Gadget",
            "verbs": OF_STATUS,
        },
    },
}


@pytest.mark.parametrize(
    "path, name", [(path, name) for path, named in RESOURCES.items() for name in named]
)
def test_a_resource_is_told_with_all_that_kubectl_needs(path: str, name: str, api: Api) -> None:
    body = get(api, path).body

    assert body["kind"] == "APIResourceList"
    assert body["groupVersion"] == path.removeprefix("/api/").removeprefix("/apis/")
    (told,) = [each for each in body["resources"] if each["name"] == name]
    told["verbs"] = {*told["verbs"]}
    told.pop("storageVersionHash", None)
    assert told == {"name": name, **RESOURCES[path][name]}


# -- all in one ----------------------------------------------------------------------------------


def aggregated(api: Api, path: str) -> dict[str, Manifest]:
    """Return every group by name as it is told in one document."""
    answer = get(api, path, f"{AGGREGATED},{JSON}")
    assert answer.headers["Content-Type"] == AGGREGATED
    body = answer.body
    assert (body["kind"], body["apiVersion"]) == (
        "APIGroupDiscoveryList",
        "apidiscovery.k8s.io/v2",
    )
    return {item["metadata"].get("name", ""): item for item in body["items"]}


def test_all_resources_are_told_at_once(api: Api) -> None:
    (version,) = aggregated(api, "/apis")[GROUP]["versions"]

    (gadgets,) = version.pop("resources")
    assert version == {"version": "v1", "freshness": "Current"}
    verbs = {*gadgets.pop("verbs")}
    (status,) = gadgets.pop("subresources")
    kind = {"group": GROUP, "version": "v1", "kind": "Gadget"}
    assert gadgets == {
        "resource": "gadgets",
        "responseKind": kind,
        "scope": "Namespaced",
        "singularResource": "gadget",
        "shortNames": ["gd"],
    }
    assert verbs == ALL
    assert status["subresource"] == "status"
    assert status["responseKind"] == kind
    assert {*status["verbs"]} == OF_STATUS


def test_the_core_is_told_at_once(api: Api) -> None:
    (version,) = aggregated(api, "/api")[""]["versions"]
    by_name = {resource["resource"]: resource for resource in version["resources"]}

    assert version["version"] == "v1"
    assert by_name["nodes"]["scope"] == "Cluster"
    pods = by_name["pods"]
    assert pods["responseKind"]["kind"] == "Pod"
    subresources = {each["subresource"]: each for each in pods["subresources"]}
    assert subresources.keys() >= {"binding", "eviction", "status"}
    assert subresources["eviction"]["responseKind"] == {
        "group": "policy",
        "version": "v1",
        "kind": "Eviction",
    }


def test_who_asks_for_something_older_gets_the_plain_list(api: Api) -> None:
    older = AGGREGATED.replace("v=v2", "v=v2beta1")

    assert get(api, "/apis", f"{older},{JSON}").body["kind"] == "APIGroupList"


def test_discovery_is_asked_for_again_only_if_it_changed(api: Api) -> None:
    tag = get(api, "/apis", AGGREGATED).headers["Etag"]

    headers = {"Accept": AGGREGATED, "If-None-Match": tag}
    answer = api.request("GET", "/apis", None, JSON, headers)

    assert answer.code == 304


# -- schemas -------------------------------------------------------------------------------------


def document(api: Api, group_version: str) -> Manifest:
    """Return the schemas of a group's version, from where the index says they are."""
    url = index_of_schemas(api, group_version)[group_version]["serverRelativeURL"]
    assert url.startswith(f"/openapi/v3/{group_version}?hash=")
    return get(api, url).body


def index_of_schemas(api: Api, group_version: str) -> Manifest:
    """Return the index; schemas of a new definition come a moment late, and nobody tells when."""
    for _ in range(PUBLISHED_MAX_S):
        index: Manifest = get(api, "/openapi/v3").body["paths"]
        if group_version in index:
            return index
        let_a_second_pass(api)
    raise AssertionError(f"no schemas of {group_version} after {PUBLISHED_MAX_S} s")


def let_a_second_pass(api: Api) -> None:
    with api.watch("/api/v1/namespaces", labelSelector="no=body", timeoutSeconds="1") as quiet:
        assert list(quiet) == []


@pytest.mark.parametrize(
    "group_version, name, kind",
    [
        ("api/v1", "io.k8s.api.core.v1.ConfigMap", ("", "v1", "ConfigMap")),
        ("api/v1", "io.k8s.api.core.v1.Pod", ("", "v1", "Pod")),
        ("apis/batch/v1", "io.k8s.api.batch.v1.Job", ("batch", "v1", "Job")),
        (f"apis/{GROUP}/v1", "dev.muster.e2e.v1.Gadget", (GROUP, "v1", "Gadget")),
    ],
)
def test_a_schema_says_whose_it_is(
    group_version: str, name: str, kind: tuple[str, str, str], api: Api
) -> None:
    body = document(api, group_version)

    assert body["openapi"] == "3.0.0"
    schema = body["components"]["schemas"][name]
    told = dict(zip(("group", "version", "kind"), kind, strict=True))
    assert schema["x-kubernetes-group-version-kind"] == [told]
    assert schema["properties"].keys() >= {"apiVersion", "kind", "metadata"}


def found(body: Manifest, schema: Manifest, path: str) -> Manifest:
    """Return the schema of a field, through lists and references to other schemas."""
    for step in path.split("."):
        schema = _resolved(body, schema)["properties"][step]
        schema = _resolved(body, schema)
        if step != path.rpartition(".")[2] and schema.get("type") == "array":
            schema = schema["items"]
    return schema


def _resolved(body: Manifest, schema: Manifest) -> Manifest:
    references = [schema, *schema.get("allOf", ())]
    for each in references:
        if "$ref" in each:
            resolved: Manifest = body["components"]["schemas"][each["$ref"].rpartition("/")[2]]
            return resolved
    return schema


@pytest.mark.parametrize(
    "field, told",
    [
        ("description", "A thing to try out an API server with."),
        ("spec.size", {"type": "integer", "default": 1, "minimum": 0, "maximum": 100}),
        ("spec.mode", {"type": "string", "enum": ["fast", "slow"]}),
        ("spec.parts.weight", {"type": "integer", "default": 1}),
    ],
)
def test_a_definition_is_told_as_it_is(field: str, told: Any, api: Api) -> None:
    body = document(api, f"apis/{GROUP}/v1")
    schema = body["components"]["schemas"]["dev.muster.e2e.v1.Gadget"]

    if field == "description":
        assert schema["description"] == told
    else:
        assert found(body, schema, field) == told


@pytest.mark.parametrize(
    "field, kind",
    [
        ("spec.containers.ports.containerPort", "integer"),
        ("spec.nodeSelector", "object"),
        ("spec.tolerations.tolerationSeconds", "integer"),
        ("metadata.labels", "object"),
        ("status.phase", "string"),
    ],
)
def test_a_builtin_is_explained_down_to_its_leaves(field: str, kind: str, api: Api) -> None:
    body = document(api, "api/v1")

    schema = found(body, body["components"]["schemas"]["io.k8s.api.core.v1.Pod"], field)

    assert schema["type"] == kind


@pytest.mark.parametrize(
    "path, method, action",
    [
        ("gadgets", "post", "post"),
        ("gadgets/{name}", "get", "get"),
        ("gadgets/{name}", "patch", "patch"),
    ],
)
def test_kubectl_finds_what_it_may_ask_for(path: str, method: str, action: str, api: Api) -> None:
    body = document(api, f"apis/{GROUP}/v1")

    operation = body["paths"][f"/apis/{GROUP}/v1/namespaces/{{namespace}}/{path}"][method]

    assert operation["x-kubernetes-action"] == action
    assert operation["x-kubernetes-group-version-kind"]["kind"] == "Gadget"
    if method != "get":
        parameters = {each["name"] for each in operation["parameters"]}
        assert {"dryRun", "fieldManager", "fieldValidation"} <= parameters


def test_an_unknown_version_has_no_schemas(api: Api) -> None:
    api.request("GET", "/openapi/v3/apis/nothing.example.com/v1").expect(404)


def test_a_definition_says_when_it_is_served(probe: Probe) -> None:
    definition = probe.api.request(
        "GET", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.{GROUP}"
    ).expect(200)

    conditions = {each["type"]: each["status"] for each in definition["status"]["conditions"]}
    assert conditions["Established"] == conditions["NamesAccepted"] == "True"
    assert definition["status"]["acceptedNames"] == {
        "kind": GADGET[0],
        "listKind": "GadgetList",
        "plural": "gadgets",
        "shortNames": ["gd"],
        "singular": "gadget",
    }
    assert definition["status"]["storedVersions"] == ["v1"]
