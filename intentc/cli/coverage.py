"""Compares the reaction map with recorded reads, for ``intentc check --reads``.

``intentc.logic.coverage`` finds missing and idle reactions over files; the running service counts missing ones.

It reads files, or asks the diagnostics; it prints on stderr.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from intentc.loading.configuration import Configuration
    from intentc.logic.dependencies.check import Finding


class Coverage(NamedTuple):
    """Findings for people. ``content``: ``{"missing": […], "edges": […]}`` for programs."""

    findings: list[Finding]
    content: Mapping[str, Any]


async def of_files(files: tuple[str, ...], configuration: Configuration) -> Coverage:
    """Compile ``files`` offline, and compare their reads with the map. ``missing``: ``{"reader", "read", "count",
    "example_reader", "example_read"}``; ``edges``: ``{"kind", "cause", "to", "everyone", "source", "walks",
    "needed"}``."""
    import msgspec

    from intentc.logic.coverage import coverage, idle_reactions, missing_reaction
    from intentc.offline.offline import Offline
    from intentc.plugins import installed

    from .offline_inputs import apply_inputs
    from .transfer import read_input

    inputs, schema = read_input(files, configuration)
    settings = configuration.intentc
    offline = Offline(installed(configuration), installation=settings.installation, settings=settings.settings)
    await offline.seed()
    await apply_inputs(offline, inputs)
    world, states = offline.engine.world, offline.engine.states
    for key, _ in sorted(states.held.items()):
        name = world.name_of(key)
        click.echo(f"{key.kind} {name} is held: its further reads are unknown", err=True)
    found = coverage(world)
    reactions = world.reactions
    findings = [
        missing_reaction(
            one.reader,
            one.read,
            f"{one.count} times here; {one.example_reader} reads {one.example_read}, for example",
            reactions,
            schema,
        )
        for one in found.missing
    ]
    findings += idle_reactions(found)
    edges = [
        {
            **use.edge._asdict(),
            "everyone": use.everyone,
            "source": use.source,
            "walks": use.walks,
            "needed": use.needed,
        }
        for use in found.uses
    ]
    return Coverage(findings, {"missing": [msgspec.structs.asdict(one) for one in found.missing], "edges": edges})


async def of_the_running(configuration: Configuration) -> Coverage:
    """Query the running compiler. ``missing``: ``{"reader", "read", "count"}``, counted since it has this map;
    ``edges``: ``{"kind", "cause", "to", "everyone", "source"}`` of the map in force there."""
    from intentc.logic.coverage import missing_reaction
    from intentc.logic.dependencies import Finding, ReactionMap
    from intentc.logic.dependencies.reactions import Reaction, Visit
    from intentc.plugins import installed

    from .waiting import asked

    answer = await asked(configuration.intentc.diagnostics, "/reactions")
    reactions = ReactionMap(
        Reaction(edge["kind"], edge["cause"], (Visit(edge["to"], edge["everyone"], edge["source"]),), edge["source"])
        for edge in answer["edges"]
    )
    schema = installed(configuration).schema
    findings = [Finding(**found) for found in answer["findings"]]
    for one in answer["missing"]:
        count = f"{one['count']} times so far"
        findings.append(missing_reaction(one["reader"], one["read"], count, reactions, schema))
    return Coverage(findings, {key: answer[key] for key in ("missing", "edges")})
