"""Resources that others put straight into a real etcd, as restores and Contrail's own tools do: the API server finds
them by name, lists them below their parent, and gives their name to nobody else."""

from __future__ import annotations

import itertools
from typing import Any

import httpx2
import msgspec
import pytest

from intentc.loading import load_schema
from intentc.watch.etcd import EtcdStore
from intentc.watch.protocol import Delete, Put
from tests.support.api_server import served
from tests.support.waiting import until_true

pytestmark = pytest.mark.anyio

SCHEMA = load_schema("contrail")
DOMAIN = "00000000-0000-4000-8000-0000000000d0"
PROJECT = "00000000-0000-4000-8000-0000000000a0"
NETWORK = "00000000-0000-4000-8000-0000000000b0"
NAME = ["default-domain", "shop", "front"]
_PATHS = itertools.count(1)


@pytest.fixture
def path() -> str:
    return f"foreign-{next(_PATHS)}"


async def put(store: EtcdStore, path: str, kind: str, uuid: str, fq_name: list[str], **fields: Any) -> None:
    value = msgspec.json.encode({"uuid": uuid, "fq_name": fq_name, **fields})
    await store.transaction([], [Put(f"/{path}/{kind}/{uuid}", value)])


async def put_all(store: EtcdStore, path: str) -> None:
    """A domain with the name of a seed, a project and a network in it."""
    await put(store, path, "domain", DOMAIN, NAME[:1], parent_type="config-root")
    await put(store, path, "project", PROJECT, NAME[:2], parent_type="domain", parent_uuid=DOMAIN)
    await put(store, path, "virtual_network", NETWORK, NAME, parent_type="project", parent_uuid=PROJECT)


async def uuid_of(client: httpx2.AsyncClient, kind: str, fq_name: list[str]) -> str | None:
    answer = await client.post("/fqname-to-id", json={"type": kind, "fq_name": fq_name})
    return answer.json()["uuid"] if answer.status_code == 200 else None


async def test_resources_in_etcd_before_the_start_are_indexed_before_the_seeds(
    etcd_store: EtcdStore, path: str
) -> None:
    await put_all(etcd_store, path)
    async with served(etcd_store, SCHEMA, path) as client:
        assert await uuid_of(client, "domain", NAME[:1]) == DOMAIN
        assert await uuid_of(client, "virtual-network", NAME) == NETWORK
        project = (await client.get(f"/project/{PROJECT}")).json()["project"]
        assert [child["uuid"] for child in project["virtual_networks"]] == [NETWORK]
        body = {"fq_name": NAME, "parent_type": "project"}
        assert (await client.post("/virtual-networks", json={"virtual-network": body})).status_code == 409
        assert (await client.delete(f"/project/{PROJECT}")).status_code == 409


async def test_two_running_servers_index_direct_puts_and_forget_direct_deletes(
    etcd_store: EtcdStore, path: str
) -> None:
    async with served(etcd_store, SCHEMA, path) as client, served(etcd_store, SCHEMA, path) as second:
        domain = await uuid_of(client, "domain", NAME[:1])
        await put(etcd_store, path, "project", PROJECT, NAME[:2], parent_type="domain", parent_uuid=domain)
        await put(etcd_store, path, "virtual_network", NETWORK, NAME, parent_type="project", parent_uuid=PROJECT)
        for one in (client, second):
            await until_true(lambda one=one: _is(one, NETWORK))  # type: ignore[misc]
        await etcd_store.transaction([], [Delete(f"/{path}/virtual_network/{NETWORK}")])
        await until_true(lambda: _deletes(client, f"/project/{PROJECT}"))
        assert await uuid_of(second, "virtual-network", NAME) is None


async def _is(client: httpx2.AsyncClient, uuid: str) -> bool:
    return await uuid_of(client, "virtual-network", NAME) == uuid


async def _deletes(client: httpx2.AsyncClient, path: str) -> bool:
    return (await client.delete(path)).status_code == 200
