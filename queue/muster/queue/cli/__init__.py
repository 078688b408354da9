"""The `muster` command: parses arguments, calls the library, prints; it decides nothing.

Sub-commands import what they need when they run, so that `muster --help` answers at once.
"""

import click


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="muster-queue", prog_name="muster")
def main() -> None:
    """Queue, admit and explain batch jobs on Kubernetes."""
