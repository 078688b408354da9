"""Tables: the columns in which kubectl shows objects, computed by the server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from muster.queue.client.refusal import bad_request, invalid_value
from muster.queue.sandbox.kinds.resources import Column, Resource, Shared

INCLUDES: Final = ("None", "Metadata", "Object")
_META: Final = "meta.k8s.io/v1"

_NAME: Final = Column(
    name="Name",
    format="name",
    description="Unique among the objects of this kind in its namespace.",
    value=lambda obj, _now: obj["metadata"]["name"],
)


class Table:
    """Shows objects of one resource as rows."""

    def __init__(self, resource: Resource, include: str, now_us: int) -> None:
        if include not in INCLUDES:
            listed = ", ".join(f'"{each}"' for each in INCLUDES)
            error = invalid_value("includeObject", include, f"must be one of {listed}")
            raise bad_request(str(error))
        columns = resource.columns
        has_name = any(column.format == "name" for column in columns)
        self._columns = columns if has_name else (_NAME, *columns)
        self._include = include
        self._now_us = now_us

    def document(
        self, objects: Iterable[Shared], metadata: Mapping[str, Any], *, columns: bool = True
    ) -> dict[str, Any]:
        """Return the Table; without its columns where they have been sent before."""
        return {
            "kind": "Table",
            "apiVersion": _META,
            "metadata": metadata,
            "columnDefinitions": [_definition(each) for each in self._columns] if columns else None,
            "rows": [self._row(obj) for obj in objects],
        }

    def _row(self, obj: Shared) -> dict[str, Any]:
        row: dict[str, Any] = {
            "cells": [column.value(obj, self._now_us) for column in self._columns]
        }
        if self._include == "Object":
            row["object"] = obj
        elif self._include == "Metadata":
            row["object"] = {
                "kind": "PartialObjectMetadata",
                "apiVersion": _META,
                "metadata": obj["metadata"],
            }
        else:
            row["object"] = None
        return row


def _definition(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }
