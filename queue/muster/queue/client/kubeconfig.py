"""
How to reach an API server and who to be there, as a kubeconfig file says it.

One file and one of its contexts are read, once. What cannot be done with it (a login by a program,
say) is refused in words, before anything is sent.
"""

from __future__ import annotations

import base64
import binascii
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from pydantic import ConfigDict

from muster.queue.api.schema import ApiModel, Items
from muster.queue.api.wording import did_you_mean, listed, shown
from muster.queue.manifests.complaints import ManifestError
from muster.queue.manifests.single import complaint, read_single

_OTHER_LOGINS: Final = ("exec", "auth_provider", "token_file", "username")


def _kebab(name: str) -> str:
    return name.replace("_", "-")


class _Part(ApiModel):
    """A part of a kubeconfig; kubectl's many other fields are dropped."""

    model_config = ConfigDict(alias_generator=_kebab, extra="ignore")


class _Cluster(_Part):
    server: str
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""


class _User(_Part):
    token: str = ""
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    exec: dict[str, Any] | None = None
    auth_provider: dict[str, Any] | None = None
    token_file: str = ""
    username: str = ""

    model_config = ConfigDict(
        alias_generator=lambda name: "tokenFile" if name == "token_file" else _kebab(name),
        extra="ignore",
    )


class _Context(_Part):
    cluster: str
    user: str = ""


class _NamedCluster(_Part):
    name: str
    cluster: _Cluster


class _NamedUser(_Part):
    name: str
    user: _User = _User()


class _NamedContext(_Part):
    name: str
    context: _Context


class _Kubeconfig(_Part):
    current_context: str = ""
    clusters: Items[_NamedCluster] = ()
    contexts: Items[_NamedContext] = ()
    users: Items[_NamedUser] = ()


class _Named(Protocol):
    @property
    def name(self) -> str: ...


Entry = TypeVar("Entry", bound=_Named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """All that a client needs to send requests to one API server."""

    server: str
    """URL, without a slash at its end."""
    token: str = ""
    trust: ssl.SSLContext | None = None
    """Whom to trust, and the certificate to show; None for plain HTTP."""
    server_name: str = ""
    """The name that the server's certificate must have, if not the one in its URL."""
    proxy: str = ""
    """URL of the proxy to go through; "" for none."""


def read_kubeconfig(path: str, context: str = "") -> Access:
    """
    Return what the context named `context` says, or the file's current one.

    Raises ManifestError.
    """
    return _Reading(path).access(context)


class _Reading:
    """One file that is being read, and how to complain about it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._config = read_single(path, _Kubeconfig, "a kubeconfig")

    def access(self, context_name: str) -> Access:
        name = context_name or self._config.current_context
        if not name:
            where = "" if context_name else "current-context"
            raise self._wrong(where, f"is required: {self._known(self._config.contexts)}")
        context = self._find(self._config.contexts, name, "context", "current-context").context
        at = f"contexts[{name}].context"
        cluster = self._find(
            self._config.clusters, context.cluster, "cluster", f"{at}.cluster"
        ).cluster
        user = _User()
        if context.user:
            user = self._find(self._config.users, context.user, "user", f"{at}.user").user
        cluster_at = f"clusters[{context.cluster}].cluster"
        user_at = f"users[{context.user}].user"
        self._refuse_other_logins(user, user_at)
        server = self._server(cluster, f"{cluster_at}.server")
        trust = None
        if server.startswith("https:"):
            trust = self._trust(cluster, cluster_at)
            self._show_certificate(trust, user, user_at)
        return Access(
            server=server,
            token=user.token,
            trust=trust,
            server_name=cluster.tls_server_name,
            proxy=_proxy(server, cluster.proxy_url),
        )

    def _find(self, entries: Sequence[Entry], name: str, what: str, at: str) -> Entry:
        for entry in entries:
            if entry.name == name:
                return entry
        hint = did_you_mean(name, [each.name for each in entries]) or f" {self._known(entries)}"
        raise self._wrong(at, f"there is no {what} {shown(name)}.{hint}")

    @staticmethod
    def _known(entries: Sequence[_Named]) -> str:
        names = [shown(each.name) for each in entries]
        return f"The file has {listed(names, 'and')}." if names else "The file has none."

    def _refuse_other_logins(self, user: _User, at: str) -> None:
        for name in _OTHER_LOGINS:
            if getattr(user, name):
                field = _User.model_fields[name].alias
                message = "cannot be used here: give a token or a client certificate instead"
                raise self._wrong(f"{at}.{field}", message)

    def _server(self, cluster: _Cluster, at: str) -> str:
        try:
            parts = urlsplit(cluster.server)
            usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            usable = False
        if not usable:
            message = "is not the URL of a server: write it as in https://192.0.2.1:6443"
            raise self._wrong(at, f"{shown(cluster.server)} {message}")
        return cluster.server.rstrip("/")

    def _trust(self, cluster: _Cluster, at: str) -> ssl.SSLContext:
        authority = self._content(cluster, "certificate_authority", at)
        try:
            trust = ssl.create_default_context(cadata=authority.decode() if authority else None)
        except (ssl.SSLError, ValueError):
            message = "holds no certificates in PEM form"
            raise self._wrong(f"{at}.certificate-authority", message) from None
        if cluster.insecure_skip_tls_verify:
            trust.check_hostname = False
            trust.verify_mode = ssl.CERT_NONE
        return trust

    def _show_certificate(self, trust: ssl.SSLContext, user: _User, at: str) -> None:
        certificate = self._content(user, "client_certificate", at)
        key = self._content(user, "client_key", at)
        if bool(certificate) != bool(key):
            missing, given = "client-key", "client-certificate"
            if key:
                missing, given = given, missing
            raise self._wrong(f"{at}.{missing}", f"is required with {given}")
        if not certificate:
            return
        with NamedTemporaryFile() as pair:  # readable by us alone; ssl takes only files
            pair.write(certificate + b"\n" + key)
            pair.flush()
            try:
                trust.load_cert_chain(pair.name)
            except (ssl.SSLError, OSError):
                message = "is no certificate in PEM form with the key in client-key"
                raise self._wrong(f"{at}.client-certificate", message) from None

    def _content(self, entry: _Part, name: str, at: str) -> bytes:
        """Return what the entry holds itself, or names a file for; nothing if neither."""
        field = _kebab(name)
        if data := getattr(entry, f"{name}_data"):
            try:
                return base64.b64decode(data, validate=True)
            except (binascii.Error, ValueError):
                raise self._wrong(f"{at}.{field}-data", "is not base64") from None
        path: str = getattr(entry, name)
        if not path:
            return b""
        file = Path(self._path).parent / path
        try:
            return file.read_bytes()
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise self._wrong(f"{at}.{field}", f"{file} cannot be read: {why}") from None

    def _wrong(self, at: str, message: str) -> ManifestError:
        return ManifestError([complaint(self._path, message, path=at)])


def _proxy(server: str, configured: str) -> str:
    """Return the proxy on the way to a server; there is none on the way to this machine."""
    parts = urlsplit(server)
    host = parts.hostname or ""
    if _is_loopback(host):
        return ""
    if configured:
        return configured
    return "" if proxy_bypass(host) else getproxies().get(parts.scheme, "")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
