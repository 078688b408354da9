"""Makes `.venv` hold one of the pinned requirement sets and the project itself, editable.

    python3 tools/venv.py demo|dev

Needs nothing but Python: it runs before anything is installed, and must parse on a Python too old
for the project so that the person gets a message instead of a syntax error. It installs only what
`requirements/SET.txt` pins by hash, and does nothing when the environment is already up to date.
"""

import fcntl
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

PYTHON_MIN = (3, 11)
ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
# Each set holds what the ones after it hold, in the same versions.
SETS = ("dev", "demo")


def main() -> None:
    """Bring `.venv` up to date with the set named on the command line."""
    if len(sys.argv) != 2 or sys.argv[1] not in SETS:
        sys.exit("usage: python3 tools/venv.py {}".format("|".join(SETS)))
    requirement_set = sys.argv[1]
    complain_about_old_python()
    with (ROOT / ".venv.lock").open("w") as lock:
        # Two `make` in one checkout take turns instead of installing over each other.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if any(is_current(name) for name in SETS[: SETS.index(requirement_set) + 1]):
            return
        create()
        install(requirement_set)


def complain_about_old_python() -> None:
    """Stop with what to type instead when this Python can't run the project."""
    if sys.version_info >= PYTHON_MIN:
        return
    newer = [name for name in ("python3.13", "python3.12", "python3.11") if shutil.which(name)]
    remedy = "make setup PYTHON={}".format(newer[0]) if newer else "install it, then: make setup PYTHON=python3.13"
    sys.exit(
        "muster needs Python {}.{} or newer, but {} is {}.{}. Try: {}".format(
            *PYTHON_MIN, sys.executable, *sys.version_info[:2], remedy
        )
    )


def digest(requirement_set: str) -> str:
    """What the environment depends on; another digest means it has to be brought up to date."""
    content = hashlib.sha256(sys.version.encode())
    for path in (ROOT / "requirements" / (requirement_set + ".txt"), ROOT / "pyproject.toml"):
        content.update(path.read_bytes())
    return content.hexdigest()


def stamp(requirement_set: str) -> Path:
    return VENV / "muster-{}.sha256".format(requirement_set)


def is_current(requirement_set: str) -> bool:
    path = stamp(requirement_set)
    return VENV_PYTHON.exists() and path.exists() and path.read_text() == digest(requirement_set)


def create() -> None:
    """Make the bare environment, anew when it belongs to another Python."""
    config = VENV / "pyvenv.cfg"
    version = "version = {}.{}.{}".format(*sys.version_info[:3])
    if VENV_PYTHON.exists() and config.exists() and version in config.read_text():
        return
    print("Making .venv with Python {}.{}.{}".format(*sys.version_info[:3]), flush=True)
    run(sys.executable, "-m", "venv", "--clear", str(VENV))


def install(requirement_set: str) -> None:
    """Install the pinned set, then the project on top, and leave the stamp of success."""
    print("Installing requirements/{}.txt".format(requirement_set), flush=True)
    pip = (str(VENV_PYTHON), "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    # The file is complete, so nothing is resolved; byte code is made when first imported, which
    # spares compiling thousands of modules that never are.
    pinned = ROOT / "requirements" / (requirement_set + ".txt")
    run(*pip, "--no-deps", "--no-compile", "--require-hashes", "--requirement", str(pinned))
    run(*pip, "--no-deps", "--no-build-isolation", "--editable", str(ROOT))
    stamp(requirement_set).write_text(digest(requirement_set))


def run(*command: str) -> None:
    """Run a command; its failure ends the program with its exit code and without a traceback."""
    done = subprocess.run(command, check=False)
    if done.returncode:
        sys.exit("failed with exit code {}: {}".format(done.returncode, " ".join(command)))


if __name__ == "__main__":
    main()
