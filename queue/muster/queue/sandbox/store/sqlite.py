"""
A journal in a SQLite file: what was written survives the process, however it ends.

A write is in the file before it is answered. The file is not synchronised with the disk each time:
a process that is killed loses nothing, a machine that loses power may lose its last moments.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from muster.queue.sandbox.store.memory import FIRST_REVISION, Key

_VERSION: Final = 1
_SCHEMA: Final = """
create table if not exists objects (
    resource text not null, namespace text not null, name text not null, object blob not null,
    primary key (resource, namespace, name)
) without rowid;
create table if not exists progress (one integer primary key check (one = 1), revision integer);
"""
_BEGIN: Final = "insert or ignore into progress values (1, ?)"


class StoreFileError(Exception):
    """The file can't be used; the message says which, why, and what to do."""


class SqliteJournal:
    """One file, used by one process at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._database = sqlite3.connect(path, isolation_level=None, timeout=0)
            self._open()
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                message = f"{path} is used by another sandbox: stop it, or name another file"
            else:
                message = f"{path}: {error}"
            raise StoreFileError(message) from None
        except sqlite3.DatabaseError as error:
            raise StoreFileError(f"{path} is not a sandbox's file: {error}") from None

    def _open(self) -> None:
        execute = self._database.execute
        execute("pragma locking_mode = exclusive")
        execute("pragma journal_mode = wal")
        execute("pragma synchronous = normal")
        version = execute("pragma user_version").fetchone()[0]
        if version not in {0, _VERSION}:
            raise StoreFileError(f"{self._path} was written by another version of muster")
        self._database.executescript(_SCHEMA)
        execute(_BEGIN, (FIRST_REVISION,))
        execute(f"pragma user_version = {_VERSION}")

    def load(self) -> tuple[int, Iterator[tuple[Key, bytes]]]:
        revision = self._database.execute("select revision from progress").fetchone()[0]
        return revision, self._objects()

    def _objects(self) -> Iterator[tuple[Key, bytes]]:
        query = "select resource, namespace, name, object from objects"
        with closing(self._database.execute(query)) as rows:
            for resource, namespace, name, encoded in rows:
                yield Key(resource, namespace, name), encoded

    def write(self, key: Key, encoded: bytes | None, revision: int) -> None:
        execute = self._database.execute
        with self._database:  # commits, or undoes all of it
            execute("begin")
            if encoded is None:
                execute(
                    "delete from objects where resource = ? and namespace = ? and name = ?", key
                )
            else:
                execute("insert or replace into objects values (?, ?, ?, ?)", (*key, encoded))
            execute("update progress set revision = ?", (revision,))

    def close(self) -> None:
        self._database.close()
