"""Reads resources for answers: one with its children and back references, or many (docs/contrail.md B.1).

Why it exists: children and back references are not stored in a resource; they are found by the index, the ``attr``
of a back reference in its holder's value. What the caller may not read is left out (``permissions``), or forbidden if
its uuid was asked for. Resources whose values can't be read are left out of lists, so that one bad key does not hide
the others; ``unreadable`` lists them with the reasons.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from intentc.loading.bodies import read_json
from intentc.model import Key, Kind, Name, Schema, kebab
from intentc.model.problem import InvalidInput
from intentc.reconcile.failures import Failure

from .admission.fields import children_of
from .authorization import READ
from .documents import Document, decode_entry
from .draft import Draft
from .errors import BadRequest, Malformed, NotFound, from_store
from .layout import CHILD, REFERENCE
from .permissions import Access
from .secrets import Sight

_ANYTHING: Any = Any
_BASIC = frozenset({"uuid", "fq_name", "name", "parent_type", "parent_uuid"})


class Query(NamedTuple):
    """The parameters of a list; empty ones don't restrict it.

    ``filters``: (field, value as text); values of one field are alternatives, and all fields must match. ``marker``:
    only uuids greater than it. ``limit``: 0 is no limit.
    """

    filters: Sequence[tuple[str, str]] = ()
    parent_ids: Sequence[str] = ()
    parent_type: str = ""
    parent_fq_names: Sequence[str] = ()
    back_ref_ids: Sequence[str] = ()
    uuids: Sequence[str] = ()
    fields: Sequence[str] = ()
    limit: int = 0
    marker: str = ""


class View(NamedTuple):
    """The part of one resource that a client asks for. ``fields``: only these and the basic ones; empty: all.

    ``children``, ``back_references``: whether they are computed, if ``fields`` is empty. ``sealed``: secrets are shown
    as they are stored, to callers that may read them.
    """

    fields: Collection[str] = ()
    children: bool = True
    back_references: bool = True
    sealed: bool = False

    def wants(self, field: str, *, is_child: bool) -> bool:
        """Whether a computed field is shown."""
        return field in self.fields if self.fields else self.children if is_child else self.back_references


WHOLE = View()


async def show(draft: Draft, key: Key, access: Access, view: View = WHOLE) -> tuple[Document, int]:
    """One resource with references, back references and children, and its mod revision. Raises ``NotFound``,
    ``Malformed``, ``Forbidden``."""
    where = draft.layout.value(key)
    await draft.reading.load([where])
    document = await draft.document(key)
    if document is None:
        raise NotFound(f"there is no {kebab(key.kind)} {key.uuid}")
    access.on(key, document, READ)
    item = await draft.reading.item(where)
    assert item is not None
    kind = draft.schema.kind(key.kind)
    document = draft.secrets.shown(kind, document, access.sight(stored=view.sealed))
    shown = document | await _computed(draft, kind, key.uuid, access, view)
    return _only(shown, view.fields), item.mod_revision


async def find(draft: Draft, kind: Kind, query: Query, access: Access) -> list[Document]:
    """The resources that match a query and that the caller may read, by uuid."""
    if query.parent_type and query.parent_type.replace("-", "_") not in draft.schema:
        raise BadRequest(f"parent_type {query.parent_type!r} is no kind")
    candidates = await _candidates(draft, kind, query)
    wanted, fields = _wanted(query.filters), frozenset(query.fields)
    computed = sorted(fields & _computed_fields(draft.schema, kind).keys())
    found: list[Document] = []
    pages = _all(draft, kind, query.marker) if candidates is None else _some(draft, kind, candidates)
    async for uuid, document in pages:
        if isinstance(document, Malformed) or uuid <= query.marker or not access.allows(document, READ):
            continue
        try:
            document = draft.secrets.shown(kind, document, access.sight())
        except Malformed:
            continue
        # The shown values count: a filter by a secret must not confirm a guess.
        if _matches(document, query.parent_type, wanted):
            if computed:
                document = document | await _computed(draft, kind, uuid, access, View(computed))
            found.append(_only(document, fields))
            if query.limit and len(found) == query.limit:
                break
    return found


async def unreadable(draft: Draft, kind: Kind) -> list[Document]:
    """The values of a kind that can't be read: ``{"uuid", "fq_name", "message"}``, by uuid.

    ``uuid``: the one in the key in etcd, escaped; ``fq_name``: the one in the index, or empty.
    """
    found = []
    async for uuid, document in _all(draft, kind, ""):
        if isinstance(document, Malformed):
            known = await draft.identity(uuid)
            fq_name = known.fq_name if known is not None and known.kind == kind.name else ()
            found.append({"uuid": uuid, "fq_name": list(fq_name), "message": document.reason})
    return found


async def _candidates(draft: Draft, kind: Kind, query: Query) -> list[str] | None:
    """The uuids that may match; None for all."""
    sets: list[set[str]] = []
    if query.uuids:
        sets.append(set(query.uuids))
    parents = list(query.parent_ids)
    if query.parent_fq_names:
        parent_kinds = [query.parent_type.replace("-", "_")] if query.parent_type else [p.kind for p in kind.parents]
        names = [Name(parent, tuple(text.split(":"))) for text in query.parent_fq_names for parent in parent_kinds]
        await draft.reading.load(map(draft.layout.name, names))
        parents += [uuid for name in names if (uuid := await draft.find(name))]
    if query.parent_ids or query.parent_fq_names:
        sets.append(await _holders(draft, parents, kind.name, CHILD))
    if query.back_ref_ids:
        sets.append(await _holders(draft, query.back_ref_ids, kind.name, REFERENCE))
    return sorted(set.intersection(*sets)) if sets else None


async def _holders(draft: Draft, targets: Sequence[str], kind: str, sort: str) -> set[str]:
    """The uuids of the resources of a kind that are children of ``targets``, or refer to them."""
    layout = draft.layout
    prefixes = [f"{prefix}{kind}/" for one in targets for prefix in (layout.holds(one), layout.links(one))]
    await draft.reading.load((), prefixes)
    holders = [layout.holder(item.key) for prefix in prefixes for item in await draft.reading.below(prefix)]
    return {holder.key.uuid for holder in holders if holder.sort == sort}


async def _all(draft: Draft, kind: Kind, marker: str) -> AsyncIterator[tuple[str, Document | Malformed]]:
    """All resources of one kind behind ``marker``; for an unreadable value the error."""
    start = f"{draft.layout.value(Key(kind.name, marker))}\0" if marker else ""
    try:
        async for item, document in draft.values(kind, start):
            yield draft.layout.uuid(item.key), document
    except Failure as error:
        raise from_store(error, writing=False) from error


async def _some(draft: Draft, kind: Kind, uuids: Sequence[str]) -> AsyncIterator[tuple[str, Document | Malformed]]:
    await draft.reading.load([draft.layout.value(Key(kind.name, uuid)) for uuid in uuids])
    for uuid in uuids:
        document = await draft.readable(Key(kind.name, uuid))
        if document is not None:
            yield uuid, document


async def _computed(draft: Draft, kind: Kind, uuid: str, access: Access, view: View) -> Document:
    """Children and back references that the caller may read: field → [{"uuid", "to", "attr"}], sorted by kind and
    uuid.

    A back reference has the attribute of the reference, if it has one.
    """
    result: Document = {}
    fields = _computed_fields(draft.schema, kind)
    if not any(view.wants(field, is_child=is_child) for field, is_child in fields.items()):
        return result
    prefixes = (draft.layout.holds(uuid), draft.layout.links(uuid))
    await draft.reading.load((), prefixes)
    entries = []
    for prefix in prefixes:
        for item in await draft.reading.below(prefix):
            holder = draft.layout.holder(item.key)
            is_child = holder.sort == CHILD
            if holder.key.kind not in draft.schema:
                continue
            holding = draft.schema.kind(holder.key.kind)
            field = holding.plural if is_child else f"{holding.name}_back_refs"
            if view.wants(field, is_child=is_child):
                relation = None if is_child else holding.relations.get(kind.name)
                entries.append((field, holder.key, item, relation is not None and bool(relation.attribute)))
    await draft.reading.load(
        draft.layout.value(key) for _, key, _, has_attribute in entries if has_attribute or not access.reads_all
    )
    for field, key, item, has_attribute in entries:
        if not (access.reads_all or access.allows(await draft.readable(key) or {}, READ)):
            continue
        entry: Document = {"uuid": key.uuid, "to": decode_entry(item.value, list[str], item.key)}
        if has_attribute:
            entry |= _attribute(await _shown_holder(draft, key, access, view), f"{kind.name}_refs", uuid)
        result.setdefault(field, []).append(entry)
    return result


async def _shown_holder(draft: Draft, key: Key, access: Access, view: View) -> Document:
    """A holder as the caller sees it; secrets that nobody can open are hidden, since the target is asked for."""
    kind, holder = draft.schema.kind(key.kind), await draft.readable(key) or {}
    try:
        return draft.secrets.shown(kind, holder, access.sight(stored=view.sealed))
    except Malformed:
        return draft.secrets.shown(kind, holder, Sight.HIDDEN)


def _attribute(holder: Document, field: str, target: str) -> Document:
    """``{"attr": …}`` of the reference to ``target`` that ``holder`` has in ``field``; empty if it has none."""
    for entry in holder.get(field) or ():
        if entry.get("uuid") == target and "attr" in entry:
            return {"attr": entry["attr"]}
    return {}


def _wanted(filters: Sequence[tuple[str, str]]) -> dict[str, list[tuple[str, Any]]]:
    """Field → the values of its filters, each as plain text (GO) and as JSON (PY)."""
    wanted: dict[str, list[tuple[str, Any]]] = {}
    for field, text in filters:
        try:
            value = read_json(text.encode(), _ANYTHING)
        except InvalidInput:
            value = text
        wanted.setdefault(field, []).append((text, value))
    return wanted


def _matches(document: Document, parent_type: str, wanted: Mapping[str, Sequence[tuple[str, Any]]]) -> bool:
    """Whether a resource has one of the values of each filter.

    Absent, false, zero and empty are equal (docs/contrail.md A.1).
    """
    if parent_type and document.get("parent_type") != parent_type.replace("_", "-"):
        return False
    return all(
        any(found == text or (found or None) == (value or None) for text, value in values)
        for field, values in wanted.items()
        for found in (document.get(field),)
    )


def _only(document: Document, fields: Collection[str]) -> Document:
    if not fields:
        return document
    return {field: value for field, value in document.items() if field in fields or field in _BASIC}


def _computed_fields(schema: Schema, kind: Kind) -> dict[str, bool]:
    """The fields of children and back references of a kind → whether they are children."""
    holders = schema.referring.get(kind.name, ())
    back = dict.fromkeys((f"{holder.name}_back_refs" for holder, relation in holders if relation != "parent"), False)
    return back | dict.fromkeys(children_of(schema, kind), True)
