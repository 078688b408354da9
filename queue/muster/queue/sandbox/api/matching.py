"""
Which requests an admission webhook wants to know of: rules, selectors and conditions.

A rule names operations, groups, versions and resources with their sub-resources; `*` is any. With
the match policy Equivalent a rule for one version of a kind fits requests in all its versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from muster.queue.client.labels import matches_labels
from muster.queue.client.refusal import forbidden
from muster.queue.sandbox.api.attributes import Attributes
from muster.queue.sandbox.kinds.resources import Resource, Shared

if TYPE_CHECKING:
    from muster.queue.sandbox.kinds.match_conditions import Condition

_ANY = "*"


@dataclass(frozen=True)
class Hook:
    """One webhook of a configuration."""

    configured: Shared

    @property
    def name(self) -> str:
        name: str = self.configured["name"]
        return name

    @property
    def client_config(self) -> Shared:
        config: Shared = self.configured["clientConfig"]
        return config

    @property
    def timeout_s(self) -> int:
        return self.configured.get("timeoutSeconds") or 10

    @property
    def may_fail(self) -> bool:
        return self.configured.get("failurePolicy") == "Ignore"

    @property
    def dry_runs(self) -> bool:
        """It may be asked about a write that is not meant."""
        return self.configured.get("sideEffects") in {"None", "NoneOnDryRun"}

    @property
    def reinvoked(self) -> bool:
        """It wants to see what later ones make of the object."""
        return self.configured.get("reinvocationPolicy") == "IfNeeded"

    def wanted(
        self, resource: Resource, others: Sequence[Resource], subresource: str, operation: str
    ) -> Resource | None:
        """
        Return the version of a resource in which it wants to know of such requests, if at all.

        `others` are the further versions of the resource.
        """
        rules: Sequence[Shared] = self.configured.get("rules") or ()
        if any(_fits(rule, resource, subresource, operation) for rule in rules):
            return resource
        if self.configured.get("matchPolicy") == "Exact":
            return None
        for rule in rules:
            for other in others:
                if _fits(rule, other, subresource, operation):
                    return other
        return None

    def selects(self, request: Attributes, labels_of: Callable[[str], Mapping[str, str]]) -> bool:
        """Say whether the namespace and the object of a request have the labels it wants."""
        selector = self.configured.get("namespaceSelector")
        if selector and request.namespace:
            labels = _namespace_labels(request, labels_of)
            if not matches_labels(selector, labels):
                return False
        selector = self.configured.get("objectSelector")
        return not selector or any(
            obj is not None and matches_labels(selector, _labels(obj))
            for obj in (request.object, request.old_object)
        )

    def meets_conditions(self, asked: Shared, request: Attributes) -> bool:
        """
        Say whether all match conditions hold of the `request` of a review.

        One that can't be evaluated follows the failure policy; raises Refusal 403.
        """
        if not self.configured.get("matchConditions"):
            return True
        # Loaded where it is needed: it takes longer than all the rest.
        from muster.queue.sandbox.schema.expressions import EvaluationError  # noqa: PLC0415

        faults: list[str] = []
        for condition in self._conditions:
            try:
                if not condition.holds(asked):
                    return False
            except EvaluationError as error:
                faults.append(str(error))
        if faults and not self.may_fail:
            told = faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]"
            raise forbidden(request.resource.subject(request.name), told)
        return not faults

    @cached_property
    def _conditions(self) -> tuple[Condition, ...]:
        from muster.queue.sandbox.kinds.match_conditions import Condition  # noqa: PLC0415

        return tuple(
            Condition(condition["expression"])
            for condition in self.configured.get("matchConditions") or ()
        )


def hooks_of(configuration: Shared) -> tuple[Hook, ...]:
    """Return the webhooks of a configuration, in their order."""
    return tuple(Hook(configured) for configured in configuration["webhooks"])


def _namespace_labels(
    request: Attributes, labels_of: Callable[[str], Mapping[str, str]]
) -> Mapping[str, str]:
    """Return the labels of the namespace of a request; of one to be written, those it will have."""
    if _is_namespace(request.resource) and not request.subresource and request.object is not None:
        return _labels(request.object)
    return labels_of(request.namespace)


def _labels(obj: Shared) -> Mapping[str, str]:
    return (obj.get("metadata") or {}).get("labels") or {}


def _is_namespace(resource: Resource) -> bool:
    return resource.kind.group == "" and resource.kind.plural == "namespaces"


def _fits(rule: Shared, resource: Resource, subresource: str, operation: str) -> bool:
    kind = resource.kind
    return (
        _in_scope(rule.get("scope"), namespaced=kind.namespaced)
        and _named(rule.get("operations"), operation)
        and _named(rule.get("apiGroups"), kind.group)
        and _named(rule.get("apiVersions"), kind.version)
        and any(
            _names_resource(pattern, kind.plural, subresource)
            for pattern in rule.get("resources") or ()
        )
    )


def _in_scope(scope: str | None, *, namespaced: bool) -> bool:
    return scope in {None, _ANY, "Namespaced" if namespaced else "Cluster"}


def _named(names: Iterable[str] | None, name: str) -> bool:
    return any(each in {_ANY, name} for each in names or ())


def _names_resource(pattern: str, plural: str, subresource: str) -> bool:
    resource, _, below = pattern.partition("/")
    return resource in {_ANY, plural} and below in {_ANY, subresource}
