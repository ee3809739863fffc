"""Addresses of two API servers over HTTP on one real etcd: none twice, whatever happens to requests
(docs/contrail.md B.8)."""

from __future__ import annotations

import ipaddress
import json
import random
from typing import Any

import anyio
import httpx2
import pytest

from intentc.model import Schema
from intentc.watch.etcd import EtcdStore
from intentc.watch.protocol import prefix_end
from tests.support.api_server import served

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

PROJECT = ["default-domain", "default-project"]
IPAM = [*PROJECT, "default-network-ipam"]
Clients = tuple[httpx2.AsyncClient, httpx2.AsyncClient]
Fields = dict[str, Any]


async def create(client: httpx2.AsyncClient, kind: str, **fields: Any) -> Fields:
    answer = await client.post(f"/{kind}s", json={kind: fields})
    assert answer.status_code == 200, answer.text
    made: Fields = answer.json()[kind]
    return made


async def network(client: httpx2.AsyncClient, *prefixes: str) -> Fields:
    subnets = [{"subnet": {"ip_prefix": p, "ip_prefix_len": int(n)}} for p, n in (one.split("/") for one in prefixes)]
    refs = [{"to": IPAM, "attr": {"ipam_subnets": subnets}}]
    return await create(client, "virtual-network", fq_name=[*PROJECT, "n"], network_ipam_refs=refs)


def asked(name: str, **fields: Any) -> Fields:
    refs = [{"to": [*PROJECT, "n"]}]
    return {"instance-ip": {"fq_name": [name], "virtual_network_refs": refs, **fields}}


async def check(store: EtcdStore, path: str) -> dict[str, str]:
    """Check that instance IPs and pools agree at one revision, whichever; returns uuid → address."""
    prefix = f"/{path}/instance_ip/"
    found = await store.range(prefix, prefix_end(prefix))
    addresses = {one["uuid"]: one["instance_ip_address"] for one in (json.loads(item.value) for item in found.items)}
    prefix = f"/intentc/apiserver/{path}/pool-value/addresses:"
    pools = {}
    for item in (await store.range(prefix, prefix_end(prefix), revision=found.revision)).items:
        pool, _, number = item.key.removeprefix(prefix).rpartition("/")
        network = ipaddress.ip_network(pool.partition(":")[2].replace("-", "/"))
        pools[item.value.decode()] = str(network.network_address + int(number))
    assert len(set(addresses.values())) == len(addresses)
    assert pools == addresses
    return addresses


async def test_concurrent_creations_of_two_servers_get_different_addresses(
    two_clients: Clients, etcd_store: EtcdStore, path: str
) -> None:
    await network(two_clients[0], "10.0.0.0/26")
    answers: list[httpx2.Response] = []

    async def take(number: int) -> None:
        answers.append(await two_clients[number % 2].post("/instance-ips", json=asked(f"i{number}")))

    async with anyio.create_task_group() as tasks:
        for number in range(62):
            tasks.start_soon(take, number)
    assert sorted(answer.status_code for answer in answers) == [200] * 60 + [403] * 2
    addresses = await check(etcd_store, path)
    assert {int(one.rpartition(".")[2]) for one in addresses.values()} == set(range(1, 61))


@pytest.mark.parametrize("seed", range(2))
async def test_requests_that_break_off_leave_no_address_behind(
    two_clients: Clients, etcd_store: EtcdStore, path: str, seed: int
) -> None:
    """Creations and deletions at once, many of them cut off at any point: pools and instance IPs agree afterwards."""
    await network(two_clients[0], "10.0.0.0/27", "2001:db8::/120")
    rng = random.Random(seed)

    async def work(number: int, patience: float, family: str) -> None:
        client = two_clients[number % 2]
        with anyio.move_on_after(patience):
            body = asked(f"i{number}", instance_ip_family=family)
            answer = await client.post("/instance-ips", json=body)
            if answer.status_code == 200 and number % 3:
                await client.delete(f"/instance-ip/{answer.json()['instance-ip']['uuid']}")

    async with anyio.create_task_group() as tasks:
        for number in range(80):
            tasks.start_soon(work, number, rng.choice([0.02, 0.1, 0.5, 60.0]), rng.choice(["v4", "v6"]))
            await check(etcd_store, path)
    await check(etcd_store, path)


async def test_a_server_that_starts_again_knows_what_is_taken(etcd_store: EtcdStore, schema: Schema, path: str) -> None:
    async with served(etcd_store, schema, path) as client:
        await network(client, "10.0.0.0/24")
        first = (await create(client, "instance-ip", **asked("a")["instance-ip"]))["instance_ip_address"]
    async with served(etcd_store, schema, path) as client:
        second = (await create(client, "instance-ip", **asked("b")["instance-ip"]))["instance_ip_address"]
        taken = await client.post("/instance-ips", json=asked("c", instance_ip_address=first))
    assert (first, second, taken.status_code) == ("10.0.0.252", "10.0.0.251", 409)
