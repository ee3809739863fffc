"""Creates, changes and deletes single resources on a draft, with all that follows (docs/contrail.md B.1, B.5, B.7).

Why it exists: single calls, ``/sync``, ``/ref-update``, the Kubernetes-compatible API and seeds share these steps of a
mutation. Each asks ``permissions``, and has the rules of the kind carried out (``rule_execution``); companions are
written here. Uuids that are not given come from ``sources``; of kinds that are written as manifests they follow from
the name. ``statuses`` writes a status alone; ``mutation`` commits the draft.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from intentc.model import Key, Kind, Name, Schema, kebab
from intentc.model.manifest import manifest_uuid
from intentc.model.metadata import METADATA
from intentc.model.status import STATUS

from . import references, rule_execution
from .admission import NO_RULES, RULES
from .admission.fields import IDENTITY, accept, common_fields, flat_body, missing_fields
from .admission.rules import Change, Rules
from .admission.server_fields import (
    add_finalizers,
    check_ending,
    copied_status,
    is_being_deleted,
    is_kept,
    mirrored_metadata,
    raise_generation,
    sent_metadata,
    stamp_changed,
    stamp_created,
    stamp_new_metadata,
    with_deletion,
)
from .authorization import WRITE, Caller, Operation, Policy, is_compiler
from .documents import Document, referred
from .draft import Draft
from .errors import BadRequest, Conflict, Forbidden, NotFound, PreconditionFailed
from .permissions import Access, Permissions
from .references import ReferenceUpdate, check_uuid, place
from .sources import Source

_SERVER_OWNED = frozenset({"configuration_version"})


class Condition(NamedTuple):
    """``If-Match: <mod revision>`` and ``If-None-Match: *``."""

    revision: int | None = None
    must_be_new: bool = False


NO_CONDITION = Condition()


class Mirror(NamedTuple):
    """A bridge's write of a resource that a cluster has (docs/engine.md §14.3). ``ours``: the finalizers that compilers
    claim, which stay as they are stored."""

    ours: frozenset[str] = frozenset()


class Resources:
    """The steps of mutations. All raise subclasses of ``ApiError``; the draft must not be committed then."""

    def __init__(self, schema: Schema, source: Source, permissions: Permissions | None = None) -> None:
        self._schema = schema
        self._source = source
        self._permissions = permissions or Permissions(schema, Policy())

    async def create(
        self,
        draft: Draft,
        kind: Kind,
        body: Any,
        caller: Caller,
        condition: Condition = NO_CONDITION,
        mirror: Mirror | None = None,
    ) -> Document:
        """Stage a new resource; returns the document to store. Raises ``Conflict`` for a uuid or name in use."""
        if condition.revision is not None:
            raise PreconditionFailed("If-Match can't hold for a resource that is to be created; leave it out")
        return await self._create(draft, kind, body, caller, mirror=mirror)

    async def _create(
        self,
        draft: Draft,
        kind: Kind,
        body: Any,
        caller: Caller,
        *,
        over: Key | None = None,
        mirror: Mirror | None = None,
    ) -> Document:
        """Stage a new resource. ``over``: the key of an unreadable value that the resource replaces."""
        document, given = accept(self._schema, kind, flat_body(kind, body).fields)
        access = await self._permissions.access(draft, caller)
        access.rule(kind, Operation.CREATE, given - IDENTITY)
        rules = RULES.get(kind.name, NO_RULES)
        rules.prepare(document)
        await place(draft, kind, document)
        await access.parent(draft, document)
        name = Name(kind.name, tuple(document["fq_name"]))
        given_uuid = document.get("uuid") if over is None else over.uuid
        if given_uuid:
            document["uuid"] = check_uuid(given_uuid)
        elif kind.written_as_manifests:
            document["uuid"] = manifest_uuid(kind.name, name.fq_name)
        else:
            document["uuid"] = self._source.uuid(name)
            if self._source.is_random:
                value = draft.layout.value(Key(kind.name, document["uuid"]))
                draft.reading.assume_absent([value, draft.layout.identity(document["uuid"])])
        key = Key(kind.name, document["uuid"])
        await self._reject_duplicate(draft, key, name, replaces=over is not None)
        missing = missing_fields(kind, document)
        if missing:
            message = f"{kebab(kind.name)} {':'.join(name.fq_name)}: {', '.join(missing)} must be given"
            raise BadRequest(message).of(missing[0])
        await references.complete(draft, kind, document)
        document = draft.secrets.received(kind, None, document, trusted=access.writes_outputs)
        await access.change(draft, key, None, document)
        by_compiler = is_compiler(self._permissions.policy, caller)
        change = Change(key.uuid, None, document, given, caller.privileged, by_compiler, caller.project_id)
        await rule_execution.admit(draft, key, change, self._source)
        if mirror is not None:
            document[METADATA] = mirrored_metadata(None, self._mirrors(kind, document, caller), mirror.ours)
            document |= copied_status(kind, flat_body(kind, body).fields, is_new=True) or {}
        else:
            stamp_new_metadata(kind, document, now=self._source.now())
        add_finalizers(kind, document)
        document |= kind.versions.mark
        stamp_created(document, owner=caller.project_id, now=self._source.now())
        if over is not None:
            draft.replace_unreadable(key, document)
        else:
            await draft.stage(key, document)
        await self._create_companions(draft, rules, change, caller, keep=over is not None)
        return document

    async def update(
        self,
        draft: Draft,
        key: Key,
        body: Any,
        caller: Caller,
        condition: Condition = NO_CONDITION,
        paths: Sequence[str] | None = None,
        mirror: Mirror | None = None,
    ) -> Document:
        """Stage new values of the fields in ``body``, or of those at ``paths`` (the field mask).

        A manifest sets all fields. Returns the written fields with the uuid. A value that can't be read is replaced if
        ``body`` is a whole resource: it has an fq_name, and there is no field mask.
        """
        kind = self._schema.kind(key.kind)
        sent = flat_body(kind, body)
        if mirror is not None and paths is None and "fq_name" in sent.fields:
            # A copy is whole: what the cluster's resource has no more, it loses.
            sent = sent._replace(whole=True)
        if paths is None and sent.fields.get("fq_name") and await draft.unreadable(key):
            await self._check_condition(draft, key, condition)
            # Its owner is unknown, as with a deletion.
            (await self._permissions.access(draft, caller)).on(key, {}, WRITE)
            return await self._create(draft, kind, body, caller, over=key, mirror=mirror)
        document, given = accept(self._schema, kind, sent.fields)
        access = await self._permissions.access(draft, caller)
        access.rule(kind, Operation.UPDATE, (given if paths is None else _fields_of(paths)) - IDENTITY)
        before = await self.existing(draft, key, condition)
        access.on(key, before, WRITE)
        if sent.whole:
            given |= kind.user_fields | (before.keys() - common_fields(kind) - kind.properties.keys())
            # A whole resource clears the fields that it leaves out, which is a change of them.
            access.rule(kind, Operation.UPDATE, given - IDENTITY)
        if mirror is not None:
            # Our own mark; the cluster's annotations are in the metadata.
            given -= {"annotations"}
        if paths is not None:
            document, given = _masked(before, document, paths)
            # A path may lead into a list or to an unknown field: the result is checked as if it had been sent.
            document, given = accept(self._schema, kind, {field: document.get(field) for field in given})
        for field in IDENTITY & given:
            if field in document and document[field] != before.get(field) and document[field] not in ("", [], None):
                raise BadRequest(
                    f"{field} can't be changed from {before.get(field)!r} to {document[field]!r}; leave it out, or "
                    f"delete the resource and create another"
                )
        changed = given - IDENTITY - _SERVER_OWNED
        fresh = {field: document[field] for field in changed if field in document}
        await references.complete(draft, kind, fresh, before)
        if mirror is not None:
            fresh[METADATA] = mirrored_metadata(before, self._mirrors(kind, fresh, caller), mirror.ours)
            changed |= {METADATA}
            status = copied_status(kind, sent.fields, is_new=False)
            if status is not None:
                fresh |= status
                changed |= {STATUS}
        elif METADATA in changed and kind.written_as_manifests:
            fresh[METADATA] = sent_metadata(before, fresh.get(METADATA), masked=paths is not None)
        after = {field: value for field, value in before.items() if field not in changed} | fresh
        after = draft.secrets.received(kind, before, after, trusted=access.writes_outputs)
        missing = changed.intersection(missing_fields(kind, after))
        if missing:
            message = f"{kebab(kind.name)}: {', '.join(sorted(missing))} must be given; it can't be cleared"
            raise BadRequest(message).of(min(missing))
        await access.change(draft, key, before, after)
        await self._restage(draft, key, before, after, changed, caller)
        return {"uuid": key.uuid} | {field: after[field] for field in sorted(changed) if field in after}

    async def replace(
        self, draft: Draft, key: Key, before: Document, after: Document, changed: frozenset[str], caller: Caller
    ) -> None:
        """Stage ``after``, which differs from ``before`` in the fields ``changed`` and has stored references."""
        access = await self.may_update(draft, key, before, changed, caller)
        kind = self._schema.kind(key.kind)
        after = draft.secrets.received(kind, before, after, trusted=access.writes_outputs)
        accept(self._schema, kind, {field: after.get(field) for field in changed})
        await access.change(draft, key, before, after)
        await self._restage(draft, key, before, after, changed, caller)

    async def may_update(
        self, draft: Draft, key: Key, document: Document, fields: frozenset[str], caller: Caller
    ) -> Access:
        """Check that ``caller`` may change ``fields`` of a resource; returns its access. Raises ``Forbidden``."""
        access = await self._permissions.access(draft, caller)
        access.rule(self._schema.kind(key.kind), Operation.UPDATE, fields)
        access.on(key, document, WRITE)
        return access

    async def update_reference(self, draft: Draft, update: ReferenceUpdate, caller: Caller, c: Condition) -> None:
        """Stage an added, changed or removed reference; idempotent."""
        kind = self._schema.kind(update.holder.kind)
        before = await self.existing(draft, update.holder, c)
        field = f"{update.relation}_refs"
        # Before the target is looked for: an error would say whether it exists.
        await self.may_update(draft, update.holder, before, frozenset({field}), caller)
        after = await references.apply(draft, kind, before, update)
        await self.replace(draft, update.holder, before, after, frozenset({field}), caller)
        if update.relaxed:
            await self.relax(draft, update.holder, [entry["uuid"] for entry in after[field] if update.names(entry)])

    async def relax(self, draft: Draft, holder: Key, targets: Sequence[str]) -> None:
        """Stop references of ``holder`` from blocking the deletion of their targets (uuids); idempotent.

        Raises ``NotFound`` for a target to which it does not refer.
        """
        if not targets:
            return
        document = await self.existing(draft, holder)
        there = referred(self._schema.kind(holder.kind), document)
        for target in targets:
            if target not in there:
                if await references.is_dropped(draft, holder, target):
                    continue
                raise NotFound(f"{holder} does not refer to {target}, so that can't be relaxed", key=holder)
            draft.relax(holder, target)

    def _mirrors(self, kind: Kind, document: Document, caller: Caller) -> Any:
        """The metadata in a bridge's write. Raises ``Forbidden`` for callers that are no compilers."""
        if not is_compiler(self._permissions.policy, caller):
            raise Forbidden("mirror: only compilers and administrators mirror resources of a cluster")
        if not kind.written_as_manifests:
            raise BadRequest(f"mirror: {kebab(kind.name)} is not of the Kubernetes shape; leave it out")
        return document.get(METADATA)

    async def delete(self, draft: Draft, key: Key, caller: Caller, condition: Condition = NO_CONDITION) -> None:
        """Stage a deletion; a resource with finalizers only gets its time of deletion (docs/engine.md §14.3). Holders
        of the resource are checked when the draft is committed."""
        staged = draft.staged.get(key)
        if staged is not None and staged.after is None:
            return
        access = await self._permissions.access(draft, caller)
        access.rule(self._schema.kind(key.kind), Operation.DELETE)
        await self._check_condition(draft, key, condition)
        before = await draft.readable(key)
        access.on(key, before or {}, WRITE)
        kind = self._schema.kind(key.kind)
        if before is not None and is_kept(kind, before):
            after = with_deletion(before, now=self._source.now())
            await draft.stage(key, after)
            return
        if before is not None:
            await draft.stage(key, None)
        else:
            draft.replace_unreadable(key, None)
            # An unreadable resource still has a name in the index: its companions and numbers are deleted as well.
            known = await draft.identity(key.uuid)
            if known is None:
                return
            before = {"uuid": key.uuid, "fq_name": list(known.fq_name)}
        await self._after_deletion(draft, key, before, caller)

    async def _after_deletion(self, draft: Draft, key: Key, before: Document, caller: Caller | None) -> None:
        """Free the numbers of a deleted resource, and delete its companions. ``caller``: None for a companion."""
        rules = RULES.get(key.kind, NO_RULES)
        change = Change(key.uuid, before, None, privileged=caller is None or caller.privileged)
        rules.check_deletion(change)
        draft.changes.append((key, change))
        await rule_execution.allocate(draft, key.kind, change)
        for name in rules.deleted_companions(change):
            uuid = await draft.find(name)
            if uuid is not None:
                companion = Key(name.kind, uuid)
                document = await draft.readable(companion) or {"uuid": uuid, "fq_name": list(name.fq_name)}
                await draft.stage(companion, None, forced=rules.forces_companions)
                await self._after_deletion(draft, companion, document, None)

    async def existing(self, draft: Draft, key: Key, condition: Condition = NO_CONDITION) -> Document:
        """The resource after this mutation. Raises ``NotFound``, ``PreconditionFailed``, ``Malformed``."""
        await self._check_condition(draft, key, condition)
        document = await draft.document(key)
        if document is None:
            raise NotFound(f"there is no {kebab(key.kind)} {key.uuid}", key=key)
        return document

    def now(self) -> str:
        """The time for conditions of a status: RFC 3339, UTC, whole seconds, as Kubernetes writes it."""
        return f"{self._source.now().partition('.')[0]}Z"

    async def _check_condition(self, draft: Draft, key: Key, condition: Condition) -> None:
        item = await draft.reading.item(draft.layout.value(key))
        if item is None:
            if key not in draft.staged:
                raise NotFound(f"there is no {kebab(key.kind)} {key.uuid}", key=key)
            return
        if condition.must_be_new:
            raise Conflict(f"{kebab(key.kind)} {key.uuid} exists already, and If-None-Match was given", key=key)
        if condition.revision is not None and item.mod_revision != condition.revision:
            raise PreconditionFailed(
                f"{kebab(key.kind)} {key.uuid} stands at revision {item.mod_revision}, not at {condition.revision} as "
                f"If-Match says; read it again",
                key=key,
            )

    async def _reject_duplicate(self, draft: Draft, key: Key, name: Name, *, replaces: bool) -> None:
        shown = f"{kebab(name.kind)} {':'.join(name.fq_name)}"
        staged = draft.staged.get(key)
        if staged is not None and staged.after is not None:
            raise Conflict(f"{shown}: the uuid {key.uuid} is given twice", key=key)
        await draft.reading.load([draft.layout.value(key), draft.layout.identity(key.uuid), draft.layout.name(name)])
        if staged is None and not replaces and await draft.reading.item(draft.layout.value(key)) is not None:
            raise Conflict(f"{shown}: {kebab(key.kind)} {key.uuid} exists already; update it", key=key)
        other = await self._kind_of(draft, key.uuid)
        if other is not None and other != key.kind:
            raise Conflict(f"{shown}: the uuid {key.uuid} belongs to a {kebab(other)}; give another", key=key)
        holder = await draft.find(name)
        if holder is not None and not (replaces and holder == key.uuid):
            raise Conflict(f"{shown} exists already, with uuid {holder}; update it, or choose another name", key=key)

    async def _kind_of(self, draft: Draft, uuid: str) -> str | None:
        """The kind of the resource with a uuid by the index. Entries of deleted resources don't count."""
        known = await draft.identity(uuid)
        if known is None or await draft.reading.item(draft.layout.value(Key(known.kind, uuid))) is None:
            return None
        return known.kind

    async def _restage(
        self, draft: Draft, key: Key, before: Document, after: Document, given: frozenset[str], caller: Caller
    ) -> None:
        rules = RULES.get(key.kind, NO_RULES)
        by_compiler = is_compiler(self._permissions.policy, caller)
        change = Change(key.uuid, before, after, given, caller.privileged, by_compiler, caller.project_id)
        await rule_execution.admit(draft, key, change, self._source)
        if after == before:
            # Nothing to write; it is staged so that the answer has its revision.
            await draft.stage(key, before)
            return
        kind = self._schema.kind(key.kind)
        if is_being_deleted(kind, before):
            check_ending(kind, key, before, after)
            if not is_kept(kind, after):
                await draft.stage(key, None)
                await self._after_deletion(draft, key, before, caller)
                return
        raise_generation(kind, before, after)
        stamp_changed(before, after, now=self._source.now())
        await draft.stage(key, after)
        for name, fields in rules.companions_changed(change):
            uuid = await draft.find(name)
            document = await draft.readable(Key(name.kind, uuid)) if uuid is not None else None
            if uuid is not None and document is not None:
                kept = {field: value for field, value in document.items() if field not in fields}
                written = {field: value for field, value in fields.items() if value is not None}
                server = caller._replace(privileged=True)
                await self._restage(draft, Key(name.kind, uuid), document, kept | written, frozenset(fields), server)
        if rules.restores_companions:
            await self._create_companions(draft, rules, change, caller, keep=True)

    async def _create_companions(
        self, draft: Draft, rules: Rules, change: Change, caller: Caller, *, keep: bool
    ) -> None:
        """Create the companions of a new resource. ``keep``: those that exist already stay as they are."""
        assert change.after is not None
        for kind, body in rules.companions(change):
            adopts = keep or rules.adopts_companions
            if adopts and await draft.find(Name(kind, tuple(body["fq_name"]))) is not None:
                continue
            # It gets the resource's owner: an administrator may have created the resource for another project.
            # One that was written straight into etcd may lack it.
            owner = (change.after.get("perms2") or {}).get("owner") or caller.project_id
            server = caller._replace(privileged=True, project_id=owner)
            await self.create(draft, self._schema.kind(kind), body, server)


def _fields_of(paths: Sequence[str]) -> frozenset[str]:
    return frozenset(path.partition(".")[0] for path in paths)


def _masked(before: Document, document: Document, paths: Sequence[str]) -> tuple[Document, frozenset[str]]:
    """The fields to write so that only the values at ``paths`` (``a``, ``a.b``) become those of ``document``."""
    fields = _fields_of(paths)
    result: Document = {}
    for path in paths:
        field, _, inner = path.partition(".")
        if not inner:
            result[field] = document.get(field)
            continue
        result.setdefault(field, before.get(field))
        result[field] = _with_path(result[field], document.get(field), inner.split("."))
    return {field: value for field, value in result.items() if value is not None}, fields


def _with_path(old: Any, new: Any, path: list[str]) -> Any:
    if not path:
        return new
    old_inner = old.get(path[0]) if isinstance(old, dict) else None
    new_inner = new.get(path[0]) if isinstance(new, dict) else None
    merged = dict(old) if isinstance(old, dict) else {}
    value = _with_path(old_inner, new_inner, path[1:])
    if value is None:
        merged.pop(path[0], None)
    else:
        merged[path[0]] = value
    return merged
