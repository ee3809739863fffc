"""Conditions, fences, limits, tokens, and several servers on one etcd, over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial

import httpx2
import pytest
from anyio import create_task_group

from intentc.apiserver.serving import AddressTaken, running_api_server
from intentc.listening.http_server import Tls
from intentc.model import Schema
from intentc.watch.etcd import EtcdStore
from intentc.watch.protocol import Put
from tests.support.api_server import served

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

PROJECT = ["default-domain", "default-project"]


def policy(name: str) -> dict[str, object]:
    return {"network-policy": {"fq_name": [*PROJECT, name]}}


async def test_two_servers_that_race_for_a_name_give_it_once(
    two_clients: tuple[httpx2.AsyncClient, httpx2.AsyncClient],
) -> None:
    statuses: list[int] = []

    async def post(client: httpx2.AsyncClient, name: str) -> None:
        statuses.append((await client.post("/network-policys", json=policy(name))).status_code)

    async with create_task_group() as tasks:
        for n in range(20):
            for client in two_clients:
                tasks.start_soon(post, client, f"p{n}")
    assert sorted(statuses) == [200] * 20 + [409] * 20


async def test_conditions_are_kept(client: httpx2.AsyncClient) -> None:
    created = await client.post("/network-policys", json=policy("p"), headers={"If-None-Match": "*"})
    path = f"/network-policy/{created.json()['network-policy']['uuid']}"
    first = created.headers["X-Etcd-Revision"]
    body = {"network-policy": {"display_name": "x"}}
    changed = await client.put(path, json=body, headers={"If-Match": first})
    assert changed.status_code == 200
    stale = await client.put(path, json={"network-policy": {"display_name": "y"}}, headers={"If-Match": first})
    assert stale.status_code == 412
    assert not stale.json()["message"].startswith("fence")
    assert (await client.delete(path, headers={"If-Match": first})).status_code == 412
    assert (await client.delete(path, headers={"If-Match": "nonsense"})).status_code == 400
    assert (await client.delete(path, headers={"If-Match": changed.headers["X-Etcd-Revision"]})).status_code == 200


async def test_an_old_fence_writes_nothing(client: httpx2.AsyncClient, etcd_store: EtcdStore, path: str) -> None:
    leader = f"/intentc/{path}/leader"
    revision = (await etcd_store.transaction((), [Put(leader, b"me")])).revision
    good, old = ({"X-Intentc-Fence": f"{path}/{number}"} for number in (revision, revision - 1))
    assert (await client.post("/network-policys", json=policy("p"), headers=good)).status_code == 200
    for method, where, body in (
        ("POST", "/network-policys", policy("q")),
        ("POST", "/sync", {"resources": [{"kind": "network_policy", "data": {"fq_name": [*PROJECT, "q"]}}]}),
        ("POST", "/int-pool", {"pool": "route_target_number", "owner": "q"}),
    ):
        answer = await client.request(method, where, json=body, headers=old)
        assert answer.status_code == 412
        assert answer.json()["message"].startswith("fence")
    assert (await client.get("/network-policys?count=true")).json() == {"network-policys": {"count": 1}}


async def test_too_many_operations_are_reported_with_count_and_limit(
    etcd_store: EtcdStore, schema: Schema, path: str
) -> None:
    items = [{"kind": "network_policy", "data": {"fq_name": [*PROJECT, f"p{n}"]}} for n in range(40)]
    async with served(etcd_store, schema, path, max_txn_ops=128) as client:
        assert (await client.get("/")).json()["max_txn_ops"] == 128
        answer = await client.post("/sync", json={"resources": items})
        assert answer.status_code == 413
        assert "160" in answer.json()["message"]
        assert "128" in answer.json()["message"]
        assert (await client.post("/sync", json={"resources": items[:32]})).status_code == 200


async def test_a_body_that_is_too_large_is_not_read(client: httpx2.AsyncClient) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(17):
            yield b" " * 1024 * 1024

    answer = await client.post("/network-policys", content=endless(), headers={"content-type": "application/json"})
    assert answer.status_code == 413


def large_policy(name: str, size: int) -> dict[str, object]:
    pairs = {"key_value_pair": [{"key": "large", "value": "x" * size}]}
    return {"fq_name": [*PROJECT, name], "annotations": pairs}


async def test_a_resource_that_etcd_does_not_take_is_rejected_with_numbers(client: httpx2.AsyncClient) -> None:
    """By itself, in a batch that names it, and one that is over the limit only with its index."""
    large = large_policy("p", 2_000_000)
    answer = await client.post("/network-policys", json={"network-policy": large})
    assert answer.status_code == 413
    for words in ("the resource has 2,000,", "1,572,864", "split it"):
        assert words in answer.json()["message"]
    items = [{"kind": "network_policy", "data": data} for data in (large_policy("q", 9), large)]
    answer = await client.post("/sync", json={"resources": items})
    assert (answer.status_code, answer.json()["item"]) == (413, 1)
    nearly = large_policy("p", 1_572_864 - 1_000)
    answer = await client.post("/network-policys", json={"network-policy": nearly})
    assert answer.status_code == 200 or "split it" in answer.json()["message"]


@pytest.mark.parametrize("size", [500_000, 800_000])
async def test_a_request_that_etcd_does_not_take_is_rejected_with_numbers(
    client: httpx2.AsyncClient, size: int
) -> None:
    """Past etcd's own limit, and past that of its gRPC server, which says so in another way."""
    items = [{"kind": "network_policy", "data": large_policy(f"p{number}", size)} for number in range(4)]
    answer = await client.post("/sync", json={"resources": items})
    assert answer.status_code == 413, answer.text
    for words in (f"{4 * size // 1_000_000},", "operations", "1,572,864", "split it"):
        assert words in answer.json()["message"]


async def test_names_that_etcd_does_not_take_are_rejected(client: httpx2.AsyncClient) -> None:
    body = {"type": "network-policy", "fq_name": ["x" * 3_000_000]}
    answer = await client.post("/fqname-to-id", json=body)
    assert answer.status_code == 413, answer.text
    assert "1,572,864" in answer.json()["message"]


async def test_calls_need_a_token(guarded: httpx2.AsyncClient) -> None:
    assert (await guarded.get("/network-policys")).status_code == 401
    assert (await guarded.post("/network-policys", json=policy("p"))).status_code == 401
    assert (await guarded.get("/network-policys", headers={"X-Auth-Token": "guess"})).status_code == 401


async def log_in(client: httpx2.AsyncClient, user: str, project: str) -> dict[str, str]:
    identity = {"methods": ["password"], "password": {"user": {"id": user, "password": f"{user}_password"}}}
    body = {"auth": {"identity": identity, "scope": {"project": {"id": project}}}}
    answer = await client.post("/keystone/v3/auth/tokens", json=body)
    assert answer.status_code == 201, answer.text
    return {"X-Auth-Token": answer.headers["X-Subject-Token"]}


async def test_a_token_decides_who_owns_created_resources_and_who_may_create_any(guarded: httpx2.AsyncClient) -> None:
    alice, bob = await log_in(guarded, "alice", "admin"), await log_in(guarded, "bob", "demo")
    made = await guarded.post("/network-policys", json=policy("p"), headers=alice)
    assert made.json()["network-policy"]["perms2"]["owner"] == "admin"
    denied = await guarded.post("/network-policys", json=policy("q"), headers=bob)
    assert (denied.status_code, "aaa_mode is cloud-admin: only admin may" in denied.text) == (403, True)
    number = {"pool": "route_target_number", "owner": "x"}
    assert (await guarded.post("/int-pool", json=number, headers=bob)).status_code == 403
    assert (await guarded.post("/int-pool", json=number, headers=alice)).status_code == 200


async def test_an_address_in_use_is_reported(etcd_store: EtcdStore, schema: Schema, path: str) -> None:
    async with running_api_server(etcd_store, schema, path=path) as running:
        port = int(running.url.rsplit(":", 1)[1])
        with pytest.raises(AddressTaken, match="choose another"):
            async with running_api_server(etcd_store, schema, path=path, port=port):
                pass


async def test_an_error_beside_a_server_is_raised_as_it_is(etcd_store: EtcdStore, schema: Schema, path: str) -> None:
    with pytest.raises(LookupError, match="mine"):
        async with running_api_server(etcd_store, schema, path=path):
            raise LookupError("mine")


async def test_a_missing_certificate_is_reported(etcd_store: EtcdStore, schema: Schema, path: str) -> None:
    with pytest.raises(OSError):
        async with running_api_server(etcd_store, schema, path=path, tls=Tls("/nowhere.pem", "")):
            pass


async def test_a_server_that_stops_leaves_what_it_wrote(etcd_store: EtcdStore, schema: Schema, path: str) -> None:
    async with served(etcd_store, schema, path) as client:
        await client.post("/network-policys", json=policy("p"))
    async with served(etcd_store, schema, path) as client:
        assert (await client.get("/network-policys?count=true")).json() == {"network-policys": {"count": 1}}


async def test_repeated_frees_at_two_servers_never_give_a_number_to_two(
    two_clients: tuple[httpx2.AsyncClient, httpx2.AsyncClient],
) -> None:
    """A free whose answer was lost is sent again while others take numbers."""
    pool = "route_target_number"

    async def live(number: int) -> None:
        for turn in range(5):
            asked = {"pool": pool, "owner": f"o{number}/{turn}"}
            given = await two_clients[number % 2].post("/int-pool", json=asked)
            async with create_task_group() as both:
                for client in two_clients:
                    both.start_soon(partial(client.request, "DELETE", "/int-pool", json={**asked, **given.json()}))
        await two_clients[number % 2].post("/int-pool", json={"pool": pool, "owner": f"o{number}/last"})

    async with create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(live, number)
    holders = (await two_clients[0].get(f"/int-pool?pool={pool}")).json()["allocations"]
    assert len(holders) == 8
    assert len({holder["value"] for holder in holders}) == 8
    for holder in holders:
        answer = (await two_clients[1].get(f"/int-pool?pool={pool}&value={holder['value']}")).json()
        assert answer == {"owner": holder["owner"]}
