"""``intentc appgw`` as a process beside a compiler: what Ingresses say reaches the gateway, and a new process goes on.

etcd, the API server over HTTP, both processes and the REST of Resource Manager are real; Azure is the stand-in.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from intentc.apiserver.serving import running_api_server
from intentc.dev.etcd_server import Etcd
from intentc.dev.resource_manager import ResourceManager, serving_resource_manager
from intentc.loading.schemas import load_schema
from intentc.watch.etcd import EtcdStore
from tests.support.appgw.process_configuration import configuration_of
from tests.support.azure_gateway import PUBLIC_ADDRESS, small_gateway
from tests.support.processes import Process, start
from tests.support.waiting import until, until_true

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]
PATH = "appgw-process"
SAMPLE = Path(__file__).resolve().parents[3] / "sample" / "appgw" / "shop.yml"
INGRESS = """\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: late, namespace: shop}
spec:
  ingressClassName: azure-application-gateway
  rules:
    - host: late.example
      http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {name: http}}}}]}
"""
PLANNED = ["backendHttpSettingsCollection", "httpListeners", "probes", "requestRoutingRules"]
"""Where the plan of that Ingress adds something to the document."""


class Commands:
    """Starts ``intentc`` with one configuration, and kills what is left."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "configuration.yml"
        self._folder = folder
        self._started: list[Process] = []

    def __call__(self, name: str, *arguments: str) -> Process:
        log = self._folder / f"{name}-{len(self._started)}.log"
        process = start([name, *arguments, "--config-file", str(self.file)], log, {})
        self._started.append(process)
        return process

    async def apply(self, file: Path) -> None:
        process = self("apply", str(file))
        await until(lambda: not process.alive)
        assert "created" in process.log, process.log

    def end(self) -> None:
        for process in self._started:
            if process.alive:
                process.kill()


@pytest.fixture
def commands(tmp_path: Path) -> Iterator[Commands]:
    found = Commands(tmp_path)
    yield found
    found.end()


def _hosts(manager: ResourceManager) -> list[str]:
    listeners: list[dict[str, Any]] = manager.get()["properties"]["httpListeners"]
    return sorted(name for one in listeners for name in one["properties"]["hostNames"])


async def test_the_successor_of_a_killed_publisher_sends_only_what_is_new(
    etcd: Etcd, etcd_store: EtcdStore, commands: Commands, tmp_path: Path
) -> None:
    gateway = small_gateway()
    gateway["tags"]["managed-by-k8s-ingress"] = "before"
    manager = ResourceManager(gateway, anyio.current_time, put_seconds=0.05)
    manager.addresses[PUBLIC_ADDRESS.lower()] = {"ipAddress": "192.0.2.1"}
    async with (
        serving_resource_manager(manager) as azure,
        running_api_server(etcd_store, load_schema("appgw"), path=PATH, max_txn_ops=1024) as server,
    ):
        configuration = configuration_of(etcd, path=PATH, server=server.url, azure=azure)
        commands.file.write_text(json.dumps(configuration))
        commands("run")
        publisher = commands("appgw", "--diagnostics", "127.0.0.1:0")
        await commands.apply(SAMPLE)
        await until(lambda: _hosts(manager) == ["shop.example"] and _has_applied(publisher))
        sent = len(manager.puts)

        await anyio.to_thread.run_sync(publisher.kill)
        publisher = commands("appgw", "--diagnostics", "127.0.0.1:0")
        await until(lambda: _has_applied(publisher))
        assert len(manager.puts) == sent, "nothing has changed"

        late = tmp_path / "late.yml"
        late.write_text(INGRESS)
        plan = commands("plan", str(late), "-o", "appgw")
        await until(lambda: not plan.alive)
        assert [place for sign, place in _signed(plan.log) if sign == "+"] == PLANNED, plan.log
        assert all(sign == "+" for sign, _ in _signed(plan.log))
        assert len(manager.puts) == sent, "a plan sends nothing"
        await commands.apply(late)
        await until(lambda: _hosts(manager) == ["late.example", "shop.example"])

        async def has_address() -> bool:
            found = await etcd_store.range(f"/{PATH}/ingress/", f"/{PATH}/ingress0")
            statuses = {
                item["fq_name"][1]: item.get("status") for item in map(json.loads, (i.value for i in found.items))
            }
            return "192.0.2.1" in str(statuses["late"]) and "192.0.2.1" in str(statuses["shop"])

        await until_true(has_address)
        assert await publisher.terminate() == 0
    assert manager.most_at_once == 1


def _signed(log: str) -> list[tuple[str, str]]:
    """(sign, collection) of the parts in a plan."""
    return [(line[0], line[2:].partition("/")[0]) for line in log.splitlines() if line[:2] in ("+ ", "- ", "~ ")]


def _has_applied(process: Process) -> bool:
    """Whether its last look found that the gateway has everything."""
    looks = [line for line in process.log.splitlines() if "serving" in line]
    return bool(looks) and "Applied" in looks[-1]
