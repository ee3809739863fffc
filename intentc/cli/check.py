"""``intentc check``: everything that can be proved before the service starts.

Configuration, schemas, reaction maps, and the compilers' packages. What a running system looks like is other commands'
business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .errors import Exit
from .options import configured, output_option

if TYPE_CHECKING:
    from intentc.configuration import Configuration, Loaded
    from intentc.dependencies.check import Finding

_COLUMNS = ("severity", "source", "reason", "message")


@click.command(name="check")
@output_option
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@configured(service=True)
def command(output: str, strict: bool, loaded: Loaded) -> int:
    """Check the configuration, the kinds' schemas, the reaction maps, and that each compiler's package loads.

    Prints the findings; exit code 3 if one of them is an error. Notes are remarks: nothing needs to be done.
    """
    from intentc.dependencies.check import SEVERITIES

    from .output import print_document

    found = _findings(loaded.configuration)
    content = {"findings": [{name: getattr(finding, name) for name in finding.__struct_fields__} for finding in found]}
    rows = [(finding.severity, finding.source, finding.reason, finding.message) for finding in found]
    print_document(output, content, _COLUMNS, rows)
    errors, warnings, notes = (sum(finding.severity == severity for finding in found) for severity in SEVERITIES)
    remark = f"; {notes} notes, which need nothing to be done" if notes else ""
    click.echo(f"{errors} errors, {warnings} warnings{remark}", err=True)
    return Exit.INVALID if errors or (strict and warnings) else Exit.DONE


def _findings(configuration: Configuration) -> list[Finding]:
    from intentc.dependencies.check import findings
    from intentc.plugins import installed

    found = installed(configuration)
    return findings(found.reactions, found.schema)
