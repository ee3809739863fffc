"""``intentc delete``: deletes the resources in files, or resources of one kind by name.

``deleting`` deletes. With ``--wait`` it asks the diagnostics. It deletes only what the input names, and with
``--remove-references`` changes what refers to that; it prints.
"""

from __future__ import annotations

import click

from intentc.loading.configuration import Loaded

from ..command_error import Exit
from ..command_options import complete_files, configured, output_option, waiting_options
from ..diagnostics_client import wait_until_converged
from ..directive_client import verdict
from ..input_files import fq_name_of, read_input
from ..named_resources import reject_kind_as_file
from ..transfer import print_actions


@click.command(name="delete")
@click.argument("given", metavar="FILE...", nargs=-1, required=True, shell_complete=complete_files)
@click.option("--kind", help="Delete by name in place of files: --kind KIND NAME..., with names as for `get`.")
@click.option(
    "--remove-references", is_flag=True, help="With --kind: also remove references to them, in the same transaction."
)
@output_option
@waiting_options("Wait until the resources compiled from them are deleted, too.", 60.0)
@configured()
async def command(
    given: tuple[str, ...],
    kind: str | None,
    remove_references: bool,
    output: str,
    timeout: float | None,
    loaded: Loaded,
) -> int:
    """Delete the resources in FILE... (as for apply), those that refer to others first; or, with --kind KIND, the
    resources of KIND with these names.

    Resources in a file that do not exist are no error. The compiler deletes the lower-level resources; --wait queries
    it at intentc.diagnostics.address until it has. Exit code 5 if something that follows is held or rejected.
    `intentc plan --delete` shows what would be deleted, and deletes nothing.
    """
    from intentc.plugins import declared

    from ..api_client import api_client
    from ..deleting import delete_by, delete_named

    schema = declared(loaded.configuration).schema
    if kind is None:
        if remove_references:
            raise click.UsageError("--remove-references needs --kind")
        reject_kind_as_file(given, schema, "intentc delete")
        resources, _ = read_input(given, loaded.configuration)
    async with api_client(loaded.configuration) as client:
        if kind is not None:
            done = await delete_named(client, schema, kind, given, remove_references=remove_references)
        else:
            order, uuids = await delete_by(client, resources, schema)
            actions = ["deleted" if uuid else "absent" for uuid in uuids]
            done = [(each.kind, fq_name_of(each), action) for each, action in zip(order, actions, strict=True)]
        print_actions(output, done, client.revision)
        revision = client.revision
    if timeout is None:
        return Exit.DONE
    about = {(kind, ":".join(fq_name)) for kind, fq_name, _ in done}
    diagnostics = loaded.configuration.intentc.diagnostics
    return await verdict(diagnostics, await wait_until_converged(diagnostics, revision, timeout), about)
