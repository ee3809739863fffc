"""Compares one object with its desired state, the merge of all claims on it, field by field.

Why in addition to the plan: a plan holds the next writes only; for an object that waits, is rejected or is paused,
people need to see everything that it lacks. ``planning`` decides which fields are ours to write, and whose an entry is;
which entries stay is decided here, by the planner's rule. ``Contents`` shows what is claimed of each part, and its
value as a short text. Secrets are concealed before any look-up, so that a search can't find them either.

Documents are made and compared in a thread.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

import anyio.to_thread
import msgspec

from intentc.diagnostics.json_answers import fitted
from intentc.diagnostics.questions import Unanswerable
from intentc.engine.live import Live
from intentc.inspection.differences import differences
from intentc.inspection.finding import find
from intentc.inspection.identities import Document, of_name
from intentc.inspection.read_secrets import read_for, secrets_in
from intentc.inspection.shown_resources import shown
from intentc.logic import LiveWorld
from intentc.model import HeldInput, Key, Kind, Name, ReferenceValue
from intentc.model.claims import reference_part
from intentc.model.comparison import text_at
from intentc.model.kind import Relation
from intentc.model.resource import Reference
from intentc.model.sensitive import cleared_resource, concealed
from intentc.model.values import thaw
from intentc.planning import Planner
from intentc.planning.actual import Actual
from intentc.planning.diff import default_of, property_changes
from intentc.planning.merge import NOTHING, Desired, merge
from intentc.planning.ownership import Ownership, exists_only_claimed, ownership_of_object

MOST_SIGNS = 1000
"""Most characters of one text in an answer."""
_CUT = "…"


class Contents:
    """Looks up parts in ``documents``: ``{"desired": object or None, "actual": object or None}``, concealed. ``kept``:
    the parts that stay as they are; ``dropped``: those that must not be there."""

    def __init__(self, documents: Mapping[str, Any], kept: Collection[str] = (), dropped: Collection[str] = ()) -> None:
        self._documents = documents
        self._kept = kept
        self._dropped = dropped

    def claim(self, part: str) -> str:
        """Return what is claimed of a part: ``kept``, ``dropped``, or ``value``."""
        if part in self._kept:
            return "kept"
        return "dropped" if part in self._dropped else "value"

    def text(self, part: str) -> str:
        """Return the value of a part as JSON on one line; empty if there is none, or its name contains it."""
        return text_at(self._documents, part)

    def short(self, part: str) -> str:
        """Return the same, at most ``MOST_SIGNS`` characters."""
        text = self.text(part)
        return text if len(text) <= MOST_SIGNS else text[:MOST_SIGNS] + _CUT


async def contents_of(world: LiveWorld, planner: Planner, name: Name, key: Key | None) -> Contents:
    """Return the contents of the object ``name``, which is ``key`` if it exists; none for a fact."""
    declared = world.schema.kinds[name.kind]
    if not declared.stored:
        return Contents({})
    desired = merge(declared, name, planner.book.on(name), world.name_of) if name in planner.book else None
    behind, resource = read_for(world, planner, name), None
    if key is not None:
        with suppress(HeldInput):
            resource = world.resource(key)

    def documents() -> dict[str, Any]:
        wanted = claimed_document(declared, desired) if desired is not None else None
        there = shown(resource) if resource is not None else None
        secrets = secrets_in(behind)
        return {
            "desired": cleared_resource(secrets, concealed(declared, wanted)) if wanted is not None else None,
            "actual": cleared_resource(secrets, concealed(declared, there)) if there is not None else None,
        }

    claimed = desired or NOTHING
    # All of it is frozen; for some thousand rules this takes longer than the loop may be held.
    return Contents(
        await anyio.to_thread.run_sync(documents),
        kept={f"{relation}_refs" for relation in claimed.kept},
        dropped={reference_part(*item) for item in claimed.unwanted if not isinstance(item, str)},
    )


_MOST_DIFFERENCES = 200


async def one_object(live: Live, kind: str, name: str) -> dict[str, Any]:
    """Return ``{"kind", "name", "uuid", "revision", "actual", "desired", "differences", "differences_total",
    "unreadable"}``. ``actual``: the object, None if it doesn't exist or can't be read; ``unreadable``: why its stored
    value can't be read and compared, None if it can; ``desired``: the claimed fields and references,
    None without a claim; ``differences``: the first 200. Raises ``Unanswerable``."""
    found = await find(live, kind, name)
    if found.key is None and found.name not in live.planner.book:
        raise Unanswerable(
            404,
            f"there is no {found.name.kind} {':'.join(found.name.fq_name)}, and nobody claims one",
            "/why says why there is none",
            found.near,
        )
    declared = live.world.schema.kind(found.name.kind)
    desired = merge(declared, found.name, live.planner.book.on(found.name), live.world.name_of)
    resource, unreadable = None, None
    if found.key is not None and declared.stored:
        try:
            resource = live.world.resource(found.key)
        except HeldInput:
            problem = live.world.held.get(found.key)
            unreadable = problem.message if problem is not None else "its value is invalid"
    actual = Actual.seen(resource) if resource is not None else None
    claimed = found.name in live.planner.book
    ours = actual is not None and ownership_of_object(actual, live.world.installation) is Ownership.OURS
    kept = _kept(live.planner, declared, actual, desired, ours=ours) if actual is not None and claimed else {}
    # Without a claim it is deleted, now or with the next pass.
    needless = actual is not None and actual.mark is None and exists_only_claimed(declared, found.name.fq_name)
    identity = of_name(live.world, found.name)
    behind = read_for(live.world, live.planner, found.name)

    def compared() -> dict[str, Any]:
        secrets = secrets_in(behind)
        document = shown(resource) if resource is not None else None
        if claimed:
            should = _should_be(declared, actual, document, desired, kept, ours=ours)
        else:
            should = None if ours or needless else document
        fields = (
            []
            if unreadable
            else differences(declared, _named(found.name, document), _named(found.name, should), secrets)
        )
        wanted = claimed_document(declared, desired) if claimed else None
        answer: dict[str, Any] = fitted(
            {
                **identity,
                "revision": resource.mod_revision if resource is not None else None,
                "actual": cleared_resource(secrets, concealed(declared, document)) if document is not None else None,
                "desired": cleared_resource(secrets, concealed(declared, wanted)) if wanted is not None else None,
                "differences": [
                    {"field": each.field, "actual": each.before, "desired": each.after}
                    for each in fields[:_MOST_DIFFERENCES]
                ],
                "differences_total": len(fields),
                "unreadable": unreadable,
            }
        )
        return answer

    # Both documents are frozen; comparing some thousand rules takes longer than the loop may be held.
    return await anyio.to_thread.run_sync(compared)


def _kept(planner: Planner, kind: Kind, actual: Actual, desired: Desired, *, ours: bool) -> dict[str, list[Reference]]:
    """Return relation → the stored entries that stay: those of other writers in shared lists, and disputed ones."""
    found: dict[str, list[Reference]] = {}
    shared = kind.written(made=ours).shared
    for relation, declared in kind.relations.items():
        stored = [(planner.assumed.key_of(entry), entry) for entry in actual.references(relation)]
        targets = [key for key, _ in stored if key is not None]
        disputed = planner.assumed.leading_to(relation, targets, desired.disputed)
        unwanted = planner.assumed.leading_to(relation, targets, desired.unwanted)

        def of_others(key: Key | None, entry: Reference, relation: Relation = declared) -> bool:
            if key is None:
                return True
            value = ReferenceValue(key, entry.to, entry.attribute)
            return not planner.writes_entry(relation, actual.key, value, made=ours)

        found[relation] = [
            entry
            for key, entry in stored
            if key in disputed
            or relation in desired.kept
            or (relation in shared and key not in unwanted and of_others(key, entry))
        ]
    return found


def claimed_document(kind: Kind, desired: Desired) -> Document:
    """Return the desired state in the form of a resource: ``{field: value, "x_refs": [{"to", "attr"?}]}``."""
    found: Document = {field: thaw(value) for field, value in sorted(desired.properties.items())}
    for path, value in sorted(desired.inner.items()):
        *fields, last = path.split(".")
        place = found
        for field in fields:
            place = place.setdefault(field, {})
        place[last] = thaw(value)
    if desired.parent is not None:
        found["parent_type"] = desired.parent.key.kind.replace("_", "-")
        found["parent_uuid"] = desired.parent.key.uuid
    for relation, entries in sorted(desired.references.items()):
        if relation in kind.relations:
            found[f"{relation}_refs"] = [
                _entry(target, attribute) for target, attribute in sorted(entries.items(), key=_by)
            ]
    return found


def _should_be(
    kind: Kind,
    actual: Actual | None,
    document: Document | None,
    desired: Desired,
    kept_entries: Mapping[str, list[Reference]],
    *,
    ours: bool,
) -> Document | None:
    """Return the object as it would be after all its desired writes; None: it would be deleted."""
    if actual is None or document is None:
        return claimed_document(kind, desired) if desired.exists else document
    if ours and not desired.exists:
        return None
    should: Document = msgspec.json.decode(msgspec.json.encode(document))
    for field, value in property_changes(actual, desired, lambda item: True, made=ours).items():
        if value == default_of(kind, field):
            should.pop(field, None)
        else:
            should[field] = thaw(value)
    written = kind.written(made=ours)
    for relation in (*written.relations, *written.shared):
        entries = desired.references.get(relation, {})
        kept = kept_entries.get(relation, ())
        merged = {Name(relation, entry.to): entry.attribute for entry in kept}
        for target, attribute in entries.items():
            merged.setdefault(target, attribute)
        should[f"{relation}_refs"] = [
            _entry(target, attribute) for target, attribute in sorted(merged.items(), key=_by)
        ]
    return should


def _by(item: tuple[Name, Any]) -> Name:
    return item[0]


def _entry(target: Name, attribute: Any) -> Document:
    entry: Document = {"to": list(target.fq_name)}
    if attribute is not None and (value := thaw(attribute)):
        entry["attr"] = value
    return entry


def _named(name: Name, document: Document | None) -> Document | None:
    """Add the ``fq_name``, which ``differences`` requires."""
    return {"fq_name": list(name.fq_name), **document} if document is not None else None
