"""Carries out what rules request of pools: numbers and addresses to allocate and to free, and ranges to change
(docs/contrail.md B.5, B.6, B.8).

Why it exists: rules only name them; here they are staged on the draft, so that they commit with the resource or not at
all. ``pools.py`` has the pools, ``admission/subnets.py`` the meaning of an address's number. What compilers allocate
comes through ``service``.

It reads and changes the draft, and fills numbers and addresses into the document of the change that it gets;
``mutation`` commits.
"""

from __future__ import annotations

from . import pools
from .admission.rules import Address, Change, DropSubnet, Number, PoolRange, Release, Reserve, Rules
from .admission.subnets import parse_address
from .documents import Document
from .draft import Draft
from .errors import Conflict, Exhausted, Forbidden
from .lookups import look_up
from .shares import project_of


async def carry_out(draft: Draft, rules: Rules, change: Change) -> None:
    """Stage what ``rules`` request for ``change``, and complete ``change.after``.

    Raises ``Forbidden`` if nothing is free, ``Conflict`` if a requested address is taken, ``QuotaExceeded`` if the
    project has its share of a pool.
    """
    for request in rules.numbers(change):
        match request:
            case Release():
                await pools.free(draft, request.pool, owner=request.owner)
            case Number():
                await _number(draft, request, change)
            case PoolRange():
                await pools.set_range(draft, request.pool, request.start, request.end)
    found = {lookup: await look_up(draft, lookup) for lookup in rules.address_lookups(change)}
    for wanted in rules.addresses(change, found):
        match wanted:
            case Release():
                await pools.free(draft, wanted.pool, owner=wanted.owner)
            case DropSubnet():
                await _drop(draft, wanted)
            case Reserve():
                await _reserve(draft, wanted)
            case Address():
                assert change.after is not None
                change.after.update(await _address(draft, wanted))


async def _number(draft: Draft, request: Number, change: Change) -> None:
    after = change.after
    if request.value is not None and not await pools.covers(draft, request.pool, request.value):
        return
    project = await project_of(draft, after, change.project)
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
