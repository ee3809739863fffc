"""What a running gateway's compiler shows people, on a real etcd and a real API server: per resource, and lasting.

Ambassador's own diagnostics lost an error at the next change of something else, had none for a Host without its Secret,
and failed before the first good configuration (docs/ambassador.md §5.3, §5.13, §5.14).
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import msgspec
import pytest

from intentc.diagnostics.serving import running_diagnostics
from intentc.model.manifest import manifest_uuid
from intentc.plugins import find_compilers, load_all
from intentc.service.service import CompilerService
from intentc.watch.etcd import EtcdStore
from tests.support import forking
from tests.support.live_system import LiveSystem, counted_world

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]


def manifest(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "gate"}
    return {"apiVersion": "getambassador.io/v3alpha1", "kind": kind, "metadata": metadata, "spec": spec}


def mapping(name: str, **spec: Any) -> dict[str, Any]:
    return manifest("Mapping", name, {"hostname": "*", "prefix": f"/{name}/", "service": "echo", **spec})


LISTENER = manifest(
    "Listener",
    "web",
    {"port": 8443, "protocol": "HTTPS", "securityModel": "XFP", "hostBinding": {"namespace": {"from": "ALL"}}},
)
HOST = manifest("Host", "all", {"hostname": "*", "requestPolicy": {"insecure": {"action": "Route"}}})
TLS_HOST = manifest("Host", "shop", {"hostname": "shop.example", "tlsSecret": {"name": "missing"}})


class Gateway(NamedTuple):
    """A running compiler, and people who apply and ask. ``address``: of its diagnostics."""

    world: LiveSystem
    service: CompilerService
    address: str

    async def apply(self, operation: str, *manifests: dict[str, Any]) -> None:
        entries = []
        for data in manifests:
            kind, metadata = data["kind"].lower(), data["metadata"]
            uuid = manifest_uuid(kind, (metadata["namespace"], metadata["name"]))
            changed = {"uuid": uuid} if operation == "DELETE" else {**data, "metadata": {**metadata, "uid": uuid}}
            entries.append((operation, kind, changed))
        await self.world.sync(*entries)
        await self.world.settle(self.service)

    async def show(self, *arguments: str) -> list[dict[str, Any]]:
        """The rows that ``intentc show`` prints."""
        environment = {**os.environ, "INTENTC_INTENTC__DIAGNOSTICS__ADDRESS": self.address}
        done = await forking.run(["show", "-o", "json", *arguments], environment)
        rows: list[dict[str, Any]] = msgspec.json.decode(done.out)["rows"]
        return rows

    async def problems(self) -> list[tuple[str, str, str]]:
        return [(row["kind"], row["name"], row["reason"]) for row in await self.show("problems")]


@pytest.fixture
async def gateway(etcd_store: EtcdStore, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Gateway]:
    compilers = load_all(find_compilers(["ambassador"]))
    async with (
        counted_world(etcd_store, compilers, monkeypatch) as world,
        world.serving(),
        world.compiling() as service,
        running_diagnostics(service, "127.0.0.1", 0, reader=service.reader) as url,
    ):
        yield Gateway(world, service, url.removeprefix("http://"))


async def test_before_the_first_resource_every_view_answers_with_nothing(gateway: Gateway) -> None:
    assert [await gateway.show(view) for view in gateway.service.reader.views] == [[]] * 6


async def test_a_problem_stays_until_its_resource_is_fixed(gateway: Gateway) -> None:
    expected = [("mapping", "gate:bad", "NoTLSContext")]
    await gateway.apply("CREATE", LISTENER, HOST, mapping("good"), mapping("bad", tls="missing"))
    assert await gateway.problems() == expected
    await gateway.apply("UPDATE", mapping("good", service="other"))
    await gateway.apply("CREATE", mapping("later"))
    await gateway.apply("DELETE", mapping("later"))
    assert await gateway.problems() == expected
    await gateway.apply("UPDATE", mapping("bad", tls=None))
    assert await gateway.problems() == []


async def test_a_host_without_its_secret_has_a_problem_until_it_is_deleted(gateway: Gateway) -> None:
    await gateway.apply("CREATE", LISTENER, HOST, TLS_HOST, mapping("good"))
    before = await gateway.problems()
    assert ("host", "gate:shop") in [(kind, name) for kind, name, _ in before]
    assert {kind for kind, _, _ in before} == {"host"}
    await gateway.apply("UPDATE", mapping("good", service="other"))
    assert await gateway.problems() == before
    await gateway.apply("DELETE", TLS_HOST)
    assert await gateway.problems() == []


async def test_the_route_table_and_the_services_follow_each_change(gateway: Gateway) -> None:
    await gateway.apply(
        "CREATE", LISTENER, HOST, mapping("one"), mapping("two", prefix="/one/", service="new", weight=20)
    )
    (route,) = await gateway.show("routes")
    assert route["to"] == [{"service": "echo", "percent": 80}, {"service": "new", "percent": 20}]
    assert [row["service"] for row in await gateway.show("services", "--filter", "gate:two")] == ["new"]
    await gateway.apply("DELETE", mapping("two"))
    (route,) = await gateway.show("routes")
    assert route["to"] == [{"service": "echo", "percent": 100}]
    assert [row["service"] for row in await gateway.show("services")] == ["echo"]
