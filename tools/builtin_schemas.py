"""Write what a real API server says of built-in kinds into the sandbox's file of schemas.

    .venv/bin/python tools/builtin_schemas.py [KUBECONFIG]

Starts a control plane, or asks the one that a kubeconfig leads to. Facts carry over, sentences do
not: descriptions are dropped. One component a line, in the order of their names, so that a newer
Kubernetes shows as a short difference.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from muster.queue.controlplane.build import build
from muster.queue.controlplane.launch import start
from muster.queue.sandbox.kinds.schemas import FILE, NAMES, references


def main() -> None:
    """Read the OpenAPI documents and write the file."""
    programs = build(print)
    with a_kubeconfig(programs) as kubeconfig:
        kubectl = (str(programs / "kubectl"), "--kubeconfig", str(kubeconfig))
        known: dict[str, Any] = {}
        for document in NAMES:
            got = subprocess.run(
                (*kubectl, "get", "--raw", f"/openapi/v3/{document}"),
                check=True,
                capture_output=True,
            )
            known |= orjson.loads(got.stdout)["components"]["schemas"]
    FILE.write_bytes(written(reachable(known)))
    print(f"wrote {FILE}")


@contextmanager
def a_kubeconfig(programs: Path) -> Iterator[Path]:
    """Yield the file named on the command line, or that of a control plane of our own."""
    if len(sys.argv) > 1:
        yield Path(sys.argv[1])
        return
    with TemporaryDirectory() as directory, start(programs, Path(directory)) as running:
        yield running.kubeconfig


def reachable(known: dict[str, Any]) -> dict[str, Any]:
    """Return the components that are served and those they refer to."""
    found: dict[str, Any] = {}
    left = [name for names in NAMES.values() for name in names]
    while left:
        name = left.pop()
        if name not in found:
            found[name] = without_prose(known[name])
            left += references(found[name])
    return found


def without_prose(schema: Any, *, fields: bool = False) -> Any:
    """Return a schema without descriptions; where `fields`, its names are those of fields."""
    if isinstance(schema, list):
        return [without_prose(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: without_prose(value, fields=name == "properties" and not fields)
        for name, value in schema.items()
        if fields or name != "description"
    }


def written(components: dict[str, Any]) -> bytes:
    """Return the text of the file."""
    lines = (
        orjson.dumps(name) + b":" + orjson.dumps(components[name], option=orjson.OPT_SORT_KEYS)
        for name in sorted(components)
    )
    return b"{\n" + b",\n".join(lines) + b"\n}\n"


if __name__ == "__main__":
    main()
