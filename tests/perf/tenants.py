"""The world "tenant" through the real parts: its first compile, a restart over it, and two sorts of changes in it.

    python -m tests.perf.tenants [--write]: print the table, and put it into docs/benchmarks.md

Users' resources are sent to our API server first, since it makes networks' routing instances. Beside each figure goes
its floor: the same world listed, decoded and indexed, and what was compiled put into etcd, one request after the other.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import anyio
import msgspec

from intentc.dev.etcd_server import running_etcd
from intentc.watch.etcd import EtcdStore
from intentc.watch.protocol import WatchBatch, prefix_end
from intentc.writing.connection import Connection
from intentc.writing.endpoint import Endpoint

from . import made
from .figures import head, write
from .groups import TRANSACTION
from .loader import put
from .parts import Part, running_part
from .tenant_world import Resource, policy, project, service, templates
from .world import floor

PROJECTS, CHANGES = 100, 30
BEGIN, END = "<!-- tenants: written by make bench -->", "<!-- end of tenants -->"
EVERYTHING = f"/{made.PATH}/"
_STILL = 0.5
"""Seconds without a write after which it is taken for settled."""
_AT_ONCE = 25
"""Resources in one request of the users."""


class Tenants(NamedTuple):
    """``seconds``, ``cpu`` (s) and ``memory`` (MiB) of the first compile; ``written``: keys that it changed in etcd,
    with so many ``references``; ``writes``: how often it wrote. The floor: seconds and CPU to list, seconds to put what
    was written. ``restart``, ``restart_floor``: seconds and CPU. ``rule``, ``service``: median milliseconds, and those
    of the floor."""

    projects: int
    resources: int
    seconds: float
    cpu: float
    memory: float
    written: int
    references: int
    writes: int
    listed: float
    listed_cpu: float
    put: float
    restart: tuple[float, float]
    restart_floor: tuple[float, float]
    rule: tuple[float, float]
    service: tuple[float, float]


async def measure(projects: int, changes: int) -> Tenants:
    """Measure once. Raises ``AssertionError`` if the restart writes anything."""
    async with running_etcd(max_txn_ops=TRANSACTION) as etcd:
        store = EtcdStore([etcd.endpoint])
        try:
            async with running_part("server", etcd.endpoint, str(TRANSACTION), "seeds") as server:
                connection = Connection(Endpoint(server.ready["url"]))
                try:
                    return await _measured(store, etcd.endpoint, server, connection, projects, changes)
                finally:
                    await connection.aclose()
        finally:
            await store.close()


async def _measured(
    store: EtcdStore, etcd: str, server: Part, connection: Connection, projects: int, changes: int
) -> Tenants:
    await _send(connection, templates())
    for number in range(projects):
        await _send(connection, project(number))
    before = (await store.range(EVERYTHING, prefix_end(EVERYTHING), keys_only=True)).revision
    async with running_part("listener", etcd) as listener:
        floor_list = listener.ready
    async with running_part("compiler", etcd, server.ready["url"]) as compiler:
        ended = await _settled(compiler)
        seconds = ended["at"] - compiler.ready["began"]
        used = await compiler.usage()
    world = await store.range(EVERYTHING, prefix_end(EVERYTHING))
    written = [item for item in world.items if item.mod_revision > before]
    began = time.monotonic()
    await put(store, [(f"/perf{item.key}", item.value) for item in written])
    putting = time.monotonic() - began
    async with running_part("listener", etcd) as listener:
        floor_again = listener.ready
    async with running_part("compiler", etcd, server.ready["url"]) as compiler:
        again = compiler.ready
        assert again["writes"] == 0, f"a restart wrote {again['writes']} times"
        rule, added = await _changes(store, connection, min(changes, projects))
    return Tenants(
        projects,
        len(world.items),
        seconds,
        used.cpu,
        used.memory / 2**20,
        len(written),
        sum(_references(item.value) for item in written),
        ended["writes"],
        floor_list["at"] - floor_list["began"],
        floor_list["cpu"],
        putting,
        (again["at"] - again["began"], again["cpu"]),
        (floor_again["at"] - floor_again["began"], floor_again["cpu"]),
        rule,
        added,
    )


async def _settled(compiler: Part) -> dict[str, Any]:
    """The first moment after which the compiler wrote nothing more. It leads a moment after its first pass."""
    found = await compiler.ask("quiet", writes=1)
    while True:
        await asyncio.sleep(_STILL)
        again = await compiler.ask("quiet")
        if again["writes"] == found["writes"]:
            return found
        found = again


def _references(value: bytes) -> int:
    """References that compilers wrote on one object: to route targets and routing instances."""
    data = msgspec.json.decode(value)
    return len(data.get("route_target_refs") or ()) + len(data.get("routing_instance_refs") or ())


async def _changes(
    store: EtcdStore, connection: Connection, repetitions: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    rules, services, floors = [], [], []
    for number in range(repetitions):
        port = 5000 + number
        kind, data = policy(number, "open", port)
        wanted = f'"end_port":{port}'.encode()
        changed = [(kind, "UPDATE", {**data, "uuid": await _uuid(connection, kind, data["fq_name"])})]
        lists = made.value_key("access_control_list", "")
        rules.append(await _until(store, connection, changed, lists, lambda value, text=wanted: text in value))
        floors.append(await floor(store, connection, commits=2))
        created = [(kind, "CREATE", data) for kind, data in service(number, "late", 8, 9)]
        instances = made.value_key("routing_instance", "")
        name = f"default-domain_bench-{number}_late".encode()
        found = [name + b'"', b'"route_target_refs":[{']
        services.append(
            await _until(
                store, connection, created, instances, lambda value, texts=found: all(text in value for text in texts)
            )
        )
    middle = [statistics.median(times) * 1000 for times in (rules, services, floors)]
    return (middle[0], middle[2]), (middle[1], middle[2])


async def _until(
    store: EtcdStore,
    connection: Connection,
    elements: Sequence[tuple[str, str, Any]],
    prefix: str,
    is_wanted: Callable[..., bool],
) -> float:
    """Seconds from a user's request until two objects below ``prefix`` are as wanted in etcd."""
    revision = (await store.range(prefix)).revision
    async with store.watch([prefix], revision + 1) as watch:
        began = time.monotonic()
        await _sync(connection, elements)
        seen: set[str] = set()
        async for batch in watch:
            if isinstance(batch, WatchBatch):
                seen |= {event.item.key for event in batch.events if is_wanted(event.item.value)}
            if len(seen) == 2:
                break
        return time.monotonic() - began


async def _uuid(connection: Connection, kind: str, fq_name: list[str]) -> str:
    body = msgspec.json.encode({"type": kind.replace("_", "-"), "fq_name": fq_name})
    answer = await connection.send("POST", "/fqname-to-id", body)
    return str(msgspec.json.decode(answer.content)["uuid"])


async def _send(connection: Connection, resources: Sequence[Resource]) -> None:
    for first in range(0, len(resources), _AT_ONCE):
        await _sync(connection, [(kind, "CREATE", data) for kind, data in resources[first : first + _AT_ONCE]])


async def _sync(connection: Connection, elements: Iterable[tuple[str, str, Any]]) -> None:
    items = [{"kind": kind, "operation": operation, "data": data} for kind, operation, data in elements]
    answer = await connection.send("POST", "/sync", msgspec.json.encode({"resources": items}))
    assert answer.ok, answer.content[:500]


def table(one: Tenants) -> str:
    """The figures as a table of Markdown."""
    rows = [
        ("first compile, s", one.seconds, f"{one.listed:.2f} listed, {one.put:.2f} put"),
        ("its CPU, s", one.cpu, f"{one.listed_cpu:.2f} listed"),
        ("its memory, MiB", one.memory, ""),
        ("objects written", one.written, ""),
        ("writes", one.writes, f"{one.written + one.references:,} objects and references"),
        ("restart without a write, s", one.restart[0], f"{one.restart_floor[0]:.2f} listed"),
        ("its CPU, s", one.restart[1], f"{one.restart_floor[1]:.2f} listed"),
        ("one rule of a policy changed until both lists are, ms", one.rule[0], f"{one.rule[1]:.1f}"),
        ("one service added until its instances have targets, ms", one.service[0], f"{one.service[1]:.1f}"),
    ]
    lines = [f"| {one.projects:,} projects, {one.resources:,} objects at last | measured | floor |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {what} | {_shown(value)} | {beside} |" for what, value, beside in rows)])


def _shown(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}" if value < 20 else f"{value:,.0f}"


def main() -> None:
    found = table(anyio.run(measure, PROJECTS, CHANGES))
    print(found)
    if "--write" in sys.argv:
        write(f"{head()}\n\n{found}", BEGIN, END)


if __name__ == "__main__":
    main()
