"""``intentc apply``: create or update the resources in files, and wait until they are compiled if asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import anyio
import click

from .errors import Exit
from .options import configured, output_option

if TYPE_CHECKING:
    from intentc.configuration import Configuration, Loaded
    from intentc.loading.resources import Loaded as Input


@click.command(name="apply")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@output_option
@click.option("--wait", is_flag=True, help="Wait until the compiler has converged on what was applied.")
@click.option("--timeout", type=float, default=60.0, show_default=True, help="Seconds to wait at most.")
@configured()
def command(files: tuple[str, ...], output: str, wait: bool, timeout: float, loaded: Loaded) -> int:
    """Create or update the resources in FILE... (YAML or JSON; a folder; - for stdin).

    A resource is known by its kind and fq_name. Everything goes in one transaction if the server takes it. --wait asks
    the compiler at intentc.diagnostics.address; exit code 5 if it holds some intents.
    """
    return anyio.run(_apply, files, output, timeout if wait else None, loaded)


class Applied(NamedTuple):
    """``resources`` as they were sent, what was done with each, and the revision that etcd had afterwards."""

    resources: list[Input]
    actions: list[str]
    revision: int


async def _apply(files: tuple[str, ...], output: str, timeout: float | None, loaded: Loaded) -> int:
    from .transfer import print_results
    from .waiting import wait_until_converged

    applied = await apply_files(files, loaded.configuration)
    print_results(output, applied.resources, applied.actions, applied.revision)
    if timeout is None:
        return Exit.DONE
    return await wait_until_converged(loaded.configuration.intentc.diagnostics.address, applied.revision, timeout)


async def apply_files(files: tuple[str, ...], configuration: Configuration) -> Applied:
    """Create or update what stands in ``files``. Raises ``InvalidInput`` and ``CommandError``."""
    from intentc.writing.connection import Connection

    from .client import ApiClient, Change
    from .connecting import api_server
    from .transfer import present, read_input, send

    resources, schema = read_input(files, configuration)
    async with ApiClient(Connection(api_server(configuration))) as client:
        uuids = await present(client, resources, schema)
        revision = await send(
            client,
            [
                Change("UPDATE", r.kind, {**r.data, "uuid": uuid}) if uuid else Change("CREATE", r.kind, r.data)
                for r, uuid in zip(resources, uuids, strict=True)
            ],
        )
    return Applied(resources, ["updated" if uuid else "created" for uuid in uuids], revision)
