"""
The kubeconfig of a server of ours, which has one context.

How one is read is said elsewhere: that takes far more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping


def kubeconfig(server: str, token: str, authority: Mapping[str, str]) -> str:
    """Return the text of a kubeconfig with one context; `authority` is how the server is known."""
    name = "muster"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server, **authority}}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    return json.dumps(content, indent=2)
