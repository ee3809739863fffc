"""What breaks a cluster system, each for a while: killed, stopped, full, compacted, without a quorum.

Each fault leaves the system broken and then whole, or for ``ClusterSystem.heal`` to make whole.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable

from anyio.to_thread import run_sync

from tests.chaos import etcd_members
from tests.chaos.cluster_system import ClusterSystem


class Faults:
    """What breaks ``system``. ``for_a_while``: waits, as long as a fault lasts."""

    def __init__(
        self, system: ClusterSystem, chance: random.Random, for_a_while: Callable[[], Awaitable[None]]
    ) -> None:
        self._system = system
        self._chance = chance
        self._for_a_while = for_a_while
        self.table: dict[str, Callable[[], Awaitable[None]]] = {
            "a compiler is killed": self._compiler_killed,
            "a compiler is stopped": self._compiler_stopped,
            "an API server is killed": self._server_killed,
            "an API server is stopped": self._server_stopped,
            "etcd's leader is killed": self._etcd_leader_killed,
            "a member of etcd is stopped": self._etcd_member_stopped,
            "etcd loses its quorum": self._quorum_lost,
            "a member of etcd is replaced": self._etcd_member_replaced,
            "etcd is compacted": self._compacted,
            "a member of etcd is defragmented": self._defragmented,
            "etcd is full": self._full,
        }

    async def _compiler_killed(self) -> None:
        self._chance.choice(self._system.compilers).kill()
        await self._for_a_while()

    async def _compiler_stopped(self) -> None:
        self._chance.choice(self._system.compilers).suspend()
        await self._for_a_while()

    async def _server_killed(self) -> None:
        self._chance.choice(self._system.servers).kill()
        await self._for_a_while()

    async def _server_stopped(self) -> None:
        self._chance.choice(self._system.servers).suspend()
        await self._for_a_while()

    async def _etcd_leader_killed(self) -> None:
        leader = await run_sync(self._system.cluster.leader)
        await run_sync(leader.kill)
        await self._for_a_while()

    async def _etcd_member_stopped(self) -> None:
        self._chance.choice(self._system.cluster.members).suspend()
        await self._for_a_while()

    async def _quorum_lost(self) -> None:
        for member in self._chance.sample(self._system.cluster.members, 2):
            member.suspend()
        await self._for_a_while()

    async def _etcd_member_replaced(self) -> None:
        member = self._chance.choice(self._system.cluster.members)
        await run_sync(etcd_members.replace, self._system.cluster, member)

    async def _compacted(self) -> None:
        await run_sync(etcd_members.compact, self._system.cluster)

    async def _defragmented(self) -> None:
        await run_sync(etcd_members.defragment, self._chance.choice(self._system.cluster.members))

    async def _full(self) -> None:
        await run_sync(etcd_members.fill, self._system.cluster)
        await self._for_a_while()
