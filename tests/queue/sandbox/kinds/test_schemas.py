"""The file of schemas holds facts of what is served, and nothing else."""

from collections.abc import Iterator, Mapping
from typing import Any

from muster.queue.sandbox.kinds.builtin import builtin_resources
from muster.queue.sandbox.kinds.schemas import (
    NAMES,
    components,
    field_numbers,
    object_meta,
    references,
    schema,
)


def keywords(raw: Any, *, fields: bool = False) -> Iterator[str]:
    """Yield the keywords of a schema, not the names of its fields."""
    if isinstance(raw, list):
        for each in raw:
            yield from keywords(each)
    elif isinstance(raw, dict):
        for name, value in raw.items():
            if not fields:
                yield name
            yield from keywords(value, fields=name == "properties" and not fields)


def test_no_sentence_is_carried_over() -> None:
    assert "description" not in set(keywords(list(components().values())))


def test_it_holds_what_is_served_and_what_that_refers_to() -> None:
    wanted = [name for names in NAMES.values() for name in names]
    needed: dict[str, None] = {}
    while wanted:
        name = wanted.pop()
        if name not in needed:
            needed[name] = None
            wanted += references(components()[name])

    assert needed.keys() == components().keys()


def test_every_built_in_kind_has_a_schema_and_a_description() -> None:
    for resource in builtin_resources():
        assert resource.schema is schema(resource.schema_name)
        assert resource.schema.properties["metadata"] is object_meta()
        assert resource.description.endswith(".")


def test_lists_and_patches_are_described() -> None:
    containers = schema("io.k8s.api.core.v1.PodSpec").properties["containers"]

    assert (containers.list_type, containers.list_keys) == ("map", ("name",))
    assert (containers.patch_strategies, containers.patch_merge_key) == (("merge",), "name")
    assert containers.items is schema("io.k8s.api.core.v1.Container")


def test_kinds_that_contain_themselves_are_compiled() -> None:
    name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"

    assert schema(name).properties["not"] is schema(name)


def names_in(numbers: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of fields, of messages in messages as well."""
    for name in numbers.values():
        if isinstance(name, str):
            yield name
        else:
            yield from names_in(name)


def test_every_field_has_one_number_but_what_kind_it_is() -> None:
    with_fields = {
        name: raw["properties"] for name, raw in components().items() if "properties" in raw
    }

    assert field_numbers().keys() == with_fields.keys()
    for component, fields in with_fields.items():
        numbered = list(names_in(field_numbers()[component]))
        assert len(numbered) == len(set(numbered))
        assert set(numbered) <= set(fields)
        assert set(fields) - set(numbered) <= {"apiVersion", "kind"}
