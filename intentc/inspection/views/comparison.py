"""One object as it is, and as all claims on it want it to be, with what differs, field by field.

Why beside the plan: a plan says what is written next; who looks at an object that waits, is refused or paused wants to
see what it lacks. Which fields are ours to write, and what stays beside them, is told by ``planning``; how two forms
differ, and that secrets don't show, by ``pipeline.differences``.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import anyio.to_thread
import msgspec

from intentc.diagnostics.answering import fitted
from intentc.diagnostics.observed import Unanswerable
from intentc.engine.engine import Engine
from intentc.engine.parts import Parts
from intentc.inspection.differences import differences
from intentc.inspection.outputs import shown
from intentc.inspection.secrets import read_for, secrets_in
from intentc.model import HeldInput, Kind, Name, Writer
from intentc.model.resource import Reference
from intentc.model.sensitive import cleared_resource, concealed
from intentc.model.values import thaw
from intentc.planning.actual import Actual
from intentc.planning.diff import default_of, property_changes
from intentc.planning.merge import Desired, merge
from intentc.planning.ownership import Ownership, is_our_entry, ownership_of_object

from ..lookup.finding import find
from ..naming import Document, of_name

_MOST_DIFFERENCES = 200


async def one_object(engine: Engine, kind: str, name: str) -> dict[str, Any]:
    """``{"kind", "name", "uuid", "revision", "actual", "desired", "differences", "differences_total"}``. ``actual``:
    the object, None if it isn't there or can't be read; ``desired``: the fields and references that are claimed of it,
    None if nobody claims anything. Of ``differences`` the first 200. Raises ``Unanswerable``."""
    parts = engine.parts
    found = await find(engine, kind, name)
    if found.key is None and found.name not in parts.book:
        raise Unanswerable(
            404,
            f"there is no {found.name.kind} {':'.join(found.name.fq_name)}, and nobody claims one",
            "/why tells why there is none",
            found.near,
        )
    declared = parts.schema.kind(found.name.kind)
    desired = merge(declared, found.name, parts.book.on(found.name), parts.logic.name_of)
    resource = None
    if found.key is not None and declared.stored:
        with suppress(HeldInput):
            resource = parts.logic.resource(found.key)
    actual = Actual.seen(resource) if resource is not None else None
    claimed = found.name in parts.book
    kept = _kept(parts, declared, actual) if actual is not None and claimed else {}
    ours = actual is not None and ownership_of_object(actual, parts.installation) is Ownership.OURS
    identity = of_name(parts.logic, found.name)
    behind = read_for(parts, found.name)

    def compared() -> dict[str, Any]:
        secrets = secrets_in(behind)
        document = shown(resource) if resource is not None else None
        if claimed:
            should = _should_be(parts, declared, actual, document, desired, kept, ours=ours)
        else:
            should = None if ours else document
        fields = differences(declared, _named(found.name, document), _named(found.name, should), secrets)
        wanted = claimed_document(parts, declared, desired) if claimed else None
        told: dict[str, Any] = fitted(
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
            }
        )
        return told

    # What is compared never changes; of some thousand rules that takes longer than the loop should be held.
    return await anyio.to_thread.run_sync(compared)


def _kept(parts: Parts, kind: Kind, actual: Actual) -> dict[str, list[Reference]]:
    """Shared relation → those entries that stay whatever we want."""
    return {
        relation: [
            entry
            for entry in actual.references(relation)
            if (key := parts.assumed.key_of(entry)) is None
            or not is_our_entry(parts.installation, declared, actual.key, key, entry.to)
        ]
        for relation, declared in kind.relations.items()
        if declared.writer is Writer.SHARED
    }


def claimed_document(parts: Parts, kind: Kind, desired: Desired) -> Document:
    """What is wanted, in the form of a resource: ``{field: value, "x_refs": [{"to", "attr"?}]}``."""
    found: Document = {field: thaw(value) for field, value in sorted(desired.properties.items())}
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
    parts: Parts,
    kind: Kind,
    actual: Actual | None,
    document: Document | None,
    desired: Desired,
    kept_entries: Mapping[str, list[Reference]],
    *,
    ours: bool,
) -> Document | None:
    """The object after everything that is wanted of it was written and nothing was in the way; None: it would go."""
    if actual is None or document is None:
        return claimed_document(parts, kind, desired) if desired.exists else document
    if ours and not desired.exists:
        return None
    should: Document = msgspec.json.decode(msgspec.json.encode(document))
    for field, value in property_changes(actual, desired, lambda item: True, every=ours).items():
        if value == default_of(kind, field):
            should.pop(field, None)
        else:
            should[field] = thaw(value)
    for relation, declared in kind.relations.items():
        entries = desired.references.get(relation, {})
        if declared.writer is Writer.SHARED:
            kept = [*kept_entries.get(relation, ())]
        elif declared.writer is Writer.COMPILER or (ours and entries):
            kept = []
        else:
            continue
        disputed = {item[1] for item in desired.disputed if isinstance(item, tuple) and item[0] == relation}
        kept += [entry for entry in actual.references(relation) if Name(relation, entry.to) in disputed]
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
    if attribute is not None and (told := thaw(attribute)):
        entry["attr"] = told
    return entry


def _named(name: Name, document: Document | None) -> Document | None:
    """With what ``differences`` takes for granted."""
    return {"fq_name": list(name.fq_name), **document} if document is not None else None
