"""F12: connected resources in any order, deletes first too: the result is the same to the byte, and on the way what
waits for its target is listed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from intentc.loading.configuration import Configuration
from intentc.loading.configuration.sections import Etcd, Intentc
from intentc.plugins import Loaded
from intentc.watch.etcd import EtcdStore
from tests.faults.faulty_system import FaultySystem, faulty_system
from tests.faults.recorded import Recorded, carry_out, dangling, in_any_order, lay_ground, record
from tests.faults.scale_writing import SCALE, seeded
from tests.oracle.contrail import actual, mark
from tests.support.live_system import LiveSystem
from tests.support.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

INSTALLATION = "any-order"
"""The same in all worlds: what the compiler makes has the same uuids then."""


@pytest.fixture
async def recorded(etcd_store: EtcdStore, loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Recorded]:
    """What the server stores of a tenant that was built in the order that it takes."""
    async with faulty_system(etcd_store, loaded, monkeypatch) as source:
        yield await record(source, SCALE.networks)


async def test_connected_resources_give_the_same_bytes_in_any_order(
    etcd_store: EtcdStore, loaded: Loaded, monkeypatch: pytest.MonkeyPatch, recorded: Recorded
) -> None:
    randomness = seeded()
    assert len(recorded.values) >= SCALE.networks * 5
    assert recorded.referring >= 0.9 * len(recorded.values)
    outcomes = set()
    for _ in range(SCALE.orders):
        async with faulty_system(
            etcd_store, loaded, monkeypatch, before=lambda world: lay_ground(world, recorded)
        ) as made:
            made.configuration = Configuration(etcd=Etcd(path=made.path), intentc=Intentc(installation=INSTALLATION))
            steps = in_any_order(recorded, randomness)
            assert any(step.value is None for step in steps)
            await arrive(made, recorded, steps)
            outcomes.add(await outcome(made))
            await made.check()
    assert len(outcomes) == 1


async def arrive(made: FaultySystem, recorded: Recorded, steps: list[Any]) -> None:
    """A compiler sees the steps, is looked at half way, and settles with nothing pending, held, rejected or delayed."""
    async with made.compiling() as service:
        await made.settle(service)
        middle = len(steps) // 2
        await carry_out(made, steps[:middle])
        await until(lambda: service.engine.revision >= made.revision)
        assert await dangling(made) > 0
        assert service.pending()
        await carry_out(made, steps[middle:])
        await made.settle(service)
        assert await dangling(made) == 0
        assert service.pending() == []
        counts = service.status()["counts"]
        assert {name: counts[name] for name in ("held", "waiting", "rejected", "delayed", "problems")} == {
            "held": 0, "waiting": 0, "rejected": 0, "delayed": 0, "problems": 0
        }  # fmt: skip


async def outcome(world: LiveSystem) -> str:
    """Everything that the compiler has made, uuids of its objects included. Which owner got which number depends on the
    order, so a route target of ours is named after its owner."""
    stored = await world.stored()
    owners = {uuid: ":".join(resource["fq_name"]) for kind in stored.values() for uuid, resource in kind.items()}
    called = {}
    for target in stored["route_target"].values():
        if (found := mark(target)) is not None and found[2] in owners:
            called[target["fq_name"][0]] = f"of {owners[found[2]]}"
    shown: dict[str, Any] = {}
    for (kind, name), fields in actual(stored).items():
        if "route_target_refs" in fields:
            entries = {called.get(target, target): how for target, how in fields["route_target_refs"].items()}
            fields = {"route_target_refs": dict(sorted(entries.items()))}
        shown[f"{kind} {':'.join(called.get(part, part) for part in name)}"] = fields
    uuids = sorted(
        uuid for kind, found in stored.items() if kind != "route_target" for uuid, r in found.items() if mark(r)
    )
    return json.dumps([shown, uuids], sort_keys=True)
