"""Prints the document of an Application Gateway that follows from compiled resources, or what it changes.

Why it exists: ``compile`` and ``plan`` have the compiler's outputs in memory, and ``bridges.azure.document`` assembles
them (`intentc compile -o appgw`, `intentc plan -o appgw`). For ``compile`` it also adds the record by which the
compiler knows the gateway to the inputs. ``bridges.azure`` sends documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click
import msgspec

from intentc.bridges.azure.document import (
    RECORD,
    Assembled,
    assemble,
    empty_gateway,
    limits_in,
    parts_of,
    prefix_in,
    record_name,
    record_of,
)
from intentc.bridges.azure.normalize import digests_of
from intentc.loading.resource_files import Loaded
from intentc.loading.resource_files import Loaded as Input
from intentc.loading.yaml import Located
from intentc.model import InvalidInput, Problem, Schema

from .command_error import CommandError, Exit


class AzureDocument:
    """The document for one gateway. ``path``: a file with what Azure gives; None for an empty gateway. Raises
    ``CommandError`` if the compilers make nothing for such a gateway, ``InvalidInput`` for a file that holds none."""

    def __init__(self, path: str | None, settings: Mapping[str, Any], schema: Schema) -> None:
        if RECORD not in schema:
            raise CommandError(
                "these compilers make nothing for an Application Gateway",
                next_step="name one that does: --compiler",
                code=Exit.USAGE,
            )
        self._path, self._settings = path, settings
        self._gateway = empty_gateway(settings) if path is None else _read(path)

    def with_record(self, inputs: list[Input]) -> list[Input]:
        """The inputs with what the compiler must know of the gateway, unless they say it."""
        if self._path is None and any(one.kind == RECORD for one in inputs):
            return inputs
        others = [one for one in inputs if one.kind != RECORD]
        source = self._path or "an empty gateway"
        record = record_of(self._gateway, record_name(self._settings), prefix=prefix_in(self._settings))
        return [*others, Loaded(RECORD, record, source, Located(record, source), ())]

    def print_difference(
        self, outputs: Iterable[Mapping[str, Any]], before: Iterable[Mapping[str, Any]] | None = None
    ) -> list[Problem]:
        """Print what the document changes of the one of ``before``, or else of the gateway as it was given; returns as
        ``print``."""
        former = self._gateway if before is None else self._assembled(before).document
        found = self._assembled(outputs)
        for line in difference(former, found.document) or ["No difference: the gateway stays as it is."]:
            click.echo(line)
        return _problems(found)

    def print(self, outputs: Iterable[Mapping[str, Any]]) -> list[Problem]:
        """Print the document, and return what only the whole of it shows to be wrong."""
        found = self._assembled(outputs)
        text = msgspec.json.encode(found.document, order="sorted")
        click.echo(msgspec.json.format(text, indent=2).decode())
        return _problems(found)

    def _assembled(self, outputs: Iterable[Mapping[str, Any]]) -> Assembled:
        return assemble(parts_of(outputs), self._gateway, limits=limits_in(self._settings))


def difference(former: Mapping[str, Any], sent: Mapping[str, Any]) -> list[str]:
    """What a document changes of a former one, a line each: ``+`` new, ``-`` gone, ``~`` other content.

    >>> def gateway(*ports):
    ...     items = [{"name": f"fp-{port}", "properties": {"port": port}} for port in ports]
    ...     return {"properties": {"frontendPorts": items}}
    >>> difference(gateway(80, 81), gateway(80, 443))
    ['+ frontendPorts/fp-443', '- frontendPorts/fp-81']
    """
    before, after = digests_of(former), digests_of(sent)
    changed = sorted({place for place, _ in before.items() ^ after.items()})
    return [f"{'+' if place not in before else '~' if place in after else '-'} {place}" for place in changed]


def _problems(found: Assembled) -> list[Problem]:
    return [Problem("ingress", one.owner, one.reason, one.message) for one in found.problems]


def _read(path: str) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(Path(path).read_bytes())
    except msgspec.DecodeError as error:
        raise InvalidInput(f"it is not JSON: {error}", source=path) from None
    if not isinstance(found, dict) or not isinstance(found.get("properties"), dict):
        message = "it is not an Application Gateway; give the answer of a GET to Azure Resource Manager, as it is"
        raise InvalidInput(message, source=path)
    return found
