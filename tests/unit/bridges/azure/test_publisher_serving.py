"""When the publisher looks at the gateway, who may, and what it does when etcd goes back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from intentc.bridges.azure.publisher import Pass
from intentc.bridges.azure.serving import Bridge, CollectedChanges, Gateway, Settings
from intentc.bridges.process import running
from intentc.reconcile.backoff import Backoff
from intentc.reconcile.failures import Throttled, Unavailable
from intentc.watch.keys import Layout
from intentc.watch.listing import list_all
from intentc.watch.protocol import Store, Watch, WatchBatch, WatchProgress
from intentc.watch.watch_state import Phase
from tests.support.appgw.manifests import endpoint_slice, ingress, rule, service
from tests.support.azure_gateway import OWN
from tests.support.waiting import PATIENCE, until
from tests.unit.bridges.azure.published_system import PublishedSystem

pytestmark = pytest.mark.anyio
CART = (service("cart"), endpoint_slice("cart", "10.0.0.1"))
WEB = ingress("web", rule("shop.test", ("/", "Prefix", "cart")))
NEW = ingress("new", rule("new.test", ("/", "Prefix", "cart")))


@pytest.fixture
async def system() -> PublishedSystem:
    found = PublishedSystem()
    await found.start(*CART, WEB)
    return found


@asynccontextmanager
async def served(
    system: PublishedSystem, process: str = "one", store: Store | None = None, **given: Any
) -> AsyncIterator[Bridge]:
    plurals = {name: kind.plural for name, kind in system.offline.server.schema.kinds.items()}
    settings: Any = {
        "gateway": Gateway(OWN),
        "name": "gw",
        "prefix": "",
        "plurals": plurals,
        "collect_seconds": 0.0,
        **given,
    }
    given_store = store or system.offline.store
    publisher = Bridge(system, given_store, system.writer, Settings("contrail", "test", process, **settings))
    async with running(publisher) as bridge:
        yield bridge


@pytest.mark.parametrize(("is_first", "until"), [(True, 1.75), (False, 1.0)])
def test_the_first_document_waits_until_a_moment_brought_no_change(*, is_first: bool, until: float) -> None:
    collected = CollectedChanges(1.0)
    for now in (0.0, 0.5, 0.75):
        collected.add(now, is_first=is_first)
    assert collected.until == until
    collected.taken()
    collected.add(5.0, is_first=is_first)
    assert collected.until == 6.0


def test_a_compiler_that_is_never_idle_does_not_delay_the_first_document() -> None:
    collected = CollectedChanges(1.0)
    for tenth in range(200):
        collected.add(tenth / 10, is_first=True)
    assert collected.until == 10.0


async def test_no_pass_begins_while_changes_collect(system: PublishedSystem) -> None:
    async with served(system, collect_seconds=10 * PATIENCE) as bridge:
        await until(lambda: bridge.election.fence() is not None)
        await anyio.lowlevel.checkpoint()
        assert not bridge.is_quiet and not bridge.passes
        bridge._collected.until = 0.0
        bridge.loop.wake()
        await until(lambda: bridge.passes.total() > 0)


async def test_a_change_ends_a_back_off(system: PublishedSystem) -> None:
    async with served(system, again=Backoff(0.01, 10 * PATIENCE, jitter=0)) as bridge:
        await until(lambda: bridge.last.state == "Applied")
        get = system.get

        async def fail(resource: str) -> dict[str, Any]:
            raise Unavailable("no answer")

        system.get = fail  # type: ignore[method-assign]
        await system.apply(endpoint_slice("cart", "10.0.0.2"))
        # The waits double from 0.01 s: the last of these is longer than the test's patience.
        bridge.loop.queue._failures[OWN] = 60
        await until(lambda: bridge.passes["FailedApplyingAppGwConfig"] > 0)
        system.get = get  # type: ignore[method-assign]
        await system.apply(NEW)
        await until(lambda: "new.test" in system.hosts)


async def test_a_change_does_not_end_the_wait_that_azure_asks_for(system: PublishedSystem) -> None:
    async with served(system) as bridge:
        await until(lambda: bridge.last.state == "Applied")

        async def throttle(resource: str) -> dict[str, Any]:
            raise Throttled(10 * PATIENCE)

        system.get = throttle  # type: ignore[method-assign]
        await system.apply(endpoint_slice("cart", "10.0.0.2"))
        await until(lambda: bridge.last.state == "Throttled")
        await system.apply(NEW)
        await until(lambda: bridge.stored.revision == system.offline.engine.revision)
        await anyio.lowlevel.checkpoint()
        assert bridge.passes["Throttled"] == 1


async def test_a_record_that_etcd_never_shows_ends_the_pass(system: PublishedSystem) -> None:
    async with served(system, shown_seconds=0.01) as bridge:
        await until(lambda: bridge.last.state == "Applied")
        with pytest.raises(Exception, match="has not shown revision 1000000"):
            await bridge._until_shown(1_000_000)


async def test_nothing_is_published_until_the_objects_of_a_restored_store_are_stable(system: PublishedSystem) -> None:
    async with served(system, quiet_seconds=10 * PATIENCE) as bridge:
        await until(lambda: bridge.last.state == "Applied")
        listing = await list_all(system.offline.store, Layout.of("/contrail/"), lambda key: None)
        bridge.take(listing.snapshot._replace(restored=True))
        await system.apply(endpoint_slice("cart", "10.0.0.2"))
        await until(lambda: bridge.last.state == "Restored")
        assert "restored to an older state" in bridge.last.message
        sent = len(system.azure.puts)
        await system.apply(NEW)
        await until(lambda: bridge.stored.revision == system.offline.engine.revision)
        assert len(system.azure.puts) == sent


async def test_a_leader_begins_with_what_etcd_holds(system: PublishedSystem) -> None:
    async with served(system) as bridge:
        await until(lambda: bridge.last.state == "Applied")
    async with served(system, "two") as bridge:
        await until(lambda: bridge.last.state == "Applied")
        assert bridge._publisher is not None
        assert bridge._publisher.published.made, "it was read from etcd before the election"
    assert len(system.azure.puts) == 1


async def test_a_publisher_that_loses_the_leadership_ends_its_pass(system: PublishedSystem) -> None:
    asked, answered = anyio.Event(), anyio.Event()
    original = system.get

    async def get(resource: str) -> dict[str, Any]:
        asked.set()
        await answered.wait()
        return await original(resource)

    system.get = get  # type: ignore[method-assign]
    async with served(system) as bridge:
        await asked.wait()
        fence = bridge.election.fence()
        assert fence is not None
        bridge.election.invalidate(fence)
        answered.set()
        await until(lambda: bridge.last.state == "Standby")
        assert system.azure.puts == [] and bridge.election.fence() is None


async def test_each_record_is_written_with_the_fence_of_its_pass(system: PublishedSystem) -> None:
    async with served(system) as bridge:
        await until(lambda: bridge.last.state == "Applied")
        assert set(system.fences) == {bridge.election.fence()}


async def test_the_parts_that_another_writer_reverts_are_in_the_status(system: PublishedSystem) -> None:
    original = system.put

    async def put(resource: str, document: Mapping[str, Any], etag: str) -> None:
        system.azure.change(lambda properties: properties.update(enableHttp2=not properties.get("enableHttp2")))
        await original(resource, document, etag)

    system.put = put  # type: ignore[method-assign]
    async with served(system) as bridge:
        await until(lambda: bridge.last.state == "Contended")
        assert bridge.status()["contended"] == ["gateway"]
        assert "another writer" in bridge.status()["attention"][0]


async def test_a_part_that_waits_for_an_hour_does_not_delay_the_next_look(system: PublishedSystem) -> None:
    async with served(system, period_seconds=0.01, again=Backoff(0.01, 0.01)) as bridge:
        await until(lambda: bridge.last.state == "Applied")
        assert bridge._publisher is not None

        async def contended() -> Pass:
            return Pass("Contended", after=10 * PATIENCE)

        bridge._publisher.publish = contended  # type: ignore[method-assign]
        await until(lambda: bridge.passes["Contended"] > 2)


class SlowWatch:
    def __init__(self, watch: Watch, opened: anyio.Event) -> None:
        self.cluster_id = watch.cluster_id
        self._watch = watch
        self._opened = opened

    async def __aiter__(self) -> AsyncIterator[WatchBatch | WatchProgress]:
        async for item in self._watch:
            await self._opened.wait()
            yield item


class SlowStore:
    """A store whose watches deliver nothing before ``opened``."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.opened = anyio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @asynccontextmanager
    async def watch(self, prefixes: Sequence[str], start_revision: int) -> AsyncIterator[Watch]:
        async with self._store.watch(prefixes, start_revision) as watch:
            # Elections watch, too.
            yield SlowWatch(watch, self.opened) if "/contrail/" in prefixes else watch


async def test_a_leader_whose_watch_lags_waits_for_the_records_of_the_former_one(system: PublishedSystem) -> None:
    slow: Any = SlowStore(system.offline.store)
    async with served(system) as former:
        await until(lambda: former.last.state == "Applied")
        async with served(system, "two", slow, shown_seconds=0.01, again=Backoff(0.01, 0.01)) as bridge:
            await until(lambda: bridge.election.leader() == "one")
            await system.apply(NEW)
            await until(lambda: "new.test" in system.hosts and former.is_quiet)
            assert former._publisher is not None
            published = former._publisher.published
            await former.election.resign()
            await until(lambda: bridge.passes["FailedWriting"] > 0)
            assert "former leader" in bridge.last.message
            slow.opened.set()
            await until(lambda: bridge.last.state == "Applied")
            assert bridge._publisher is not None and bridge._publisher.published == published
            assert len(system.azure.puts) == 2


async def test_converged_is_unknown_while_etcd_is_unreachable(
    system: PublishedSystem,
) -> None:
    async with served(system) as bridge:
        await until(lambda: bridge.status()["converged"] is True)
        bridge.source._enter(Phase.DISCONNECTED, "connection refused")
        assert bridge.status()["converged"] is None
