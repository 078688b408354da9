"""From paths to texts: files, directories, standard input. Nothing is understood here."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from muster.queue.api.wording import did_you_mean
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
                yield _read_stdin(stdin)
            stdin_is_read = True
        else:
            yield from _read_path(path)


def read_file(path: str) -> Source | Complaint:
    """Return the text of one file, which somebody named."""
    if not path:
        return _complaint("''", "a path must not be empty: name a file or a directory")
    return _read_file(Path(path), named=True)


def _read_path(path: str) -> Iterator[Source | Complaint]:
    directory = Path(path)
    try:
        if not path or not directory.is_dir():
            yield read_file(path)
            return
        names = sorted(child.name for child in directory.iterdir() if child.suffix in SUFFIXES)
    except OSError as error:
        yield _unreadable(path, error)
        return
    if not names:
        message = f"the directory has no {', '.join(f'*{suffix}' for suffix in SUFFIXES)}"
        yield _complaint(str(directory), message + _hint_below(directory))
    for name in names:
        yield _read_file(directory / name, named=False)


def _read_file(path: Path, *, named: bool) -> Source | Complaint:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        if path.is_symlink():
            return _complaint(str(path), f"is a link to {path.readlink()}, which is not there")
        hint = did_you_mean(path.name, [child.name for child in _children(path.parent)])
        return _complaint(str(path), f"no such file.{hint}")
    except OSError as error:
        return _unreadable(str(path), error)
    return _decoded(str(path), data, named=named)


def _read_stdin(stdin: BinaryIO) -> Source | Complaint:
    try:
        data = stdin.read()
    except OSError as error:
        return _unreadable(STDIN, error)
    return _decoded(STDIN, data, named=True)


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
        for child in _children(path)
        if any(each.suffix in SUFFIXES for each in _children(child))
    )
    return f"; sub-directories are not read, name them: {', '.join(below)}" if below else ""


def _children(path: Path) -> list[Path]:
    """Return what is in a directory; nothing if it is none, or closed to the reader."""
    try:
        return list(path.iterdir())
    except OSError:
        return []


def _unreadable(name: str, error: OSError) -> Complaint:
    return _complaint(name, f"cannot be read: {(error.strerror or str(error)).lower()}")


def _complaint(name: str, message: str) -> Complaint:
    return Complaint(origin=Origin(source=name), message=message)
