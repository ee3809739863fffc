"""``intentc check``: checks configuration, schemas, reaction maps and compilers, from their files.

``--reads FILE...`` also compiles the files offline, and compares the reaction map with what the intents read; the API
server and etcd of this compile are in memory. ``--reads`` alone has the same comparison from the diagnostics of a
running compiler, the only case in which it needs one. ``--live`` also lists etcd, and names stored values that break a
rule of the API server, or that the schemas read in an older version or not at all. ``--schemas`` writes JSON Schemas,
and checks nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec

from intentc.loading.certificates import certificate_files, expiring, reject_expired
from intentc.loading.configuration import Configuration, Loaded, open_api_server, plain_secrets
from intentc.logic.dependencies.map_check import SEVERITIES, Finding
from intentc.model import InvalidInput, Schema
from intentc.model.problem import UNKNOWN_FIELD
from intentc.watch.protocol import Store

from ..command_error import Exit
from ..command_options import complete_files, configured, output_option
from ..connecting import check_connections, of_process, open_store
from ..diagnostics_client import asked
from ..input_files import apply_inputs, read_input
from ..output import print_document
from ..server_process import run_service

_COLUMNS = ("severity", "source", "reason", "message")
_NOTE = "note"


@click.command(name="check")
@click.argument("files", metavar="[FILE]...", nargs=-1, shell_complete=complete_files)
@click.option(
    "--reads",
    is_flag=True,
    help="Also compare the map with what is really read, in FILE... or in the running compiler.",
)
@click.option("--live", is_flag=True, help="Also check what is stored in etcd.")
@click.option("--notes", is_flag=True, help="List the notes, which are only counted otherwise.")
@click.option(
    "--schemas",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Only write JSON Schemas for editors to DIR.",
)
@output_option
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@configured(service=True, compilers=True)
def command(
    files: tuple[str, ...],
    reads: bool,
    live: bool,
    notes: bool,
    schemas: Path | None,
    output: str,
    strict: bool,
    loaded: Loaded,
) -> int:
    """Check the configuration, the kinds' schemas, the reaction maps, and that each compiler's package loads.

    Prints the findings; exit code 3 if one of them is an error. Notes need no action: the table counts them, and lists
    them with --notes; JSON and YAML always have them. FILE... only with --reads.

    --reads FILE... compiles the resources in FILE... offline and lists missing reactions (an intent reads something,
    and the map has no path from there: a warning, since the output is right nevertheless) and idle ones (the map has a
    path that no intent's reads need: a note). --reads alone queries the running compiler, which counts since its start.

    --live also lists what is stored in etcd, and names values that can't be read, names and uuids that exist twice,
    parents and references that don't exist, and index entries that differ: what others wrote straight into etcd.
    A value with a field that only an earlier schema declared is an error; one that `intentc migrate` can write in the
    present version is a note.

    --schemas DIR writes JSON Schemas of reaction maps (with the kinds of the configured compilers), the configuration
    and kinds' files. An editor with a YAML language server completes and checks a file with the schema that its first
    line names: `# yaml-language-server: $schema=DIR/configuration.schema.json`.
    """
    configuration = loaded.configuration
    if files and not reads:
        raise click.UsageError("FILE needs --reads", click.get_current_context())
    if schemas is not None:
        return _write_schemas(schemas, output, configuration)
    check_connections(configuration)
    found = _findings(configuration)
    if live:
        found += run_service(_live, configuration)
    if not reads:
        return _print(output, strict, notes, found)
    return run_service(_reads, files, output, strict, notes, found, configuration)


async def _reads(
    files: tuple[str, ...],
    output: str,
    strict: bool,
    notes: bool,
    proved: list[Finding],
    configuration: Configuration,
) -> int:
    if files:
        found = await of_files(files, configuration)
        return _print(output, strict, notes, [*proved, *found.findings], found.content)
    found = await of_the_running(configuration)
    return _print(output, strict, notes, found.findings, found.content)


async def _live(configuration: Configuration) -> list[Finding]:
    from intentc.apiserver.index.broken_rules import broken_rules
    from intentc.plugins import declared

    schema = declared(configuration).schema
    async with open_store(configuration) as store:
        broken = await broken_rules(store, schema, configuration.etcd.path)
        found = [*(Finding(*one) for one in broken), *await _versions(store, schema, configuration)]
    where = ", ".join(map(str, configuration.etcd.endpoints))
    click.echo(f"checked what etcd {where} has below /{configuration.etcd.path}/", err=True)
    return found


async def _versions(store: Store, schema: Schema, configuration: Configuration) -> list[Finding]:
    """The resources that are stored in an older version, or with a field that the schemas have lost, by kind and
    version. ``broken_rules`` has those that can't be read for another reason."""

    from .migrate import Entry, older_entries

    entries: dict[tuple[str, str, bool], list[Entry]] = {}
    async for entry in older_entries(store, configuration, schema, sorted(schema, key=lambda kind: kind.name)):
        if entry.reason in ("", UNKNOWN_FIELD):
            entries.setdefault((entry.kind, entry.version, bool(entry.reason)), []).append(entry)
    return [
        Finding(
            f"/{configuration.etcd.path}/{kind}",
            "error" if is_faulty else _NOTE,
            UNKNOWN_FIELD if is_faulty else "OlderVersion",
            f"{len(found)} {'resource' if len(found) == 1 else 'resources'} of version {version or '(none)'}, such as "
            f"{found[0].name}: {found[0].fault or f'`intentc migrate {kind}` writes them in the present one'}",
        )
        for (kind, version, is_faulty), found in sorted(entries.items())
    ]


def _write_schemas(directory: Path, output: str, configuration: Configuration) -> int:
    from intentc.plugins import installed

    from ..json_schemas import write

    files = [str(path) for path in write(directory, installed(configuration))]
    print_document(output, {"files": files}, ("file",), [(file,) for file in files])
    return Exit.DONE


def _findings(configuration: Configuration) -> list[Finding]:
    from intentc.plugins import declared

    reached = open_api_server(configuration)
    found = [Finding("server.address", "warning", "OpenApiServer", reached)] if reached else []
    for file in certificate_files(configuration):
        # Of the API server, too; this user may read its certificate, and need not.
        reject_expired(file)
    found += [Finding(source, "warning", "CertificateExpires", text) for source, text in expiring(configuration)]
    names = configuration.intentc.compilers
    serves = bool(configuration.keystone.assignment.data.users)
    if serves and (unsealed := plain_secrets(configuration, declared(configuration).schema)):
        found.append(Finding("intentc.api.secret_keys", "warning", "PlainSecrets", unsealed))
    try:
        processes = [of_process(configuration)]
    except InvalidInput as error:
        if len(names) < 2:
            raise
        # What several processes compile, one API server and one bridge serve.
        declared(configuration)
        processes = [of_process(_alone(configuration, name)) for name in names]
        found.append(Finding("intentc.compilers", _NOTE, "SeveralProcesses", error.message))
    return [*found, *(one for _, of_one in processes for one in of_one)]


def _alone(configuration: Configuration, compiler: str) -> Configuration:
    """The configuration with one of its compilers."""
    own = configuration.intentc
    maps = {name: file for name, file in own.reactions.items() if name == compiler}
    alone = msgspec.structs.replace(own, compilers=(compiler,), reactions=maps)
    return msgspec.structs.replace(configuration, intentc=alone)


def _print(
    output: str, strict: bool, notes: bool, findings: Sequence[Finding], reads: Mapping[str, Any] | None = None
) -> int:
    found = sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))
    content = {"findings": [msgspec.structs.asdict(finding) for finding in found]}
    rows = [
        (finding.severity, finding.source, finding.reason, finding.message)
        for finding in found
        if notes or finding.severity != _NOTE
    ]
    print_document(output, content if reads is None else {**content, "reads": reads}, _COLUMNS, rows)
    errors, warnings, remarks = (sum(finding.severity == severity for finding in found) for severity in SEVERITIES)
    where = "" if notes or output != "table" else ": --notes lists them"
    remark = f"; {remarks} notes, which need no action{where}" if remarks else ""
    click.echo(f"{errors} errors, {warnings} warnings{remark}", err=True)
    return Exit.INVALID if errors or (strict and warnings) else Exit.DONE


class Coverage(NamedTuple):
    """Findings for people. ``content``: ``{"missing": […], "edges": […]}`` for programs."""

    findings: list[Finding]
    content: Mapping[str, Any]


async def of_files(files: tuple[str, ...], configuration: Configuration) -> Coverage:
    """Compile ``files`` offline, and compare their reads with the map. ``missing``: ``{"reader", "read", "count",
    "example_reader", "example_read"}``; ``edges``: ``{"kind", "cause", "to", "everyone", "source", "walks",
    "needed"}``."""

    from intentc.logic.coverage import coverage, idle_reactions, missing_reaction
    from intentc.offline.offline import Offline
    from intentc.plugins import installed

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
