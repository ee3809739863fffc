"""The publisher's process is killed at each of its crash points, amid every sort of change, and restarted.

As F02 for compilers: real processes over a real etcd, an API server and Azure's REST over HTTP; Azure is the stand-in.
``test_appgw_publisher_killed`` meets every moment in memory; here the process, its lease and its connections end as
well.
"""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from intentc.apiserver.api_server import ApiServer
from intentc.apiserver.serving import running_api_server
from intentc.bridges.azure.pfx import PASSWORD, Pair
from intentc.dev.etcd_server import Etcd
from intentc.dev.resource_manager import ResourceManager, serving_resource_manager
from intentc.loading.resource_files import resources_in
from intentc.loading.schemas import load_schema
from intentc.loading.yaml import Located
from intentc.model import Schema
from intentc.watch.etcd import EtcdStore
from intentc.watch.protocol import Delete, prefix_end
from tests.faults.needless import changes_something
from tests.faults.scale import KILL_PATIENCE, VISITS
from tests.support.appgw.certificates import pair
from tests.support.appgw.manifests import Manifest, endpoint_slice, ingress, rule, secret, service
from tests.support.appgw.process_configuration import configuration_of
from tests.support.azure_gateway import PUBLIC_ADDRESS, small_gateway
from tests.support.crash_points import PUBLISHER_POINTS
from tests.support.processes import Process, start
from tests.support.secret_search import assert_shows_none, in_files
from tests.support.waiting import pauses, until, until_true

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

SIGKILLED = -9
TOKEN = "stand-in"
"""That which the publisher has for a stand-in on loopback."""
PATH = "appgw-killed"
_ONCE = {"lease.won"}
"""Points to which a process comes once, at its start."""
CRASHES = [
    f"{point}:{visit}" for visit in VISITS for point in sorted(PUBLISHER_POINTS) if visit == 1 or point not in _ONCE
]
TO_CART = ("/", "Prefix", "cart")
TLS = [{"hosts": ["shop.test"], "secretName": "account"}]
SHOP = ingress("shop", rule("shop.test", TO_CART), created="2026-01-01T00:00:00Z", tls=TLS)
KEYS = ("one.test", "two.test")
_BETWEEN_CHANGES = 8.0
"""Seconds: not every change leads to every point, and a rejection takes some."""
_UPDATING = 2.0
"""Seconds that a write takes whose process dies meanwhile: its successor finds it under way."""


class _World:
    """An etcd with its API server, a gateway, a compiler, and publishers as processes."""

    def __init__(self, store: EtcdStore, schema: Schema, manager: ResourceManager, folder: Path) -> None:
        self.store = store
        self.manager = manager
        self.configuration = folder / "configuration.yml"
        self.needless: list[str] = []
        self.turn = 0
        self.crash = ""
        self._api = ApiServer(store, schema, path=PATH, max_txn_ops=1024)
        self._schema = schema
        self._folder = folder
        self._uuids: dict[tuple[str, str], str] = {}
        self._held = Pair(b"", b"")
        self._processes: list[Process] = []
        manager.on_put = self._note

    def start(self, command: str, crash: str = "") -> Process:
        log = self._folder / "said" / f"{command}-{len(self._processes)}.log"
        log.parent.mkdir(exist_ok=True)
        own = [] if command == "run" else ["--diagnostics", "127.0.0.1:0"]
        arguments = [command, *own, "--config-file", str(self.configuration)]
        process = start(arguments, log, {}, crash)
        self._processes.append(process)
        return process

    async def plan(self, *manifests: Manifest) -> None:
        """Have ``intentc plan`` say what these would change; what it says is in a log."""
        file = self._folder / "planned.yml"
        file.write_text("\n---\n".join(map(json.dumps, manifests)))
        arguments = ["plan", str(file), "-o", "appgw", "--config-file", str(self.configuration)]
        process = start(arguments, self._folder / "said" / "plan.log", {})
        await until(lambda: not process.alive)
        assert "sslCertificates" in process.log, process.log

    def end(self) -> None:
        for process in self._processes:
            if process.alive:
                process.kill()

    async def put(self, *manifests: Manifest) -> None:
        entries: list[dict[str, Any]] = []
        names: list[tuple[str, str]] = []
        for manifest in manifests:
            (found,) = resources_in([Located(json.loads(json.dumps(manifest)), "<test>")], self._schema)
            name = (found.kind, ":".join(found.data["fq_name"]))
            data: dict[str, Any] = dict(found.data)
            names.append(name)
            if uuid := self._uuids.get(name):
                data = {**dict.fromkeys(self._schema.kind(found.kind).user_fields), **data, "uuid": uuid}
            entries.append({"kind": found.kind, "operation": "UPDATE" if uuid else "CREATE", "data": data})
            if manifest["kind"] == "Secret":
                self._held = Pair(*(base64.b64decode(manifest["data"][one]) for one in ("tls.crt", "tls.key")))
        answers, _ = await self._api.sync(entries)
        for name, answer in zip(names, answers, strict=True):
            self._uuids[name] = str(answer.data["uuid"])

    async def change(self) -> None:
        """The next change: endpoints, the certificate, an Ingress that Azure rejects, its repair. Somebody else changes
        the gateway, too."""
        self.turn += 1
        host = "bad.test" if self.turn % 2 else f"late-{self.turn}.test"
        late = ingress("late", rule(host, TO_CART), created="2026-02-01T00:00:00Z")
        chain = secret("account", *pair(KEYS[self.turn % 3 % 2]))
        await self.put(endpoint_slice("cart", f"10.0.0.{self.turn % 250}"), chain, late)
        self.manager.change(lambda properties: properties.update(customOfOthers=self.turn))

    def is_right(self) -> bool:
        """Whether the gateway has the present world, and what somebody else wrote."""
        properties = self.manager.get()["properties"]
        hosts = [name for one in properties["httpListeners"] for name in one["properties"]["hostNames"]]
        addresses = [
            one["ipAddress"]
            for pool in properties["backendAddressPools"]
            for one in pool["properties"]["backendAddresses"]
        ]
        (shown,) = properties["sslCertificates"]
        return (
            sorted(hosts) == ["shop.test"]
            if self.turn % 2
            else sorted(hosts) == [f"late-{self.turn}.test", "shop.test"]
        ) and (addresses, properties["customOfOthers"], self._held.is_in(shown["properties"]["publicCertData"])) == (
            [f"10.0.0.{self.turn % 250}"],
            self.turn,
            True,
        )

    def _note(self, former: dict[str, Any], sent: dict[str, Any]) -> None:
        if not changes_something(former, sent, self._held, "probes"):
            self.needless.append(f"{self.crash}, turn {self.turn}")

    async def records(self) -> dict[str, bytes]:
        """What etcd holds beside Secrets."""
        found = (await self.store.range(f"/{PATH}/", prefix_end(f"/{PATH}/"))).items
        return {item.key: item.value for item in found if not item.key.startswith(f"/{PATH}/secret/")}


async def _has_applied(publisher: Process) -> bool:
    status = await publisher.status()
    return bool(status["converged"] and status["leading"])


@pytest.fixture
async def killed(etcd: Etcd, etcd_store: EtcdStore, tmp_path: Path) -> AsyncIterator[_World]:
    gateway = small_gateway()
    gateway["tags"]["managed-by-k8s-ingress"] = "before"
    manager = ResourceManager(gateway, anyio.current_time, put_seconds=0.1, fills_in={"probes": {"extra": 1}})
    manager.addresses[PUBLIC_ADDRESS.lower()] = {"ipAddress": "192.0.2.1"}
    manager.rejects.add("bad.test")
    schema = load_schema("appgw")
    async with (
        serving_resource_manager(manager, token=TOKEN, retry_after=1) as azure,
        running_api_server(etcd_store, schema, path=PATH, max_txn_ops=1024) as server,
    ):
        configuration = configuration_of(
            etcd, path=PATH, server=server.url, azure=azure, journal=tmp_path / "said" / "journal"
        )
        world = _World(etcd_store, schema, manager, tmp_path)
        world.configuration.write_text(json.dumps(configuration))
        yield world
        world.end()
        for prefix in (f"/{PATH}/", f"/intentc/{PATH}/"):
            await etcd_store.transaction([], [Delete(prefix, prefix_end(prefix))])


async def test_a_publisher_that_is_killed_at_a_crash_point_costs_nothing_but_time(
    killed: _World, tmp_path: Path
) -> None:
    await killed.put(service("cart"), SHOP)
    await killed.change()
    compiler = killed.start("run")
    for killed.crash in CRASHES:
        await killed.change()
        killed.manager.put_seconds = _UPDATING if killed.crash.startswith("document.sent") else 0.1
        doomed = killed.start("appgw", killed.crash)
        with anyio.move_on_after(KILL_PATIENCE):
            changed_at = anyio.current_time()
            for pause in pauses():
                await anyio.sleep(pause)
                if not doomed.alive:
                    break
                if anyio.current_time() >= changed_at + _BETWEEN_CHANGES:
                    changed_at = anyio.current_time()
                    await killed.change()
        assert not doomed.alive, f"{killed.crash} is not reached: {doomed.log[-3000:]}"
        assert doomed.process.wait() == SIGKILLED, doomed.log[-3000:]
    killed.manager.put_seconds = 0.1
    publisher = killed.start("appgw")
    await until_true(lambda: _has_applied(publisher))
    await until(killed.is_right)
    statuses = [await publisher.status(), await compiler.status()]
    assert await publisher.terminate() == 0
    sent, records = len(killed.manager.puts), await killed.records()
    again = killed.start("appgw")
    await until_true(lambda: _has_applied(again))
    assert await again.terminate() == 0
    assert len(killed.manager.puts) == sent, "nothing has changed"
    assert await killed.records() == records
    assert killed.needless == []
    assert killed.manager.most_at_once == 1
    assert await compiler.terminate() == 0
    await killed.plan(secret("account", *pair("planned.test")))
    keys = [base64.b64decode(pair(name).key) for name in (*KEYS, "planned.test")]
    places = {**in_files(tmp_path / "said"), **records, "statuses": msgspec.json.encode(statuses)}
    assert_shows_none(places, [*keys, PASSWORD, f"Bearer {TOKEN}"])
