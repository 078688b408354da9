"""The `muster` command: parses arguments, calls the library, prints; it decides nothing.

Each sub-command is a module of its own here, with a click command called `command`. It is imported
when it is run, so that `muster --help` answers at once.
"""

from importlib import import_module

import click

COMMANDS = {
    "simulate": "Play jobs through the engine on a virtual clock and tell what happens.",
}
"""What each sub-command is for, in the order in which they are shown."""


class Commands(click.Group):
    """The sub-commands of the table, imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"{__name__}.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="muster-queue", prog_name="muster")
def main() -> None:
    """Queue, admit and explain batch jobs on Kubernetes."""
