"""Completes the name, fq_name and parent of a new resource, and checks a given uuid (docs/contrail.md B.5.1 to B.5.4).

Why it exists: clients give a uuid, a name, a parent or only some of them, and stored resources are always complete.
``resources`` gives a uuid to those without one, and checks that uuid and name are free.

It reads the parent through the draft, and changes the new document alone, in place.
"""

from __future__ import annotations

import uuid as uuid_module

from intentc.model import Key, Kind, Name, Schema, kebab, snake

from .admission.manifests import check_place
from .admission.well_known import ROOT_KINDS
from .documents import Document
from .draft import Draft
from .errors import BadRequest, Conflict

_LONGEST_NAME = 1024


def default_fq_name(schema: Schema, kind: Kind) -> tuple[str, ...]:
    """The name of a kind's default object: ``default-<kind>`` below the default object of its first possible parent."""
    above: tuple[str, ...] = ()
    if kind.parents and kind.parents[0].kind not in ROOT_KINDS:
        above = default_fq_name(schema, schema.kind(kind.parents[0].kind))
    return (*above, f"default-{kebab(kind.name)}")


def check_uuid(text: str) -> str:
    """Normalize a uuid to its stored form. Raises ``BadRequest``."""
    try:
        return str(uuid_module.UUID(text))
    except ValueError:
        raise BadRequest(f"{text!r} is no uuid") from None


async def place(draft: Draft, kind: Kind, document: Document) -> None:
    """Fill in ``name``, ``fq_name``, ``parent_type`` and ``parent_uuid`` of a new resource.

    Raises ``BadRequest`` if they contradict each other or a named parent does not exist, ``Conflict`` if
    ``parent_uuid`` names nothing.
    """
    given = _given_name(document)
    if kind.written_as_manifests:
        check_place(kind, document)
    name = given[-1] if given else document.get("name") or f"default-{kebab(kind.name)}"
    parent_kind = _parent_kind(kind, document)
    if parent_kind is None or parent_kind in ROOT_KINDS:
        document.pop("parent_uuid", None)
        fq_name = given or (name,)
    elif document.get("parent_uuid"):
        fq_name = await _below_parent(draft, Key(parent_kind, document["parent_uuid"]), name, given)
    else:
        above = given[:-1] or default_fq_name(draft.schema, draft.schema.kind(parent_kind))
        fq_name = (*above, name)
        parent = await draft.find(Name(parent_kind, above))
        if parent is None:
            raise BadRequest(
                f"{kebab(kind.name)} {':'.join(fq_name)}: there is no {kebab(parent_kind)} {':'.join(above)} to be its "
                f"parent; create that first, or give parent_uuid"
            )
        document["parent_uuid"] = parent
    if parent_kind is not None:
        document["parent_type"] = kebab(parent_kind)
    document["fq_name"] = list(fq_name)
    document["name"] = fq_name[-1]


def _given_name(document: Document) -> tuple[str, ...]:
    given = document.get("fq_name") or []
    if not isinstance(given, list) or not all(isinstance(part, str) and part for part in given):
        raise BadRequest("fq_name must be a list of texts, none of them empty")
    if not isinstance(document.get("name", ""), str):
        raise BadRequest("name must be a text")
    if len(":".join(given)) > _LONGEST_NAME or len(document.get("name", "")) > _LONGEST_NAME:
        raise BadRequest(f"the name is longer than {_LONGEST_NAME} characters")
    return tuple(given)


def _parent_kind(kind: Kind, document: Document) -> str | None:
    possible = [parent.kind for parent in kind.parents]
    given = document.pop("parent_type", "") or ""
    if given:
        if snake(str(given)) in possible:
            return snake(given)
        known = f"it may be {' or '.join(map(kebab, possible))}" if possible else "this kind has no parent"
        raise BadRequest(f"{kebab(kind.name)}: parent_type {given!r} is impossible; {known}")
    if len(possible) > 1:
        raise BadRequest(f"{kebab(kind.name)}: parent_type is missing; give {' or '.join(map(kebab, possible))}")
    return possible[0] if possible else None


async def _below_parent(draft: Draft, parent: Key, name: str, given: tuple[str, ...]) -> tuple[str, ...]:
    above = await draft.fq_name(parent)
    if above is None:
        raise Conflict(f"parent_uuid: there is no {kebab(parent.kind)} {parent.uuid}")
    fq_name = (*above, name)
    if given and given != fq_name:
        raise BadRequest(
            f"fq_name {':'.join(given)} does not lie below its parent {':'.join(above)}; give {':'.join(fq_name)}, "
            f"or leave one of the two out"
        )
    return fq_name
