"""A storm on a hub: many interfaces of one router move to another network and back, each move a revision of its own.

Every event concerns the router, which reads the networks of all its interfaces; counted is how often it is evaluated.
"""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from intentc.dev.etcd_server import running_etcd
from intentc.watch.etcd import EtcdStore
from intentc.watch.protocol import Put

from . import made
from .groups import TRANSACTION
from .loader import put
from .parts import running_part

_AT_ONCE = 32
_JOURNAL = "1000000"


class Storm(NamedTuple):
    """``evaluations``: of the router, during the storm. ``seconds``: of the compiler's CPU."""

    interfaces: int
    events: int
    evaluations: int
    seconds: float


def _reference(kind: str, name: str) -> dict[str, Any]:
    return {"uuid": made.made_uuid(f"{kind} {name}"), "to": [*made.PROJECT, name]}


def _interface(place: int, network: str) -> tuple[str, bytes]:
    references = [_reference("virtual_network", network)]
    return made.resource("virtual_machine_interface", f"port-{place}", virtual_network_refs=references)


async def storm(interfaces: int, events: int) -> Storm:
    """Measure one storm."""
    ports = [_interface(place, "hub") for place in range(interfaces)]
    # A user's route target, so that the router needs no number from anybody.
    router_key, router = made.resource(
        "logical_router",
        "router",
        virtual_machine_interface_refs=[
            _reference("virtual_machine_interface", f"port-{place}") for place in range(interfaces)
        ],
        route_target_refs=[{"uuid": made.made_uuid("route_target target:64512:1"), "to": ["target:64512:1"]}],
    )
    networks = [made.resource("virtual_network", name) for name in ("hub", "other")]
    async with running_etcd(max_txn_ops=TRANSACTION) as etcd:
        store = EtcdStore([etcd.endpoint])
        try:
            target = made.resource("route_target", "target:64512:1", parent=("", ""))
            await put(store, [made.project(), target, *networks, *ports, (router_key, router)])
            async with (
                running_part("sink") as sink,
                running_part("compiler", etcd.endpoint, sink.ready["url"], _JOURNAL) as compiler,
            ):
                hub = {"kind": "logical_router", "uuid": router_key.rpartition("/")[2]}
                before = (await compiler.ask("evaluations", **hub))["evaluations"]
                assert before >= 1, "the router was evaluated at the start"
                used = await compiler.usage()
                await compiler.ask("quiet", revision=await _move(store, interfaces, events))
                after = (await compiler.ask("evaluations", **hub))["evaluations"]
                return Storm(interfaces, events, after - before, (await compiler.usage()).cpu - used.cpu)
        finally:
            await store.close()


async def _move(store: EtcdStore, interfaces: int, events: int) -> int:
    """Each event moves one interface; the last revision."""
    moves = iter([_interface(n % interfaces, "hub" if n // interfaces % 2 else "other") for n in range(events)])
    revisions = [0]

    async def move() -> None:
        for key, value in moves:
            revisions.append((await store.transaction((), [Put(key, value)])).revision)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(_AT_ONCE):
            tasks.create_task(move())
    return max(revisions)
