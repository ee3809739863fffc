"""``intentc delete``: deletes the resources in files, or resources of one kind by name.

``deleting`` deletes. With ``--wait`` it asks the diagnostics. It deletes only what the input names, and with
``--remove-references`` changes what refers to that; it prints.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import anyio
import click

from ..errors import Exit
from ..options import complete_files, configured, output_option

if TYPE_CHECKING:
    from intentc.loading.configuration import Loaded

    from ..consequences import Named


@click.command(name="delete")
@click.argument("given", metavar="FILE...", nargs=-1, required=True, shell_complete=complete_files)
@click.option("--kind", help="Delete by name in place of files: --kind KIND NAME..., with names as for `get`.")
@click.option(
    "--remove-references", is_flag=True, help="With --kind: also remove references to them, in the same transaction."
)
@output_option
@click.option("--wait", is_flag=True, help="Wait until the resources compiled from them are deleted, too.")
@click.option("--timeout", type=float, default=60.0, show_default=True, help="Maximum seconds to wait.")
@configured()
def command(
    given: tuple[str, ...],
    kind: str | None,
    remove_references: bool,
    output: str,
    wait: bool,
    timeout: float,
    loaded: Loaded,
) -> int:
    """Delete the resources in FILE... (as for apply), those that refer to others first; or, with --kind KIND, the
    resources of KIND with these names.

    Resources in a file that do not exist are no error. The compiler deletes the lower-level resources; --wait queries
    it at intentc.diagnostics.address until it has. Exit code 5 if something that follows is held or rejected.
    `intentc plan --delete` shows what would be deleted, and deletes nothing.
    """
    patience = timeout if wait else None
    if kind is not None:
        return anyio.run(_delete_named, kind, given, remove_references, output, patience, loaded)
    if remove_references:
        raise click.UsageError("--remove-references needs --kind")
    return anyio.run(_delete, given, output, patience, loaded)


async def _delete_named(
    kind_name: str, names: tuple[str, ...], remove_references: bool, output: str, timeout: float | None, loaded: Loaded
) -> int:
    from intentc.plugins import declared
    from intentc.writing.connection import Connection

    from ..client import ApiClient
    from ..connecting import api_server
    from ..deleting import delete_named
    from ..transfer import print_actions

    schema = declared(loaded.configuration).schema
    async with ApiClient(Connection(api_server(loaded.configuration))) as client:
        done = await delete_named(client, schema, kind_name, names, remove_references=remove_references)
        print_actions(output, done, client.revision)
        revision = client.revision
    about = {(kind, ":".join(fq_name)) for kind, fq_name, _ in done}
    return await _until_deleted(about, revision, timeout, loaded)


async def _delete(files: tuple[str, ...], output: str, timeout: float | None, loaded: Loaded) -> int:
    from intentc.plugins import declared
    from intentc.writing.connection import Connection

    from ..client import ApiClient
    from ..connecting import api_server
    from ..deleting import delete_by
    from ..naming import reject_kind_as_file
    from ..ordering import name_of
    from ..transfer import print_results, read_input

    reject_kind_as_file(files, declared(loaded.configuration).schema, "intentc delete")
    resources, schema = read_input(files, loaded.configuration)
    async with ApiClient(Connection(api_server(loaded.configuration))) as client:
        resources, uuids = await delete_by(client, resources, schema)
        print_results(output, resources, ["deleted" if uuid else "absent" for uuid in uuids], client.revision)
        revision = client.revision
    about = {(resource.kind, name_of(resource)) for resource in resources}
    return await _until_deleted(about, revision, timeout, loaded)


async def _until_deleted(about: Collection[Named], revision: int, timeout: float | None, loaded: Loaded) -> int:
    from ..consequences import verdict
    from ..waiting import wait_until_converged

    if timeout is None:
        return Exit.DONE
    diagnostics = loaded.configuration.intentc.diagnostics
    return await verdict(diagnostics, await wait_until_converged(diagnostics, revision, timeout), about)
