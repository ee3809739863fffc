"""Reads and writes single resources as manifests, by the API server's own mutations.

Why it exists: a client names a resource by namespace and name, sends and gets manifests, and often sends only a part or
a patch. Each change is computed inside the transaction that commits it, from the state that this requires, so a patch
never overwrites what somebody else has written meanwhile. ``lists`` reads many resources; ``routes`` speaks HTTP.
"""

from __future__ import annotations

import secrets
import string
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from intentc.model import Key, Name
from intentc.model.manifest import WHOLE_COPY

from ...apiserver import statuses
from ..api_server import ApiServer
from ..authorization import READ, Caller, Operation
from ..draft import Draft
from ..errors import NotFound
from .catalog import Catalog, Offered
from .options import DeleteOptions, WriteOptions
from .received import (
    applied_configuration,
    check_metadata,
    completed,
    stored_part,
    validated,
    with_encoded_data,
    with_generated_name,
)
from .server_side_apply import APPLY, UPDATE, Owner, apply, updated
from .shown import (
    Kept,
    Manifest,
    bare,
    changed_fields,
    decode_kept,
    last_applied,
    manifest,
    read_kept,
    stage_kept,
    with_server_fields,
)
from .status_errors import Answered, Invalid, deleted, rejections

_LETTERS = string.ascii_lowercase + string.digits
_RANDOM = 5
"""Characters that complete a ``generateName``."""


class Place(NamedTuple):
    """A resource as a URL names it; ``namespace`` is empty where there are none."""

    offered: Offered
    namespace: str
    name: str

    @property
    def fq_name(self) -> tuple[str, ...]:
        """As it is stored."""
        return (self.namespace, self.name) if self.offered.is_namespaced else (self.name,)


class Written(NamedTuple):
    """A resource after a write. ``unstored``: the fields that a client sent and that are not stored."""

    manifest: Manifest
    is_new: bool = False
    unstored: Sequence[str] = ()


_NOTHING: Sequence[str] = ()
Edit = Callable[[Manifest], Manifest]


class _Found(NamedTuple):
    key: Key
    manifest: Manifest
    kept: Kept


class KubernetesApi:
    """Single resources of ``server``, as manifests. All methods raise subclasses of ``ApiError``."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.catalog = Catalog(server.schema)

    async def get(self, place: Place, caller: Caller) -> Manifest:
        """A resource that the caller may read. Each namespace is there, also if nobody created it."""
        try:
            return (await self._found(self.server.draft(), place, caller)).manifest
        except NotFound:
            if place.offered.is_implied:
                return _implied(place)
            raise

    async def create(
        self, offered: Offered, namespace: str, given: Any, options: WriteOptions, caller: Caller
    ) -> Written:
        """Create a resource; ``metadata.generateName`` is completed to a name."""
        suffix = "".join(secrets.choice(_LETTERS) for _ in range(_RANDOM))
        sent = with_generated_name(completed(given, offered, namespace), suffix)
        if sent["metadata"].get("resourceVersion"):
            raise Answered(400, "BadRequest", "resourceVersion should not be set on objects to be created")
        sent, unstored = validated(offered, with_encoded_data(offered, sent), options.validation)
        check_metadata(offered, {}, sent["metadata"])
        place = Place(offered, namespace, str(sent["metadata"]["name"]))

        async def work(draft: Draft) -> Manifest:
            return await self._create(draft, place, sent, options, caller, UPDATE)

        return Written(await self._transacted(place, work, options.dry_run), True, unstored)

    async def replace(self, place: Place, given: Any, options: WriteOptions, caller: Caller) -> Written:
        """Replace a resource by ``given`` (PUT). Most kinds need a ``resourceVersion``."""
        sent = completed(given, place.offered, place.namespace, place.name)
        if not sent["metadata"].get("resourceVersion") and place.offered.needs_version:
            raise Invalid("must be specified for an update", "metadata.resourceVersion")

        def edit(before: Manifest) -> Manifest:
            if last_applied(sent) or not last_applied(before):
                return sent
            # Clients that read resources by a list or a watch have not seen it.
            return _with_last_applied(sent, last_applied(before))

        return await self.change(place, edit, options, caller)

    async def change(self, place: Place, edit: Edit, options: WriteOptions, caller: Caller) -> Written:
        """Change a resource to what ``edit`` makes of it."""
        unstored: Sequence[str] = ()

        async def work(draft: Draft) -> Manifest:
            nonlocal unstored
            if place.offered.is_implied and await draft.find(Name(place.offered.kind.name, place.fq_name)) is None:
                made = completed(edit(_implied(place)), place.offered, place.namespace, place.name)
                check_metadata(place.offered, {}, made["metadata"])
                return await self._create(draft, place, made, options, caller, UPDATE)
            found = await self._found(draft, place, caller)
            after = completed(edit(found.manifest), place.offered, place.namespace, place.name)
            if options.subresource:
                await self._write_status(draft, place, found, after, caller)
                await self._note_owner(draft, place, found, last_applied(found.manifest), options)
                return await self._shown(draft, place.offered, found.key)
            after, unstored = validated(place.offered, with_encoded_data(place.offered, after), options.validation)
            await self._store(draft, place, found, after, caller)
            await self._note_owner(draft, place, found, last_applied(after), options)
            # Without its last finalizer a resource that is being deleted is gone.
            is_gone = await draft.document(found.key) is None
            return after if is_gone else await self._shown(draft, place.offered, found.key)

        now = await self._transacted(place, work, options.dry_run)
        return Written(now, unstored=unstored)

    async def apply(self, place: Place, given: Any, options: WriteOptions, caller: Caller) -> Written:
        """Apply a configuration (server-side apply), or its status."""
        sent, unstored = applied_configuration(given, place.offered, place.namespace, place.name), _NOTHING
        if not options.subresource:
            sent, unstored = validated(place.offered, with_encoded_data(place.offered, sent), options.validation)
        is_new = False

        async def work(draft: Draft) -> Manifest:
            nonlocal is_new
            name = Name(place.offered.kind.name, place.fq_name)
            is_new = not options.subresource and await draft.find(name) is None
            if is_new:
                check_metadata(place.offered, {}, sent["metadata"])
                return await self._create(draft, place, sent, options, caller, APPLY)
            found = await self._found(draft, place, caller)
            text = found.kept.last_applied
            if options.subresource:
                configuration = {part: one for part, one in sent.items() if part in ("apiVersion", "kind", "status")}
            else:
                configuration, text = stored_part(place.offered, bare(sent)), last_applied(sent) or text
            applied = apply(
                bare(found.manifest),
                configuration,
                found.kept.entries,
                Owner(options.manager, APPLY, options.subresource),
                place.offered.forms,
                now=self._now(),
                force=options.force,
            )
            if options.subresource:
                await self._write_status(draft, place, found, applied.manifest, caller)
            else:
                version = {"resourceVersion": sent["metadata"].get("resourceVersion")}
                after = {**applied.manifest, "metadata": {**applied.manifest["metadata"], **version}}
                await self._store(draft, place, found, after, caller)
            await stage_kept(draft, found.key, found.kept, Kept(applied.entries, text))
            return await self._shown(draft, place.offered, found.key)

        now = await self._transacted(place, work, options.dry_run)
        return Written(now, is_new, unstored)

    async def delete(self, place: Place, options: DeleteOptions, caller: Caller) -> Manifest:
        """Delete a resource. Returns a ``Status``; the resource while finalizers keep it, and of some kinds always."""

        async def work(draft: Draft) -> Manifest:
            found = await self._found(draft, place, caller)
            metadata = found.manifest["metadata"]
            for what, wanted, there in (
                ("UID", options.uid, metadata["uid"]),
                ("ResourceVersion", options.resource_version, metadata["resourceVersion"]),
            ):
                if wanted and wanted != there:
                    raise Answered(
                        409,
                        "Conflict",
                        f"the {what} in the precondition ({wanted}) does not match the {what} of the object ({there})",
                    )
            await self.server.resources.delete(draft, found.key, caller)
            if await draft.document(found.key) is not None:
                return await self._shown(draft, place.offered, found.key)
            if place.offered.returns_deleted:
                return found.manifest
            return deleted(place.offered, place.name, metadata["uid"])

        return await self._transacted(place, work, options.dry_run)

    async def _transacted(self, place: Place, work: Callable[[Draft], Awaitable[Manifest]], dry_run: bool) -> Manifest:
        """What ``work`` returns, with the revision of the commit if that changed the resource itself; after a dry run
        it keeps its version, if it had one."""
        kind = place.offered.kind.name

        async def with_revision(draft: Draft) -> tuple[Manifest, int]:
            found = await work(draft)
            return found, await _revision(draft, Key(kind, found["metadata"].get("uid", "")))

        (found, former), revision = await self.server.commit(with_revision, kind, dry_run=dry_run)
        if "uid" in found["metadata"]:
            version = str(former if dry_run else revision)
            if version != "0":
                found["metadata"].setdefault("resourceVersion", version)
        return found

    async def _found(self, draft: Draft, place: Place, caller: Caller) -> _Found:
        """A resource that exists and that the caller may read. Raises ``NotFound``, ``Forbidden``, ``Malformed``."""
        kind = place.offered.kind
        access = await self.server.permissions.access(draft, caller)
        access.rule(kind, Operation.READ)
        uuid = await draft.find(Name(kind.name, place.fq_name))
        key = Key(kind.name, uuid or "")
        document = await draft.document(key) if uuid is not None else None
        if document is None:
            raise NotFound(f"there is no {kind.name} {':'.join(place.fq_name)}")
        access.on(key, document, READ)
        kept = await read_kept(draft, key)
        return _Found(key, manifest(place.offered, document, await _revision(draft, key), kept), kept)

    async def _shown(self, draft: Draft, offered: Offered, key: Key) -> Manifest:
        """A staged resource; without resource version if it changes, since that is known after the commit."""
        document = await draft.document(key)
        assert document is not None
        raw = await draft.read(draft.layout.beside(key))
        kept = decode_kept(raw, draft.layout.beside(key)) if raw is not None else None
        found = manifest(offered, document, await _revision(draft, key), kept)
        staged = draft.staged.get(key)
        if staged is not None and staged.before != staged.after:
            del found["metadata"]["resourceVersion"]
        return found

    async def _create(
        self, draft: Draft, place: Place, sent: Manifest, options: WriteOptions, caller: Caller, operation: str
    ) -> Manifest:
        kind = place.offered.kind
        access = await self.server.permissions.access(draft, caller)
        access.rule(kind, Operation.CREATE)
        if await draft.find(Name(kind.name, place.fq_name)) is not None:
            raise Answered(409, "AlreadyExists", f'{place.offered.qualified} "{place.name}" already exists')
        body = bare(sent)
        # A copied manifest has the uid of the original. Its status is the controllers'.
        uid = self.server.source.uuid(Name(kind.name, place.fq_name))
        body = {**body, "metadata": {**body["metadata"], "uid": uid}}
        body.pop("status", None)
        with rejections(place.offered, sent):
            created = await self.server.resources.create(draft, kind, body, caller)
        key = Key(kind.name, created["uuid"])
        fresh = manifest(place.offered, created, 0)
        owner, forms = Owner(options.manager, operation), place.offered.forms
        if operation == APPLY:
            entries = apply({}, stored_part(place.offered, body), (), owner, forms, now=self._now()).entries
        else:
            entries = updated({}, bare(fresh), (), owner, forms, now=self._now())
        await stage_kept(draft, key, await read_kept(draft, key), Kept(entries, last_applied(sent)))
        return await self._shown(draft, place.offered, key)

    async def _write_status(self, draft: Draft, place: Place, found: _Found, after: Manifest, caller: Caller) -> None:
        """Stage the status of ``after``, and nothing else of it."""
        after = with_server_fields(found.manifest, after)
        with rejections(place.offered, after):
            update = statuses.parse(place.offered.kind, {"status": after.get("status") or {}}, None)
            await statuses.write(draft, self.server.resources, found.key, update, caller)

    async def _note_owner(
        self, draft: Draft, place: Place, found: _Found, last_applied: str, options: WriteOptions
    ) -> None:
        """Stage who owns the fields that a change, which is no application, has staged."""
        if await draft.document(found.key) is None:
            return
        now = await self._shown(draft, place.offered, found.key)
        entries = updated(
            bare(found.manifest),
            bare(now),
            found.kept.entries,
            Owner(options.manager, UPDATE, options.subresource),
            place.offered.forms,
            now=self._now(),
        )
        await stage_kept(draft, found.key, found.kept, Kept(entries, last_applied))

    async def _store(self, draft: Draft, place: Place, found: _Found, after: Manifest, caller: Caller) -> None:
        """Stage the stored form of ``after``."""
        after = with_server_fields(found.manifest, after)
        check_metadata(place.offered, found.manifest["metadata"], after["metadata"])
        fields = changed_fields(place.offered, found.manifest, after)
        with rejections(place.offered, after):
            await self.server.resources.update(draft, found.key, fields, caller, paths=sorted(fields))

    def _now(self) -> str:
        return f"{self.server.source.now().partition('.')[0]}Z"


async def _revision(draft: Draft, key: Key) -> int:
    item = await draft.reading.item(draft.layout.value(key))
    return item.mod_revision if item is not None else 0


def _implied(place: Place) -> Manifest:
    """A resource that nobody created."""
    return {
        "apiVersion": place.offered.api_version,
        "kind": place.offered.name,
        "metadata": {"name": place.name},
        "status": {"phase": "Active"},
    }


def _with_last_applied(given: Manifest, text: str) -> Manifest:
    metadata = given["metadata"]
    annotations = {**(metadata.get("annotations") or {}), WHOLE_COPY: text}
    return {**given, "metadata": {**metadata, "annotations": annotations}}
