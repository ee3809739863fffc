"""``intentc delete``: delete the resources that files name, or one kind's by their names."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import anyio
import click

from ..deleting import delete_by, delete_named
from ..errors import Exit
from ..options import complete_files, configured, output_option

if TYPE_CHECKING:
    from intentc.loading.configuration import Loaded

    from ..consequences import Named


@click.command(name="delete")
@click.argument("given", metavar="FILE...", nargs=-1, required=True, shell_complete=complete_files)
@click.option("--kind", help="In place of files, names of this kind, as `get` takes them: --kind KIND NAME...")
@click.option("--let-go", is_flag=True, help="With --kind: what refers to them lets go, in the same transaction.")
@output_option
@click.option("--wait", is_flag=True, help="Wait until what was compiled from them is gone, too.")
@click.option("--timeout", type=float, default=60.0, show_default=True, help="Seconds to wait at most.")
@configured()
def command(
    given: tuple[str, ...],
    kind: str | None,
    let_go: bool,
    output: str,
    wait: bool,
    timeout: float,
    loaded: Loaded,
) -> int:
    """Delete the resources named in FILE... (as for apply), those that refer to others first; or, with --kind, those
    of this kind that are named so.

    What a file names and is not there any more is no error. Lower-level resources that were compiled go by themselves;
    --wait asks the compiler at intentc.diagnostics.address until they have. Exit code 5 if something that follows is
    held or refused. `intentc plan --delete` shows what would go, and deletes nothing.
    """
    patience = timeout if wait else None
    if kind is not None:
        return anyio.run(_delete_named, kind, given, let_go, output, patience, loaded)
    if let_go:
        raise click.UsageError("--let-go goes with --kind")
    return anyio.run(_delete, given, output, patience, loaded)


async def _delete_named(
    kind_name: str, names: tuple[str, ...], let_go: bool, output: str, timeout: float | None, loaded: Loaded
) -> int:
    from intentc.plugins import installed
    from intentc.writing.connection import Connection

    from ..client import ApiClient
    from ..connecting import api_server
    from ..transfer import print_actions

    schema = installed(loaded.configuration).schema
    async with ApiClient(Connection(api_server(loaded.configuration))) as client:
        done = await delete_named(client, schema, kind_name, names, let_go=let_go)
        print_actions(output, done, client.revision)
        revision = client.revision
    about = {(kind, ":".join(fq_name)) for kind, fq_name, _ in done}
    return await _until_gone(about, revision, timeout, loaded)


async def _delete(files: tuple[str, ...], output: str, timeout: float | None, loaded: Loaded) -> int:
    from intentc.writing.connection import Connection

    from ..client import ApiClient
    from ..connecting import api_server
    from ..ordering import name_of
    from ..transfer import print_results, read_input

    resources, schema = read_input(files, loaded.configuration)
    async with ApiClient(Connection(api_server(loaded.configuration))) as client:
        resources, uuids = await delete_by(client, resources, schema)
        print_results(output, resources, ["deleted" if uuid else "absent" for uuid in uuids], client.revision)
        revision = client.revision
    about = {(resource.kind, name_of(resource)) for resource in resources}
    return await _until_gone(about, revision, timeout, loaded)


async def _until_gone(about: Collection[Named], revision: int, timeout: float | None, loaded: Loaded) -> int:
    from ..consequences import verdict
    from ..waiting import wait_until_converged

    if timeout is None:
        return Exit.DONE
    diagnostics = loaded.configuration.intentc.diagnostics
    return await verdict(diagnostics, await wait_until_converged(diagnostics, revision, timeout), about)
