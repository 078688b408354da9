"""What a server makes of schemas, rules and built-in documents is as recorded of a real one."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from muster.queue.sandbox.kinds.schemas import NAMES
from tests.e2e.api import Answer, Api, collection
from tests.queue.api.manifests import Manifest
from tests.queue.sandbox.schema.recorded import Json, answers, raw_schema

GROUP = "answers.muster.dev"
VERSION = f"{GROUP}/v1"


def a_definition(kind: str, schema: Json) -> Manifest:
    plural = f"{kind.lower()}s"
    served = {"name": "v1", "served": True, "storage": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {"plural": plural, "kind": kind},
            "versions": [{**served, "schema": {"openAPIV3Schema": schema}}],
        },
    }


@contextmanager
def defined(api: Api, kind: str, schema: Json) -> Iterator[None]:
    manifest = a_definition(kind, schema)
    api.create(manifest).expect(201)
    try:
        api.wait_for_condition(manifest, "Established")
        yield
    finally:
        api.delete(manifest).expect(200)


def an_object(kind: str, given: Json, name: str = "x") -> Manifest:
    return {"apiVersion": VERSION, "kind": kind, "metadata": {"name": name}, **copy.deepcopy(given)}


def causes(answer: Answer) -> list[list[str]]:
    assert answer.code in {200, 201, 422}, answer
    return sorted(
        [each["reason"], each.get("field", ""), each["message"]] for each in answer.causes
    )


def unknown(answer: Answer) -> list[str]:
    fields = [warning.partition('unknown field \\"')[2] for warning in answer.warnings]
    return [field.removesuffix('\\""') for field in fields if field]


def test_values_and_formats(api: Api) -> None:
    recorded = answers("values")
    with defined(api, "Value", raw_schema(recorded)):

        def told(spec: Json) -> list[list[str]]:
            manifest = an_object("Value", {"spec": spec})
            return causes(api.create(manifest, dryRun="All", fieldValidation="Ignore"))

        for case in recorded["cases"]:
            assert told(case["spec"]) == case["causes"], case["spec"]
        for field, schema in recorded["properties"].items():
            accepted = recorded["formats"].get(schema.get("format"))
            if accepted is not None:
                kept = [text for text in recorded["texts"] if not told({field: text})]
                assert sorted(kept) == sorted(accepted), field


@pytest.mark.parametrize(
    "name, kind", [("rules", "Rule"), ("lists", "ListType"), ("named_formats", "NamedFormat")]
)
def test_rules(name: str, kind: str, api: Api) -> None:
    recorded = answers(name)
    with defined(api, kind, raw_schema(recorded)):
        for case in recorded["cases"]:
            manifest = an_object(kind, {"spec": case["spec"]}, case.get("name", "x"))
            if "old" not in case:
                answer = api.create(manifest, dryRun="All")
            else:
                made = api.create({**manifest, "spec": case["old"]}).expect(201)
                answer = api.replace({**manifest, "metadata": made["metadata"]}, dryRun="All")
                api.delete(made).expect(200)
            assert causes(answer) == case["causes"], case["spec"]


def test_what_is_dropped_and_filled(api: Api) -> None:
    recorded = answers("pruning")
    with defined(api, "Dropped", raw_schema(recorded)):
        for case in recorded["cases"]:
            path = collection(an_object("Dropped", {}))
            answer = api.request("POST", path, an_object("Dropped", case["given"]), dryRun="All")
            if "error" in case:
                details = f'Dropped in version "v1" cannot be handled as a Dropped: {case["error"]}'
                answer.expect_refusal(400, "BadRequest", details)
                continue
            body = answer.expect(201)
            assert unknown(answer) == case["unknown"], case["given"]
            assert body.get("spec") == case["kept"].get("spec"), case["given"]
            kept = case["kept"]["metadata"]
            assert {name: body["metadata"].get(name) for name in kept} == kept


def test_schemas(api: Api) -> None:
    for case in answers("schemas")["cases"]:
        answer = api.create(a_definition("Schema", case["schema"]), dryRun="All")

        assert causes(answer) == case["causes"], case["schema"]


@pytest.fixture(scope="module")
def paths(namespace: str) -> dict[str, str]:
    """Where objects of built-in kinds are created, by the name of their component."""
    return {
        name: f"/{document}{place}"
        for document, place, name in (
            ("api/v1", f"/namespaces/{namespace}/pods", "io.k8s.api.core.v1.Pod"),
            ("api/v1", f"/namespaces/{namespace}/configmaps", "io.k8s.api.core.v1.ConfigMap"),
            ("apis/batch/v1", f"/namespaces/{namespace}/jobs", "io.k8s.api.batch.v1.Job"),
            (
                "apis/coordination.k8s.io/v1",
                f"/namespaces/{namespace}/leases",
                "io.k8s.api.coordination.v1.Lease",
            ),
            (
                "apis/apiextensions.k8s.io/v1",
                "/customresourcedefinitions",
                NAMES["apis/apiextensions.k8s.io/v1"][0],
            ),
        )
    }


def test_built_in_documents(api: Api, paths: dict[str, str]) -> None:
    for case in answers("decoding")["cases"]:
        answer = api.request("POST", paths[case["kind"]], case["given"], dryRun="All")
        if "error" in case:
            kind = case["kind"].rpartition(".")[2]
            details = f'{kind} in version "v1" cannot be handled as a {kind}: {case["error"]}'
            answer.expect_refusal(400, "BadRequest", details)
        else:
            assert answer.code in {201, 422}, answer
            assert unknown(answer) == case["unknown"], case["given"]
