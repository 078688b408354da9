"""
Where a control plane's files and ports are, who may use it, and the flags that tell its parts so.

Certificates and the key of service accounts are what the API server makes for itself; users are
told apart by tokens. It writes the files that the parts read, and starts nothing.
"""

from __future__ import annotations

import base64
import json
import secrets
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from muster.queue.client.kubeconfig_text import kubeconfig

HOST: Final = "127.0.0.1"

ADMIN: Final = "admin"
_CONTROLLER_MANAGER: Final = "system:kube-controller-manager"
_SCHEDULER: Final = "system:kube-scheduler"
# The group of the admin may do everything; to the others Kubernetes itself binds their roles.
_GROUPS: Final = {ADMIN: "system:masters", _CONTROLLER_MANAGER: "", _SCHEDULER: ""}

# Tests have thousands of Jobs; the default of 20 requests a second is for the calm of a real
# cluster.
_FAST_CLIENT: Final = ("--kube-api-qps=500", "--kube-api-burst=1000")

_AUDIT_POLICY: Final = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Metadata", "verbs": ["get", "list", "watch"]},
        {"level": "Request"},
    ],
}


class Layout:
    """Everything that is settled before the first process starts."""

    def __init__(self, directory: Path, *, audit_log: bool) -> None:
        self.directory = directory
        self.audit_log = directory / "audit.jsonl" if audit_log else None
        self.tokens = {user: secrets.token_urlsafe() for user in _GROUPS}
        self._etcd, self._etcd_peer, self._api_server, *others = _free_ports(5)
        self._controller_manager, self._scheduler = others

    @property
    def url(self) -> str:
        return f"https://{HOST}:{self._api_server}"

    @property
    def health_urls(self) -> dict[str, str]:
        """By part: what answers 200 when it is ready."""
        return {
            "kube-apiserver": f"{self.url}/readyz",
            "kube-controller-manager": f"https://{HOST}:{self._controller_manager}/healthz",
            "kube-scheduler": f"https://{HOST}:{self._scheduler}/healthz",
        }

    @property
    def certificate(self) -> Path:
        """The API server's and that of its authority, once it has made them."""
        return self.directory / "certificates/apiserver.crt"

    @property
    def _key(self) -> Path:
        return self.certificate.with_suffix(".key")

    @property
    def kubeconfig(self) -> Path:
        return self.directory / "kubeconfig"

    def write_files(self) -> None:
        """Write what the parts read; nobody else may read it."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        users = (f'{self.tokens[user]},{user},{user},"{_GROUPS[user]}"\n' for user in _GROUPS)
        self._write("tokens.csv", "".join(users))
        self._write("audit-policy.json", json.dumps(_AUDIT_POLICY))
        for user in (_CONTROLLER_MANAGER, _SCHEDULER):
            authority = {"certificate-authority": str(self.certificate)}
            self._write(_file_of(user), kubeconfig(self.url, self.tokens[user], authority))

    def write_kubeconfig(self) -> None:
        """Write the admin's, which holds all that it takes, once there is a certificate."""
        authority = base64.b64encode(self.certificate.read_bytes()).decode()
        content = kubeconfig(
            self.url, self.tokens[ADMIN], {"certificate-authority-data": authority}
        )
        self._write(self.kubeconfig.name, content)

    def _write(self, name: str, content: str) -> None:
        path = self.directory / name
        path.touch(mode=0o600)
        path.write_text(content, encoding="utf-8")

    @property
    def flags(self) -> dict[str, tuple[str, ...]]:
        """By part: the arguments to start it with."""
        return {
            "etcd": self._etcd_flags(),
            "kube-apiserver": self._api_server_flags(),
            "kube-controller-manager": (
                *self._client_flags(_CONTROLLER_MANAGER, self._controller_manager),
                f"--service-account-private-key-file={self._key}",
                f"--root-ca-file={self.certificate}",
                "--use-service-account-credentials=true",
                # Else it makes a folder for them outside of ours.
                f"--flex-volume-plugin-dir={self.directory / 'volume-plugins'}",
            ),
            "kube-scheduler": self._client_flags(_SCHEDULER, self._scheduler),
        }

    def _etcd_flags(self) -> tuple[str, ...]:
        clients, peers = (f"http://{HOST}:{port}" for port in (self._etcd, self._etcd_peer))
        return (
            f"--data-dir={self.directory / 'etcd'}",
            f"--listen-client-urls={clients}",
            f"--advertise-client-urls={clients}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
            "--unsafe-no-fsync",
        )

    def _api_server_flags(self) -> tuple[str, ...]:
        audit = (
            f"--audit-log-path={self.audit_log}",
            f"--audit-policy-file={self.directory / 'audit-policy.json'}",
        )
        return (
            f"--etcd-servers=http://{HOST}:{self._etcd}",
            f"--bind-address={HOST}",
            f"--secure-port={self._api_server}",
            f"--cert-dir={self.certificate.parent}",
            f"--token-auth-file={self.directory / 'tokens.csv'}",
            "--authorization-mode=Node,RBAC",
            # It makes its certificate before it reads these.
            f"--service-account-key-file={self._key}",
            f"--service-account-signing-key-file={self._key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=10.0.0.0/24",
            # Else no pod could be made until the controller manager has got to its namespace.
            "--disable-admission-plugins=ServiceAccount",
            "--allow-privileged",
            *(audit if self.audit_log else ()),
        )

    def _client_flags(self, user: str, port: int) -> tuple[str, ...]:
        kubeconfig = self.directory / _file_of(user)
        return (
            f"--kubeconfig={kubeconfig}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            f"--bind-address={HOST}",
            f"--secure-port={port}",
            f"--tls-cert-file={self.certificate}",
            f"--tls-private-key-file={self._key}",
            "--leader-elect=false",
            *_FAST_CLIENT,
        )


def _file_of(user: str) -> str:
    return f"{user.removeprefix('system:')}.kubeconfig"


def _free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on now, all different."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in sockets]
