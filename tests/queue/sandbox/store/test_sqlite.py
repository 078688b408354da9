"""What the file keeps, whatever happens to the process, and which files it refuses."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from muster.queue.client.refusal import Refusal
from muster.queue.sandbox.store.memory import FIRST_REVISION, Change, Store
from muster.queue.sandbox.store.sqlite import SqliteJournal, StoreFileError
from tests.queue.sandbox.store.objects import OTHERS, THINGS, drop, held, key, put, thing
from tests.queue.sandbox.store.writing import plan

NOBODY = 65534


@contextmanager
def opened(path: Path) -> Iterator[Store]:
    with closing(Store(SqliteJournal(path))) as store:
        yield store


def refusal_of(path: Path) -> str:
    """Return why a file is not used."""
    with pytest.raises(StoreFileError) as refused, opened(path):
        pass
    assert str(path) in str(refused.value)
    return str(refused.value)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "objects.db"


# -- what is kept --------------------------------------------------------------------------------


def test_a_new_file_begins_as_a_store_in_memory_does(path: Path) -> None:
    with opened(path) as store:
        assert (store.revision, held(store)) == (FIRST_REVISION, {})


def test_an_empty_file_is_as_good_as_none(path: Path) -> None:
    path.touch()

    with opened(path) as store:
        put(store, "a")


def test_all_objects_are_there_again(path: Path) -> None:
    with opened(path) as store:
        put(store, "a", "before")
        put(store, "a", "after")
        put(store, "ä", "ü", namespace="")
        put(store, "gone")
        drop(store, "gone")
        store.put(key("a", resource=OTHERS), thing("a", "other"), None)
        before = store.revision, held(store), held(store, OTHERS)

    with opened(path) as store:
        assert (store.revision, held(store), held(store, OTHERS)) == before
        found = store.get(key("a"))
        assert found is not None
        assert found.value["data"] == "after"
        assert found.revision == FIRST_REVISION + 2


def test_revisions_go_on(path: Path) -> None:
    with opened(path) as store:
        put(store, "a")
        last = drop(store, "a")

    with opened(path) as store:
        assert put(store, "a") == last + 1


def test_what_was_before_the_restart_is_too_long_ago(path: Path) -> None:
    with opened(path) as store:
        before = put(store, "a")
        last = put(store, "a", "changed")

    with opened(path) as store:
        for resource in (THINGS, OTHERS):
            with pytest.raises(Refusal) as refused:
                store.changes(resource, before)
            assert refused.value.code == 410
            with pytest.raises(Refusal):
                next(store.select_at(resource, before))
        assert store.changes(THINGS, last) == []
        put(store, "b")
        assert len(store.changes(THINGS, last)) == 1


def test_another_form_of_an_object_is_not_kept(path: Path) -> None:
    with opened(path) as store:
        seen = store.put(key("a"), thing("a"), None)
        store.restate(key("a"), seen.value | {"kind": "Other"}, seen)

    with opened(path) as store:
        found = store.get(key("a"))
        assert found is not None
        assert found.value == seen.value


# -- kill -9 -------------------------------------------------------------------------------------


def expected(last: int) -> dict[str, str]:
    """Return what there is after the writes up to a number, by name."""
    state: dict[str, str] = {}
    for number in range(last + 1):
        name, content = plan(number)
        if content:
            state[name] = content
        else:
            state.pop(name, None)
    return state


def test_what_was_acknowledged_survives_kill_9_at_any_moment(path: Path) -> None:
    first = 0
    for lines in (1, 2, 17, 50, 300, 1000):
        command = (sys.executable, "-m", "tests.queue.sandbox.store.writing", path, str(first))
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            for _ in range(lines):
                assert process.stdout.readline()
            process.kill()
            told = process.stdout.read().split("\n")
        acknowledged = first + lines - 1 + len(told) - 1

        with opened(path) as store:
            state = {
                each.value["metadata"]["name"]: each.value["data"] for each in store.select(THINGS)
            }
            revisions = [each.revision for each in store.select(THINGS)]
            assert all(revision <= store.revision for revision in revisions)
            assert len(set(revisions)) == len(revisions)

        # The write that was going on may be there, too, but not half of it.
        assert state in (expected(acknowledged), expected(acknowledged + 1))
        first = acknowledged + 1 + (state != expected(acknowledged))


# -- when nothing can be kept --------------------------------------------------------------------


def fill(store: Store) -> Refusal:
    """Write until the file can't grow, and return what was said then."""
    for number in range(10_000):
        try:
            put(store, f"thing-{number}", "x" * 1000)
        except Refusal as refusal:
            return refusal
    raise AssertionError


def test_a_full_file_refuses_and_nothing_has_changed(path: Path) -> None:
    journal = SqliteJournal(path)
    journal._database.execute("pragma max_page_count = 50")
    told: list[Change] = []
    with closing(Store(journal)) as store:
        store.watch(THINGS, told.append)

        refusal = fill(store)

        assert (refusal.code, refusal.reason) == (500, "InternalError")
        assert "full" in refusal.message
        assert str(path) in refusal.message
        assert len(told) == store.count(THINGS) == store.revision - FIRST_REVISION
        revision, before = store.revision, held(store)
        with pytest.raises(Refusal):
            put(store, "thing-0", "y" * 100_000)
        assert (store.revision, held(store)) == (revision, before)

        drop(store, "thing-0")  # which needs no more room
        put(store, "thing-0", "z")
        before = held(store)

    with opened(path) as store:
        assert (store.revision, held(store)) == (revision + 2, before)


def test_a_disk_that_takes_no_more_refuses_and_nothing_has_changed(path: Path) -> None:
    script = """
import resource, sys
from pathlib import Path
from muster.queue.client.refusal import Refusal
from muster.queue.sandbox.store.memory import Store
from muster.queue.sandbox.store.sqlite import SqliteJournal
from tests.queue.sandbox.store.objects import put

store = Store(SqliteJournal(Path(sys.argv[1])))
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
written = 0
for number in range(1000):
    try:
        put(store, f"thing-{number}", "x" * 1000)
    except Refusal as refusal:
        assert refusal.code == 500
    else:
        written += 1
assert store.count("things.example.com") == written
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
put(store, "last")
print(written, store.revision)
"""
    command = (sys.executable, "-c", script, str(path))
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    written, revision = map(int, output.split())

    assert 0 < written < 1000
    with opened(path) as store:
        assert (store.count(THINGS), store.revision) == (written + 1, revision)


# -- files that can't be used --------------------------------------------------------------------


def test_a_file_is_used_by_one_sandbox_at_a_time(path: Path) -> None:
    with opened(path):
        assert "is used by another sandbox" in refusal_of(path)
    with opened(path):
        assert "is used by another sandbox" in refusal_of(path)
    with opened(path) as store:
        assert store.revision == FIRST_REVISION


def test_a_text_is_no_store(path: Path) -> None:
    text = "apiVersion: v1\n" * 100
    path.write_text(text, encoding="utf-8")

    assert "no sandbox's file" in refusal_of(path)
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("version", [0, 1, 7])
def test_the_database_of_another_program_is_left_as_it_is(path: Path, version: int) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("create table progress (revision integer)")
        other.execute(f"pragma user_version = {version}")
        other.commit()
    before = path.read_bytes()

    assert "another program" in refusal_of(path)
    assert path.read_bytes() == before


def test_the_file_of_another_version_is_left_as_it_is(path: Path) -> None:
    with opened(path) as store:
        put(store, "a")
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("pragma journal_mode = delete")
        database.execute("pragma user_version = 2")
    before = path.read_bytes()

    assert "another version of muster" in refusal_of(path)
    assert path.read_bytes() == before


def overwrite(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def damage_pages(path: Path) -> None:
    for at in range(4096, path.stat().st_size, 4096):
        overwrite(path, at, b"\xff" * 100)


def cut_off(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def spoil_an_object(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("update objects set object = '{' where name = 'thing-3'")


def spoil_a_revision(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("""update objects set object = '{"metadata": {}}'""")


def lose_the_progress(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("delete from progress")


@pytest.mark.parametrize(
    "damage", [damage_pages, cut_off, spoil_an_object, spoil_a_revision, lose_the_progress]
)
def test_a_damaged_file_is_refused(path: Path, damage: Callable[[Path], None]) -> None:
    with opened(path) as store:
        for number in range(50):
            put(store, f"thing-{number}", "x" * 1000)
    damage(path)

    assert "damaged" in refusal_of(path)
    assert "damaged" in refusal_of(path)  # and not, as after a leak, used by another sandbox


def test_nobody_else_may_read_a_file(path: Path) -> None:
    with opened(path) as store:
        put(store, "x")
        modes = {each.name: each.stat().st_mode & 0o777 for each in path.parent.iterdir()}

    assert modes
    assert {*modes.values()} == {0o600}


def test_there_is_no_file_in_a_folder_that_is_not_there(tmp_path: Path) -> None:
    assert "unable to open" in refusal_of(tmp_path / "missing" / "objects.db")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert "unable to open" in refusal_of(tmp_path)


@contextmanager
def as_an_ordinary_user() -> Iterator[None]:
    """Do without the rights of root, who may write to everything."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


def test_a_file_that_may_not_be_written_is_refused() -> None:
    with TemporaryDirectory() as directory:
        path = Path(directory) / "objects.db"
        with opened(path) as store:
            put(store, "a")
        path.chmod(0o444)
        path.parent.chmod(0o755)
        with as_an_ordinary_user():
            told = refusal_of(path)

    assert "permissions" in told
