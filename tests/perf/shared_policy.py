"""``python -m tests.perf.shared_policy NETWORKS``: networks of one project that share a policy ``any`` <> ``any``.

Prints a row of the table in docs/benchmarks.md: the CPU of one process with compiler, API server and store in memory,
and its memory while all links exist. Each number of networks needs a process of its own.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import anyio

from tests.support.contrail_policies import links, networks_sharing, policy, rule
from tests.support.contrail_system import ContrailSystem

from .parts import Usage


async def measure(count: int) -> str:
    """The row of ``count`` networks. Seconds of CPU, MiB."""
    system = await ContrailSystem().begin()
    start = time.process_time()
    await networks_sharing(system, count, rule("any", "any"))
    created, memory = time.process_time() - start, Usage.now().memory / 2**20
    made = sum(map(len, (await links(system)).values()))
    if not made:
        held = len(system.parts.states.held)
        return f"| {count:,} | none: {held:,} intents held | {created:.1f} | | | | {memory:.0f} |"
    before = system.parts.evaluator.runs
    changed = await _changed(system, protocol="tcp")
    evaluations = system.parts.evaluator.runs - before
    removed = await _changed(system, action="deny")
    assert not any((await links(system)).values())
    return f"| {count:,} | {made:,} | {created:.1f} | {changed:.1f} | {evaluations:,} | {removed:.1f} | {memory:.0f} |"


async def _changed(system: ContrailSystem, **fields: Any) -> float:
    start = time.process_time()
    await system.change("network_policy", "blue:hub", network_policy_entries=policy(rule("any", "any", **fields)))
    return time.process_time() - start


if __name__ == "__main__":
    print(anyio.run(measure, int(sys.argv[1])))
