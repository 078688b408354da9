"""
The kubeconfig of a server of ours, which has one context.

How one is read is said elsewhere: that takes far more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_NAME: Final = "muster"
_LOOPBACK: Final = "https://127.0.0.1:"


def kubeconfig(server: str, token: str, authority: Mapping[str, str]) -> str:
    """Return the text of a kubeconfig with one context; `authority` is how the server is known."""
    name = _NAME
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server, **authority}}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    return json.dumps(content, indent=2)


def is_of_a_sandbox(path: Path) -> bool:
    """Say whether a file is such a kubeconfig and no other, as a killed sandbox leaves it."""
    try:
        content = json.loads(path.read_bytes())
        (cluster,) = content["clusters"]
        server = cluster["cluster"]["server"]
        return content["current-context"] == _NAME and str(server).startswith(_LOOPBACK)
    except (OSError, ValueError, KeyError, TypeError):
        return False
