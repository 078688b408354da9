"""
Parts that objects of every kind share: metadata, conditions, label selectors.

Metadata is read leniently, because dumps of live objects carry bookkeeping (managedFields, …)
that nobody here interprets; a name that no version of Kubernetes knows is still an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from muster.queue.api.problems import Problems, cross_check, structure_check
from muster.queue.api.schema import (
    ATOMIC_LIST,
    LABEL_KEY_PATTERN,
    ApiModel,
    Int64,
    Items,
    LabelKey,
    LabelValue,
    ListMap,
    ObjectReference,
    StatusModel,
    Timestamp,
    empty_map,
)
from muster.queue.api.wording import unknown_field

Labels = dict[LabelKey, LabelValue]
Annotations = dict[LabelKey, str]


class OwnerReference(ApiModel):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class _Metadata(ApiModel):
    """Reads some fields of metadata and drops the others that exist."""

    model_config = ConfigDict(extra="ignore")

    ACCEPTED = frozenset(
        {
            "annotations",
            "clusterName",
            "creationTimestamp",
            "deletionGracePeriodSeconds",
            "deletionTimestamp",
            "finalizers",
            "generateName",
            "generation",
            "initializers",
            "labels",
            "managedFields",
            "name",
            "namespace",
            "ownerReferences",
            "resourceVersion",
            "selfLink",
            "uid",
        }
    )

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_fields(cls, data: Any) -> Any:
        if isinstance(data, dict) and not data.keys() <= cls.ACCEPTED:
            problems = Problems()
            for name in data:
                if name not in cls.ACCEPTED:
                    problems.add((), unknown_field(str(name), cls.ACCEPTED))
            problems.raise_if_any()
        return data


class ObjectMeta(_Metadata):
    name: ObjectReference = ""
    """Unique in the namespace; empty only while the API server has yet to generate it."""
    generate_name: str = ""
    namespace: str | None = None
    uid: str = ""
    labels: Labels = empty_map()
    annotations: Annotations = empty_map()
    generation: Int64 = 0
    resource_version: str = ""
    creation_timestamp: Timestamp | None = None
    deletion_timestamp: Timestamp | None = None
    owner_references: Items[OwnerReference] = ()
    finalizers: Items[str] = ()

    @structure_check
    def _require_a_name(self, problems: Problems) -> None:
        if not self.name and not self.generate_name:
            problems.add(("name",), "is required")


class TemplateMeta(_Metadata):
    """Metadata of a pod template, of which only labels and annotations count."""

    labels: Labels = empty_map()
    """Labels of the pods."""
    annotations: Annotations = empty_map()
    """Annotations of the pods."""


ConditionStatus = Literal["True", "False", "Unknown"]


class CoreCondition(StatusModel):
    """A condition of a core object, such as a Node; the core API leaves much of it out."""

    type: str
    status: ConditionStatus
    last_transition_time: Timestamp | None = None
    reason: str = ""
    message: str = ""


class Condition(StatusModel):
    """What a controller observed about one of our objects."""

    type: Annotated[str, StringConstraints(max_length=316, pattern=LABEL_KEY_PATTERN)]
    """Name of the condition in CamelCase."""
    status: ConditionStatus
    """Whether the condition holds."""
    observed_generation: Annotated[Int64, Field(ge=0)] | None = None
    """The generation of the object the condition was set for."""
    last_transition_time: Timestamp
    """When the status last changed."""
    reason: Annotated[
        str,
        StringConstraints(
            min_length=1, max_length=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
        ),
    ]
    """Why, as one word in CamelCase."""
    message: Annotated[str, StringConstraints(max_length=32768)]
    """Why, for a person; may be empty."""


def is_true(conditions: Sequence[Condition], name: str) -> bool:
    """Whether the condition `name` is there and True."""
    return any(each.type == name and each.status == "True" for each in conditions)


ConditionList = Annotated[Items[Condition], Field(max_length=16), ListMap(("type",))]


class LabelSelectorRequirement(ApiModel):
    key: LabelKey
    """The label the requirement is about."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """How the label relates to the values."""
    values: Annotated[Items[LabelValue], ATOMIC_LIST] = ()
    """At least one for In and NotIn, none for Exists and DoesNotExist."""

    @cross_check
    def _values_fit_the_operator(self, problems: Problems) -> None:
        if self.operator in ("In", "NotIn") and not self.values:
            problems.add(("values",), f"is required by operator {self.operator}")
        if self.operator in ("Exists", "DoesNotExist") and self.values:
            problems.add(("values",), f"must be empty for operator {self.operator}")

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with `labels` meets the requirement."""
        match self.operator:
            case "In":
                return labels.get(self.key) in self.values
            case "NotIn":
                return labels.get(self.key) not in self.values
            case "Exists":
                return self.key in labels
            case "DoesNotExist":
                return self.key not in labels


class LabelSelector(ApiModel):
    """All parts must hold; an empty selector selects everything."""

    match_labels: Labels = empty_map()
    """Labels with exactly these values."""
    match_expressions: Annotated[Items[LabelSelectorRequirement], ATOMIC_LIST] = ()
    """Requirements on labels."""

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with `labels` is selected."""
        exact = all(labels.get(key) == value for key, value in self.match_labels.items())
        return exact and all(each.matches(labels) for each in self.match_expressions)
