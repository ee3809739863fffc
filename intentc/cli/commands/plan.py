"""``intentc plan``: shows what applying or deleting would write, and the effects of settings or another reaction map.

``live_plan`` makes and formats plans. For ``--reactions`` it finds out whose map it is, asks a running service for the
map in force, and ``offline/preview/reacting.py`` compares. It reads files, etcd, the API server, and for
``--reactions`` the diagnostics; with ``--out`` it writes one file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from ..command_error import CommandError, Exit
from ..command_options import complete_files, configured, output_option_with
from ..live_plan import change_lines
from ..output import print_document, table

if TYPE_CHECKING:
    from intentc.loading.configuration import Configuration, Loaded
    from intentc.logic.coverage import Missing
    from intentc.offline.preview import Plan
    from intentc.offline.preview.reacting import Comparison
    from intentc.offline.preview.report import Saved
    from intentc.plugins import Loaded as Compilers


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
@configured(compiles=True)
async def command(
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
        (
            reactions is not None and (others or due),
            "--reactions excludes FILE..., --delete, --kind, --due and --out",
        ),
        (due and others, "--due excludes FILE..., --delete, --kind and --out"),
        (
            reactions is None and not given and not due,
            "give FILE..., or --delete --kind KIND NAME..., or --due, or --reactions FILE",
        ),
        (kind and not delete, "--kind needs --delete"),
        (remove_references and not kind, "--remove-references needs --kind"),
        (compiler and reactions is None, "--compiler needs --reactions"),
        (output == "appgw" and (due or reactions is not None), "-o appgw excludes --due and --reactions"),
        (gateway and output != "appgw", "--gateway needs -o appgw"),
    ):
        if is_wrong:
            raise click.UsageError(message)
    if reactions is not None:
        compared = await compare_maps(reactions, compiler, loaded.configuration)
        print_comparison(output, compared)
        if compared.invalid:
            return Exit.INVALID
        return Exit.DIFFERENT if exit_code and (compared.edges or compared.writes) else Exit.DONE
    from intentc.plugins import installed

    from ..input_files import line_of
    from ..live_plan import input_of, make_plan
    from ..named_resources import reject_kind_as_file

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


_NOTE = "note"
"""The severity of findings that need no action; ``intentc check --notes`` lists them."""


async def compare_maps(file: Path, compiler: str | None, configuration: Configuration) -> Comparison:
    """The effects of replacing the map of ``compiler`` by the one in ``file``. Raises ``InvalidInput`` with file:line
    if it is not a map, and ``CommandError``."""
    from intentc.offline.preview.reacting import compare
    from intentc.plugins import installed

    from ..live_plan import live, progress, trial_over

    in_force = installed(configuration)
    name = compiler or _whose(file, in_force)
    if name not in configuration.intentc.compilers:
        raise CommandError(
            f"the compiler {name!r} is not in use",
            where="intentc.compilers",
            next_step=f"give --compiler {' or '.join(configuration.intentc.compilers)}",
            code=Exit.USAGE,
        )
    in_force, against = await _in_force(name, file, in_force, configuration)
    maps = {**configuration.intentc.reactions, name: str(file)}
    settings = msgspec.structs.replace(configuration.intentc, reactions=maps)
    other = installed(msgspec.structs.replace(configuration, intentc=settings))
    gathered = await live(in_force, configuration)
    before, after = (trial_over(gathered, loaded, configuration) for loaded in (in_force, other))
    try:
        found = await compare(name, before, after, progress=progress)
    finally:
        progress("")
    return msgspec.structs.replace(found, against=against)


async def _in_force(
    name: str, file: Path, configured: Compilers, configuration: Configuration
) -> tuple[Compilers, str]:
    """``configured`` with the map of the compiler ``name`` that the running service has in force, which may be older
    than its file; and a text that names this map. Without a running service, the configured map."""
    from intentc.logic.dependencies import ReactionMap
    from intentc.logic.dependencies.reactions import Reaction, Visit
    from intentc.plugins import reaction_maps

    from ..diagnostics_client import asked, url_of

    where = configuration.intentc.diagnostics
    try:
        answer = await asked(where, "/reactions")
    except CommandError as error:
        maps = reaction_maps(configuration, configured.compilers)
        known: Path
        (known,) = [path for compiler, path in zip(configured.compilers, maps, strict=True) if compiler.name == name]
        if known.samefile(file):
            return configured, f"{file} is the configured map; it was compared with itself, since {error.what}"
        return configured, f"compared with the configured map, {known}, since {error.what}"
    own = configured.compiler_of_kind
    edges = [
        Reaction(edge["kind"], edge["cause"], (Visit(edge["to"], edge["everyone"], edge["source"]),), edge["source"])
        for edge in answer["edges"]
        if own.get(edge["kind"]) == name
    ]
    others = [reaction for reaction in configured.reactions if own.get(reaction.kind) != name]
    running = configured._replace(reactions=ReactionMap([*edges, *others]))
    return running, f"compared with the map in force at {url_of(where, '')}"


def _whose(file: Path, in_force: Compilers) -> str:
    """The compiler in use that knows most of a map's kinds. Raises ``CommandError`` if there is none, or several."""
    from intentc.logic.dependencies.reactions import load

    kinds = {reaction.kind for reaction in load(file)}
    known = {
        compiler.name: sum(in_force.compiler_of_kind.get(kind) == compiler.name for kind in kinds)
        for compiler in in_force.compilers
    }
    if kinds and not any(known.values()):
        raise CommandError(
            f"no compiler in use has these kinds; in use: {', '.join(known)}",
            where=str(file),
            next_step="check that intentc.compilers names the compiler of this map",
            code=Exit.USAGE,
        )
    most = [name for name, count in known.items() if count and count == max(known.values())]
    if len(most) != 1:
        raise CommandError(
            "its kinds fit several compilers",
            where=str(file),
            next_step=f"give --compiler {' or '.join(known)}",
            code=Exit.USAGE,
        )
    return most[0]


def lines(found: Comparison) -> Iterator[str]:
    """The whole comparison, line by line."""
    shown = [one for one in found.findings if one.severity != _NOTE]
    if shown:
        yield "Findings:"
        yield from (f"  {one.source}: {one.severity} {one.reason}: {one.message}" for one in shown)
        yield ""
    if found.invalid:
        yield "The map is invalid; nothing else was checked."
        return
    if found.against:
        yield (
            f"{found.against[:1].upper()}{found.against[1:]}." if found.against.startswith("c") else f"{found.against}."
        )
        yield ""
    if found.edges:
        yield "Edges:"
        for edge in found.edges:
            sign, word = ("+", "come") if edge.action == "added" else ("-", "go")
            to = f"all {edge.to}" if edge.everyone else edge.to
            yield (
                f"  {sign} {edge.kind} (from {edge.cause}) → {to}   {edge.source}   "
                f"{edge.pairs} pairs {word} by it alone"
            )
        yield ""
    yield from _reach(found)
    for title, missing in (
        ("Missing reactions that it would add (read, and no path leads there):", found.missing),
        ("Missing reactions that it would fix:", found.fixed),
        ("Missing reactions that remain:", found.still_missing),
    ):
        if missing:
            yield title
            yield from (f"  {_missing(one)}" for one in missing)
            yield ""
    if found.writes:
        yield "Would be written:"
        for change in found.writes:
            yield from change_lines(change)
        yield ""
    yield _summed_up(found)


def _reach(found: Comparison) -> Iterator[str]:
    if not found.reach:
        return
    yield "Resources that one change reaches (only kinds for which this may differ):"
    rows = [
        (
            one.kind,
            str(one.resources) if one.looked_at == one.resources else f"{one.resources} ({one.looked_at} looked at)",
            f"{one.mean_before:g} / {one.most_before}",
            f"{one.mean_after:g} / {one.most_after}",
            str(one.come),
            str(one.go),
        )
        for one in found.reach
    ]
    columns = ("resource", "there are", "before: mean / most", "after: mean / most", "pairs come", "pairs go")
    yield from (f"  {line}" for line in table(columns, rows).splitlines())
    yield ""


def _missing(one: Missing) -> str:
    return f"{one.reader} reads {one.read}: {one.count} times, as {one.example_reader} does {one.example_read}"


def _summed_up(found: Comparison) -> str:
    added = sum(edge.action == "added" for edge in found.edges)
    come, go = sum(one.come for one in found.reach), sum(one.go for one in found.reach)
    nothing = "nothing is written differently, since recorded reads decide and not the map"
    writes = f"{len(found.writes)} resources are written differently" if found.writes else nothing
    return (
        f"Reactions of {found.compiler}: edges +{added} -{len(found.edges) - added}, pairs +{come} -{go}, "
        f"missing reactions +{len(found.missing)} -{len(found.fixed)}; {writes} (revision {found.revision})."
    )


def print_comparison(output: str, found: Comparison) -> None:
    """Print ``found`` on stdout in the form ``output``."""
    if output == "table":
        for line in lines(found):
            click.echo(line)
        return
    content = msgspec.to_builtins(found)
    assert isinstance(content, dict)
    print_document(output, {name: value for name, value in content.items() if name != "apiVersion"}, (), ())
