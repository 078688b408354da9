"""Configurations of admission webhooks: which requests are told to whom, and how."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from muster.queue.client.refusal import (
    FieldError,
    duplicate,
    invalid_value,
    not_supported,
    required,
    too_many,
)
from muster.queue.sandbox.kinds.metadata import rule_errors, selector_errors
from muster.queue.sandbox.kinds.names import dns_subdomain, label_key
from muster.queue.sandbox.kinds.resources import Object, Shared
from muster.queue.sandbox.kinds.strategy import CountedStrategy
from muster.queue.sandbox.kinds.webhook_clients import (
    REVIEW_VERSIONS,
    client_config_errors,
    fill_client_config,
    review_versions_errors,
)

_TIMEOUT_S: Final = 10
_TIMEOUT_MAX_S: Final = 30
_CONDITIONS_MAX: Final = 64
_NAME_PARTS_MIN: Final = 3
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")
_CHOICES: Final = (
    ("failurePolicy", ("Fail", "Ignore")),
    ("matchPolicy", ("Equivalent", "Exact")),
    ("sideEffects", ("None", "NoneOnDryRun")),
)
_REINVOCATION: Final = ("IfNeeded", "Never")


class WebhookConfigurationStrategy(CountedStrategy):
    """The strategy of configurations of mutating or validating webhooks."""

    generation = True
    standard_finalizers = False
    allows_unconditional_update = False

    def __init__(self, component: str) -> None:
        super().__init__(component)
        self._mutating = ".Mutating" in component

    def fill(self, obj: Object) -> None:
        for webhook in obj.get("webhooks") or ():
            webhook.setdefault("failurePolicy", "Fail")
            webhook.setdefault("matchPolicy", "Equivalent")
            webhook.setdefault("namespaceSelector", {})
            webhook.setdefault("objectSelector", {})
            webhook.setdefault("timeoutSeconds", _TIMEOUT_S)
            if self._mutating:
                webhook.setdefault("reinvocationPolicy", "Never")
            for rule in webhook.get("rules") or ():
                rule.setdefault("scope", "*")
            fill_client_config(webhook["clientConfig"])

    def create_errors(self, obj: Shared) -> Iterable[FieldError]:
        return _webhooks_errors(obj.get("webhooks") or ())


def _webhooks_errors(webhooks: Sequence[Shared]) -> Iterator[FieldError]:
    names: dict[str, None] = {}
    for index, webhook in enumerate(webhooks):
        place = f"webhooks[{index}]"
        yield from _webhook_errors(place, webhook)
        versions = webhook.get("admissionReviewVersions") or []
        why = f"must specify one of {', '.join(REVIEW_VERSIONS)}"
        yield from review_versions_errors(versions, f"{place}.admissionReviewVersions", why)
        if webhook["name"] in names:
            yield duplicate(f"{place}.name", webhook["name"])
        names[webhook["name"]] = None


def _webhook_errors(place: str, webhook: Shared) -> Iterator[FieldError]:
    yield from _name_errors(f"{place}.name", webhook["name"])
    for index, rule in enumerate(webhook.get("rules") or ()):
        yield from _rule_errors(f"{place}.rules[{index}]", rule)
    for name, allowed in _CHOICES:
        value = webhook.get(name)
        if value is None:
            if name == "sideEffects":
                yield required(f"{place}.{name}", f"must specify one of {', '.join(allowed)}")
        elif value not in allowed:
            yield not_supported(f"{place}.{name}", value, allowed)
    timeout_s = webhook["timeoutSeconds"]
    if not 1 <= timeout_s <= _TIMEOUT_MAX_S:
        detail = f"the timeout value must be between 1 and {_TIMEOUT_MAX_S} seconds"
        yield invalid_value(f"{place}.timeoutSeconds", timeout_s, detail)
    for name in ("namespaceSelector", "objectSelector"):
        yield from selector_errors(f"{place}.{name}", webhook.get(name))
    policy = webhook.get("reinvocationPolicy", "Never")
    if policy not in _REINVOCATION:
        yield not_supported(f"{place}.reinvocationPolicy", policy, _REINVOCATION)
    yield from client_config_errors(webhook["clientConfig"], f"{place}.clientConfig")
    conditions = webhook.get("matchConditions") or ()
    yield from _conditions_errors(f"{place}.matchConditions", conditions)


def _name_errors(place: str, name: str) -> Iterator[FieldError]:
    if not name:
        yield required(place)
    elif wrong := dns_subdomain(name):
        yield invalid_value(place, name, ",".join(wrong))
    elif len(name.split(".")) < _NAME_PARTS_MIN:
        detail = "should be a domain with at least three segments separated by dots"
        yield invalid_value(place, name, detail)


def _rule_errors(place: str, rule: Shared) -> Iterator[FieldError]:
    operations = rule.get("operations") or []
    if not operations:
        yield required(f"{place}.operations")
    yield from _star_errors(f"{place}.operations", operations, "operations")
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            yield not_supported(f"{place}.operations[{index}]", operation, _OPERATIONS)
    for name, words in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = rule.get(name) or []
        if not values:
            yield required(f"{place}.{name}")
        yield from _star_errors(f"{place}.{name}", values, words)
    for index, version in enumerate(rule.get("apiVersions") or ()):
        if not version:
            yield required(f"{place}.apiVersions[{index}]")
    yield from _resources_errors(f"{place}.resources", rule.get("resources") or [])
    if rule["scope"] not in _SCOPES:
        yield not_supported(f"{place}.scope", rule["scope"], _SCOPES)


def _star_errors(place: str, values: list[str], words: str) -> Iterator[FieldError]:
    if len(values) > 1 and "*" in values:
        detail = f"if '*' is present, must not specify other {words}"
        yield invalid_value(place, values, detail)


def _resources_errors(place: str, resources: list[str]) -> Iterator[FieldError]:
    if not resources:
        yield required(place)
    stars: dict[str, str] = {}
    for index, text in enumerate(resources):
        at = f"{place}[{index}]"
        if not text:
            yield required(at)
        resource, slash, subresource = text.partition("/")
        if not slash:
            continue
        for known in (f"{resource}/*", f"*/{subresource}"):
            if known in stars:
                detail = f"if '{known}' is present, must not specify {text}"
                yield invalid_value(at, text, detail)
        if "*" in {resource, subresource}:
            stars[text] = text
    if len(resources) > 1 and "*/*" in resources:
        detail = "if '*/*' is present, must not specify other resources"
        yield invalid_value(place, resources, detail)
    whole = any(text not in {"*", ""} and "/" not in text for text in resources)
    if "*" in resources and whole:
        detail = "if '*' is present, must not specify other resources without subresources"
        yield invalid_value(place, resources, detail)


def _conditions_errors(place: str, conditions: Sequence[Shared]) -> Iterator[FieldError]:
    if len(conditions) > _CONDITIONS_MAX:
        yield too_many(place, len(conditions), _CONDITIONS_MAX)
    names: dict[str, None] = {}
    for index, condition in enumerate(conditions):
        at, name = f"{place}[{index}]", condition["name"]
        if not condition["expression"].strip():
            yield required(f"{at}.expression")
        elif fault := _condition_fault(condition["expression"]):
            yield invalid_value(f"{at}.expression", condition["expression"], fault)
        if not name:
            yield required(f"{at}.name")
            continue
        yield from rule_errors(f"{at}.name", name, label_key)
        if name in names:
            yield duplicate(f"{at}.name", name)
        names[name] = None


def _condition_fault(text: str) -> str:
    # Loaded where it is needed: it takes longer than all the rest.
    from muster.queue.sandbox.kinds.match_conditions import condition_fault  # noqa: PLC0415

    return condition_fault(text)
