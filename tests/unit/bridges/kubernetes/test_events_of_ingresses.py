"""What the Application Gateway compiler finds wrong with an Ingress becomes Events on the Ingress in the cluster."""

from __future__ import annotations

import base64
import random
from collections.abc import AsyncIterator

import anyio
import pytest

from intentc.bridges.kubernetes.serving import Bridge
from intentc.offline.offline import PATH
from intentc.plugins import find_compilers, load_all
from intentc.service import problem_reports
from intentc.service.problem_reports import ProblemReports
from tests.support.appgw.certificates import pair
from tests.support.appgw.manifests import gateway, ingress, rule, secret, service
from tests.support.kube.fake_cluster import FakeCluster, Manifest, running_fake_cluster
from tests.support.kube.mirrored_system import MirroredSystem
from tests.support.secret_search import assert_shows_none
from tests.support.waiting import until

pytestmark = pytest.mark.anyio
INGRESSES = "/apis/networking.k8s.io/v1/ingresses"
SECRETS, SERVICES = "/api/v1/secrets", "/api/v1/services"
LISTS = {"Ingress": INGRESSES, "Secret": SECRETS, "Service": SERVICES}
TLS = [{"hosts": ["shop.test"], "secretName": "account"}]
SHOP = ingress("shop", rule("shop.test", ("/", "Prefix", "cart")), tls=TLS)
LOST, EMPTY = "SecretNotFound", "EndpointsEmpty"


class _World:
    """A cluster with an Ingress, a bridge's other side, and a compiler that works when the test says so."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster = cluster
        loaded = load_all(find_compilers(["appgw"]))
        self.system = MirroredSystem(cluster, loaded, random.Random(1), ("ingress", "secret", "service"))
        self.start_compiler()

    def start_compiler(self) -> None:
        """A new compiler over the same store."""
        compiler = self.system.compiler = self.system.compiling()
        engine = compiler.engine
        self.reports = ProblemReports(
            self.system.store,
            engine,
            engine.states,
            engine.world,
            path=PATH,
            installation="default",
        )

    def put(self, *manifests: Manifest) -> None:
        for manifest in manifests:
            self.cluster.put(LISTS[manifest["kind"]], manifest)

    async def compile(self, bridge: Bridge) -> None:
        """The bridge mirrors, the compiler compiles and stores what is wrong."""
        await until(lambda: self._has_mirrored(bridge))
        await self.system.compiler.settle()
        loop = self.reports.loop
        # What a look finds settles before the next but one.
        enough = loop.runs + 20
        async with anyio.create_task_group() as group:
            group.start_soon(loop.run)
            await until(lambda: loop.runs >= enough and loop.idle)
            group.cancel_scope.cancel()

    def _has_mirrored(self, bridge: Bridge) -> bool:
        tasks = bridge.tasks
        return bridge.status()["converged"] and all(
            int(tasks[kind.lower()].watcher.informer.version) >= int(one["metadata"]["resourceVersion"])
            and bridge.mirror.counts(kind.lower())[0] == len(self.cluster.objects[path])
            for kind, path in LISTS.items()
            for one in self.cluster.objects[path].values()
        )

    @property
    def events(self) -> list[tuple[str, str]]:
        """(Ingress, reason) of each Event."""
        return sorted((one["regarding"]["name"], one["reason"]) for one in self.cluster.events.values())

    @property
    def posts(self) -> int:
        """Events that were sent, taken or not."""
        return sum(count for request, count in self.cluster.requests.items() if "/events" in request)

    async def until_reported(self, *events: tuple[str, str]) -> None:
        await until(lambda: self.events == sorted(events))


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[_World]:
    for name in ("_PERIOD", "_SETTLE_SECONDS", "_ALL_SECONDS"):
        monkeypatch.setattr(problem_reports, name, 0.001)

    def install(cluster: FakeCluster) -> None:
        for kind, path in LISTS.items():
            cluster.serve(path, kind)

    async with running_fake_cluster(install) as cluster:
        made = _World(cluster)
        record = {"kind": "appgw_gateway", "operation": "CREATE", "data": gateway()["data"]}
        await made.system.api.sync([record])
        yield made


async def test_an_ingress_has_an_event_for_each_problem_and_a_further_pass_writes_none(world: _World) -> None:
    world.put(SHOP, service("cart"))
    async with world.system.bridge() as bridge:
        await world.compile(bridge)
        await world.until_reported(("shop", LOST), ("shop", EMPTY))
        event = next(one for one in world.cluster.events.values() if one["reason"] == LOST)
        found = world.cluster.objects[INGRESSES]["shop", "shop"]["metadata"]
        assert event["regarding"] == {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "Ingress",
            "namespace": "shop",
            "name": "shop",
            "uid": found["uid"],
            "resourceVersion": found["resourceVersion"],
        }
        assert (event["type"], event["action"]) == ("Warning", "Compile")
        (problem,) = [one for one in world.system.compiler.problems() if one.reason == LOST]
        assert event["note"] == problem.message
        posts = world.posts
        await world.compile(bridge)
        assert world.posts == posts


async def test_a_restart_of_bridge_and_compiler_writes_no_event_again(world: _World) -> None:
    world.put(SHOP, service("cart"))
    async with world.system.bridge() as bridge:
        await world.compile(bridge)
        await world.until_reported(("shop", LOST), ("shop", EMPTY))
    before = dict(world.cluster.events)
    world.start_compiler()
    async with world.system.bridge("two") as bridge:
        await world.compile(bridge)
        await until(lambda: world.posts == 4)
    assert world.cluster.events == before, "the cluster has them already"


async def test_a_problem_that_ended_leaves_no_report_and_a_new_one_gets_its_event(world: _World) -> None:
    world.put(SHOP, service("cart"))
    async with world.system.bridge() as bridge:
        await world.compile(bridge)
        await world.until_reported(("shop", LOST), ("shop", EMPTY))
        world.put(secret("account", *pair()))
        await world.compile(bridge)
        world.put(secret("account", pair().chain, pair("other.test").key))
        await world.compile(bridge)
        await world.until_reported(("shop", LOST), ("shop", EMPTY), ("shop", "SecretInvalid"))
        world.cluster.delete(INGRESSES, "shop", "shop")
        await until(lambda: bridge.mirror.counts("ingress") == (0, 0))
        await world.compile(bridge)
        await until(lambda: not bridge.compiled_problems.notes)
        assert len(world.events) == 3


async def test_an_event_has_nothing_of_a_secret(world: _World) -> None:
    world.put(SHOP, service("cart"), secret("account", pair().chain, pair("other.test").key))
    async with world.system.bridge() as bridge:
        await world.compile(bridge)
        await world.until_reported(("shop", "SecretInvalid"), ("shop", EMPTY))
        places = {"events": list(world.cluster.events.values()), "status": bridge.status()}
    reports = (await world.system.store.range("/intentc/problems/", "/intentc/problems0")).items
    places |= {"reports": [one.value.decode() for one in reports]}
    assert_shows_none(places, [base64.b64decode(one) for one in (pair("other.test").key, pair().chain)])
