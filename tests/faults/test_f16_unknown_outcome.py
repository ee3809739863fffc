"""F16: the server carries a write out, then the connection is cut before its answer is read: what happened is read
back, nothing is made twice, and nobody goes round in circles."""

from __future__ import annotations

import itertools
import random
from collections import deque

import pytest

from intentc.plugins import Loaded
from intentc.watch.etcd import EtcdStore
from tests.faults.faulty_system import FaultySystem, faulty_system
from tests.faults.scale_writing import SCALE, seeded
from tests.faults.server_faults import Cut, Fault, Request, Rule, no_fault
from tests.faults.writing_load import RULE, offer
from tests.support.contrail_content import LOCAL, group, network, rule, rules, targets, tenant
from tests.support.live_system import LiveSystem

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

MOST_EXTRA = 1.1
"""Single writes asked for, over those of a compiler whose server is well, at 5 % of calls cut."""


def every(number: int) -> Rule:
    """One write in so many is carried out and cut off, allocations included. Three in a row are of three sorts: the
    load repeats itself, and every twentieth write could be of one sort."""
    writes, cuts = itertools.count(1), itertools.count(1)
    due = next(cuts) * number
    last: deque[str] = deque(maxlen=2)

    def rule_of(request: Request) -> Fault | None:
        nonlocal due
        sort = request.path.split("/")[1]
        if not request.mutates or next(writes) < due or sort in last:
            return None
        due = next(cuts) * number
        last.append(sort)
        return Cut()

    return rule_of


def at_random(randomness: random.Random, share: float, applied: float = 1.0) -> Rule:
    """So many writes are cut off; of those, the share ``applied`` is carried out."""

    def rule_of(request: Request) -> Fault | None:
        if request.mutates and randomness.random() < share:
            return Cut(applied=randomness.random() < applied)
        return None

    return rule_of


async def changes(world: LiveSystem) -> None:
    """Everything that a compiler can be asked to write: objects and numbers come and go, references are added and
    removed, rules change; at a pace at which most changes are a request or more of their own, so that many are cut."""
    short_lived: list[str] = []

    async def one(number: int) -> None:
        ring = rules(rule(RULE, group(f"group-{number % 6}"), LOCAL))
        match number % 4:
            case 0:
                await world.create("security_group", f"one-{number}", **ring)
            case 1:
                await network(world, f"net-{number}", route_target_list=targets(f"target:7:{number}"))
            case 2:
                short_lived.append(await world.create("security_group", f"one-{number}", **ring))
            case _:
                await world.create("logical_router", f"router-{number}")

    await tenant(world)
    await offer(SCALE.rate, SCALE.seconds, one)
    for uuid in short_lived:
        await world.delete("security_group", uuid)


async def compile_changes(made: FaultySystem, rule_of: Rule) -> None:
    """A compiler follows the changes while the rule holds, and settles with nothing delayed or rejected."""
    made.faults.rule = rule_of
    async with made.compiling() as service:
        await made.settle(service)
        made.faults.forget()
        await changes(made)
        await made.settle(service)
        counts = service.status()["counts"]
        assert (counts["delayed"], counts["rejected"], counts["held"]) == (0, 0, 0)
    made.faults.rule = no_fault


async def test_one_cut_in_twenty_costs_no_more_than_a_tenth_of_the_writes(
    faulty: FaultySystem, etcd_store: EtcdStore, loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measured against a compiler that follows the same changes, and whose server is well."""
    await compile_changes(faulty, every(20))
    faults = faulty.faults
    assert len(faults.struck) >= 0.04 * sum(request.mutates for request in faults.seen) >= 3
    assert {request.path for request, _ in faults.struck} & {"/int-pool", "/ref-update", "/sync"}
    writes = faults.writes
    await faulty.check()
    async with faulty_system(etcd_store, loaded, monkeypatch) as well:
        await compile_changes(well, no_fault)
        ideal = well.faults.writes
    assert writes <= MOST_EXTRA * ideal


@pytest.mark.parametrize("applied", [1.0, 0.5])
async def test_three_cuts_in_ten_end_in_what_the_oracle_expects(faulty: FaultySystem, applied: float) -> None:
    """Whether what was cut off had been carried out or not."""
    await compile_changes(faulty, at_random(seeded(), 0.3, applied))
    assert len(faulty.faults.struck) >= 10
    await faulty.check()
