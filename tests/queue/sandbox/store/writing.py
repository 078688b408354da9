"""
A process that writes to a store file until it is killed, and says what it was told is kept.

Each line it prints is one acknowledged write: the number of the write, which the objects carry.
"""

import sys
from pathlib import Path
from random import Random

from muster.queue.sandbox.store.memory import Store
from muster.queue.sandbox.store.sqlite import SqliteJournal
from tests.queue.sandbox.store.objects import key, thing

FILLING = "x" * 3000
"""So that an object takes more than one page of the file."""


def plan(number: int) -> tuple[str, str]:
    """Return which object the write of a number is about, and what it says; "" to delete it."""
    chance = Random(number)
    name = f"thing-{chance.randrange(12)}"
    return name, "" if chance.random() < 0.25 else f"{number}:{FILLING[: chance.randrange(3000)]}"


def write(path: Path, first: int) -> None:
    store = Store(SqliteJournal(path))
    number = first
    while True:
        name, content = plan(number)
        seen = store.get(key(name))
        if content:
            store.put(key(name), thing(name, content), seen)
        elif seen:
            store.delete(key(name), seen)
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
        number += 1


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]))
