"""Make `.venv` hold one of the pinned requirement sets, and the project itself, editable.

    python3 tools/environment.py dev|demo

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
# Each set holds all of the next one, in the same versions.
SETS = ("dev", "demo")


def main() -> None:
    """Bring `.venv` up to date with the set named on the command line."""
    if len(sys.argv) != 2 or sys.argv[1] not in SETS:  # noqa: PLR2004 - program and set
        sys.exit(f"usage: python3 tools/environment.py {'|'.join(SETS)}")
    name = sys.argv[1]
    refuse_old_python()
    with (ROOT / ".venv.lock").open("w") as lock:
        # Two `make` in one checkout take turns instead of installing over each other.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if any(is_current(larger) for larger in SETS[: SETS.index(name) + 1]):
            return
        create()
        install(name)


def refuse_old_python() -> None:
    """Stop with what to type instead when this Python can't run the project."""
    if sys.version_info >= PYTHON_MIN:
        return
    newer = [name for name in ("python3.13", "python3.12", "python3.11") if shutil.which(name)]
    remedy = f"make setup PYTHON={newer[0]}" if newer else "install a newer Python first"
    needed, found = (f"{major}.{minor}" for major, minor in (PYTHON_MIN, sys.version_info[:2]))
    sys.exit(f"muster needs Python {needed} or newer; {sys.executable} is {found}. Try: {remedy}")


def is_current(name: str) -> bool:
    """Whether the last install of this set succeeded with what would be installed now."""
    path = stamp(name)
    return VENV_PYTHON.exists() and path.exists() and path.read_text() == digest(name)


def stamp(name: str) -> Path:
    """The file that a successful install of this set leaves."""
    return VENV / f"muster-{name}.sha256"


def digest(name: str) -> str:
    """Everything the environment depends on, as one hexadecimal number."""
    content = hashlib.sha256(sys.version.encode())
    for path in (requirements(name), ROOT / "pyproject.toml"):
        content.update(path.read_bytes())
    return content.hexdigest()


def requirements(name: str) -> Path:
    """The pinned requirements of this set."""
    return ROOT / "requirements" / f"{name}.txt"


def create() -> None:
    """Make the bare environment; make it anew when it belongs to another Python."""
    config = VENV / "pyvenv.cfg"
    version = "{}.{}.{}".format(*sys.version_info)
    if VENV_PYTHON.exists() and f"version = {version}\n" in config.read_text():
        return
    print(f"Making .venv with Python {version}", flush=True)
    run(sys.executable, "-m", "venv", "--clear", str(VENV))


def install(name: str) -> None:
    """Install the pinned set, then the project on top, and leave the stamp."""
    print(f"Installing requirements/{name}.txt", flush=True)
    pip = (str(VENV_PYTHON), "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    # The file is complete, so there is nothing to resolve. Byte code is made when a module is first
    # imported, which spares compiling thousands of modules that never are.
    pinned = ("--no-deps", "--no-compile", "--require-hashes", "--requirement")
    run(*pip, *pinned, str(requirements(name)))
    run(*pip, "--no-deps", "--no-build-isolation", "--editable", str(ROOT))
    stamp(name).write_text(digest(name))


def run(*command: str) -> None:
    """Run a command; when it fails, end the program with the command instead of a traceback."""
    done = subprocess.run(command, check=False)
    if done.returncode:
        sys.exit(f"exit code {done.returncode} from: {' '.join(command)}")


if __name__ == "__main__":
    main()
