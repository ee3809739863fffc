"""``intentc get``: show resources as the API server has them."""

from __future__ import annotations

import difflib
import uuid as uuid_module
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import anyio
import click

from .errors import CommandError, Exit
from .options import configured, output_option

if TYPE_CHECKING:
    from intentc.configuration import Loaded
    from intentc.model import Kind, Schema

    from .client import ApiClient

_COLUMNS = ("name", "uuid", "parent")


@click.command(name="get")
@click.argument("kind", required=False)
@click.argument("name", required=False)
@output_option
@configured()
def command(kind: str | None, name: str | None, output: str, loaded: Loaded) -> int:
    """Show the resources of KIND, or the one with NAME; without KIND, which kinds there are.

    KIND in any spelling: snake_case, kebab-case, CamelCase, plural. NAME: the fq_name joined by ":", a uuid, or an end
    of the fq_name that fits one resource only.
    """
    if kind is None:
        return _kinds(output, loaded)
    return anyio.run(_get, kind, name, output, loaded)


def _kinds(output: str, loaded: Loaded) -> int:
    from intentc.plugins import installed

    from .output import print_document

    kinds = sorted(installed(loaded.configuration).schema, key=lambda kind: kind.name)
    rows = [(kind.name, kind.group, " ".join(kind.description.split())) for kind in kinds]
    content = {"kinds": [{"name": name, "group": group, "description": text} for name, group, text in rows]}
    print_document(output, content, ("kind", "group", "description"), rows)
    return Exit.DONE


async def _get(kind_name: str, name: str | None, output: str, loaded: Loaded) -> int:
    from intentc.model.sensitive import concealed
    from intentc.plugins import installed
    from intentc.writing.connection import Connection

    from .client import ApiClient
    from .connecting import api_server
    from .output import print_document

    kind = kind_named(installed(loaded.configuration).schema, kind_name)
    async with ApiClient(Connection(api_server(loaded.configuration))) as client:
        found = await client.all_of(kind) if name is None else [await named(client, kind, name)]
    if kind.system:
        # A user gets his own secrets back, whole; copies that a compiler made of them are not for reading.
        found = [concealed(kind, data) for data in found]
    rows = [(":".join(data.get("fq_name", ())), data.get("uuid", ""), data.get("parent_type", "")) for data in found]
    print_document(output, {"resources": [{"kind": kind.name, **data} for data in found]}, _COLUMNS, rows)
    return Exit.DONE


async def named(client: ApiClient, kind: Kind, name: str) -> dict[str, Any]:
    """The one resource that ``name`` means. Raises ``CommandError`` if there is none, or several."""
    if is_uuid(name):
        found = await client.get(kind, name)
        if found is not None:
            return found
    uuid = await client.identify(kind, name.split(":"))
    found = await client.get(kind, uuid) if uuid else None
    if found is not None:
        return found
    # Joined, since an element may hold a colon itself.
    listed = [(":".join(data.get("fq_name", ())), data) for data in await client.all_of(kind)]
    fitting = [data for full, data in listed if full == name] or [
        data for full, data in listed if full.endswith(f":{name}")
    ]
    match fitting:
        case [only]:
            return only
        case []:
            raise CommandError(
                f"there is no {kind.name} named {name}",
                where=client.url,
                next_step=f"`intentc get {kind.name}` lists those that there are",
            )
        case several:
            names = ", ".join(":".join(data["fq_name"]) for data in several)
            raise CommandError(
                f"{name} fits several: {names}",
                where=client.url,
                next_step="give more of the name, or the uuid",
                code=Exit.USAGE,
            )


def kind_named(schema: Schema, name: str) -> Kind:
    """The kind that ``name`` means, in any spelling. Raises ``CommandError`` with suggestions."""
    from intentc.loading.schemas import known_elsewhere
    from intentc.model import snake

    found = schema.spelt(name, plural=True)
    if found is None:
        near = near_kinds(snake(name).lower(), schema.kinds)
        hint = known_elsewhere(name) or (f"; did you mean {' or '.join(near)}?" if near else "")
        raise CommandError(f"unknown kind {name!r}{hint}", next_step="`intentc get` lists the kinds")
    return found


def near_kinds(name: str, kinds: Iterable[str]) -> list[str]:
    """The kinds that a name may mean, at most three: those with these initials (``acl``), spelt nearly so, or
    with this text inside (``list``); the first way that finds any."""
    known = sorted(kinds)
    initials = [
        kind for kind in known if "".join(word[:1] for word in kind.split("_")) in (name, name.removesuffix("s"))
    ]
    inside = [kind for kind in known if name in kind]
    return (initials or difflib.get_close_matches(name, known, 3) or inside)[:3]


def is_uuid(text: str) -> bool:
    """Whether a text has the form of a uuid."""
    try:
        uuid_module.UUID(text)
    except ValueError:
        return False
    return True
