"""``intentc plan``: shows what applying or deleting would write, and the effects of settings or another reaction map.

``planning`` makes the plan, ``plan_text`` formats it; ``plan_reactions`` compares maps. It reads files, etcd, the API
server, and for ``--reactions`` the diagnostics; with ``--out`` it writes one file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import CommandError, Exit
from ..options import complete_files, configured, output_option_with

if TYPE_CHECKING:
    from intentc.loading.configuration import Configuration, Loaded
    from intentc.offline.preview import Plan
    from intentc.offline.preview.report import Input

    from ..planning import Made


@click.command(name="plan")
@click.argument("given", metavar="FILE...", nargs=-1, shell_complete=complete_files)
@click.option("--delete", is_flag=True, help="Plan to delete the resources in the files.")
@click.option("--kind", help="With --delete, delete by name in place of files: --delete --kind KIND NAME...")
@click.option(
    "--remove-references", is_flag=True, help="With --kind: also remove references to them, as for `intentc delete`."
)
@click.option("--due", is_flag=True, help="In place of FILE...: what the configuration makes due.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Save the plan for `intentc apply`.")
@click.option(
    "--reactions",
    type=click.Path(dir_okay=False, path_type=Path),
    help="In place of FILE...: compare this reaction map with the one in force.",
)
@click.option("--compiler", help="With --reactions: the compiler of the map; default: found by its kinds.")
@click.option("--exit-code", is_flag=True, help="End with 1 if anything differs.")
@click.option(
    "--gateway",
    type=click.Path(dir_okay=False, exists=True),
    help="With -o appgw: the Application Gateway as Azure Resource Manager gives it, JSON.",
)
@output_option_with("appgw")
@configured()
def command(
    given: tuple[str, ...],
    delete: bool,
    kind: str | None,
    remove_references: bool,
    due: bool,
    out: Path | None,
    reactions: Path | None,
    compiler: str | None,
    exit_code: bool,
    gateway: str | None,
    output: str,
    loaded: Loaded,
) -> int:
    """Show what applying FILE... (as for apply) to the live system would write: your changes, and what follows.

    The plan is computed over a copy; nothing is written, and no number is allocated. Values that the server chooses
    show as <POOL for NAME> and <uuid of NAME>. A plan saved with --out contains the files, secrets included; only you
    can read it, and `intentc apply PLAN` rejects a stale plan.

    Exit code 5 if an output of the input could not be made (its intent is held or waits, or the server's rules reject
    it: the new problems say why), as for `apply --wait`; with --exit-code, 1 if anything differs comes first.

    `-o appgw` prints which parts of an Application Gateway's document are added (+), removed (-) or changed (~).
    """
    _no_saved_plan(() if kind else given)
    _check(
        given,
        delete=delete,
        kind=kind,
        remove_references=remove_references,
        due=due,
        out=out,
        reactions=reactions,
        compiler=compiler,
    )
    if output == "appgw" and (due or reactions is not None):
        raise click.UsageError("-o appgw excludes --due and --reactions")
    if gateway and output != "appgw":
        raise click.UsageError("--gateway needs -o appgw")
    if reactions is not None:
        return _compare(reactions, compiler, output, exit_code, loaded.configuration)
    from intentc.plugins import installed

    from ..file_lines import line_of
    from ..naming import reject_kind_as_file
    from ..planning import input_of
    from ..process import run_service

    if delete and kind is None:
        reject_kind_as_file(given, installed(loaded.configuration).schema, "intentc plan --delete")
    if output == "appgw":
        from ..azure_document import AzureDocument

        document = AzureDocument(gateway, loaded.configuration.intentc.settings, installed(loaded.configuration).schema)
    made = run_service(
        _plan,
        input_of(given, delete=delete, kind=kind, remove_references=remove_references),
        out,
        loaded.configuration,
        output == "appgw",
    )
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


def _check(
    given: tuple[str, ...],
    *,
    delete: bool,
    kind: str | None,
    remove_references: bool,
    due: bool,
    out: Path | None,
    reactions: Path | None,
    compiler: str | None,
) -> None:
    if reactions is not None and (given or delete or kind or out or due):
        raise click.UsageError("--reactions excludes FILE..., --delete, --kind, --due and --out")
    if due and (given or delete or kind or out):
        raise click.UsageError("--due excludes FILE..., --delete, --kind and --out")
    if reactions is None and not given and not due:
        raise click.UsageError("give FILE..., or --delete --kind KIND NAME..., or --due, or --reactions FILE")
    if kind and not delete:
        raise click.UsageError("--kind needs --delete")
    if remove_references and not kind:
        raise click.UsageError("--remove-references needs --kind")
    if compiler and reactions is None:
        raise click.UsageError("--compiler needs --reactions")


async def _plan(given: Input, out: Path | None, configuration: Configuration, with_outputs: bool, /) -> Made:
    from ..planning import make_plan

    made = await make_plan(given, configuration, with_outputs=with_outputs)
    if out is not None:
        from intentc.offline.preview.report import write

        try:
            write(out, made.saved)
        except OSError as error:
            raise CommandError(
                f"the plan can't be saved: {error.strerror}",
                where=str(out),
                next_step="give --out a file in a folder that you may write to",
            ) from None
    return made


def _print(output: str, plan: Plan, *, due: bool) -> None:
    from ..output import print_document
    from ..plan_text import lines, lines_of_due

    if output == "table":
        for line in lines_of_due(plan) if due else lines(plan):
            click.echo(line)
    else:
        content = {name: value for name, value in plan.document().items() if name != "apiVersion"}
        print_document(output, content, (), ())


def _compare(reactions: Path, compiler: str | None, output: str, exit_code: bool, configuration: Configuration) -> int:
    from ..plan_reactions import compare_maps, print_comparison
    from ..process import run_service

    found = run_service(compare_maps, reactions, compiler, configuration)
    print_comparison(output, found)
    if found.invalid:
        return Exit.INVALID
    return Exit.DIFFERENT if exit_code and (found.edges or found.writes) else Exit.DONE
