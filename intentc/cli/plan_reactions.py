"""Prints what a new reaction map changes in place of the one in force, for ``intentc plan --reactions``.

It finds out whose map it is, asks a running service for the map in force, and gathers the live state (``planning``).
``offline/preview/reacting.py`` compares.

It reads etcd, the API server, the diagnostics and files, and prints.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from .errors import CommandError, Exit
from .plan_text import change_lines

if TYPE_CHECKING:
    from intentc.loading.configuration import Configuration
    from intentc.logic.coverage import Missing
    from intentc.offline.preview.reacting import Comparison
    from intentc.plugins import Loaded


_NOTE = "note"
"""The severity of findings that need no action; ``intentc check --notes`` lists them."""


async def compare_maps(file: Path, compiler: str | None, configuration: Configuration) -> Comparison:
    """The effects of replacing the map of ``compiler`` by the one in ``file``. Raises ``InvalidInput`` with file:line
    if it is not a map, and ``CommandError``."""
    from intentc.offline.preview.reacting import compare
    from intentc.plugins import installed

    from .planning import live, progress, trial_over

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


async def _in_force(name: str, file: Path, configured: Loaded, configuration: Configuration) -> tuple[Loaded, str]:
    """``configured`` with the map of the compiler ``name`` that the running service has in force, which may be older
    than its file; and a text that names this map. Without a running service, the configured map."""
    from intentc.logic.dependencies import ReactionMap
    from intentc.logic.dependencies.reactions import Reaction, Visit
    from intentc.plugins import reaction_maps

    from .waiting import asked, url_of

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


def _whose(file: Path, in_force: Loaded) -> str:
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
    from .output import table

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
    from .output import print_document

    if output == "table":
        for line in lines(found):
            click.echo(line)
        return
    content = msgspec.to_builtins(found)
    assert isinstance(content, dict)
    print_document(output, {name: value for name, value in content.items() if name != "apiVersion"}, (), ())
