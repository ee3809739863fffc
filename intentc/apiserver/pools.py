"""Keeps pools of numbers: allocates numbers, each to one owner, and frees them (docs/contrail.md B.2 /int-pool, B.6;
docs/engine.md §8).

Why it exists: route target numbers and ids must be unique over all servers, stable, and findable by owner. The lowest
free number comes first, unless a ``Choice`` says otherwise, as for addresses. A pool is one key with its ranges and its
*free* ranges, so that an allocation reads one key however many numbers are taken; the keys owner → value and value →
owner are written in the same transaction. Every change of a pool writes its key, so nothing else of it needs a compare.

A pool whose name ends with a colon is a *family*: nobody allocates from it, but each ``<family><part>`` is a pool of
its own with the family's ranges. It is created with its first number and deleted with its last.

Tenants draw from pools that all of them need, directly or through compilers. So each project has a *share* of a pool,
and its numbers are counted: owner → value holds ``[value, project]`` then. A number counts for the project of the
resource for which it is requested: the nearest one above it, otherwise the caller's. Parts of families belong to one
resource, and have no shares. Nor have pools that are too large to be taken: etcd is full before.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from uuid import UUID

import msgspec

from intentc.model import Key, snake

from .admission.well_known import PROJECT
from .authorization import tenant_id
from .documents import Document, decode_entry, decode_text, encode
from .draft import Draft
from .errors import BadRequest, Conflict, Exhausted, QuotaExceeded


class Pool(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A pool. ``ranges``: its half-open ranges; ``free``: the ranges of its free numbers, in order. ``of_family``: it
    is deleted with its last number."""

    ranges: list[tuple[int, int]]
    free: list[tuple[int, int]]
    of_family: bool = False

    def take(self, value: int) -> bool:
        """Remove ``value`` from the free ones; False if it isn't free."""
        place = bisect_right(self.free, value, key=lambda entry: entry[0]) - 1
        if place < 0 or value >= self.free[place][1]:
            return False
        start, end = self.free[place]
        self.free[place : place + 1] = [part for part in ((start, value), (value + 1, end)) if part[0] < part[1]]
        return True

    def give_back(self, value: int) -> None:
        """Make ``value`` free; it merges with its neighbours."""
        place = bisect_right(self.free, value, key=lambda entry: entry[0])
        start, end, first, last = value, value + 1, place, place
        if place > 0 and self.free[place - 1][1] == value:
            start, first = self.free[place - 1][0], place - 1
        if place < len(self.free) and self.free[place][0] == end:
            end, last = self.free[place][1], place + 1
        self.free[first:last] = [(start, end)]

    def first_free(self, within: Sequence[tuple[int, int]] | None = None, *, highest: bool = False) -> int | None:
        """The lowest or highest free number, of those in the ranges ``within`` if they are given; None if all are
        taken."""
        if within is None:
            within = self.free
        for start, end in sorted(within, reverse=highest):
            place = max(bisect_right(self.free, start, key=lambda entry: entry[0]) - 1, 0)
            last = bisect_right(self.free, end - 1, key=lambda entry: entry[0])
            parts = self.free[place:last]
            for free_start, free_end in reversed(parts) if highest else parts:
                low, high = max(start, free_start), min(end, free_end)
                if low < high:
                    return high - 1 if highest else low
        return None

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return sum(end - start for start, end in self.ranges)

    @property
    def left(self) -> int:
        """How many of them are free."""
        return sum(end - start for start, end in self.free)

    def covers(self, value: int) -> bool:
        """Whether ``value`` is in a range of the pool."""
        return any(start <= value < end for start, end in self.ranges)


async def create(draft: Draft, pool: str, start: int, end: int) -> None:
    """Add the range [start, end) to a pool, and create the pool if needed. Raises ``Conflict`` if ranges overlap."""
    _check_name(pool)
    if start < 0 or end <= start:
        raise BadRequest(f"pool {pool}: the range [{start}, {end}) is empty or negative; end is the first number after")
    current = await _read(draft, pool) or Pool([], [])
    for other_start, other_end in current.ranges:
        if start < other_end and other_start < end:
            raise Conflict(f"pool {pool} has [{other_start}, {other_end}), which overlaps with [{start}, {end})")
    current.ranges = sorted([*current.ranges, (start, end)])
    current.free = sorted([*current.free, (start, end)])
    await _write(draft, pool, current)


async def set_range(draft: Draft, pool: str, start: int, end: int) -> None:
    """Give a pool the one range [start, end), and create the pool if needed. Numbers that are taken stay taken, those
    outside of the range until they are freed."""
    current = await _read(draft, pool) or Pool([], [])
    taken = sorted(set(_numbers(current.ranges)) - set(_numbers(current.free)))
    if current.ranges == [(start, end)]:
        return
    changed = Pool([(start, end)], [(start, end)])
    for value in taken:
        changed.take(value)
    await _write(draft, pool, changed)


async def ranges(draft: Draft, pool: str) -> list[tuple[int, int]]:
    """The ranges of a pool in order; none if it does not exist."""
    current = await _read(draft, pool)
    return current.ranges if current is not None else []


async def drop(draft: Draft, pool: str) -> None:
    """Delete a pool and its allocations, if it exists.

    Raises ``TooLarge`` (from the commit) if more numbers are taken than one transaction can free.
    """
    _check_name(pool)
    layout = draft.layout
    await draft.guard(layout.pool(pool))
    if await draft.read(layout.pool(pool)) is None:
        return
    for prefix in (layout.pool_owners(pool), layout.pool_values(pool), layout.pool_share(pool, "")):
        stored = [item.key for item in await draft.reading.below(prefix)]
        for key in {*stored, *(key for key in draft.writes if key.startswith(prefix))}:
            draft.drop_for_good(key)
    draft.drop_for_good(layout.pool(pool))


async def is_used(draft: Draft, pool: str) -> bool:
    """Whether a number of the pool is taken."""
    await draft.guard(draft.layout.pool(pool))
    current = await _read(draft, pool)
    return current is not None and current.free != current.ranges


class Choice(NamedTuple):
    """Where to look for a free number.

    ``size``: a pool that doesn't exist is created with the range [0, size). ``within``: ranges of numbers that may be
    chosen. ``highest``: the highest free number comes first."""

    size: int
    within: Sequence[tuple[int, int]]
    highest: bool


async def allocate(
    draft: Draft, pool: str, owner: str, value: int | None = None, choice: Choice | None = None, project: str = ""
) -> int:
    """Allocate a number: the one of ``owner``, or ``value``, or a free one (the lowest, or that of ``choice``).

    Without owner it is anonymous. ``project``: that for which it counts.

    Raises ``BadRequest`` for an unknown pool, ``Exhausted`` if nothing is left or ``value`` is taken, ``QuotaExceeded``
    if the project has its share.
    """
    _check_single(pool)
    owner_key = draft.layout.pool_owners(pool) + owner
    share = [draft.layout.pool_share(pool, project)] if owner and project else []
    await draft.reading.load([draft.layout.pool(pool), owner_key, *share])
    if owner:
        held = await draft.read(owner_key)
        if held is not None:
            number, _ = _held(held, owner_key)
            if value is not None and number != value:
                raise BadRequest(f"pool {pool}: {owner} holds {number} already; free it before it takes {value}")
            return number
        await draft.guard(owner_key)
    current = await _read(draft, pool)
    if current is None:
        current = Pool([(0, choice.size)], [(0, choice.size)]) if choice else await _part_of_family(draft, pool)
    if value is None:
        value = current.first_free(choice.within, highest=choice.highest) if choice else current.first_free()
        if value is None:
            raise Exhausted(f"pool {pool} is exhausted: all of {_shown(current)} are taken")
    if not current.take(value):
        if current.covers(value):
            raise Exhausted(f"pool {pool}: {value} is taken")
        raise BadRequest(f"pool {pool}: {value} lies outside of {_shown(current)}")
    counts = bool(owner and project) and choice is None and await has_shares_of(draft, pool)
    if counts:
        await _take_share(draft, pool, project, current.size)
    await _write(draft, pool, current)
    draft.put(draft.layout.pool_values(pool) + str(value), owner.encode())
    if owner:
        draft.put(owner_key, encode([value, project]) if counts else str(value).encode())
    return value


async def free(draft: Draft, pool: str, *, value: int | None = None, owner: str = "") -> None:
    """Free a number, given by value, by owner, or by both; does nothing if it isn't held (by that owner)."""
    _check_single(pool)
    if value is None:
        owner_key = draft.layout.pool_owners(pool) + owner
        await draft.reading.load([draft.layout.pool(pool), owner_key])
        held = await draft.read(owner_key)
        if held is None:
            return
        value, project = _held(held, owner_key)
        share = [draft.layout.pool_share(pool, project)] if project else []
        await draft.reading.load([draft.layout.pool_values(pool) + str(value), *share])
    holder = await owner_of(draft, pool, value)
    if holder is None or (owner and holder != owner):
        return
    current = await _read(draft, pool)
    if current is None:
        return
    if current.covers(value):
        current.give_back(value)
    await _write(draft, pool, current)
    if current.of_family and current.free == current.ranges:
        draft.drop_for_good(draft.layout.pool(pool))
    # The holder and the pool are read one after the other: the number may have got another owner in between.
    held_keys = [draft.layout.pool_values(pool) + str(value)]
    if holder:
        owner_key = draft.layout.pool_owners(pool) + holder
        held_keys.append(owner_key)
        held = await draft.read(owner_key)
        project = _held(held, owner_key)[1] if held is not None else ""
        if project:
            await _give_back_share(draft, pool, project)
    for key in held_keys:
        await draft.guard(key)
        draft.drop_for_good(key)


async def covers(draft: Draft, pool: str, value: int) -> bool:
    """Whether ``value`` is in the pool, taken or not."""
    current = await _read(draft, pool)
    return current is not None and current.covers(value)


async def owner_of(draft: Draft, pool: str, value: int) -> str | None:
    """The owner of ``value``; empty for an anonymous allocation, None if it is free."""
    value_key = draft.layout.pool_values(pool) + str(value)
    held = await draft.read(value_key)
    return None if held is None else decode_text(held, value_key)


class Held(NamedTuple):
    """A number of a pool, and who holds it."""

    pool: str
    owner: str
    value: int


async def held(draft: Draft, pool: str, owner_prefix: str) -> list[Held]:
    """What owners that start with ``owner_prefix`` hold of a pool, or of all pools of a family; by pool and owner."""
    _check_name(pool)
    above = draft.layout.pool_owners("")[:-1]
    found = []
    for item in await draft.reading.below(above + pool if is_family(pool) else f"{above}{pool}/{owner_prefix}"):
        part, _, owner = item.key.removeprefix(above).partition("/")
        if owner.startswith(owner_prefix):
            found.append(Held(part, owner, _held(item.value, item.key)[0]))
    return found


def is_family(pool: str) -> bool:
    """Whether this is the name of a family of pools."""
    return pool.endswith(":")


async def has_shares_of(draft: Draft, pool: str) -> bool:
    """Whether projects have shares of this pool."""
    current = await _read(draft, pool)
    return current is not None and not current.of_family and current.size <= _LARGEST_SHARED


async def use(draft: Draft, names: Sequence[str]) -> list[Use]:
    """How much of each of these pools is taken, of those that exist; families are none."""
    await draft.reading.load(map(draft.layout.pool, names))
    found = [(name, await _read(draft, name)) for name in names if not is_family(name)]
    return [Use(name, pool.size, pool.size - pool.left) for name, pool in found if pool is not None]


def _held(raw: bytes, where: str) -> tuple[int, str]:
    """The number that an owner holds, and the project for which it counts, if it does."""
    entry: int | tuple[int, str] = decode_entry(raw, int | tuple[int, str], where)  # type: ignore[arg-type]
    return (entry, "") if isinstance(entry, int) else entry


async def _part_of_family(draft: Draft, pool: str) -> Pool:
    """A new pool of a family. Raises ``BadRequest`` if there is no such family."""
    name, colon, part = pool.partition(":")
    family = await _read(draft, name + colon) if part else None
    if family is None:
        raise BadRequest(f"there is no pool {pool!r}; make it with POST /int-pools")
    return Pool(family.ranges, list(family.free), of_family=True)


async def _read(draft: Draft, pool: str) -> Pool | None:
    where = draft.layout.pool(pool)
    raw = await draft.read(where)
    return None if raw is None else decode_entry(raw, Pool, where)


async def _write(draft: Draft, pool: str, current: Pool) -> None:
    # Every change of the pool writes this key, so its compare alone prevents double allocations.
    await draft.guard(draft.layout.pool(pool))
    draft.put(draft.layout.pool(pool), encode(current))


def _numbers(ranges: list[tuple[int, int]]) -> Iterator[int]:
    return (number for start, end in ranges for number in range(start, end))


def _check_name(pool: str) -> None:
    if not pool or "/" in pool:
        raise BadRequest(f"{pool!r} is no name of a pool; give one without slashes")


def _check_single(pool: str) -> None:
    _check_name(pool)
    if is_family(pool):
        raise BadRequest(f"{pool!r} is a family of pools; name one of them, such as {pool}1")


def _shown(pool: Pool) -> str:
    return ", ".join(f"[{start}, {end})" for start, end in pool.ranges)


DEFAULT_PERCENT = 20.0
"""Of the numbers of a pool, for each project."""

_LARGEST_SHARED = 1_000_000
_MOST_PARENTS = 8


class Use(NamedTuple):
    """A pool, how many numbers it has, and how many of these are taken."""

    pool: str
    size: int
    used: int


async def project_of(draft: Draft, document: Document | None, fallback: str = "") -> str:
    """The project for which a number of this resource counts, as in ``tenant_id``: the one above it, or ``fallback``;
    empty if there is none."""
    for _ in range(_MOST_PARENTS):
        if document is None or not document.get("parent_uuid"):
            break
        above = Key(snake(str(document.get("parent_type") or "")), document["parent_uuid"])
        if above.kind == PROJECT:
            return tenant_id(above.uuid)
        document = await draft.readable(above)
    return tenant_id(fallback)


async def project_of_owner(draft: Draft, owner: str) -> str:
    """The project of the resource that an owner names: ``<installation>/<uuid>/<purpose>`` (docs/engine.md §8)."""
    uuid = owner.partition("/")[2].partition("/")[0]
    known = await draft.identity(uuid) if uuid else None
    return await project_of(draft, await draft.readable(Key(known.kind, uuid))) if known is not None else ""


async def _take_share(draft: Draft, pool: str, project: str, size: int) -> None:
    """Count one more number for ``project``. Raises ``QuotaExceeded`` if it has its share of the ``size`` numbers."""
    most = max(1, int(size * draft.pool_share / 100))
    count = await _share(draft, pool, project)
    if count >= most:
        shown = await _named(draft, project)
        raise QuotaExceeded(
            f"pool {pool}: the project {shown} holds {count:,} numbers, and its quota is {most:,} of {size:,} "
            f"({draft.pool_share:g} %); delete what needs one no more, or let an operator raise intentc.api.pool_share"
        )
    draft.put(draft.layout.pool_share(pool, project), str(count + 1).encode())


async def _give_back_share(draft: Draft, pool: str, project: str) -> None:
    """Count one number less."""
    count, key = await _share(draft, pool, project), draft.layout.pool_share(pool, project)
    if count > 1:
        draft.put(key, str(count - 1).encode())
    else:
        draft.drop_for_good(key)


async def _named(draft: Draft, project: str) -> str:
    """The name of a project, if it is known by its uuid."""
    try:
        known = await draft.identity(str(UUID(project)))
    except ValueError:
        known = None
    return ":".join(known.fq_name) if known is not None else project


async def _share(draft: Draft, pool: str, project: str) -> int:
    key = draft.layout.pool_share(pool, project)
    held = await draft.read(key)
    return decode_entry(held, int, key) if held is not None else 0
