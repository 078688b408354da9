"""Objects of no kind in particular, and a look at all that a store holds."""

from typing import Any

from muster.queue.sandbox.store.memory import Key, Store

THINGS = "things.example.com"
OTHERS = "others.example.com"

Snapshot = dict[tuple[str, str], tuple[str, int]]
"""Content and revision by namespace and name."""


def key(name: str, namespace: str = "ns", resource: str = THINGS) -> Key:
    return Key(resource, namespace, name)


def thing(name: str, content: str = "", namespace: str = "ns") -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata, "data": content}


def put(store: Store, name: str, content: str = "", namespace: str = "ns") -> int:
    """Create or replace a thing; returns the revision."""
    place = key(name, namespace)
    return store.put(place, thing(name, content, namespace), store.get(place)).revision


def drop(store: Store, name: str, namespace: str = "ns") -> int:
    """Delete a thing; returns the revision."""
    place = key(name, namespace)
    seen = store.get(place)
    assert seen is not None
    return store.delete(place, seen).revision


def held(store: Store, resource: str = THINGS) -> dict[str, bytes]:
    """Return the bytes of all objects by `namespace/name`."""
    return {
        f"{each.value['metadata']['namespace']}/{each.value['metadata']['name']}": each.encoded
        for each in store.select(resource)
    }
