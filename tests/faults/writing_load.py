"""The load that a person puts on a faulty system: changes at a rate, and rings of security groups.

``load`` beside this file is for process systems, whose tenants remember what is there.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from tests.faults.scale import in_full
from tests.support.contrail_content import LOCAL, group, rule, rules
from tests.support.live_system import LiveSystem

REACHED = 0.9
"""The share of the offered load that must have been reached for a run to count."""
_AT_ONCE = 50
"""Resources that a person puts into one request."""
RULE = "bdf042c0-0000-4000-8000-000000000001"


async def offer(rate: float, seconds: float, one: Callable[[int], Awaitable[Any]]) -> None:
    """Call ``one`` with 0, 1, … ``rate`` times a second. Fails if less than 90 % of them was done in time in a full
    run: then it says nothing about the load."""
    offered, begun = int(rate * seconds), time.monotonic()
    in_time = 0
    for number in range(offered):
        await anyio.sleep(max(0.0, begun + number / rate - time.monotonic()))
        await one(number)
        in_time += time.monotonic() <= begun + seconds
    assert in_full(in_time >= REACHED * offered), f"only {in_time} of {offered} changes were offered in {seconds:g} s"


async def many_groups(world: LiveSystem, count: int, prefix: str = "many") -> None:
    """So many security groups that name each other in a ring, in few requests; two lists follow from each."""
    for first in range(0, count, _AT_ONCE):
        await world.sync(
            *(
                ("CREATE", "security_group", ring_member(prefix, number, count))
                for number in range(first, min(first + _AT_ONCE, count))
            )
        )


def ring_member(prefix: str, number: int, count: int) -> dict[str, Any]:
    """One group of the ring, as a ``CREATE`` takes it."""
    named = group(f"{prefix}-{(number + 1) % count}")
    return {
        "fq_name": ["default-domain", "default-project", f"{prefix}-{number}"],
        "parent_type": "project",
        **rules(rule(RULE, named, LOCAL)),
    }


async def lists_of(world: LiveSystem, name: str) -> set[str]:
    """The uuids of the access control lists of a group of the default project."""
    lists = (await world.stored()).get("access_control_list", {})
    return {uuid for uuid, found in lists.items() if found["fq_name"][-2] == name}


async def lists_of_many(world: LiveSystem) -> int:
    """How many access control lists of groups that ``many_groups`` made there are."""
    lists = (await world.stored())["access_control_list"].values()
    return sum(found["fq_name"][-2].startswith("many-") for found in lists)
