"""
What of a pod may change once it exists: little.

Images, an earlier deadline, more tolerations, fewer gates; and while it waits behind gates, where
it may run, as long as that only becomes narrower.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from muster.queue.client.refusal import FieldError, forbidden_field, invalid_value, required
from muster.queue.sandbox.kinds.names import range_error
from muster.queue.sandbox.kinds.pod_scheduling import REQUIRED, tolerations_errors
from muster.queue.sandbox.kinds.pod_validation import INT32_MAX, pod_content_errors
from muster.queue.sandbox.kinds.resources import Object, Shared
from muster.queue.sandbox.kinds.strategy import entries, part, put_back

_CHANGEABLE: Final = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_DEADLINE: Final = "spec.activeDeadlineSeconds"


def pod_update_errors(pod: Shared, old: Shared) -> Iterator[FieldError]:
    """Yield what is wrong with a pod as the successor of another."""
    new_spec, old_spec = pod["spec"], old["spec"]
    if new_spec == old_spec and _same_annotations(pod, old):
        return
    yield from pod_content_errors(pod)
    for name in ("containers", "initContainers"):
        if len(entries(new_spec, name)) != len(entries(old_spec, name)):
            yield forbidden_field(f"spec.{name}", "pod updates may not add or remove containers")
            return
        for index, container in enumerate(entries(new_spec, name)):
            yield from _image_errors(f"spec.{name}[{index}].image", container.get("image", ""))
    deadline = [*_deadline_errors(new_spec, old_spec)]
    yield from deadline
    if deadline and "activeDeadlineSeconds" in new_spec:
        return
    yield from _toleration_errors(new_spec, old_spec)
    yield from _gate_errors(new_spec, old_spec)
    if new_spec != old_spec:
        yield from _other_errors(new_spec, old_spec)


def _image_errors(place: str, image: str) -> Iterator[FieldError]:
    if not image:
        yield required(place)
    if image != image.strip():
        yield invalid_value(place, image, "must not have leading or trailing whitespace")


def _same_annotations(pod: Shared, old: Shared) -> bool:
    return bool(pod["metadata"].get("annotations") == old["metadata"].get("annotations"))


def _deadline_errors(new: Shared, old: Shared) -> Iterator[FieldError]:
    deadline, before = new.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds")
    if deadline is None:
        if before is not None:
            detail = "must not update from a positive integer to nil value"
            yield invalid_value(_DEADLINE, None, detail)
    elif not 0 <= deadline <= INT32_MAX:
        yield invalid_value(_DEADLINE, deadline, range_error(0, INT32_MAX))
    elif before is not None and before < deadline:
        yield invalid_value(_DEADLINE, deadline, "must be less than or equal to previous value")


def _toleration_errors(new: Shared, old: Shared) -> Iterator[FieldError]:
    tolerations = entries(new, "tolerations")
    kept = [_without_seconds(each) for each in tolerations]
    if any(_without_seconds(each) not in kept for each in entries(old, "tolerations")):
        detail = "existing toleration can not be modified except its tolerationSeconds"
        yield forbidden_field("spec.tolerations", detail)
        return
    yield from tolerations_errors("spec.tolerations", tolerations)


def _without_seconds(toleration: Shared) -> Object:
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds"}


def _gate_errors(new: Shared, old: Shared) -> Iterator[FieldError]:
    known = [gate["name"] for gate in entries(old, "schedulingGates")]
    for index, gate in enumerate(entries(new, "schedulingGates")):
        if gate["name"] not in known:
            yield forbidden_field(
                f"spec.schedulingGates[{index}].name",
                f"only deletion is allowed, but found new scheduling gate '{gate['name']}'",
            )


def _other_errors(new: Shared, old: Shared) -> Iterator[FieldError]:
    """Yield that something else has changed than may."""
    masked: Object = dict(new)
    for name in ("containers", "initContainers"):
        if name in new:
            pairs = zip(new[name], old[name], strict=True)
            masked[name] = [{**each, "image": before.get("image")} for each, before in pairs]
    for name in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        put_back(masked, old, name)
    grace = "terminationGracePeriodSeconds"
    if old[grace] < 0 and new[grace] == 1:
        put_back(masked, old, grace)
    if old.get("schedulingGates"):
        yield from _placement_errors(new, old)
        put_back(masked, old, "nodeSelector")
        _put_back_node_affinity(masked, old)
    changed = [name for name in (masked | dict(old)) if masked.get(name) != old.get(name)]
    if changed:
        listed = ", ".join(f"`spec.{name}`" for name in changed)
        says = f"pod updates may not change fields other than {_CHANGEABLE}"
        yield forbidden_field("spec", f"{says}\nthis one changes {listed}")


def _put_back_node_affinity(masked: Object, old: Shared) -> None:
    affinity = {**(masked.get("affinity") or {})}
    put_back(affinity, old.get("affinity") or {}, "nodeAffinity")
    masked["affinity"] = affinity
    if not affinity:
        put_back(masked, old, "affinity")


def _placement_errors(new: Shared, old: Shared) -> Iterator[FieldError]:
    selector, before = part(new, "nodeSelector"), part(old, "nodeSelector")
    if any(selector.get(key) != value for key, value in before.items()):
        detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield invalid_value("spec.nodeSelector", selector, detail)
    path = ("affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms")
    terms, old_terms = entries(new, *path), entries(old, *path)
    place = ".".join(("spec", *path))
    if old_terms and len(terms) != len(old_terms):
        detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        yield invalid_value(place, list(terms) or None, detail)
        return
    for index, (term, old_term) in enumerate(zip(terms, old_terms, strict=bool(old_terms))):
        if not _narrows(old_term, term):
            detail = "only additions are allowed (no mutations or deletions)"
            yield invalid_value(f"{place}[{index}]", term, detail)


def _narrows(old: Shared, new: Shared) -> bool:
    """Say whether a term only asks for more than another."""
    if not entries(old, "matchExpressions") and not entries(old, "matchFields"):
        # It matches nothing, and whatever is added would make it match something.
        return bool(old == new)
    return all(
        _starts_with(entries(new, name), entries(old, name))
        for name in ("matchExpressions", "matchFields")
    )


def _starts_with(values: Sequence[Any], first: Sequence[Any]) -> bool:
    return list(values[: len(first)]) == list(first)
