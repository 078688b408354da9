"""What is wrong with a `clientConfig`: where a webhook of a definition or of admission is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import SplitResult, urlsplit

from muster.queue.client.refusal import FieldError, invalid_value, required
from muster.queue.sandbox.kinds.metadata import rule_errors
from muster.queue.sandbox.kinds.names import dns_1035_label, dns_subdomain, range_error
from muster.queue.sandbox.kinds.resources import Object, Shared

_FORM: Final = "; desired format: https://host[/path]"
_PORT: Final = 443
_PORT_MAX: Final = 65_535
REVIEW_VERSIONS: Final = ("v1", "v1beta1")
"""In which the server can ask; a webhook must understand one of them."""


def fill_client_config(config: Object) -> None:
    """Fill the port of a service that is left out."""
    if service := config.get("service"):
        service.setdefault("port", _PORT)


def review_versions_errors(
    versions: Sequence[str], path: str, why_required: str = ""
) -> Iterator[FieldError]:
    """Yield the faults of the versions of reviews that a webhook understands."""
    if not versions:
        yield required(path, why_required)
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield invalid_value(f"{path}[{index}]", version, "duplicate version")
        else:
            yield from rule_errors(f"{path}[{index}]", version, dns_1035_label)
    if not any(version in REVIEW_VERSIONS for version in versions):
        why = f"must include at least one of {', '.join(REVIEW_VERSIONS)}"
        yield invalid_value(path, versions, why)


def client_config_errors(config: Shared, path: str) -> Iterator[FieldError]:
    """Yield the faults of a `clientConfig` that stands at `path`."""
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        yield required(path, "exactly one of url or service is required")
    elif url is not None:
        yield from url_errors(url, f"{path}.url")
    elif service is not None:
        yield from service_errors(service, f"{path}.service")


def url_errors(text: str, path: str) -> Iterator[FieldError]:
    """Yield the faults of a webhook's URL."""
    try:
        url = urlsplit(text)
    except ValueError as error:
        yield required(path, f"url must be a valid URL: {error}{_FORM}")
        return
    if url.scheme != "https":
        yield invalid_value(path, url.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    user, at, host = url.netloc.rpartition("@")
    if not host:
        yield invalid_value(path, "", f"host must be specified{_FORM}")
    if at:
        yield invalid_value(path, user, "user information is not permitted in the URL")
    yield from _unwanted(url, path)


def _unwanted(url: SplitResult, path: str) -> Iterator[FieldError]:
    if url.fragment:
        yield invalid_value(path, url.fragment, "fragments are not permitted in the URL")
    if url.query:
        yield invalid_value(path, url.query, "query parameters are not permitted in the URL")


def service_errors(service: Shared, path: str) -> Iterator[FieldError]:
    """Yield the faults of a reference to a service, its port filled in."""
    for name in ("name", "namespace"):
        if not service.get(name):
            yield required(f"{path}.{name}")
    port = service.get("port", 0)
    if not 1 <= port <= _PORT_MAX:
        yield invalid_value(f"{path}.port", port, f"port is not valid: {range_error(1, _PORT_MAX)}")
    yield from _path_errors(service.get("path") or "/", f"{path}.path")


def _path_errors(text: str, path: str) -> Iterator[FieldError]:
    if text == "/":
        return
    if text == "//":
        yield invalid_value(path, text, "segment[0] may not be empty")
        return
    if not text.startswith("/"):
        yield invalid_value(path, text, "must start with a '/'")
    for index, step in enumerate(text[1:].removesuffix("/").split("/")):
        if not step:
            yield invalid_value(path, text, f"segment[{index}] may not be empty")
        for wrong in dns_subdomain(step) if step else ():
            yield invalid_value(path, text, f"segment[{index}]: {wrong}")
