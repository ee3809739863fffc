"""The API server on plain values: docs/contrail.md B.1, B.2 and B.6 as async methods, without HTTP.

Why it exists: ``app.py`` serves it over HTTP, ``kubernetes/`` as manifests, ``local.py`` in process; all must behave
the same. Each mutation is one compare-and-set transaction, so any number of servers may work on one etcd.

All state that outlives a call is in etcd, except the readiness and whether the server ends; a lock lets one call at a
time take numbers.
"""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import anyio

from intentc.model import Key, Kind, Name, Schema, kebab, snake
from intentc.watch.protocol import Store

from . import batch, cascading_deletion, collections, pools, queries, statuses
from .admission import NO_RULES, RULES, SETTINGS_POOLS
from .admission.fields import flat_body
from .admission.well_known import POOLS
from .authorization import READ, WRITE, Caller, Operation, Policy
from .collections import ElementUpdate
from .documents import Document
from .draft import Backend, Draft
from .errors import ApiError, BadRequest, Malformed, NotFound
from .health import Readiness
from .index.follower import Follower
from .layout import Layout
from .mutation import Fence, Mutator
from .permissions import Access, Permissions
from .pools import DEFAULT_PERCENT
from .queries import WHOLE, Query, View
from .references import ReferenceUpdate
from .resources import NO_CONDITION, Condition, Resources
from .secrets import Secrets
from .sources import RandomSource, Source

Result = TypeVar("Result")

DEFAULT_MAX_TXN_OPS = 128
"""etcd's own default of --max-txn-ops."""


class Answer(NamedTuple):
    """A document, and the revision that the mutation made (of a read: at which the resource was written last)."""

    document: Document
    revision: int


class Call(NamedTuple):
    """Who makes a call, and on which conditions it writes."""

    caller: Caller = Caller()
    condition: Condition = NO_CONDITION
    fence: Fence | None = None


ANYONE, ANY_CALL = Caller(), Call()


class ApiServer:
    """Resources of ``schema`` under ``/<path>/`` in ``store``.

    ``max_txn_ops``: the operations that etcd takes in one transaction; a mutation that needs more is rejected (413).
    ``source``: generates uuids and times. ``policy``: what callers may do; by default everything. ``pool_share``:
    percent of the numbers of a pool that one project may hold. ``secrets``: seals those in resources; by default they
    are stored as they are. All methods raise subclasses of ``ApiError``.
    """

    def __init__(
        self,
        store: Store,
        schema: Schema,
        *,
        path: str = "contrail",
        max_txn_ops: int = DEFAULT_MAX_TXN_OPS,
        source: Source | None = None,
        policy: Policy | None = None,
        pool_share: float = DEFAULT_PERCENT,
        secrets: Secrets | None = None,
    ) -> None:
        self.schema = schema
        self.max_txn_ops = max_txn_ops
        self.store = store
        self.permissions = Permissions(schema, policy or Policy())
        self.source = source or RandomSource()
        self.secrets = secrets or Secrets()
        self.resources = Resources(schema, self.source, self.permissions)
        self.layout = Layout(path)
        self._mutator = Mutator(Backend(store, schema, self.layout, max_txn_ops, pool_share, self.secrets))
        self._sweep = cascading_deletion.Sweep()
        self.readiness = Readiness(store, path)
        self.follower = Follower(store, schema, self.layout, max_txn_ops, self._mutator.own, self._mutator.large)
        # Set when the server drains: answers that would go on, as watches do, end then.
        self.is_ending = anyio.Event()
        # Two requests of this process that allocate from one pool would only fail each other's transaction.
        self._allocating: anyio.Lock | None = anyio.Lock()

    def over(
        self,
        store: Store,
        *,
        most_read: int | None = None,
        pause: Callable[[float], Awaitable[None]] | None = None,
    ) -> ApiServer:
        """The same server over ``store``, which is another way to the same etcd. ``most_read``: as of a ``Reading``.
        ``pause``: waits outside of the event loop, where nobody waits for a turn to take numbers."""
        other = copy.copy(self)
        other.store = store
        other._mutator = self._mutator.over(store, most_read, pause)
        other._allocating = None if pause is not None else self._allocating
        return other

    def kind(self, name: str) -> Kind:
        """A served kind by its name, in kebab-case or snake_case. Raises ``BadRequest``."""
        kind = self.schema.by_path(name) or self.schema.kinds.get(snake(name))
        if kind is None or not kind.stored:
            raise BadRequest(f"invalid kind {name!r}: this server has no such kind")
        return kind

    async def may_read(self, kind: Kind, caller: Caller) -> None:
        """Raise ``Forbidden`` if the caller may read nothing of the kind; called before parameters are read."""
        (await self.permissions.access(self.draft(), caller)).rule(kind, Operation.READ)

    async def may_write(self, target: Key | Name, caller: Caller, *operations: Operation) -> None:
        """Raise ``Forbidden`` if the caller may do none of ``operations`` with a resource, whatever the body says;
        called before the body is read. ``target``: an absent resource, or the kind alone, is one to be created.
        """
        draft, kind = self.draft(), self.schema.kind(target.kind)
        access = await self.permissions.access(draft, caller)
        if access.all:
            return
        access.rule_for_any(kind, operations)
        uuid = await draft.find(target) if isinstance(target, Name) else target.uuid
        document = await draft.readable(Key(kind.name, uuid)) if uuid else None
        if document is not None:
            access.on(Key(kind.name, uuid or ""), document, WRITE)

    def draft(self) -> Draft:
        """An empty draft, for reads."""
        return Draft(self._mutator.backend)

    async def commit(
        self,
        work: Callable[[Draft], Awaitable[Result]],
        *kinds: str,
        fence: Fence | None = None,
        allocates: bool = False,
        single: bool = True,
        dry_run: bool = False,
    ) -> tuple[Result, int]:
        """Commit what ``work`` changes of resources of ``kinds``. ``allocates``: from a pool, whatever the kinds are;
        for the rest see ``Mutator.commit``."""
        allocates = allocates or any(RULES.get(kind, NO_RULES).allocates for kind in kinds)
        turn = self._allocating if allocates else None
        return await self._mutator.commit(work, fence, turn=turn, single=single, dry_run=dry_run)

    async def create(self, kind: str, body: Any, *, relaxed: Sequence[str] = (), call: Call = ANY_CALL) -> Answer:
        """Create a resource from ``body`` (its fields); returns it as stored.

        ``relaxed``: uuids of targets whose deletion its references must not block.
        """
        found = self.kind(kind)
        fields = flat_body(found, body).fields
        item = batch.Item(0, found, batch.CREATE, fields, fields, call.condition)

        async def work(draft: Draft) -> tuple[Document, Access]:
            if batch.is_readable(fields):
                await batch.gather_reads(draft, [item])
            created = await self.resources.create(draft, found, body, call.caller, call.condition)
            await self.resources.relax(draft, Key(found.name, created["uuid"]), relaxed)
            return created, await self.permissions.access(draft, call.caller)

        (created, access), revision = await self.commit(work, found.name, fence=call.fence)
        return Answer(self.secrets.shown(found, created, access.sight()), revision)

    async def get(self, key: Key, view: View = WHOLE, *, caller: Caller = ANYONE) -> Answer:
        """One resource, with the back references and children that the caller may read, as far as in ``view``."""
        draft = self.draft()
        access = await self.permissions.access(draft, caller)
        access.rule(self.schema.kind(key.kind), Operation.READ)
        return Answer(*await queries.show(draft, key, access, view))

    async def update(
        self,
        key: Key,
        body: Any,
        *,
        paths: Sequence[str] | None = None,
        relaxed: Sequence[str] = (),
        call: Call = ANY_CALL,
    ) -> Answer:
        """Write the fields in ``body``, or those at ``paths``; returns the written fields and the uuid. ``relaxed``: as
        of ``create``."""

        async def work(draft: Draft) -> tuple[Document, Access]:
            written = await self.resources.update(draft, key, body, call.caller, call.condition, paths)
            await self.resources.relax(draft, key, relaxed)
            return written, await self.permissions.access(draft, call.caller)

        (written, access), revision = await self.commit(work, key.kind, fence=call.fence)
        return Answer(self.secrets.shown(self.schema.kind(key.kind), written, access.sight()), revision)

    async def update_status(
        self, key: Key, body: Any, *, items: Sequence[str] | None = None, call: Call = ANY_CALL
    ) -> Answer:
        """Write the status in ``body`` (``{"status": …}``), or only these items of it; nothing else of the resource
        changes. Returns ``{"uuid", "status"}``."""
        update = statuses.parse(self.schema.kind(key.kind), body, items)
        return Answer(
            *await self.commit(
                lambda draft: statuses.write(draft, self.resources, key, update, call.caller, call.condition),
                key.kind,
                fence=call.fence,
            )
        )

    async def delete(self, key: Key, *, call: Call = ANY_CALL) -> int:
        """Delete a resource without holders, and its own references with it; returns the revision."""
        _, revision = await self.commit(
            lambda draft: self.resources.delete(draft, key, call.caller, call.condition), key.kind, fence=call.fence
        )
        return revision

    async def find(self, kind: str, query: Query, *, caller: Caller = ANYONE) -> list[Document]:
        """The resources of a kind that match ``query`` and that the caller may read, by uuid."""
        draft, found = self.draft(), self.kind(kind)
        access = await self.permissions.access(draft, caller)
        access.rule(found, Operation.READ)
        return await queries.find(draft, found, query, access)

    async def unreadable(self, kind: str, *, caller: Caller = ANYONE) -> list[Document]:
        """The stored values of a kind that can't be read: ``{"uuid", "fq_name", "message"}`` each.

        Their owners are unknown, so callers that may not read everything get none.
        """
        draft, found = self.draft(), self.kind(kind)
        access = await self.permissions.access(draft, caller)
        return await queries.unreadable(draft, found) if access.reads_all else []

    async def update_reference(self, update: ReferenceUpdate, *, call: Call = ANY_CALL) -> int:
        """Add, change or remove one reference; idempotent. Returns the revision at which the result holds."""
        kind = self.kind(update.holder.kind)
        if update.relation not in kind.relations:
            raise BadRequest(
                f"invalid kind {kebab(kind.name)!r} and {kebab(update.relation)!r}: no such reference; "
                f"there are {', '.join(sorted(map(kebab, kind.relations)))}"
            )
        _, revision = await self.commit(
            lambda draft: self.resources.update_reference(draft, update, call.caller, call.condition),
            kind.name,
            fence=call.fence,
        )
        return revision

    async def relax_reference(self, holder: str, target: str, *, call: Call = ANY_CALL) -> int:
        """Stop the reference of ``holder`` to ``target`` (uuids) from blocking the target's deletion."""

        async def work(draft: Draft) -> None:
            key = await self._known(draft, holder)
            document = await self.resources.existing(draft, key)
            await self.resources.may_update(draft, key, document, frozenset(), call.caller)
            await self.resources.relax(draft, key, [target])

        return (await self.commit(work, fence=call.fence))[1]

    async def identify(self, kind: str, fq_name: Sequence[str], *, caller: Caller = ANYONE) -> str:
        """The uuid of the resource with this name. Raises ``NotFound``."""
        draft, name = self.draft(), Name(self.kind(kind).name, tuple(fq_name))
        uuid = await draft.find(name)
        await self._may_read(draft, Key(name.kind, uuid or ""), caller)
        if uuid is None:
            raise NotFound(f"there is no {kebab(name.kind)} {':'.join(fq_name)}")
        return uuid

    async def name_of(self, uuid: str, *, caller: Caller = ANYONE) -> Name:
        """Kind and fq_name of a uuid. Raises ``NotFound``."""
        draft = self.draft()
        key = await self._known(draft, uuid)
        await self._may_read(draft, key, caller)
        try:
            fq_name = await draft.fq_name(key)
        except Malformed:
            known = await draft.identity(uuid)
            fq_name = known.fq_name if known is not None else None
        if fq_name is None:
            raise NotFound(f"there is no resource {uuid}")
        return Name(key.kind, fq_name)

    async def collections(
        self, uuid: str, fields: Sequence[str], position: str = "", *, caller: Caller = ANYONE
    ) -> dict[str, list[list[Any]]]:
        """Field → ``[element, position]`` of each element of these properties, or of the one at ``position``."""
        draft = self.draft()
        key = await self._known(draft, uuid)
        access, kind = await self._may_read(draft, key, caller), self.schema.kind(key.kind)
        document = self.secrets.shown(kind, await self.resources.existing(draft, key), access.sight())
        return collections.read(kind, document, fields, position)

    async def update_collections(self, uuid: str, updates: Sequence[ElementUpdate], *, call: Call = ANY_CALL) -> int:
        """Change single elements of properties that are maps or lists; returns the revision."""

        async def work(draft: Draft) -> None:
            key = await self._known(draft, uuid)
            before = await self.resources.existing(draft, key)
            changed = frozenset(update.field for update in updates)
            # Before the updates are applied: an error would say what the resource holds.
            await self.resources.may_update(draft, key, before, changed, call.caller)
            after = collections.apply(self.schema.kind(key.kind), before, updates)
            await self.resources.replace(draft, key, before, after, changed, call.caller)

        return (await self.commit(work, fence=call.fence))[1]

    async def sync(self, elements: Any, *, call: Call = ANY_CALL) -> tuple[list[batch.Applied], int]:
        """Carry out ``[{"kind", "operation", "data", "if_match"?, "if_none_match"?, "relaxed"?,
        "field_mask"?, "mirror"?}]`` in one transaction.

        All items or none are applied. Returns what was done, in order, and the revision.
        """
        items = batch.parse(self.schema, elements)

        async def work(draft: Draft) -> tuple[list[batch.Applied], Access]:
            applied = await batch.apply(draft, self.resources, items, call.caller)
            return applied, await self.permissions.access(draft, call.caller)

        kinds = {item.kind.name for item in items}
        try:
            (applied, access), revision = await self.commit(work, *kinds, fence=call.fence, single=len(items) == 1)
        except ApiError as error:
            raise batch.blame(items, error) from None
        return [
            one._replace(data=self.secrets.shown(self.kind(one.kind), one.data, access.sight())) for one in applied
        ], revision

    async def create_pool(self, pool: str, start: int, end: int, *, fence: Fence | None = None) -> int:
        """Create the pool, or add the range [start, end) to it; returns the revision."""
        return (await self.commit(lambda draft: pools.create(draft, pool, start, end), fence=fence))[1]

    async def ensure_pool(self, pool: str, start: int, end: int) -> None:
        """Create the pool; one that is a single range from ``start`` is extended to ``end``, others stay."""

        async def work(draft: Draft) -> None:
            ranges = await pools.ranges(draft, pool)
            if not ranges:
                await pools.create(draft, pool, start, end)
            elif len(ranges) == 1 and ranges[0][0] == start and ranges[0][1] < end:
                await pools.create(draft, pool, ranges[0][1], end)

        await self.commit(work)

    async def drop_pool(self, pool: str, *, fence: Fence | None = None) -> int:
        """Delete a pool and its allocations; idempotent. Returns the revision."""
        return (await self.commit(lambda draft: pools.drop(draft, pool), fence=fence))[1]

    async def allocate(
        self, pool: str, owner: str = "", value: int | None = None, *, fence: Fence | None = None
    ) -> tuple[int, int]:
        """Allocate a number to ``owner``: its existing one, else ``value``, else the lowest free; with the revision."""

        async def work(draft: Draft) -> int:
            project = await pools.project_of_owner(draft, owner) if await pools.has_shares_of(draft, pool) else ""
            return await pools.allocate(draft, pool, owner, value, project=project)

        return await self.commit(work, fence=fence, allocates=True)

    async def free(self, pool: str, *, value: int | None = None, owner: str = "", fence: Fence | None = None) -> int:
        """Free a number, by value, owner or both; idempotent. Returns the revision."""
        _, revision = await self.commit(
            lambda draft: pools.free(draft, pool, value=value, owner=owner), fence=fence, allocates=True
        )
        return revision

    async def held(self, pool: str, owner_prefix: str) -> list[pools.Held]:
        """The allocations of all owners that begin with ``owner_prefix``, by pool (a family has several) and owner."""
        return await pools.held(self.draft(), pool, owner_prefix)

    async def pools(self) -> list[pools.Use]:
        """How many numbers of the installation's pools are taken, without those of families and addresses."""
        names = [pool for pool, _, _ in POOLS] + [pool for pool, _, _ in SETTINGS_POOLS]
        return await pools.use(self.draft(), names)

    async def owner_of(self, pool: str, value: int) -> str:
        """The owner of a number. Raises ``NotFound`` if it is free."""
        owner = await pools.owner_of(self.draft(), pool, value)
        if owner is None:
            raise NotFound(f"pool {pool}: {value} is free")
        return owner

    async def sweep(self) -> None:
        """Remove the references to deleted resources for which nothing was done since the call before."""
        for target in await self._sweep.due(self.draft()):
            await self._mutator.finish_deletion(target, everything=True)

    async def _may_read(self, draft: Draft, key: Key, caller: Caller) -> Access:
        """Require that the caller may read ``key``; with an empty uuid only the kind is checked.

        Reads nothing for callers that may read everything.
        """
        access = await self.permissions.access(draft, caller)
        access.rule(self.schema.kind(key.kind), Operation.READ)
        if key.uuid and not access.reads_all:
            access.on(key, await draft.readable(key) or {}, READ)
        return access

    async def _known(self, draft: Draft, uuid: str) -> Key:
        known = await draft.identity(uuid)
        if known is None or known.kind not in self.schema:
            raise NotFound(f"there is no resource {uuid}")
        return Key(known.kind, uuid)
