"""
A journal in a SQLite file: what was written survives the process, however it ends.

A write is in the file before it is answered. The file is not synchronised with the disk each time:
a process that is killed loses nothing, a machine that loses power may lose its last moments.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

import orjson

from muster.queue.client.refusal import internal_error
from muster.queue.sandbox.store.memory import FIRST_REVISION, Key, Stored

_APPLICATION: Final = int.from_bytes(b"Must")
_VERSION: Final = 1
_TABLES: Final = (
    """
    create table objects (
        resource text not null, namespace text not null, name text not null, object blob not null,
        primary key (resource, namespace, name)
    ) without rowid
    """,
    "create table progress (one integer primary key check (one = 1), revision integer not null)",
    f"pragma application_id = {_APPLICATION}",
    f"pragma user_version = {_VERSION}",
)


class StoreFileError(Exception):
    """The file can't be used; the message says which, why, and what to do."""


class SqliteJournal:
    """One file, used by one process at a time."""

    def __init__(self, path: Path) -> None:
        """Open a file, or make it; raises StoreFileError."""
        self._path = path
        # SQLite speaks of a disk I/O error then.
        if path.exists() and not os.access(path, os.R_OK | os.W_OK, effective_ids=True):
            raise StoreFileError(f"{path} can't be written: see to its permissions")
        with suppress(OSError):  # of which SQLite says what is wrong
            path.touch(mode=0o600)  # nobody else may read what may hold Secrets
        try:
            self._database = sqlite3.connect(path, isolation_level=None, timeout=0)
        except sqlite3.Error as error:
            raise StoreFileError(f"{path}: {error}") from None
        try:
            self._open()
        except sqlite3.DatabaseError as error:
            raise self._unusable(error) from None
        except StoreFileError:
            self.close()
            raise

    def _open(self) -> None:
        execute = self._database.execute
        execute("pragma locking_mode = exclusive")
        is_new = self._only("select count(*) from sqlite_schema") == 0
        if not is_new and self._only("pragma application_id") != _APPLICATION:
            raise StoreFileError(
                f"{self._path} is the database of another program: name another file"
            )
        if not is_new and self._only("pragma user_version") != _VERSION:
            raise StoreFileError(
                f"{self._path} was written by another version of muster: use that one, or name "
                "another file"
            )
        execute("pragma journal_mode = wal")
        execute("pragma synchronous = normal")
        if is_new:
            self._make()

    def _make(self) -> None:
        with self._database:  # all at once: nobody ever finds a file that is half made
            self._database.execute("begin")
            for statement in _TABLES:
                self._database.execute(statement)
            self._database.execute("insert into progress values (1, ?)", (FIRST_REVISION,))

    def _only(self, query: str) -> Any:
        return self._database.execute(query).fetchone()[0]

    def _unusable(self, error: Exception) -> StoreFileError:
        self.close()
        if not isinstance(error, sqlite3.OperationalError):
            return StoreFileError(f"{self._path} is damaged, or no sandbox's file: {error}")
        if "locked" in str(error):
            return StoreFileError(
                f"{self._path} is used by another sandbox: stop it, or name another file"
            )
        return StoreFileError(f"{self._path}: {error}")

    def load(self) -> tuple[int, Iterator[tuple[Key, Stored]]]:
        """Raises StoreFileError, which reading the objects may do as well."""
        try:
            return self._only("select revision from progress"), self._objects()
        except (sqlite3.DatabaseError, TypeError) as error:
            raise self._unusable(error) from None

    def _objects(self) -> Iterator[tuple[Key, Stored]]:
        query = "select resource, namespace, name, object from objects"
        try:
            with closing(self._database.execute(query)) as rows:
                for resource, namespace, name, encoded in rows:
                    value = orjson.loads(encoded)
                    revision = int(value["metadata"]["resourceVersion"])
                    yield Key(resource, namespace, name), Stored(value, encoded, revision)
        except (sqlite3.DatabaseError, ValueError, KeyError, TypeError) as error:
            raise self._unusable(error) from None

    def write(self, key: Key, encoded: bytes | None, revision: int) -> None:
        execute = self._database.execute
        try:
            with self._database:  # commits, or undoes all of it
                execute("begin")
                if encoded is None:
                    execute(
                        "delete from objects where resource = ? and namespace = ? and name = ?", key
                    )
                else:
                    execute("insert or replace into objects values (?, ?, ?, ?)", (*key, encoded))
                execute("update progress set revision = ?", (revision,))
        except sqlite3.Error as error:
            raise internal_error(f"nothing can be kept in {self._path}: {error}") from None

    def close(self) -> None:
        self._database.close()
