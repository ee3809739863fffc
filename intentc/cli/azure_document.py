"""Prints the document of an Application Gateway that follows from compiled resources (`intentc compile -o appgw`).

Why it exists: ``compile`` has the compiler's outputs in memory, and ``bridges.azure.document`` assembles them.

Touches: files, terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from intentc.bridges.azure.document import (
    RECORD,
    assemble,
    empty_gateway,
    limits_in,
    parts_of,
    prefix_in,
    record_name,
    record_of,
)
from intentc.model import InvalidInput, Problem, Schema

from .errors import CommandError, Exit

if TYPE_CHECKING:
    from intentc.loading.resources import Loaded as Input


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
        from intentc.loading.resources import Loaded
        from intentc.loading.yaml import Located

        if self._path is None and any(one.kind == RECORD for one in inputs):
            return inputs
        others = [one for one in inputs if one.kind != RECORD]
        source = self._path or "an empty gateway"
        record = record_of(self._gateway, record_name(self._settings), prefix=prefix_in(self._settings))
        return [*others, Loaded(RECORD, record, source, Located(record, source), ())]

    def print(self, outputs: Iterable[Mapping[str, Any]]) -> list[Problem]:
        """Print the document, and return what only the whole of it shows to be wrong."""
        found = assemble(parts_of(outputs), self._gateway, limits=limits_in(self._settings))
        text = msgspec.json.encode(found.document, order="sorted")
        click.echo(msgspec.json.format(text, indent=2).decode())
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
