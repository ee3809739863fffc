"""``intentc check``: everything that can be proved before the service starts, and what recorded reads say about a map.

Configuration, schemas, reaction maps, and the compilers' packages. What a running system looks like otherwise is other
commands' business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import Exit
from ..options import compilers_option, complete_files, configured, output_option, with_compilers
from ..process import run_service

if TYPE_CHECKING:
    from intentc.loading.configuration import Configuration, Loaded
    from intentc.logic.dependencies.check import Finding

_COLUMNS = ("severity", "source", "reason", "message")


@click.command(name="check")
@click.argument("files", metavar="[FILE]...", nargs=-1, shell_complete=complete_files)
@click.option("--reads", is_flag=True, help="Also the map beside what is really read.")
@click.option(
    "--schemas",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Only write JSON Schemas for editors into DIR.",
)
@output_option
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@compilers_option
@configured(service=True)
def command(
    files: tuple[str, ...],
    reads: bool,
    schemas: Path | None,
    output: str,
    strict: bool,
    compilers: tuple[str, ...],
    loaded: Loaded,
) -> int:
    """Check the configuration, the kinds' schemas, the reaction maps, and that each compiler's package loads.

    Prints the findings; exit code 3 if one of them is an error. Notes are remarks: nothing needs to be done.

    --reads FILE... compiles the resources in FILE... offline and tells missing reactions (something is read, and the
    map does not lead there: a warning, since the output is right nevertheless) and idle ones (the map leads there, and
    nobody reads: a note). --reads alone asks the running compiler, which counts since its start.

    --schemas DIR writes JSON Schemas of reaction maps (with the kinds of the configured compilers), the configuration
    and kinds' files. An editor with a YAML language server completes and checks a file by the one that its first line
    names: `# yaml-language-server: $schema=DIR/configuration.schema.json`.
    """
    from ..connecting import api_server, diagnostics_access, etcd_store

    configuration = with_compilers(loaded.configuration, compilers)
    if files and not reads:
        raise click.UsageError("FILE goes with --reads only", click.get_current_context())
    if schemas is not None:
        return _write_schemas(schemas, output, configuration)
    # Nothing is connected: endpoints and the files of TLS are looked at.
    for look in (etcd_store, api_server, diagnostics_access):
        look(configuration)
    found = _findings(configuration)
    if not reads:
        return _print(output, strict, found)
    return run_service(_reads, files, output, strict, found, configuration)


async def _reads(
    files: tuple[str, ...], output: str, strict: bool, proved: list[Finding], configuration: Configuration
) -> int:
    from ..coverage import of_files, of_the_running

    if files:
        told = await of_files(files, configuration)
        return _print(output, strict, [*proved, *told.findings], told.content)
    told = await of_the_running(configuration)
    return _print(output, strict, told.findings, told.content)


def _write_schemas(directory: Path, output: str, configuration: Configuration) -> int:
    from intentc.plugins import installed

    from ..json_schemas import write
    from ..output import print_document

    files = [str(path) for path in write(directory, installed(configuration))]
    print_document(output, {"files": files}, ("file",), [(file,) for file in files])
    return Exit.DONE


def _findings(configuration: Configuration) -> list[Finding]:
    from intentc.loading.configuration import open_api_server
    from intentc.logic.dependencies.check import Finding, findings
    from intentc.plugins import installed

    found = installed(configuration)
    reached = open_api_server(configuration)
    opened = [Finding("server.address", "warning", "OpenApiServer", reached)] if reached else []
    return [*opened, *findings(found.reactions, found.schema)]


def _print(output: str, strict: bool, findings: Sequence[Finding], reads: Mapping[str, Any] | None = None) -> int:
    import msgspec

    from intentc.logic.dependencies.check import SEVERITIES

    from ..output import print_document

    found = sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))
    content = {"findings": [msgspec.structs.asdict(finding) for finding in found]}
    rows = [(finding.severity, finding.source, finding.reason, finding.message) for finding in found]
    print_document(output, content if reads is None else {**content, "reads": reads}, _COLUMNS, rows)
    errors, warnings, notes = (sum(finding.severity == severity for finding in found) for severity in SEVERITIES)
    remark = f"; {notes} notes, which need nothing to be done" if notes else ""
    click.echo(f"{errors} errors, {warnings} warnings{remark}", err=True)
    return Exit.INVALID if errors or (strict and warnings) else Exit.DONE
