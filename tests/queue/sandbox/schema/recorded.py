"""
What a real API server answered, recorded: `tests/e2e/test_schema_answers.py` asks it again.

The refusals of an answer are its causes, sorted, as reason, field and message.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from muster.queue.client.refusal import FieldError
from muster.queue.sandbox.kinds.schemas import object_meta
from muster.queue.sandbox.schema.expressions import (
    Checker,
    Expression,
    Type,
    compile_expression,
)
from muster.queue.sandbox.schema.node import Schema, compile_definition
from muster.queue.sandbox.schema.opaque import new_pool

Json = dict[str, Any]

_FOLDER = Path(__file__).parent / "answers"


def answers(name: str) -> Json:
    """Return what was recorded under a name: a schema's properties, and cases."""
    recorded: Json = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return recorded


def raw_schema(recorded: Json) -> Json:
    """Return the schema of the kind that the answers are about, whose spec has the properties."""
    spec = {"type": "object", "properties": recorded["properties"]}
    schema: Json = {"type": "object", "properties": {"spec": spec}}
    if "validations" in recorded:
        schema["x-kubernetes-validations"] = recorded["validations"]
    return schema


def compiled(raw: Json) -> Schema:
    return compile_definition(raw, object_meta())


def an_object(spec: Any, name: str = "x") -> Json:
    metadata = {"name": name}
    return {"apiVersion": "a.example.com/v1", "kind": "A", "metadata": metadata, "spec": spec}


def an_expression(text: str) -> Expression:
    """Compile an expression on `self` and `oldSelf` of any type. Raises ExpressionError."""
    variables = {"self": Type.DYN, "oldSelf": Type.DYN}
    return compile_expression(text, Checker(new_pool(), variables))


def causes(errors: Iterable[FieldError]) -> list[list[str]]:
    return sorted([error.reason, error.field, error.message] for error in errors)


def label(case: Json) -> str:
    """Return a short name of a case for test reports."""
    given = case.get("spec", case.get("given", case.get("schema")))
    return json.dumps(given, ensure_ascii=True)[:80].replace("::", ": :")
