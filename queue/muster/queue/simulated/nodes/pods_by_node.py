"""Which pods are bound to which node, kept from a mirror of all pods."""

from __future__ import annotations

from muster.queue.client.informer import Change, Informer, Key, Object


class PodsByNode:
    """An index over `pods`."""

    def __init__(self, pods: Informer) -> None:
        self._mirror = pods.objects
        self._keys: dict[str, dict[Key, None]] = {}
        for key, pod in pods.objects.items():
            self._heed(Change(key, None, pod))
        pods.listen(self._heed)

    def on(self, node_name: str) -> list[Object]:
        """Return the pods bound to a node."""
        return [self._mirror[key] for key in self._keys.get(node_name, ())]

    def _heed(self, change: Change) -> None:
        old, new = node_of(change.old), node_of(change.new)
        if old and old != new:
            keys = self._keys[old]
            keys.pop(change.key, None)
            if not keys:
                del self._keys[old]
        if new:
            self._keys.setdefault(new, {})[change.key] = None


def node_of(pod: Object | None) -> str:
    """Return the node that a pod is bound to, "" for none."""
    node: str = pod["spec"].get("nodeName", "") if pod is not None else ""
    return node
