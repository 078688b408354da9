"""
Roles and their bindings: kept for manifests that bring them along, and enforced by nobody.

Whoever has the token of a sandbox may do everything in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from muster.queue.client.refusal import FieldError, invalid_value, not_supported, required
from muster.queue.sandbox.kinds.metadata import rule_errors, selector_errors
from muster.queue.sandbox.kinds.names import dns_subdomain, path_segment
from muster.queue.sandbox.kinds.resources import Object, Shared
from muster.queue.sandbox.kinds.strategy import BuiltInStrategy

GROUP: Final = "rbac.authorization.k8s.io"
_SUBJECTS: Final = ("ServiceAccount", "User", "Group")


class RoleStrategy(BuiltInStrategy):
    """The strategy of Roles and ClusterRoles."""

    name_rule = staticmethod(path_segment)
    allows_create_on_update = True

    def __init__(self, component: str) -> None:
        super().__init__(component)
        self._namespaced = component.endswith(".Role")

    def create_errors(self, obj: Shared) -> Iterable[FieldError]:
        return _role_errors(obj, namespaced=self._namespaced)


class BindingStrategy(BuiltInStrategy):
    """The strategy of RoleBindings and ClusterRoleBindings."""

    name_rule = staticmethod(path_segment)
    allows_create_on_update = True

    def __init__(self, component: str) -> None:
        super().__init__(component)
        self._namespaced = component.endswith(".RoleBinding")

    def fill(self, obj: Object) -> None:
        if not obj["roleRef"].get("apiGroup"):
            obj["roleRef"]["apiGroup"] = GROUP
        for subject in obj.get("subjects") or ():
            if not subject.get("apiGroup") and subject["kind"] in {"User", "Group"}:
                subject["apiGroup"] = GROUP

    def create_errors(self, obj: Shared) -> Iterable[FieldError]:
        return _binding_errors(obj, namespaced=self._namespaced)

    def update_errors(self, obj: Shared, old: Shared, subresource: str) -> Iterable[FieldError]:
        errors = [*self.create_errors(obj)]
        if obj["roleRef"] != old["roleRef"]:
            errors.append(invalid_value("roleRef", obj["roleRef"], "cannot change roleRef"))
        return errors


def _role_errors(role: Shared, *, namespaced: bool) -> Iterator[FieldError]:
    for index, rule in enumerate(role.get("rules") or ()):
        yield from _rule_errors(f"rules[{index}]", rule, namespaced=namespaced)
    aggregation = role.get("aggregationRule")
    if aggregation is not None:
        place = "aggregationRule.clusterRoleSelectors"
        selectors = aggregation.get("clusterRoleSelectors") or ()
        if not selectors:
            detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
            yield required(place, detail)
        for index, selector in enumerate(selectors):
            yield from selector_errors(f"{place}[{index}]", selector)


def _rule_errors(place: str, rule: Shared, *, namespaced: bool) -> Iterator[FieldError]:
    if not rule.get("verbs"):
        yield required(f"{place}.verbs", "verbs must contain at least one value")
    if urls := rule.get("nonResourceURLs"):
        at = f"{place}.nonResourceURLs"
        if namespaced:
            yield invalid_value(at, urls, "namespaced rules cannot apply to non-resource URLs")
        if any(rule.get(name) for name in ("apiGroups", "resources", "resourceNames")):
            detail = "rules cannot apply to both regular resources and non-resource URLs"
            yield invalid_value(at, urls, detail)
        return
    if not rule.get("apiGroups"):
        detail = "resource rules must supply at least one api group"
        yield required(f"{place}.apiGroups", detail)
    if not rule.get("resources"):
        detail = "resource rules must supply at least one resource"
        yield required(f"{place}.resources", detail)


def _binding_errors(binding: Shared, *, namespaced: bool) -> Iterator[FieldError]:
    role = binding["roleRef"]
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    if role["apiGroup"] != GROUP:
        yield not_supported("roleRef.apiGroup", role["apiGroup"], (GROUP,))
    if role["kind"] not in kinds:
        yield not_supported("roleRef.kind", role["kind"], kinds)
    if not role["name"]:
        yield required("roleRef.name")
    yield from rule_errors("roleRef.name", role["name"], path_segment)
    for index, subject in enumerate(binding.get("subjects") or ()):
        yield from _subject_errors(f"subjects[{index}]", subject, namespaced=namespaced)


def _subject_errors(place: str, subject: Shared, *, namespaced: bool) -> Iterator[FieldError]:
    name, group = subject["name"], subject.get("apiGroup", "")
    if not name:
        yield required(f"{place}.name")
    if subject["kind"] not in _SUBJECTS:
        yield not_supported(f"{place}.kind", subject["kind"], _SUBJECTS)
        return
    account = subject["kind"] == "ServiceAccount"
    if account and name:
        yield from rule_errors(f"{place}.name", name, dns_subdomain)
    if group != ("" if account else GROUP):
        yield not_supported(f"{place}.apiGroup", group, ("" if account else GROUP,))
    if account and not namespaced and not subject.get("namespace"):
        yield required(f"{place}.namespace")
