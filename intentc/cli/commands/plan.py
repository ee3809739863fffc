"""``intentc plan``: shows what applying or deleting would write, and the effects of settings.

``live_plan`` makes and formats plans. It reads files, etcd and the API server; with ``--out`` it writes one file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from intentc.loading.configuration import Loaded

from ..command_error import CommandError, Exit
from ..command_options import complete_files, configured, output_option_with
from ..input_files import line_of
from ..named_resources import reject_kind_as_file
from ..output import print_document

if TYPE_CHECKING:
    from intentc.offline.preview import Plan
    from intentc.offline.preview.report import Saved


@click.command(name="plan")
@click.argument("given", metavar="FILE...", nargs=-1, shell_complete=complete_files)
@click.option("--delete", is_flag=True, help="Plan to delete the resources in the files.")
@click.option("--kind", help="With --delete, delete by name in place of files: --delete --kind KIND NAME...")
@click.option(
    "--remove-references", is_flag=True, help="With --kind: also remove references to them, as for `intentc delete`."
)
@click.option("--due", is_flag=True, help="In place of FILE...: what the configuration makes due.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Save the plan for `intentc apply`.")
@click.option("--exit-code", is_flag=True, help="End with 1 if anything differs.")
@click.option(
    "--gateway",
    type=click.Path(dir_okay=False, exists=True),
    help="With -o appgw: the Application Gateway as Azure Resource Manager gives it, JSON.",
)
@output_option_with("appgw")
@configured(compiles=True)
async def command(
    given: tuple[str, ...],
    delete: bool,
    kind: str | None,
    remove_references: bool,
    due: bool,
    out: Path | None,
    exit_code: bool,
    gateway: str | None,
    output: str,
    loaded: Loaded,
) -> int:
    """Show what applying FILE... (as for apply) to the live system would write: your changes, and what follows.

    The plan is computed over a copy; nothing is written or allocated. Values that the server chooses
    show as <POOL for NAME> and <uuid of NAME>. A plan saved with --out contains the files, secrets included; only you
    can read it, and `intentc apply PLAN` rejects a stale plan.

    Exit code 5 if an output of the input could not be made (its intent is held or waits, or the server's rules reject
    it: the new problems say why), as for `apply --wait`; with --exit-code, 1 if anything differs comes first.

    `-o appgw` prints which parts of an Application Gateway's document are added (+), removed (-) or changed (~).
    """
    _no_saved_plan(() if kind else given)
    others = bool(given or delete or kind or out)
    for is_wrong, message in (
        (due and others, "--due excludes FILE..., --delete, --kind and --out"),
        (not given and not due, "give FILE..., or --delete --kind KIND NAME..., or --due"),
        (kind and not delete, "--kind needs --delete"),
        (remove_references and not kind, "--remove-references needs --kind"),
        (output == "appgw" and due, "-o appgw excludes --due"),
        (gateway and output != "appgw", "--gateway needs -o appgw"),
    ):
        if is_wrong:
            raise click.UsageError(message)
    from intentc.plugins import installed

    from ..live_plan import input_of, make_plan

    if delete and kind is None:
        reject_kind_as_file(given, installed(loaded.configuration).schema, "intentc plan --delete")
    if output == "appgw":
        from ..azure_output import AzureDocument

        document = AzureDocument(gateway, loaded.configuration.intentc.settings, installed(loaded.configuration).schema)
    made = await make_plan(
        input_of(given, delete=delete, kind=kind, remove_references=remove_references),
        loaded.configuration,
        with_outputs=output == "appgw",
    )
    if out is not None:
        _save(out, made.saved)
    plan = made.saved.plan
    if output == "appgw":
        problems = [*plan.problems, *document.print_difference(made.after, made.before)]
        for problem in problems:
            click.echo(line_of(problem), err=True)
    else:
        _print(output, plan, due=due)
    if out is not None:
        click.echo(f"saved as {out}; `intentc apply {out}` carries it out unless it is stale", err=True)
    differs = bool(plan.due) if due else not plan.summary.nothing
    if exit_code and differs:
        return Exit.DIFFERENT
    return Exit.HELD if plan.unmade else Exit.DONE


def _no_saved_plan(given: tuple[str, ...]) -> None:
    from intentc.offline.preview.report import is_saved

    for file in given:
        if file != "-" and is_saved(Path(file)):
            raise CommandError(
                "this is a saved plan, not a resource",
                where=file,
                next_step=f"`intentc apply {file}` carries it out; to see it again, make a new plan from its files",
                code=Exit.USAGE,
            )


def _save(out: Path, saved: Saved) -> None:
    from intentc.offline.preview.report import write

    try:
        write(out, saved)
    except OSError as error:
        raise CommandError(
            f"the plan can't be saved: {error.strerror}",
            where=str(out),
            next_step="give --out a file in a folder that you may write to",
        ) from None


def _print(output: str, plan: Plan, *, due: bool) -> None:
    from ..live_plan import lines_of_due, plan_lines

    if output == "table":
        for line in lines_of_due(plan) if due else plan_lines(plan):
            click.echo(line)
    else:
        content = {name: value for name, value in plan.document().items() if name != "apiVersion"}
        print_document(output, content, (), ())
