"""Turns references that clients send into stored ones: completes uuid and name (docs/contrail.md B.5.6).

A client names a target by ``uuid`` or ``to``; both are stored. An ``attr`` is accepted only where the relation has one.
``complete`` completes all references of a document, in place; ``apply`` returns the document with one reference added,
changed or removed.

It reads through the draft, and stages no write; ``resources`` stages the result.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from intentc.model import Key, Kind, Name, kebab

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
    it is dropped with its target (``deletion.py``), and the client has read it before that.

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
