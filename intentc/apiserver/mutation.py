"""Commits a draft at once or not at all, and has it staged anew while other writers are faster.

Why it exists: here the rules check the whole draft (``rule_execution``), the index is derived from the values, and the
fence is compared in the transaction that writes the resources. A draft that needs more operations than etcd takes in
one transaction is committed by ``large_commit``; ``cascading_deletion`` says what follows from deletions, also
afterwards. Nothing else writes values to the store. A dry run does everything except the commit.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar

import anyio
import anyio.from_thread

from intentc.model import Key, Name
from intentc.model.limits import LARGEST_VALUE
from intentc.reconcile.failures import Failure
from intentc.watch.keys import leader_key
from intentc.watch.protocol import Compare, Delete, Operation, Put, Relation, RequestTooLarge, Store, Target

from . import cascading_deletion, rule_execution
from .documents import Document, encode, referred
from .draft import Backend, Draft, Staged
from .errors import ApiError, BadRequest, Busy, Conflict, PreconditionFailed, TooLarge, from_store, shortened
from .index.entries import name_entries, relation_entries, relaxed_entry
from .index.follower import OwnWrites
from .integers import parse_integer
from .large_commit import LargeCommits
from .layout import REFERENCE, Holder

Result = TypeVar("Result")

_ATTEMPTS = 200
_LONGEST_PAUSE_SECONDS = 0.05


class Fence(NamedTuple):
    """``X-Intentc-Fence: <installation>/<revision>``: write only while the leader's key has that create revision.

    No key has revision 0, so ``X/0`` never holds.
    """

    installation: str
    revision: int

    def __str__(self) -> str:
        return f"{self.installation}/{self.revision}"

    def compare(self) -> Compare:
        """True while the leader's key is the fence's."""
        return Compare(leader_key(self.installation), Target.CREATE_REVISION, Relation.EQUAL, self.revision)

    @classmethod
    def parse(cls, text: str) -> Fence:
        """Parse the header. Raises ``BadRequest``."""
        installation, _, digits = text.rpartition("/")
        revision = parse_integer(digits)
        if not installation or revision is None:
            raise BadRequest(
                f"X-Intentc-Fence is {shortened(text)!r}; give <installation>/<create revision of the leader's key>"
            )
        return cls(installation, revision)


class Mutator:
    """Commits drafts. ``own``: the revisions of what was committed here."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.large = LargeCommits(backend.store, backend.layout, backend.limit)
        self.own = OwnWrites()
        self.in_loop = True

    def over(
        self, store: Store, most_read: int | None = None, pause: Callable[[float], Awaitable[None]] | None = None
    ) -> Mutator:
        """The same over another way to the store. ``most_read``: as of a ``Reading``. ``pause``: waits for seconds
        outside of the event loop, in which large commits are carried out nevertheless."""
        other = copy.copy(self)
        other.backend = self.backend._replace(store=store, most_read=most_read, pause=pause or self.backend.pause)
        other.in_loop = pause is None and self.in_loop
        return other

    async def commit(
        self,
        work: Callable[[Draft], Awaitable[Result]],
        fence: Fence | None = None,
        *,
        turn: anyio.Lock | None = None,
        single: bool = True,
        dry_run: bool = False,
    ) -> tuple[Result, int]:
        """Commit what ``work`` stages on a draft. Returns its result, and the revision at which that holds.

        ``work`` is called again, with a new draft, until no other writer is faster; if it raises, nothing is written.
        ``turn``: held during each attempt. ``single``: it changes one resource, with what follows from that, and may be
        larger than a transaction. ``dry_run``: nothing is written, but everything is checked that can be without it.

        Raises ``TooLarge``, ``PreconditionFailed`` (fence), ``Busy``, ``OutcomeUnknown``, and what ``work`` and the
        rules of the kinds raise.
        """
        turns = [turn] if turn is not None else []
        for attempt in range(_ATTEMPTS):
            if attempt:
                # Another writer changed what was read. With many writers a random pause lets one of them succeed.
                longest = min(_LONGEST_PAUSE_SECONDS, 0.0005 * (attempt - 1))
                await self.backend.pause(random.uniform(0, longest))  # noqa: S311
            draft = Draft(self.backend)
            async with AsyncExitStack() as held:
                for each in turns:
                    await held.enter_async_context(each)
                try:
                    if fence is not None and fence.revision < 1:
                        # For etcd an absent key has create revision 0: the compare would hold while nobody leads.
                        await _check_fence(draft, fence)
                    result = await work(draft)
                    await rule_execution.verify(draft)
                    revision = await self._commit(draft, fence, turns, single=single, dry_run=dry_run)
                except ApiError:
                    if fence is not None:
                        # A former leader must learn that it is one, whatever else is wrong with its request.
                        await _check_fence(draft, fence)
                    raise
            if revision is not None:
                for target in draft.deferred if not dry_run else ():
                    # The resource is deleted: what can't be done now is no failure of the request.
                    with suppress(ApiError):
                        await self.finish_deletion(target)
                return result, revision
        raise Busy(f"{_ATTEMPTS} times others changed what this request reads; try again")

    async def finish_deletion(self, target: Key, *, everything: bool = False) -> None:
        """Remove the references to a deleted resource that are left. ``everything``: also those of compilers."""
        # The deletion is committed: the call must not begin again because this reads much.
        mutator = copy.copy(self)
        mutator.backend = self.backend._replace(most_read=None)
        entries = Draft(mutator.backend)
        remaining, is_all = await cascading_deletion.remaining(entries, target, everything=everything)
        while remaining:
            count = await cascading_deletion.fitting(entries, remaining)
            await mutator.commit(partial(cascading_deletion.release, entries=remaining[:count], target=target))
            remaining = remaining[count:]
        if is_all:
            await mutator.commit(partial(cascading_deletion.forget, target=target))

    async def _commit(
        self, draft: Draft, fence: Fence | None, turns: list[anyio.Lock], *, single: bool, dry_run: bool
    ) -> int | None:
        """The revision of the commit; None if another writer was faster. ``turns``: those that are held; the one of
        large commits is added if the next attempt needs it."""
        await cascading_deletion.settle(draft)
        operations, newest = await _operations(draft)
        if not operations and fence is None:
            return newest
        fences = [fence.compare()] if fence is not None else []
        large, limit = self.large, self.backend.limit
        compares = [large.is_absent, *fences, *draft.compares.values()]
        count = max(len(compares), len(operations))
        if count > limit and not single:
            raise TooLarge(
                f"this request needs {count} operations in one transaction, the limit is {limit}; split it, "
                f"or start etcd with a larger --max-txn-ops and set intentc.limits.max_txn_ops to the same"
            )
        if dry_run:
            return newest
        revision: int | None = None
        try:
            if count > limit:
                parts = large.divide(draft.compares, operations)
                revision = await self._in_loop(large.commit, parts, fences, large.turn in turns)
            else:
                answer = await self.backend.store.transaction(compares, operations, [large.is_there])
                if answer.succeeded:
                    revision = answer.revision if operations else newest
                elif answer.results[0]:
                    # A large commit is under way. The next attempt waits for its turn among those of this process.
                    await self._in_loop(large.wait, answer.results[0][0])
                    if self.in_loop and large.turn not in turns:
                        turns.append(large.turn)
        except RequestTooLarge as error:
            raise TooLarge(
                f"this request writes {_size(operations):,} bytes in {len(operations)} operations, and etcd takes "
                f"fewer in one transaction (--max-request-bytes, by default {LARGEST_VALUE:,}): {error}; split it"
            ) from error
        except Failure as error:
            raise from_store(error, writing=True) from error
        if revision is not None and operations:
            self.own.note(revision)
        if revision is None and fence is not None:
            await _check_fence(draft, fence)
        return revision

    async def _in_loop(self, function: Callable[..., Coroutine[Any, Any, Result]], *arguments: Any) -> Result:
        """Run a function in the event loop."""
        if self.in_loop:
            return await function(*arguments)
        return anyio.from_thread.run(function, *arguments)


async def _check_fence(draft: Draft, fence: Fence) -> None:
    leader = await draft.reading.item(leader_key(fence.installation))
    if leader is not None and leader.create_revision == fence.revision:
        return
    found = f"has create revision {leader.create_revision}" if leader else "does not exist: nobody leads"
    raise PreconditionFailed(f"fence {shortened(str(fence))} is over: the leader's key {found}")


async def _operations(draft: Draft) -> tuple[list[Operation], int]:
    """The puts and deletes of a draft, resources first, and the revision at which its result holds if there are none.

    That is the revision of the resources that it leaves unchanged, otherwise that of its reads.
    """
    newest = 0
    values: list[Operation] = []
    await draft.reading.load(draft.index_keys())
    for key, staged in draft.staged.items():
        where = draft.layout.value(key)
        item = await draft.reading.item(where)
        if staged.before == staged.after and staged.after is not None and item is not None and key not in draft.older:
            newest = max(newest, item.mod_revision)
            await draft.guard(where)
            continue
        if item is None and staged.after is None:
            continue
        await draft.guard(where)
        if staged.after is None:
            values.append(Delete(where))
        else:
            # What a server without the key wrote is sealed with the first change of the resource.
            sealed = draft.secrets.sealed(draft.schema.kind(key.kind), staged.after)
            values.append(Put(where, _value(key, staged, sealed)))
        await _index_name(draft, key, staged)
        _index_relations(draft, key, staged)
    await _index_relaxed(draft)
    for name, value in draft.writes.items():
        values.append(Put(name, value) if value is not None else Delete(name))
    return values, newest or draft.reading.revision


def _value(key: Key, staged: Staged, document: Document) -> bytes:
    value = encode(document)
    if len(value) > LARGEST_VALUE:
        raise TooLarge(
            f"the resource has {len(value):,} bytes as JSON, and {LARGEST_VALUE:,} are the most that etcd takes; split "
            f"it into several",
            key=key if staged.before is not None else Name(key.kind, tuple(document["fq_name"])),
        )
    return value


def _size(operations: Sequence[Operation]) -> int:
    """The bytes of all keys and values."""
    return sum(len(one.key.encode()) + (len(one.value) if isinstance(one, Put) else 0) for one in operations)


async def _index_name(draft: Draft, key: Key, staged: Staged) -> None:
    """Stage the entries of the name of a resource that is created or deleted; names of others don't change."""
    if staged.before is not None and staged.after is not None:
        return
    identity = draft.layout.identity(key.uuid)
    await draft.guard(identity)
    former = await _former_name(draft, key, staged)
    if former is not None:
        index = draft.layout.name(former)
        item = await draft.reading.item(index)
        # A copy that was written to etcd by hand must not free the holder's name when it is deleted.
        if item is not None and item.value == key.uuid.encode():
            await draft.guard(index)
            draft.drop(index)
    if staged.after is None:
        draft.drop(identity)
        if draft.schema.kind(key.kind).written_as_manifests:
            draft.drop(draft.layout.beside(key))
        return
    for entry, value in name_entries(draft.layout, key, staged.after).items():
        await draft.guard(entry)
        draft.put(entry, value)


async def _former_name(draft: Draft, key: Key, staged: Staged) -> Name | None:
    if staged.before is not None:
        return Name(key.kind, tuple(staged.before["fq_name"]))
    # Its value is unreadable or absent; the index still has its name.
    found = await draft.identity(key.uuid)
    return found if found is not None and found.kind == key.kind else None


def _index_relations(draft: Draft, key: Key, staged: Staged) -> None:
    kind, layout = draft.schema.kind(key.kind), draft.layout
    before = relation_entries(layout, kind, key, staged.before) if staged.before else {}
    after = relation_entries(layout, kind, key, staged.after) if staged.after else {}
    for entry in before:
        if entry not in after:
            draft.drop(entry)
            # It may have been relaxed since.
            if relaxed := relaxed_entry(layout, entry):
                draft.drop(relaxed)
    name = encode(staged.after["fq_name"]) if staged.after else b""
    for entry, target in after.items():
        if entry in before:
            continue
        draft.put(entry, name)
        other = draft.staged.get(target)
        if other is None:
            draft.guard_present(layout.value(target))
        elif other.after is None:
            raise Conflict(f"{key} refers to {target}, which this request deletes", key=key)


async def _index_relaxed(draft: Draft) -> None:
    """Move index entries of relaxed references from those that block deletions to those that don't."""
    layout = draft.layout
    moves: list[tuple[Key, str, str, str]] = []
    for key, target in draft.relaxed:
        holder = Holder(key, REFERENCE)
        moves.append((key, target, layout.hold(target, holder), layout.link(target, holder)))
    await draft.reading.load(where for _, _, hold, link in moves for where in (hold, link))
    targets: dict[Key, frozenset[str]] = {}
    for key, target, hold, link in moves:
        document = await draft.document(key)
        if document is not None and key not in targets:
            targets[key] = referred(draft.schema.kind(key.kind), document)
        if document is None or target not in targets[key]:
            # This request itself removes the reference again, with its holder or its target.
            continue
        await draft.guard(layout.value(key))
        if await draft.read(link) is None:
            if draft.writes.get(hold) is not None:
                await draft.clear(hold)
            else:
                # Read or not: a large commit may just be writing it.
                draft.drop_for_good(hold)
            draft.put(link, encode(document["fq_name"]))
