"""Kubeconfig files, good and broken ones."""

from __future__ import annotations

import base64
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.queue.client.kubeconfig import Access, read_kubeconfig
from muster.queue.manifests.complaints import ManifestError

Json = dict[str, Any]


def a_config(cluster: Json | None = None, user: Json | None = None, **more: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "c", "cluster": {"server": "http://192.0.2.1:8080/", **(cluster or {})}}
        ],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [
            {"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "any"}},
            {"name": "other", "context": {"cluster": "c"}},
        ],
        "current-context": "x",
        "preferences": {},
        **more,
    }


def read(directory: Path, config: Json | str, context: str = "") -> Access:
    path = directory / "config"
    path.write_text(config if isinstance(config, str) else yaml.safe_dump(config))
    return read_kubeconfig(str(path), context)


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_a_token(tmp_path: Path) -> None:
    access = read(tmp_path, a_config(user={"token": "t"}))
    assert access == Access(server="http://192.0.2.1:8080", token="t")  # noqa: S106 - opens nothing


def test_another_context_may_be_named(tmp_path: Path) -> None:
    assert read(tmp_path, a_config(user={"token": "t"}), "other").token == ""


def test_empty_lists_may_be_null(tmp_path: Path) -> None:
    config = a_config(contexts=[{"name": "x", "context": {"cluster": "c"}}], users=None)
    assert read(tmp_path, config).server


def test_tls_is_verified_unless_told_otherwise(tmp_path: Path) -> None:
    server = {"server": "https://192.0.2.1"}
    trust = read(tmp_path, a_config(server)).trust
    assert trust is not None
    assert trust.verify_mode is ssl.CERT_REQUIRED
    trust = read(tmp_path, a_config({**server, "insecure-skip-tls-verify": True})).trust
    assert trust is not None
    assert trust.verify_mode is ssl.CERT_NONE


# --- Proxies -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Way:
    name: str
    server: str
    cluster: Json = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    proxy: str = ""


PROXY = "http://proxy.example:3128"

WAYS = [
    Way(name="none", server="https://192.0.2.1"),
    Way(name="of the file", server="https://192.0.2.1", cluster={"proxy-url": PROXY}, proxy=PROXY),
    Way(
        name="of the environment",
        server="https://192.0.2.1",
        environment={"HTTPS_PROXY": PROXY},
        proxy=PROXY,
    ),
    Way(
        name="not for a server that the environment excepts",
        server="https://k8s.example",
        environment={"HTTPS_PROXY": PROXY, "NO_PROXY": "k8s.example"},
    ),
    *(
        Way(
            name=f"never for {host}",
            server=f"https://{host}:6443",
            cluster={"proxy-url": PROXY},
            environment={"HTTPS_PROXY": PROXY},
        )
        for host in ("127.0.0.1", "localhost", "[::1]", "127.1.2.3")
    ),
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_proxies(way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in way.environment.items():
        monkeypatch.setenv(name, value)
    assert read(tmp_path, a_config({**way.cluster, "server": way.server})).proxy == way.proxy


# --- Complaints ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Broken:
    name: str
    config: Json | str
    says: str
    context: str = ""


_HTTPS = {"server": "https://192.0.2.1"}
_NO_PEM = base64.b64encode(b"nonsense").decode()

BROKEN = [
    Broken(name="not YAML", config="a: [", says="expected"),
    Broken(name="empty", config="", says="expected one document, a kubeconfig"),
    Broken(name="a list", config="[]", says="expected one document, a kubeconfig"),
    Broken(
        name="a key twice",
        config="current-context: x\ncurrent-context: y\n",
        says="the key 'current-context' is given twice",
    ),
    Broken(
        name="no context chosen",
        config={**a_config(), "current-context": ""},
        says="current-context\n    is required: The file has 'x' and 'other'.",
    ),
    Broken(
        name="unknown context",
        config=a_config(),
        context="othr",
        says="there is no context 'othr'. Did you mean 'other'?",
    ),
    Broken(
        name="unknown cluster",
        config=a_config(clusters=[]),
        says="contexts[x].context.cluster\n    there is no cluster 'c'. The file has none.",
    ),
    Broken(
        name="unknown user",
        config=a_config(users=None),
        says="contexts[x].context.user\n    there is no user 'u'",
    ),
    Broken(
        name="no server",
        config=a_config(clusters=[{"name": "c", "cluster": {}}]),
        says="clusters[0].cluster.server\n    is required",
    ),
    Broken(
        name="server of a wrong type",
        config=a_config({"server": 5}),
        says="clusters[0].cluster.server",
    ),
    *(
        Broken(name=f"server {url}", config=a_config({"server": url}), says="is not the URL of a")
        for url in ("192.0.2.1:6443", "ftp://192.0.2.1", "https://", "https://x:99999", "//x")
    ),
    Broken(
        name="login by a program",
        config=a_config(user={"exec": {"command": "aws"}}),
        says="users[u].user.exec\n    cannot be used here: give a token or a client certificate",
    ),
    Broken(
        name="token in a file",
        config=a_config(user={"tokenFile": "t"}),
        says="users[u].user.tokenFile\n    cannot be used here",
    ),
    Broken(
        name="authority not base64",
        config=a_config({**_HTTPS, "certificate-authority-data": "?"}),
        says="clusters[c].cluster.certificate-authority-data\n    is not base64",
    ),
    Broken(
        name="authority no certificate",
        config=a_config({**_HTTPS, "certificate-authority-data": _NO_PEM}),
        says="clusters[c].cluster.certificate-authority\n    holds no certificates in PEM form",
    ),
    Broken(
        name="authority not there",
        config=a_config({**_HTTPS, "certificate-authority": "ca.crt"}),
        says="ca.crt cannot be read: no such file or directory",
    ),
    Broken(
        name="certificate without key",
        config=a_config(_HTTPS, {"client-certificate-data": _NO_PEM}),
        says="users[u].user.client-key\n    is required with client-certificate",
    ),
    Broken(
        name="key without certificate",
        config=a_config(_HTTPS, {"client-key-data": _NO_PEM}),
        says="users[u].user.client-certificate\n    is required with client-key",
    ),
    Broken(
        name="certificate that is none",
        config=a_config(_HTTPS, {"client-certificate-data": _NO_PEM, "client-key-data": _NO_PEM}),
        says="users[u].user.client-certificate\n    is no certificate in PEM form",
    ),
]


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_complaints(broken: Broken, tmp_path: Path) -> None:
    with pytest.raises(ManifestError) as caught:
        read(tmp_path, broken.config, broken.context)
    text = str(caught.value)
    assert text.startswith(str(tmp_path / "config"))
    assert broken.says in text


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="no such file"):
        read_kubeconfig(str(tmp_path / "config"))
