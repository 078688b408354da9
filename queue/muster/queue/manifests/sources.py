"""From paths to texts: files, directories, standard input. Nothing is understood here."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from muster.queue.api.problems import did_you_mean
from muster.queue.manifests.complaints import Complaint, Origin

STDIN: Final = "standard input"
SUFFIXES: Final = (".yaml", ".yml", ".json")
"""What is read from a directory."""


@dataclass(frozen=True, slots=True)
class Source:
    """The text of one file."""

    name: str
    text: str
    named: bool
    """Whether somebody asked for this very file, instead of its directory."""

    @property
    def is_json(self) -> bool:
        return self.name.endswith(".json")


def read(paths: Iterable[str], stdin: BinaryIO) -> Iterator[Source | Complaint]:
    """Yield the texts behind `paths`, in order; "-" is standard input."""
    stdin_is_read = False
    for path in paths:
        if path == "-":
            if stdin_is_read:
                yield _complaint("-", "standard input can be read only once")
            else:
                yield _decoded(STDIN, stdin.read(), named=True)
            stdin_is_read = True
        else:
            yield from _read_path(Path(path))


def _read_path(path: Path) -> Iterator[Source | Complaint]:
    if not path.is_dir():
        yield _read_file(path, named=True)
        return
    try:
        names = sorted(child.name for child in path.iterdir() if child.suffix in SUFFIXES)
    except OSError as error:
        yield _complaint(str(path), f"cannot be read: {_reason(error)}")
        return
    if not names:
        message = f"the directory has no {', '.join(f'*{suffix}' for suffix in SUFFIXES)}"
        yield _complaint(str(path), message + _hint_below(path))
    for name in names:
        yield _read_file(path / name, named=False)


def _read_file(path: Path, *, named: bool) -> Source | Complaint:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        siblings = [child.name for child in path.parent.iterdir()] if path.parent.is_dir() else []
        return _complaint(str(path), f"no such file.{did_you_mean(path.name, siblings)}")
    except OSError as error:
        return _complaint(str(path), f"cannot be read: {_reason(error)}")
    return _decoded(str(path), data, named=named)


def _decoded(name: str, data: bytes, *, named: bool) -> Source | Complaint:
    # Redirected output of PowerShell is UTF-16.
    utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = data.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"not text: byte {error.start} is no part of UTF-8; expected YAML or JSON"
        return _complaint(name, message)
    return Source(name, text, named)


def _hint_below(path: Path) -> str:
    below = sorted(
        str(child)
        for child in path.iterdir()
        if child.is_dir() and any(each.suffix in SUFFIXES for each in child.iterdir())
    )
    return f"; sub-directories are not read, name them: {', '.join(below)}" if below else ""


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _complaint(name: str, message: str) -> Complaint:
    return Complaint(origin=Origin(source=name), message=message)
