"""
Reviews of identity and access: kinds that are answered, not stored.

There is one user, who may do everything, so every question has the same answer.
"""

from __future__ import annotations

from typing import Any, Final

from muster.queue.client.kinds import Kind
from muster.queue.sandbox.kinds.resources import Answer, Object, Resource, Shared
from muster.queue.sandbox.kinds.schemas import component_of, schema
from muster.queue.sandbox.kinds.strategy import BuiltInStrategy

_AUTHENTICATION: Final = "authentication.k8s.io"
_AUTHORIZATION: Final = "authorization.k8s.io"
_ALLOWED: Final = {"allowed": True, "reason": "in the sandbox everybody may do everything"}
_RULES: Final = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}


def access_resources() -> tuple[Resource, ...]:
    """Return the kinds of such questions."""
    return (
        _question(_AUTHENTICATION, "SelfSubjectReview", _who),
        _question(_AUTHORIZATION, "LocalSubjectAccessReview", _may, namespaced=True),
        _question(_AUTHORIZATION, "SelfSubjectAccessReview", _may),
        _question(_AUTHORIZATION, "SelfSubjectRulesReview", _rules),
        _question(_AUTHORIZATION, "SubjectAccessReview", _may),
    )


def _question(group: str, name: str, answer: Answer, *, namespaced: bool = False) -> Resource:
    kind = Kind(group, "v1", name, f"{name.lower()}s", namespaced=namespaced)
    component = component_of(kind)
    return Resource(
        kind=kind,
        singular=name.lower(),
        schema=schema(component),
        schema_name=component,
        strategy=BuiltInStrategy(component),
        answer=answer,
    )


def _who(question: Shared, user: Shared) -> Object:
    return _answered(question, {"userInfo": dict(user)})


def _may(question: Shared, _user: Shared) -> Object:
    return _answered(question, _ALLOWED)


def _rules(question: Shared, _user: Shared) -> Object:
    return _answered(question, _RULES)


def _answered(question: Shared, status: dict[str, Any]) -> Object:
    return {**question, "metadata": question.get("metadata") or {}, "status": status}
