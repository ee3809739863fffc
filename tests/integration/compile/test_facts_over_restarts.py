"""A Mapping whose evaluation fails on a Secret that it reads keeps its share of a route over restarts, on a real etcd:
its facts lie there for as long as it fails."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import msgspec
import pytest

from intentc import Context
from intentc.compilers.ambassador.mapping import MappingIntent
from intentc.plugins import Loaded, find_compilers, load_all
from intentc.retained import retained_facts_prefix
from intentc.watch.etcd import EtcdStore
from intentc.watch.protocol import prefix_end
from tests.support.live_system import LiveSystem, counted_world
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

TRIGGER = ("default", "trigger")


@pytest.fixture(scope="module")
def gateways() -> Loaded:
    return load_all(find_compilers(["ambassador"]))


@pytest.fixture
async def gateway(
    etcd_store: EtcdStore, gateways: Loaded, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[LiveSystem]:
    async with counted_world(etcd_store, gateways, monkeypatch) as world, world.serving():
        yield world


def mapping(name: str, service: str, **fields: Any) -> tuple[str, str, dict[str, Any]]:
    data = {"fq_name": ["default", name], "hostname": "*", "prefix": "/shared/", "service": service, **fields}
    return "CREATE", "mapping", data


async def elements(world: LiveSystem) -> dict[str, Any]:
    """What is made for Envoy: name → configuration, of routes and clusters."""
    stored = await world.stored()
    kinds = [kind for kind in stored if kind.startswith("envoy_")]
    return {":".join(one["fq_name"]): one.get("config") for kind in kinds for one in stored[kind].values()}


async def kept(world: LiveSystem) -> list[Any]:
    prefix = retained_facts_prefix(world.path)
    items = (await world.store.range(prefix, prefix_end(prefix))).items
    return [msgspec.json.decode(item.value) for item in items]


async def until_kept(world: LiveSystem, count: int) -> None:
    with anyio.fail_after(PATIENCE):
        while len(await kept(world)) != count:  # noqa: ASYNC110 - etcd is asked again and again
            await anyio.sleep(0.05)


async def test_a_failing_mapping_keeps_its_share_over_restarts(
    gateway: LiveSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate = MappingIntent.evaluate

    def breaking(self: Any, ctx: Context) -> Iterator[Any]:
        if self.name == "first" and ctx.find("secret", TRIGGER) is not None:
            raise RuntimeError("this secret is more than I can bear")
        yield from evaluate(self, ctx)

    monkeypatch.setattr(MappingIntent, "evaluate", breaking)
    listener = {"fq_name": ["default", "all"], "port": 8080, "protocol": "HTTP", "securityModel": "XFP",
                "hostBinding": {"namespace": {"from": "ALL"}}}  # fmt: skip
    await gateway.sync(
        ("CREATE", "listener", listener),
        mapping("first", "one", weight=30),
        mapping("second", "two"),
    )
    async with gateway.compiling() as service:
        await gateway.settle(service)
        before = await elements(gateway)
        assert "one" in str(before) and "two" in str(before)
        secret = await gateway.create("secret", TRIGGER[1], TRIGGER[:1])
        await gateway.settle(service)
        assert [problem["reason"] for problem in service.status()["problems"]] == ["EvaluationFailed"]
        await until_kept(gateway, 1)
    (found,) = await kept(gateway)
    assert (found["kind"], [kind for kind, _, _ in found["facts"]]) == ("mapping", ["mapping_group"])

    await gateway.compile_once()
    assert await elements(gateway) == before
    assert await kept(gateway) == [found]
    async with gateway.compiling() as last:
        await gateway.settle(last)
        assert await elements(gateway) == before
        assert len(await kept(gateway)) == 1
        await gateway.delete("secret", secret)
        await gateway.settle(last)
        assert last.status()["problems"] == []
        await until_kept(gateway, 0)
        assert await elements(gateway) == before
