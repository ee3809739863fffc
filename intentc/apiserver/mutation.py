"""Commits a draft at once or not at all, and has it staged anew while other writers are faster.

Why it exists: here the rules check the whole draft (``rule_execution``), the index is derived from the values, and the
fence is compared in the transaction that writes the resources. A draft that needs more operations than etcd takes in
one transaction is committed by ``large_commit``; ``deletion`` says what follows from deletions, also afterwards.
Nothing else writes values to the store. A dry run does everything except the commit.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

import anyio
import anyio.from_thread

from intentc.model import Key, Name
from intentc.model.limits import LARGEST_VALUE
from intentc.reconcile.failures import Failure
from intentc.watch.keys import leader_key
from intentc.watch.protocol import Compare, Delete, Operation, Put, Relation, RequestTooLarge, Store, Target

from . import deletion, rule_execution
from .documents import Document, Relationship, encode, referred, relationships
from .draft import Backend, Draft, Staged
from .errors import ApiError, BadRequest, Busy, Conflict, PreconditionFailed, TooLarge, from_store, shortened
from .index.entries import relation_entry
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
    """Makes drafts, and commits them for ``Mutation``. ``own``: the revisions of what was committed here."""

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

    async def run(self, function: Callable[..., Coroutine[Any, Any, Result]], *arguments: Any) -> Result:
        """Run a function in the event loop."""
        if self.in_loop:
            return await function(*arguments)
        return anyio.from_thread.run(function, *arguments)

    async def finish_deletion(self, target: Key, *, everything: bool = False) -> None:
        """Remove the references to a deleted resource that are left. ``everything``: also those of compilers."""
        # The deletion is committed: the call must not begin again because this reads much.
        mutator = copy.copy(self)
        mutator.backend = self.backend._replace(most_read=None)
        entries = Draft(mutator.backend)
        remaining, is_all = await deletion.remaining(entries, target, everything=everything)
        while remaining:
            count = await deletion.fitting(entries, remaining)
            mutation = Mutation(mutator)
            while mutation.is_open:
                async with mutation as draft:
                    await deletion.release(draft, remaining[:count], target)
            remaining = remaining[count:]
        if is_all:
            mutation = Mutation(mutator)
            while mutation.is_open:
                async with mutation as draft:
                    draft.drop(draft.layout.dangling(target))


class Mutation:
    """Changes of resources that are committed together. They are staged anew until no other writer is faster::

        while mutation.is_open:
            async with mutation as draft:
                result = …  # stage changes on the draft
        return result, mutation.revision

    The block may raise; then nothing is written. Its end raises ``TooLarge``, ``PreconditionFailed`` (fence), ``Busy``,
    ``OutcomeUnknown``, and what the rules of the kinds raise.

    ``turn``: held during each attempt. ``single``: it changes one resource, with what follows from that, and may be
    larger than a transaction. ``dry_run``: nothing is written, but everything is checked that can be without it.
    """

    _draft: Draft

    def __init__(
        self,
        mutator: Mutator,
        fence: Fence | None = None,
        *,
        turn: anyio.Lock | None = None,
        single: bool = True,
        dry_run: bool = False,
    ) -> None:
        self.is_open = True
        """Whether the changes are to be staged (again)."""
        self.revision = 0
        """The revision at which the result holds, once the mutation is not open any more."""
        self._mutator = mutator
        self._fence = fence
        self._turns = [turn] if turn is not None else []
        self._held: list[anyio.Lock] = []
        self._single = single
        self._dry_run = dry_run
        self._attempts = 0

    async def __aenter__(self) -> Draft:
        if self._attempts:
            # Another writer changed what was read. With many writers a random pause lets one of them succeed.
            longest = min(_LONGEST_PAUSE_SECONDS, 0.0005 * (self._attempts - 1))
            await self._mutator.backend.pause(random.uniform(0, longest))  # noqa: S311
        try:
            for turn in self._turns:
                await turn.acquire()
                self._held.append(turn)
            self._draft = Draft(self._mutator.backend)
            if self._fence is not None and self._fence.revision < 1:
                # For etcd an absent key has create revision 0: the compare would hold exactly while nobody leads.
                await self._check_fence(self._draft, self._fence)
        except BaseException:
            self._end_turns()
            raise
        return self._draft

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is not None:
                await self._reject(error)
                return
            try:
                await rule_execution.verify(self._draft)
                revision = await self._commit(self._draft, self._fence)
            except ApiError as failed:
                await self._reject(failed)
                raise
        finally:
            self._end_turns()
        self._attempts += 1
        if revision is not None:
            self.is_open, self.revision = False, revision
            await self._finish_deletions()
        elif self._attempts == _ATTEMPTS:
            raise Busy(f"{_ATTEMPTS} times others changed what this request reads; try again")

    async def _reject(self, error: BaseException) -> None:
        """A former leader must learn that it is one, whatever else is wrong with its request."""
        if isinstance(error, ApiError) and self._fence is not None:
            await self._check_fence(self._draft, self._fence)

    def _end_turns(self) -> None:
        while self._held:
            self._held.pop().release()

    async def _finish_deletions(self) -> None:
        for target in self._draft.deferred if not self._dry_run else ():
            # The resource is deleted: what can't be done now is no failure of the request.
            with suppress(ApiError):
                await self._mutator.finish_deletion(target)

    async def _commit(self, draft: Draft, fence: Fence | None) -> int | None:
        await deletion.settle(draft)
        operations, newest = await _operations(draft)
        if not operations and fence is None:
            return newest
        fences = [fence.compare()] if fence is not None else []
        large, limit = self._mutator.large, self._mutator.backend.limit
        compares = [large.is_absent, *fences, *draft.compares.values()]
        count = max(len(compares), len(operations))
        if count > limit and not self._single:
            raise TooLarge(
                f"this request needs {count} operations in one transaction, the limit is {limit}; split it, "
                f"or start etcd with a larger --max-txn-ops and set intentc.limits.max_txn_ops to the same"
            )
        if self._dry_run:
            return newest
        revision: int | None = None
        try:
            if count > limit:
                parts = large.divide(draft.compares, operations)
                revision = await self._mutator.run(large.commit, parts, fences, large.turn in self._held)
            else:
                answer = await self._mutator.backend.store.transaction(compares, operations, [large.is_there])
                if answer.succeeded:
                    revision = answer.revision if operations else newest
                elif answer.results[0]:
                    # A large commit is under way. The next attempt waits for its turn among those of this process.
                    await self._mutator.run(large.wait, answer.results[0][0])
                    if self._mutator.in_loop and large.turn not in self._turns:
                        self._turns.append(large.turn)
        except RequestTooLarge as error:
            raise TooLarge(
                f"this request writes {_size(operations):,} bytes in {len(operations)} operations, and etcd takes "
                f"fewer in one transaction (--max-request-bytes, by default {LARGEST_VALUE:,}): {error}; split it"
            ) from error
        except Failure as error:
            raise from_store(error, writing=True) from error
        if revision is not None and operations:
            self._mutator.own.note(revision)
        if revision is None and fence is not None:
            await self._check_fence(draft, fence)
        return revision

    async def _check_fence(self, draft: Draft, fence: Fence) -> None:
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
    await draft.reading.load(_index_keys(draft))
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
        await _index_identity(draft, key, staged)
        _index_relationships(draft, key, staged)
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


def _index_keys(draft: Draft) -> Iterator[str]:
    """The index keys of created, renamed and deleted resources, so that they are read together."""
    for key, staged in draft.staged.items():
        one, other = staged.before, staged.after
        if one is None or other is None or one["fq_name"] != other["fq_name"]:
            yield draft.layout.identity(key.uuid)
            for document in (one, other):
                if document is not None:
                    yield draft.layout.name(Name(key.kind, tuple(document["fq_name"])))


async def _index_identity(draft: Draft, key: Key, staged: Staged) -> None:
    before = await _former_name(draft, key, staged)
    after = Name(key.kind, tuple(staged.after["fq_name"])) if staged.after else None
    if before == after and staged.before is not None:
        return
    identity = draft.layout.identity(key.uuid)
    await draft.guard(identity)
    if before is not None:
        index = draft.layout.name(before)
        item = await draft.reading.item(index)
        # A copy that was written to etcd by hand must not free the holder's name when it is deleted.
        if item is not None and item.value == key.uuid.encode():
            await draft.guard(index)
            draft.drop(index)
    if after is not None:
        index = draft.layout.name(after)
        await draft.guard(index)
        draft.put(index, key.uuid.encode())
        draft.put(identity, encode(after))
    else:
        draft.drop(identity)
        if draft.schema.kind(key.kind).written_as_manifests:
            draft.drop(draft.layout.beside(key))


async def _former_name(draft: Draft, key: Key, staged: Staged) -> Name | None:
    if staged.before is not None:
        return Name(key.kind, tuple(staged.before["fq_name"]))
    # Its value is unreadable or absent; the index still has its name.
    found = await draft.identity(key.uuid)
    return found if found is not None and found.kind == key.kind else None


def _index_relationships(draft: Draft, key: Key, staged: Staged) -> None:
    kind = draft.schema.kind(key.kind)
    before = dict(relationships(kind, staged.before)) if staged.before else {}
    after = dict(relationships(kind, staged.after)) if staged.after else {}
    for relationship, derived in before.items():
        if relationship not in after:
            _forget(draft, key, relationship, derived)
    if not staged.after:
        return
    name = encode(staged.after["fq_name"])
    for relationship, derived in after.items():
        if relationship in before:
            continue
        target = relationship.target
        draft.put(relation_entry(draft.layout, key, relationship, derived=derived), name)
        other = draft.staged.get(target)
        if other is None:
            draft.guard_present(draft.layout.value(target))
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


def _forget(draft: Draft, key: Key, relationship: Relationship, derived: bool) -> None:
    holder = Holder(key, relationship.sort)
    uuid = relationship.target.uuid
    # Only a reference can have been relaxed since; its entry is among the links then.
    if derived or relationship.sort == REFERENCE:
        draft.drop(draft.layout.link(uuid, holder))
    if not derived:
        draft.drop(draft.layout.hold(uuid, holder))
