"""The `muster` command: parses arguments, calls the library, prints; it decides nothing.

Sub-commands import what they need when they run, so that `muster --help` answers at once.
"""

import errno
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple

import click

INTERRUPTED: Final = 130
"""Exit code after Ctrl-C."""


class Lazy(NamedTuple):
    """A sub-command that is imported when somebody calls it."""

    module: str
    help: str


COMMANDS: Final = {
    "lint": Lazy(
        "muster.queue.cli.lint", "Warn of what is legal in manifests, but surely not meant."
    ),
    "plan": Lazy("muster.queue.cli.plan", "Show what would be decided about manifests now."),
    "sandbox": Lazy("muster.queue.cli.sandbox", "Run a small Kubernetes cluster on this machine."),
    "simulate": Lazy(
        "muster.queue.cli.simulate", "Play jobs on a virtual clock and tell what happens."
    ),
}
"""Sub-commands by name; each module has the command under the same name."""


class LazyGroup(click.Group):
    """A group whose help is known without importing its commands."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command = getattr(import_module(COMMANDS[name].module), name)
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> object:
        _replace_closed_streams()
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # whoever read has seen enough: click ends without a word
            click.echo(f"Error: {error.strerror or error}", err=True)
            from muster.queue.cli.messages import discard_output  # noqa: PLC0415 - rarely

            discard_output()
            ctx.exit(1)
        return result

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name].help) for name in sorted(COMMANDS)])


def _replace_closed_streams() -> None:
    """Let a stream that the caller has closed read as empty, or lead nowhere."""
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open()  # noqa: SIM115 - as long as the process
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="muster-queue", prog_name="muster")
def main() -> None:
    """Queue, admit and explain batch jobs on Kubernetes."""
