"""`muster sandbox`: a small cluster on this machine, started, looked at, disturbed and ended."""

from __future__ import annotations

import asyncio
import errno
import gc
import shlex
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import click

from muster.queue.api.wording import did_you_mean
from muster.queue.cli.messages import complaining, fail
from muster.queue.cli.parameters import Duration
from muster.queue.client.kubeconfig_text import is_of_a_sandbox
from muster.queue.sandbox.session import Record, Session, SessionError, default_directory

FILE: Final = click.Path(dir_okay=False, path_type=Path)
_START_MAX_S: Final = 60.0
_BUILD_MAX_S: Final = 3600.0
_POLL_S: Final = 0.05
_NODES: Final = 8
_GPUS: Final = 8
_US: Final = 1_000_000
_NEEDED: Final = ("aiohttp", "cel_expr_python", "cryptography")


@click.group(short_help="Run a small Kubernetes cluster on this machine.")
def sandbox() -> None:
    """
    A small Kubernetes API with simulated nodes that run Jobs.

    kubectl, client libraries and controllers work on it as on any cluster. Pods run nothing: they
    only take as long, and end as well, as their annotations say.
    """
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        fail(
            f"`muster sandbox` needs packages that are not installed here ({', '.join(missing)}): "
            "pip install '.[sandbox]' in a checkout, or `make setup`."
        )


@sandbox.command()
@click.option(
    "--nodes", type=click.IntRange(0, 5000), metavar="N", help="How many nodes; default: 8."
)
@click.option(
    "--gpus-per-node",
    type=click.IntRange(0, 1024),
    metavar="N",
    help="How many GPUs each node has; default: 8.",
)
@click.option(
    "-f", "--file", type=FILE, metavar="FILE", help="The nodes that this file describes instead."
)
@click.option(
    "--store", type=FILE, metavar="FILE", help="Keep all objects in this file, for the next time."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="PORT",
    help="The port on 127.0.0.1; default: a free one.",
)
@click.option(
    "--kubeconfig",
    type=FILE,
    metavar="FILE",
    help="Write the kubeconfig to this new file, which is removed in the end.",
)
@click.option(
    "--pod-duration",
    type=Duration(),
    default=10 * _US,
    metavar="TIME",
    help="How long a Job's pods run that don't say so themselves; default: 10s.",
)
@click.option("--detach", is_flag=True, help="Leave it running in the background.")
@click.option(
    "--real", is_flag=True, help="Run a real control plane, which is built the first time."
)
@click.option(
    "--audit-log",
    type=FILE,
    metavar="FILE",
    help="With --real: write what it is asked, as JSON lines.",
)
def up(*, detach: bool, **options: Any) -> None:
    """Start a sandbox, and serve until Ctrl-C or `muster sandbox down`."""
    _check_options(options)
    session = Session(default_directory())
    if detach:
        _start_detached(session, real=options["real"])
        return
    with complaining("nothing was started"):
        _serve(session, options)


def _check_options(options: dict[str, Any]) -> None:
    if options["file"] and (options["nodes"] is not None or options["gpus_per_node"] is not None):
        raise click.UsageError("--file says which nodes there are: leave out --nodes and the like.")
    if options["real"] and (options["store"] or options["port"]):
        raise click.UsageError("--store and --port are for the sandbox's own API server only.")
    if options["audit_log"] and not options["real"]:
        raise click.UsageError("--audit-log is what a real control plane writes: add --real.")
    kubeconfig = options["kubeconfig"]
    if kubeconfig and kubeconfig.exists() and not is_of_a_sandbox(kubeconfig):
        # It is removed in the end: it must not be one that leads to other clusters.
        raise click.UsageError(f"--kubeconfig {kubeconfig} exists already: name a new file.")
    if kubeconfig and not kubeconfig.absolute().parent.is_dir():
        raise click.UsageError(f"--kubeconfig {kubeconfig}: there is no such folder.")


def _serve(session: Session, options: dict[str, Any]) -> None:
    # It takes a moment to import, which `muster sandbox status` need not wait for.
    from muster.queue.client.refusal import Refusal  # noqa: PLC0415
    from muster.queue.controlplane.errors import ControlPlaneError  # noqa: PLC0415
    from muster.queue.sandbox.command import Order, run  # noqa: PLC0415
    from muster.queue.sandbox.store.sqlite import StoreFileError  # noqa: PLC0415
    from muster.queue.simulated.node_specs import plain_cluster  # noqa: PLC0415

    if options["file"]:
        from muster.queue.simulated.cluster_file import read_cluster  # noqa: PLC0415

        specs = read_cluster(str(options["file"]))
    else:
        nodes, gpus = options["nodes"], options["gpus_per_node"]
        specs = plain_cluster(_NODES if nodes is None else nodes, _GPUS if gpus is None else gpus)
    order = Order(
        specs=specs,
        kubeconfig=(options["kubeconfig"] or session.kubeconfig).absolute(),
        pod_duration_us=options["pod_duration"],
        port=options["port"],
        store=options["store"],
        real=options["real"],
        audit_log=options["audit_log"],
    )
    # The default thresholds have the collector look at everything that is stored over and over.
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    try:
        asyncio.run(run(session, order, click.echo))
    except (SessionError, StoreFileError, ControlPlaneError, OSError, ExceptionGroup) as raised:
        match _single(raised):
            case SessionError() | StoreFileError() | ControlPlaneError() | Refusal() as error:
                fail(str(error))
            case OSError(errno=errno.EADDRINUSE):
                fail(f"Port {order.port} is taken: leave --port out, or name another one.")
            case OSError(errno=errno.EPIPE) as error:
                raise error from None  # whoever read has seen enough
            case OSError() as error:
                fail(_told(error))
            case _:
                raise


def _single(error: Exception) -> Exception:
    """Return what happened, of an error that may have come by way of groups of tasks."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _told(error: OSError) -> str:
    return f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}"


def _start_detached(session: Session, *, real: bool) -> None:
    """Start another process that does it, and return when it is ready."""
    if session.running():
        fail(str(SessionError.is_running()))
    arguments = [argument for argument in sys.argv[1:] if argument != "--detach"]
    command = (sys.executable, "-c", "from muster.queue.cli import main; main()", *arguments)
    try:
        session.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        opened = session.log.open("wb")
    except OSError as error:
        fail(_told(error))
    with opened as log:
        process = subprocess.Popen(  # noqa: S603 - it is this program
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    deadline_s = time.monotonic() + (_BUILD_MAX_S if real else _START_MAX_S)
    while (record := session.running()) is None:
        if process.poll() is not None:
            fail(session.log.read_text(encoding="utf-8", errors="replace").strip())
        if time.monotonic() > deadline_s:
            process.terminate()
            fail(f"The sandbox did not get ready; its log is {session.log}")
        time.sleep(_POLL_S)
    click.echo(record.announcement())
    click.echo("It runs in the background: end it with `muster sandbox down`.")


@sandbox.command()
def status() -> None:
    """Say whether a sandbox runs, and where."""
    record = _running()
    what = "A real control plane" if record.real else "The sandbox"
    click.echo(f"{what} runs at {record.url} (process {record.process_id}).")
    if record.store:
        click.echo(f"Its objects are kept in {record.store}.")
    click.echo(f"\n  export KUBECONFIG={shlex.quote(record.kubeconfig)}")


@sandbox.command()
def down() -> None:
    """End the sandbox that runs."""
    session = Session(default_directory())
    try:
        was_running = session.end()
    except SessionError as error:
        fail(str(error))
    click.echo("The sandbox has ended." if was_running else "No sandbox was running.")


@sandbox.group()
def node() -> None:
    """Make a simulated node fail, heal or empty it."""


kubeconfig_option = click.option(
    "--kubeconfig", type=FILE, metavar="FILE", help="For another cluster with simulated nodes."
)


@node.command("fail")
@click.argument("name")
@kubeconfig_option
def fail_node(name: str, kubeconfig: Path | None) -> None:
    """Cut a node off: it, and what runs on it, is not heard of until it is healed."""
    from muster.queue.simulated.nodes import operations  # noqa: PLC0415

    _operate(name, kubeconfig, lambda client, _: operations.fail(client, name))
    click.echo(
        f"Node {name} is cut off. In 50 s it counts as lost; its pods are deleted when they no "
        "longer tolerate that, 5 minutes later unless they say otherwise."
    )


@node.command("heal")
@click.argument("name")
@kubeconfig_option
def heal_node(name: str, kubeconfig: Path | None) -> None:
    """Let a node be heard of again, and take new pods."""
    from muster.queue.simulated.nodes import operations  # noqa: PLC0415

    _operate(name, kubeconfig, lambda client, _: operations.heal(client, name))
    click.echo(f"Node {name} is back.")


@node.command("drain")
@click.argument("name")
@kubeconfig_option
def drain_node(name: str, kubeconfig: Path | None) -> None:
    """Let a node take no new pods, and evict those that it has."""
    from muster.queue.simulated.nodes import operations  # noqa: PLC0415

    evicted = _operate(
        name, kubeconfig, lambda client, clock: operations.drain(client, clock, name)
    )
    for key in evicted:
        click.echo(f"evicted {key}")
    click.echo(f"Node {name} is empty and takes no new pods; `node heal` ends that.")


def _operate(
    name: str, kubeconfig: Path | None, operation: Callable[[Any, Any], Awaitable[Any]]
) -> Any:
    """Do something to a node of a cluster; what keeps it from being done is said in words."""
    from muster.queue.client.http_client import HttpClient  # noqa: PLC0415
    from muster.queue.client.kinds import NODE  # noqa: PLC0415
    from muster.queue.client.kubeconfig import read_kubeconfig  # noqa: PLC0415
    from muster.queue.client.protocol import Disconnected  # noqa: PLC0415
    from muster.queue.client.refusal import Refusal  # noqa: PLC0415
    from muster.queue.clock import WallClock  # noqa: PLC0415
    from muster.queue.simulated.nodes.operations import NotSimulatedError  # noqa: PLC0415

    async def operate() -> Any:
        async with HttpClient(read_kubeconfig(path)) as client:
            try:
                return await operation(client, WallClock())
            except Refusal as refusal:
                if refusal.reason != "NotFound":
                    raise
                page = await client.list(NODE)
                names = [each["metadata"]["name"] for each in page.items]
                fail(f"There is no node {name}.{did_you_mean(name, names)}")

    path = str(kubeconfig or _running().kubeconfig)
    with complaining("nothing was done"):
        try:
            return asyncio.run(operate())
        except (NotSimulatedError, Refusal, Disconnected) as error:
            fail(str(error))


def _running() -> Record:
    record = Session(default_directory()).running()
    if record is None:
        fail("No sandbox is running: start one with `muster sandbox up`.")
    return record
