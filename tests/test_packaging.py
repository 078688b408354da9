"""What an installed Muster promises: its commands, its namespace, and a quick `--help`."""

import subprocess
import sys
import sysconfig
from importlib import resources
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest
from click.testing import CliRunner

import muster.admission
import muster.queue
from muster.queue.cli import main

ROOT = Path(__file__).resolve().parent.parent
# Each takes longer to import than the whole of `muster --help` may take.
HEAVY = (
    "aiohttp",
    "kopf",
    "kubernetes",
    "numpy",
    "ortools",
    "pandas",
    "pydantic",
    "rich.console",
    "sqlalchemy",
    "yaml",
)


def python_prints(*arguments: str) -> str:
    """What this Python prints when started at the root of the repository."""
    command = (sys.executable, *arguments)
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def test_queue_is_still_the_standard_library_s_at_the_root() -> None:
    program = (
        "import asyncio, concurrent.futures, queue; queue.SimpleQueue(); print(queue.__file__)"
    )
    assert Path(python_prints("-c", program).strip()).parent == Path(sysconfig.get_path("stdlib"))


def test_muster_is_one_namespace_from_two_roots() -> None:
    assert getattr(muster, "__file__", None) is None
    assert Path(muster.queue.__path__[0]) == ROOT / "queue/muster/queue"
    assert Path(muster.admission.__path__[0]) == ROOT / "admission/muster/admission"


@pytest.mark.parametrize("package", ["muster.queue", "muster.admission"])
def test_types_are_published(package: str) -> None:
    assert resources.files(package).joinpath("py.typed").is_file()


@pytest.mark.parametrize("command", ["muster", "kubectl-muster"])
def test_command_is_installed(command: str) -> None:
    (script,) = entry_points(group="console_scripts", name=command)
    assert script.load() is main


def test_version_is_the_distribution_s() -> None:
    result = CliRunner().invoke(main, ["--version"])
    assert (result.exit_code, result.output) == (0, f"muster, version {version('muster-queue')}\n")


def test_help_loads_nothing_heavy() -> None:
    program = (
        "import sys, muster.queue.cli as cli\n"
        "cli.main(['--help'], standalone_mode=False)\n"
        f"print('loaded:', [name for name in {HEAVY} if name in sys.modules])"
    )
    assert python_prints("-c", program).endswith("loaded: []\n")
