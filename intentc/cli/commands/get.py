"""``intentc get``: shows resources from the API server, or lists the kinds."""

from __future__ import annotations

from typing import Any

import click

from intentc.loading.configuration import Loaded
from intentc.model.sensitive import concealed

from ..command_error import Exit
from ..command_options import configured, output_option
from ..named_resources import kind_named, named, remedy
from ..output import print_document

_COLUMNS = ("name", "uuid", "parent")


@click.command(name="get")
@click.argument("kind", required=False)
@click.argument("name", required=False)
@output_option
@configured()
async def command(kind: str | None, name: str | None, output: str, loaded: Loaded) -> int:
    """Show the resources of KIND, or the one with NAME; without KIND, list the kinds.

    KIND in any spelling: snake_case, kebab-case, CamelCase, plural. NAME: the fq_name joined by ":", a unique end of
    it, or the uuid.
    """
    if kind is None:
        return _kinds(output, loaded)
    return await _get(kind, name, output, loaded)


def _kinds(output: str, loaded: Loaded) -> int:
    from intentc.plugins import declared

    kinds = sorted(declared(loaded.configuration).schema, key=lambda kind: kind.name)
    rows = [(kind.name, kind.group, " ".join(kind.description.split())) for kind in kinds]
    content = {"kinds": [{"name": name, "group": group, "description": text} for name, group, text in rows]}
    print_document(output, content, ("kind", "group", "description"), rows)
    return Exit.DONE


async def _get(kind_name: str, name: str | None, output: str, loaded: Loaded) -> int:
    from intentc.plugins import declared

    from ..api_client import api_client
    from .compile import status_in_short

    kind = kind_named(declared(loaded.configuration).schema, kind_name)
    async with api_client(loaded.configuration) as client:
        if name is None:
            found, others = await client.listed(kind)
        else:
            found, others = [await named(client, kind, name)], []
    if kind.system:
        # Users can read their own secrets; copies that a compiler made of them are concealed.
        found = [concealed(kind, data) for data in found]
    rows = [(":".join(data.get("fq_name", ())), data.get("uuid", ""), data.get("parent_type", "")) for data in found]
    columns: tuple[str, ...] = _COLUMNS
    if kind.status is not None:
        columns = ("name", "uuid", "status")
        rows = [
            (name, uuid, status_in_short(data.get("status", {})))
            for (name, uuid, _), data in zip(rows, found, strict=True)
        ]
    content: dict[str, Any] = {"resources": [{"kind": kind.name, **data} for data in found]}
    if others:
        content["unreadable"] = [{"kind": kind.name, **one._asdict()} for one in others]
    print_document(output, content, columns, rows)
    if output == "table" and not rows and not others:
        click.echo(f"there is no {kind.name}", err=True)
    for one in others:
        shown = ":".join(one.fq_name) or one.uuid
        click.echo(f"{kind.name} {shown}: {one.message}; {remedy(kind, one.uuid)}", err=True)
    return Exit.DONE
