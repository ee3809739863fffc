"""Finds the kind and the resource that a command's arguments name, and suggests similar kinds.

``lookup`` asks the API server for a resource, and also finds unreadable ones, which are an error here.
"""

from __future__ import annotations

import difflib
import shlex
import uuid as uuid_module
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import CommandError, Exit

if TYPE_CHECKING:
    from intentc.model import Kind, Schema

    from .client import ApiClient


async def named(client: ApiClient, kind: Kind, name: str) -> dict[str, Any]:
    """The one resource named ``name``. Raises ``CommandError`` if there is none, or several, or if its value can't be
    read."""
    from .lookup import look_up, unreadable

    found = await look_up(client, kind, name)
    if found.data is None:
        raise unreadable(kind, found, client.url)
    return found.data


def kind_named(schema: Schema, name: str) -> Kind:
    """The kind named ``name``, in any spelling. Raises ``CommandError`` with suggestions."""
    from intentc.loading.schemas import known_elsewhere
    from intentc.model import snake

    found = schema.spelt(name, plural=True)
    if found is None:
        near = near_kinds(snake(name).lower(), schema.kinds)
        hint = known_elsewhere(name) or (f"; did you mean {' or '.join(near)}?" if near else "")
        raise CommandError(f"unknown kind {name!r}{hint}", next_step="`intentc get` lists the kinds")
    return found


def reject_kind_as_file(given: Sequence[str], schema: Schema, command: str) -> None:
    """Raise ``CommandError`` if the first of ``given`` is a kind and no file, with the command that was probably meant.
    ``command``: its beginning."""
    first = given[0] if given else ""
    kind = None if not first or Path(first).exists() else schema.spelt(first, plural=True)
    if kind is not None:
        names = shlex.join(given[1:]) or "NAME"
        raise CommandError(
            f"there is no file {first}; it is a kind",
            where=command,
            next_step=f"did you mean `{command} --kind {first} {names}`?",
            code=Exit.USAGE,
        )


def near_kinds(name: str, kinds: Iterable[str]) -> list[str]:
    """At most three kinds that resemble ``name``: with these initials (``acl``), else of similar spelling, else with
    this text inside (``list``)."""
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
