"""Carries out the rules of a kind: has them admit and verify, allocates what they request, and checks quotas.

Why it exists: rules write nothing (``admission/rules.py``). What they request of pools is staged on the draft, so that
it commits with the resource or not at all (docs/contrail.md B.5, B.6, B.8). What compilers allocate comes through
``api_server``. A project's quota concerns all its resources together, so it is checked at the end (B.7). Only additions
are: a limit that was lowered below what is there takes nothing away.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc.model import Key

from . import pools
from .admission import NO_RULES, RULES
from .admission.installation import BELOW, PARTS, REFERRING, Demand, demands, limit_of, parts
from .admission.rules import Address, Allocation, Change, DropSubnet, PoolRange, Release, Reserve
from .admission.subnets import parse_address
from .admission.well_known import PROJECT
from .documents import Document
from .draft import Draft
from .errors import ApiError, Conflict, Exhausted, Forbidden, QuotaExceeded
from .rule_reader import Reader
from .sources import Source


async def admit(draft: Draft, key: Key, change: Change, source: Source) -> None:
    """Have the rules of its kind check and complete a creation or a change, which ``verify`` checks again later."""
    rules = RULES.get(key.kind, NO_RULES)
    await rules.admit(change, Reader(draft), source)
    await allocate(draft, key.kind, change)
    draft.changes.append((key, change))


async def verify(draft: Draft) -> None:
    """Check each change, and the quotas, against the whole request, once everything is staged.

    The error's ``key`` is that of the resource whose change is rejected.
    """
    changes, draft.changes = draft.changes, []
    for key, change in changes:
        rules = RULES.get(key.kind, NO_RULES)
        try:
            if change.after is None:
                await rules.verify_deletion(change, Reader(draft))
            else:
                await rules.verify(change, Reader(draft))
        except ApiError as error:
            error.key = error.key or key
            raise
    await _verify_quotas(draft, changes)


async def _verify_quotas(draft: Draft, changes: Iterable[tuple[Key, Change]]) -> None:
    """Check what the changes of a whole request add, once everything is staged. Raises ``QuotaExceeded``."""
    checked: set[Demand] = set()
    for key, demand in [(changed, demand) for changed, change in changes for demand in demands(changed, change)]:
        project = demand.project
        if project.kind != PROJECT:
            above = await draft.readable(project) or {}
            if above.get("parent_type") != PROJECT:
                continue
            project = Key(PROJECT, above["parent_uuid"])
        document = await draft.readable(project) or {}
        limit = limit_of(document, demand.limit)
        if limit is None or (known := Demand(project, demand.limit)) in checked:
            continue
        checked.add(known)
        count = await _quota_count(draft, project, demand.limit, limit)
        if count > limit:
            raise QuotaExceeded(
                f"the quota of project {':'.join(document['fq_name'])} allows {limit:,} {demand.limit}, and this would "
                f"make {count:,}; delete some, or let an administrator raise quota.{demand.limit} of the project",
                key=key,
            )


async def _quota_count(draft: Draft, project: Key, name: str, limit: int) -> int:
    """What the limit ``name`` counts, after the request."""
    if name in REFERRING:
        return len(await draft.referrers(project, name))
    if name in PARTS:
        holders = [await draft.readable(key) for key in await draft.children(project.uuid, PARTS[name])]
        return sum(parts(name, holder) for holder in holders if holder is not None)
    above = await draft.children(project.uuid, BELOW[name]) if name in BELOW else [project]
    found = [key for parent in above for key in await draft.children(parent.uuid, name)]
    if len(found) > limit:
        # The index may name children that somebody deleted from etcd past the server.
        await draft.reading.load(map(draft.layout.value, found))
        found = [key for key in found if key in draft.staged or await draft.reading.item(draft.layout.value(key))]
    return len(found)


async def allocate(draft: Draft, kind: str, change: Change) -> None:
    """Stage what the rules of a kind request of pools for ``change``, and complete ``change.after``.

    Raises ``Forbidden`` if nothing is free, ``Conflict`` if a requested address is taken, ``QuotaExceeded`` if the
    project has its share of a pool.
    """
    rules = RULES.get(kind, NO_RULES)
    for request in rules.allocations(change):
        match request:
            case Release():
                await pools.free(draft, request.pool, owner=request.owner)
            case Allocation():
                await _allocate(draft, request, change)
            case PoolRange():
                await pools.set_range(draft, request.pool, request.start, request.end)
    async for wanted in rules.addresses(change, Reader(draft)):
        match wanted:
            case Release():
                await pools.free(draft, wanted.pool, owner=wanted.owner)
            case DropSubnet():
                await _drop(draft, wanted)
            case Reserve():
                await _reserve(draft, wanted)
            case Address():
                change.new.update(await _address(draft, wanted))


async def _allocate(draft: Draft, request: Allocation, change: Change) -> None:
    after = change.after
    if request.value is not None and not await pools.covers(draft, request.pool, request.value):
        return
    project = await pools.project_of(draft, after, change.project)
    try:
        value = await pools.allocate(draft, request.pool, request.owner, request.value, project=project)
    except Exhausted as error:
        if request.value is not None:
            raise
        raise Forbidden(error.message) from None
    if request.field and after is not None:
        shown = value + request.offset
        after[request.field] = request.form.format(shown, after.get(request.field, "")) if request.form else shown


async def _address(draft: Draft, request: Address) -> Document:
    """Allocate an address; returns the fields that show it."""
    for subnet in request.subnets:
        number = subnet.number(parse_address(request.address, request.field)) if request.address else None
        choice = pools.Choice(subnet.size, subnet.free, not subnet.lowest_first)
        try:
            number = await pools.allocate(draft, subnet.pool, request.owner, number, choice)
        except Exhausted:
            if number is None:
                continue
            raise Conflict(
                f"{request.field}: {request.address} of subnet {subnet} is taken; choose another, or leave it out"
            ) from None
        fields: Document = {request.field: str(subnet.address(number))}
        if request.uuid_field and subnet.uuid:
            fields[request.uuid_field] = subnet.uuid
        if request.subnet_field:
            network = subnet.network
            fields[request.subnet_field] = {
                "ip_prefix": str(network.network_address),
                "ip_prefix_len": network.prefixlen,
            }
        return fields
    shown = ", ".join(map(str, request.subnets))
    raise Forbidden(f"{request.field}: no address is free in {shown}; delete what has one, or add a subnet")


async def _drop(draft: Draft, request: DropSubnet) -> None:
    if not request.forced and await pools.is_used(draft, request.subnet.pool):
        raise Conflict(
            f"{request.field}: subnet {request.subnet} can't be removed while its addresses are in use; delete the "
            f"instance IPs, floating IPs and alias IPs that have them first"
        )
    await pools.drop(draft, request.subnet.pool)


async def _reserve(draft: Draft, request: Reserve) -> None:
    subnet = request.subnet
    await draft.guard(draft.layout.pool(subnet.pool))
    if await pools.owner_of(draft, subnet.pool, subnet.number(request.address)) is not None:
        raise Conflict(
            f"{request.field}: {request.address} can't become the service address of {subnet} while it is in use; "
            f"choose another, or delete what has it"
        )
