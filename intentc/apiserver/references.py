"""Completes what a new resource says of its name, its parent and its targets (docs/contrail.md B.5.1 to B.5.6).

Why it exists: clients give a uuid, a name, a parent or only some of them, and name a target by ``uuid`` or ``to``; what
is stored is always complete. ``place`` and ``complete`` change the new document, in place; ``apply`` returns one with a
reference added, changed or removed. All read through the draft, and stage no write.
"""

from __future__ import annotations

import uuid as uuid_module
from typing import Any, NamedTuple

from intentc.model import Key, Kind, Name, Schema, kebab, snake

from .admission.fields import check_place
from .admission.well_known import ROOT_KINDS
from .documents import Document
from .draft import Draft
from .errors import BadRequest, Conflict


class ReferenceUpdate(NamedTuple):
    """One ``/ref-update``: ``add`` or remove the reference of ``holder`` to a target of kind ``relation``.

    The target is named by uuid or by fq_name. ``relaxed``: an added reference must not block the target's deletion.
    """

    holder: Key
    relation: str
    add: bool
    uuid: str = ""
    fq_name: tuple[str, ...] = ()
    attribute: Any = None
    relaxed: bool = False

    def names(self, entry: Document) -> bool:
        """Whether a stored entry refers to this target."""
        return bool(entry.get("uuid") == self.uuid if self.uuid else entry.get("to") == list(self.fq_name))


async def complete(draft: Draft, kind: Kind, document: Document, before: Document | None = None) -> None:
    """Bring the references in ``document`` into their stored form; absent fields stay absent.

    ``before``: the stored resource. A reference that it has already, to a target that was deleted since, is left out:
    it is dropped with its target (``cascading_deletion.py``), and the client has read it before that.

    Raises ``BadRequest`` (shape, unresolved ``to``), ``Conflict`` (no such uuid), naming field and place.
    """
    for relation in kind.relations:
        field = f"{relation}_refs"
        if field not in document:
            continue
        entries = document[field]
        if not isinstance(entries, list):
            raise BadRequest(f"{field} must be a list")
        uuids = [entry.get("uuid") for entry in entries if isinstance(entry, dict)]
        await draft.load(Key(relation, uuid) for uuid in uuids if uuid and isinstance(uuid, str))
        known = {entry.get("uuid") for entry in (before or {}).get(field) or ()}
        stored: dict[str, Document] = {}
        for place, entry in enumerate(entries):
            where = f"{field}[{place}]"
            if not isinstance(entry, dict):
                raise BadRequest(f'{where} must be an object such as {{"uuid": …, "to": […]}}')
            uuid = entry.get("uuid")
            if isinstance(uuid, str) and uuid in known and await draft.fq_name(Key(relation, uuid)) is None:
                continue
            target = await _resolve(draft, relation, entry, where)
            stored[target["uuid"]] = target | _attribute(kind, relation, entry.get("attr"), where)
        if stored:
            document[field] = list(stored.values())
        else:
            del document[field]


async def is_dropped(draft: Draft, holder: Key, target: str) -> bool:
    """Whether ``holder`` has a stored reference to ``target``, which was deleted since."""
    stored = await draft.stored(holder) or {}
    relations = draft.schema.kind(holder.kind).relations
    held = [name for name in relations for entry in stored.get(f"{name}_refs") or () if entry.get("uuid") == target]
    return bool(held) and all([await draft.fq_name(Key(name, target)) is None for name in held])


async def apply(draft: Draft, kind: Kind, document: Document, update: ReferenceUpdate) -> Document:
    """``document`` with one reference added, removed, or its attribute replaced; equal if nothing changes."""
    field = f"{update.relation}_refs"
    entries: list[Document] = list(document.get(field) or ())
    places = [place for place, entry in enumerate(entries) if update.names(entry)]
    if update.add:
        attribute = _attribute(kind, update.relation, update.attribute, field)
        if places:
            entries[places[0]] = {"uuid": entries[places[0]]["uuid"], "to": entries[places[0]]["to"]} | attribute
        else:
            wanted: Document = {"uuid": update.uuid} if update.uuid else {"to": list(update.fq_name)}
            entries.append(await _resolve(draft, update.relation, wanted, field) | attribute)
    else:
        entries = [entry for place, entry in enumerate(entries) if place not in places]
    changed = {name: value for name, value in document.items() if name != field}
    if entries:
        changed[field] = entries
    return changed


async def _resolve(draft: Draft, relation: str, entry: Document, where: str) -> Document:
    uuid, to = entry.get("uuid"), entry.get("to")
    if uuid is not None and not isinstance(uuid, str):
        raise BadRequest(f"{where}.uuid must be a text")
    if to is not None and not (isinstance(to, list) and all(isinstance(part, str) for part in to)):
        raise BadRequest(f"{where}.to must be a list of texts")
    if uuid:
        fq_name = await draft.fq_name(Key(relation, uuid))
        if fq_name is None:
            raise Conflict(f"{where}: there is no {kebab(relation)} {uuid}")
        return {"uuid": uuid, "to": list(fq_name)}
    if not to:
        raise BadRequest(f"{where} names no target; give uuid or to")
    found = await draft.find(Name(relation, tuple(to)))
    if found is None:
        raise BadRequest(f"{where}: there is no {kebab(relation)} {':'.join(to)}")
    return {"uuid": found, "to": to}


def _attribute(kind: Kind, relation: str, attribute: Any, where: str) -> Document:
    if attribute in (None, {}):
        return {}
    if not kind.relations[relation].attribute:
        raise BadRequest(f"{where}: references of {kebab(kind.name)} to {kebab(relation)} have no attr; leave it out")
    return {"attr": attribute}


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
