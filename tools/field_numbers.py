"""Write the numbers that the fields of built-in kinds have in protocol buffers.

    .venv/bin/python tools/field_numbers.py

Reads the tags in the Go packages that the control plane is built from. Only numbers and names of
fields are taken over, of the components in the sandbox's file of schemas: what a field holds, the
schemas say. Where Go has a structure in a message of its own and JSON has its fields in the object
around it, they stand under the number of that message. One component a line, as in that file.
"""

import os
import re
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from muster.queue.controlplane.build import Source, cache_directory, find_go
from muster.queue.sandbox.kinds.schemas import NUMBERS_FILE, components

SOURCE = Source(Path(__file__).parents[1] / "tests/e2e/controlplane")
STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"^\t(?:\w+ +)?(\S+)\s+`([^`]*)`", re.MULTILINE)
NAME = re.compile(r'json:"([^",]*)')
NUMBER = re.compile(r'protobuf:"\w+,(\d+),')

Structs = dict[str, str]
"""What stands between the braces, by the names of types."""


def main() -> None:
    """Read the packages and write the file."""
    by_package: dict[str, list[str]] = {}
    for component, raw in sorted(components().items()):
        if "properties" in raw:
            by_package.setdefault(package_of(component), []).append(component)
    directories = package_directories(list(by_package))
    found: dict[str, Any] = {}
    for package, names in by_package.items():
        structs = read_structs(directories[package])
        for component in names:
            numbers = numbers_of(structs, component.rpartition(".")[2])
            check(component, numbers)
            found[component] = numbers
    NUMBERS_FILE.write_bytes(written(found))
    print(f"wrote {NUMBERS_FILE}")


def package_of(component: str) -> str:
    """Return the Go package of "io.k8s.api.core.v1.Pod", which is "k8s.io/api/core/v1"."""
    return "k8s.io/" + component.removeprefix("io.k8s.").rpartition(".")[0].replace(".", "/")


def package_directories(packages: list[str]) -> dict[str, Path]:
    """Return where the sources of packages are; downloads those that aren't there yet."""
    go = find_go(SOURCE, cache_directory(), partial(print, flush=True))
    settings = {**os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off", **go.settings}
    command = (go.program, "list", "-f", "{{.ImportPath}} {{.Dir}}", *packages)
    listed = subprocess.run(
        command, cwd=SOURCE.directory, env=settings, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    places = (line.partition(" ") for line in listed.splitlines())
    return {package: Path(directory) for package, _, directory in places}


def read_structs(package: Path) -> Structs:
    """Return the structures that a package declares."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(package.glob("types*.go")))
    return {name: body for text in texts for name, body in STRUCT.findall(text)}


def numbers_of(structs: Structs, struct: str) -> dict[str, Any]:
    """Return the names of a structure's fields by number, of an embedded one's in their place."""
    found: dict[str, Any] = {}
    for go_type, tags in FIELD.findall(structs[struct]):
        number, name = NUMBER.search(tags), NAME.search(tags)
        if number and name:
            found[number[1]] = name[1] or numbers_of(structs, go_type)
    return found


def check(component: str, numbers: dict[str, Any]) -> None:
    """See that the fields with a number are those in the schema, but for what kind it is."""
    fields = set(components()[component]["properties"])
    numbered = set(names_in(numbers))
    if fields - numbered - {"apiVersion", "kind"} or numbered - fields:
        raise SystemExit(f"{component} differs in {sorted(fields ^ numbered)}")


def names_in(numbers: dict[str, Any]) -> list[str]:
    """Return the names of all fields."""
    return [
        name
        for each in numbers.values()
        for name in (names_in(each) if isinstance(each, dict) else [each])
    ]


def written(numbers: dict[str, Any]) -> bytes:
    """Return the text of the file."""
    lines = (orjson.dumps(name) + b":" + orjson.dumps(numbers[name]) for name in sorted(numbers))
    return b"{\n" + b",\n".join(lines) + b"\n}\n"


if __name__ == "__main__":
    main()
