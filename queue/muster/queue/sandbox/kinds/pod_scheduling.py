"""What a pod may say of the nodes it wants: selectors, affinity, tolerations, spread, gates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from muster.queue.client.refusal import (
    FieldError,
    duplicate,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
)
from muster.queue.sandbox.kinds.metadata import (
    requirement_errors,
    rule_errors,
    selector_errors,
)
from muster.queue.sandbox.kinds.names import dns_label, dns_subdomain, label_key, label_value
from muster.queue.sandbox.kinds.resources import Shared

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_POLICIES: Final = ("Honor", "Ignore")
_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")
_WEIGHT_MAX: Final = 100


def affinity_errors(place: str, affinity: Shared) -> Iterator[FieldError]:
    """Yield what is wrong with the affinity of a pod."""
    if (nodes := affinity.get("nodeAffinity")) is not None:
        yield from _node_affinity_errors(f"{place}.nodeAffinity", nodes)
    for name in ("podAffinity", "podAntiAffinity"):
        if (pods := affinity.get(name)) is not None:
            yield from _pod_affinity_errors(f"{place}.{name}", pods)


def _node_affinity_errors(place: str, affinity: Shared) -> Iterator[FieldError]:
    if (needed := affinity.get(REQUIRED)) is not None:
        terms = f"{place}.{REQUIRED}.nodeSelectorTerms"
        if not needed.get("nodeSelectorTerms"):
            yield required(terms, "must have at least one node selector term")
        for index, term in enumerate(needed.get("nodeSelectorTerms") or ()):
            yield from _node_term_errors(f"{terms}[{index}]", term, values=True)
    for index, preferred in enumerate(affinity.get(PREFERRED) or ()):
        at = f"{place}.{PREFERRED}[{index}]"
        yield from _weight_errors(at, preferred)
        yield from _node_term_errors(f"{at}.preference", preferred["preference"], values=False)


def _weight_errors(place: str, preferred: Shared) -> Iterator[FieldError]:
    if not 0 < preferred["weight"] <= _WEIGHT_MAX:
        yield invalid_value(f"{place}.weight", preferred["weight"], "must be in the range 1-100")


def _node_term_errors(place: str, term: Shared, *, values: bool) -> Iterator[FieldError]:
    for index, each in enumerate(term.get("matchExpressions") or ()):
        at = f"{place}.matchExpressions[{index}]"
        yield from requirement_errors(at, each, compares=True, values=values)
    for index, each in enumerate(term.get("matchFields") or ()):
        yield from _match_field_errors(f"{place}.matchFields[{index}]", each)


def _match_field_errors(place: str, expression: Shared) -> Iterator[FieldError]:
    given: Sequence[str] = expression.get("values") or ()
    if expression["operator"] not in {"In", "NotIn"}:
        operator = expression["operator"]
        yield invalid_value(f"{place}.operator", operator, "not a valid selector operator")
    elif len(given) != 1:
        yield required(
            f"{place}.values",
            "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
        )
    if expression["key"] != "metadata.name":
        yield invalid_value(f"{place}.key", expression["key"], "not a valid field selector key")
        return
    for index, value in enumerate(given):
        yield from rule_errors(f"{place}.values[{index}]", value, dns_subdomain)


def _pod_affinity_errors(place: str, affinity: Shared) -> Iterator[FieldError]:
    for index, term in enumerate(affinity.get(REQUIRED) or ()):
        yield from _pod_term_errors(f"{place}.{REQUIRED}[{index}]", term)
    for index, preferred in enumerate(affinity.get(PREFERRED) or ()):
        at = f"{place}.{PREFERRED}[{index}]"
        yield from _weight_errors(at, preferred)
        yield from _pod_term_errors(f"{at}.podAffinityTerm", preferred["podAffinityTerm"])


def _pod_term_errors(place: str, term: Shared) -> Iterator[FieldError]:
    yield from selector_errors(f"{place}.labelSelector", term.get("labelSelector"))
    yield from selector_errors(f"{place}.namespaceSelector", term.get("namespaceSelector"))
    for name in term.get("namespaces") or ():
        yield from rule_errors(f"{place}.namespace", name, dns_label)
    yield from _label_keys_errors(place, term)
    if not term["topologyKey"]:
        yield required(f"{place}.topologyKey", "can not be empty")
    yield from rule_errors(f"{place}.topologyKey", term["topologyKey"], label_key)


def _label_keys_errors(place: str, term: Shared) -> Iterator[FieldError]:
    """Yield what is wrong with the keys by which a term selects pods like its own."""
    selector: Shared | None = term.get("labelSelector")
    keys: Sequence[str] = term.get("matchLabelKeys") or ()
    others: Sequence[str] = term.get("mismatchLabelKeys") or ()
    for name, each in (("matchLabelKeys", keys), ("mismatchLabelKeys", others)):
        if each and selector is None:
            detail = "must not be specified when labelSelector is not set"
            yield forbidden_field(f"{place}.{name}", detail)
            continue
        for index, key in enumerate(each):
            yield from rule_errors(f"{place}.{name}[{index}]", key, label_key)
    if selector is not None:
        known = dict.fromkeys(selector.get("matchLabels") or ())
        for expression in selector.get("matchExpressions") or ():
            key = expression["key"]
            # By now each of the keys has an expression of its own, which comes last.
            if key in keys and key in known:
                at = f"{place}[{keys.index(key)}]"
                yield invalid_value(at, key, "exists in both matchLabelKeys and labelSelector")
            known[key] = None
    for index, key in enumerate(keys):
        if key in others:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield invalid_value(f"{place}.matchLabelKeys[{index}]", key, detail)


def tolerations_errors(place: str, tolerations: Sequence[Shared]) -> Iterator[FieldError]:
    """Yield what is wrong with the tolerations of a pod."""
    for index, toleration in enumerate(tolerations):
        yield from _toleration_errors(f"{place}[{index}]", toleration)


def _toleration_errors(place: str, toleration: Shared) -> Iterator[FieldError]:
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    value, effect = toleration.get("value", ""), toleration.get("effect", "")
    if key:
        yield from rule_errors(f"{place}.key", key, label_key)
    elif operator != "Exists":
        yield invalid_value(
            f"{place}.operator",
            operator,
            'operator must be Exists when `key` is empty, which means "match all values and all'
            ' keys"',
        )
    if "tolerationSeconds" in toleration and effect != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield invalid_value(f"{place}.effect", effect, detail)
    match operator:
        case "" | "Equal":
            if wrong := label_value(value):
                yield invalid_value(f"{place}.operator", value, ";".join(wrong))
        case "Exists":
            if value:
                detail = "value must be empty when `operator` is 'Exists'"
                yield invalid_value(f"{place}.operator", value, detail)
        case "Lt" | "Gt":
            allowed = ("Equal", "Exists", "Lt", "Gt")
            yield not_supported(f"{place}.operator", operator, allowed)
        case _:
            yield not_supported(f"{place}.operator", operator, ("Equal", "Exists"))
    if effect:
        yield from effect_errors(f"{place}.effect", effect)


def effect_errors(place: str, effect: str) -> Iterator[FieldError]:
    """Yield what is wrong with the effect of a taint."""
    if effect not in EFFECTS:
        yield not_supported(place, effect, EFFECTS)


def gates_errors(place: str, gates: Sequence[Shared]) -> Iterator[FieldError]:
    """Yield what is wrong with scheduling gates."""
    seen: dict[str, None] = {}
    for index, gate in enumerate(gates):
        name = gate["name"]
        yield from rule_errors(f"{place}[{index}]", name, label_key)
        if name in seen:
            yield duplicate(f"{place}[{index}]", name)
        seen[name] = None


def spread_errors(place: str, constraints: Sequence[Shared]) -> Iterator[FieldError]:
    """Yield what is wrong with topology spread constraints."""
    for index, constraint in enumerate(constraints):
        at = f"{place}[{index}]"
        yield from _constraint_errors(at, constraint)
        pair = _pair(constraint)
        if any(pair == _pair(other) for other in constraints[index + 1 :]):
            yield duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", pair)
        yield from _domains_errors(f"{at}.minDomains", constraint)
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if constraint.get(name, "Honor") not in _POLICIES:
                yield not_supported(f"{at}.{name}", constraint[name], _POLICIES)
        yield from _label_keys_errors(at, constraint)
        yield from selector_errors(f"{at}.labelSelector", constraint.get("labelSelector"))


def _pair(constraint: Shared) -> str:
    return f"{{{constraint['topologyKey']}, {constraint['whenUnsatisfiable']}}}"


def _constraint_errors(place: str, constraint: Shared) -> Iterator[FieldError]:
    if constraint["maxSkew"] <= 0:
        yield invalid_value(f"{place}.maxSkew", constraint["maxSkew"], "must be greater than zero")
    if not constraint["topologyKey"]:
        yield required(f"{place}.topologyKey", "can not be empty")
    if constraint["whenUnsatisfiable"] not in _ACTIONS:
        yield not_supported(f"{place}.whenUnsatisfiable", constraint["whenUnsatisfiable"], _ACTIONS)


def _domains_errors(place: str, constraint: Shared) -> Iterator[FieldError]:
    domains = constraint.get("minDomains")
    if domains is None:
        return
    if domains <= 0:
        yield invalid_value(place, domains, "must be greater than zero")
    action = constraint["whenUnsatisfiable"]
    if action != "DoNotSchedule":
        detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        yield invalid_value(place, domains, detail)
