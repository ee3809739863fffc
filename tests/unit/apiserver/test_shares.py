"""A project gets no more than its share of the numbers that all projects draw from (docs/contrail.md B.6)."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from intentc.apiserver.api_server import ApiServer
from intentc.apiserver.app import create_app
from intentc.apiserver.auth import Keystone, StaticRole, StaticUser
from intentc.apiserver.authorization import Mode, Policy
from intentc.apiserver.startup import write_seeds
from intentc.model import Schema
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import prefix_end

from .conftest import PROJECT, Api, rejected

pytestmark = pytest.mark.anyio

PORTS = "bgpaas_port"


@pytest.fixture
async def api(store: MemoryStore, schema: Schema) -> Api:
    """With 40 % of each pool for one project, and ten ports for BGP as a service: four for each."""
    server = ApiServer(store, schema, pool_share=40)
    await write_seeds(server)
    made = Api(server)
    config = await made.by_name("global_system_config", "default-global-system-config")
    await made.update(
        "global_system_config", config["uuid"], bgpaas_parameters={"port_start": 50001, "port_end": 50010}
    )
    await made.create("project", fq_name=["default-domain", "other"])
    return made


async def below(store: MemoryStore, place: str) -> list[bytes]:
    """The values below a place of the index."""
    prefix = f"/intentc/apiserver/contrail/{place}"
    return [item.value for item in (await store.range(prefix, prefix_end(prefix))).items]


async def service(api: Api, *fq_name: str) -> str:
    made = await api.create("bgp_as_a_service", fq_name=list(fq_name), autonomous_system=65000)
    return str(made["uuid"])


async def test_a_compiler_gets_the_share_of_the_owners_project_and_no_more(api: Api) -> None:
    mine, also_mine = [await service(api, *PROJECT, name) for name in ("a", "b")]
    theirs = await service(api, "default-domain", "other", "a")
    for number in range(4):
        await api.server.allocate(PORTS, f"default/{(mine, also_mine)[number % 2]}/p{number}")
    with rejected(
        412,
        "pool bgpaas_port: the project default-domain:default-project holds 4 numbers, and its quota is 4 of 10 (40 %)",
        "intentc.api.pool_share",
    ):
        await api.server.allocate(PORTS, f"default/{mine}/p4")
    assert (await api.server.allocate(PORTS, f"default/{mine}/p0"))[0] == 50001, "it holds this one already"
    assert (await api.server.allocate(PORTS, f"default/{theirs}/p"))[0] == 50005


async def test_a_freed_number_makes_room_also_after_its_resource_is_gone(api: Api) -> None:
    gone, kept = await service(api, *PROJECT, "gone"), await service(api, *PROJECT, "kept")
    for number in range(4):
        await api.server.allocate(PORTS, f"default/{gone}/p{number}")
    await api.delete("bgp_as_a_service", gone)
    with rejected(412, "quota"):
        await api.server.allocate(PORTS, f"default/{kept}/p")
    await api.server.free(PORTS, owner=f"default/{gone}/p0")
    await api.server.free(PORTS, value=50002)
    for number in range(2):
        await api.server.allocate(PORTS, f"default/{kept}/p{number}")
    with rejected(412, "quota"):
        await api.server.allocate(PORTS, f"default/{kept}/p2")


@pytest.mark.parametrize(
    ("pool", "kind", "fields"),
    [
        ("virtual_network_id", "virtual_network", {}),
        ("virtual_network_id", "logical_router", {"logical_router_type": "vxlan-routing"}),
        ("security_group_id", "security_group", {}),
        ("tag_id", "tag", {"parent_type": "project", "tag_type_name": "tier"}),
        ("tag_type_id", "tag", {"parent_type": "project"}),
        ("tag_type_id", "tag_type", {}),
    ],
)
async def test_each_pool_that_the_server_draws_from_has_shares(
    api: Api, pool: str, kind: str, fields: dict[str, Any]
) -> None:
    """With five numbers left in it, a project gets two of them; another project still gets one."""

    def place(project: str, number: int) -> dict[str, Any]:
        name = f"n{number}"
        tagged = {"tag_type_name": name, "tag_value": name} if kind == "tag" else {}
        above = ["default-domain", project] if kind != "tag_type" else []
        return {"fq_name": [*above, f"{name}={name}" if tagged else name], **tagged, **fields}

    await api.server.drop_pool(pool)
    await api.server.create_pool(pool, 1000, 1005)
    for number in range(2):
        await api.create(kind, **place("default-project", number))
    with rejected(412, f"pool {pool}", "its quota is 2 of 5"):
        await api.create(kind, **place("default-project", 2))
    if kind != "tag_type":
        await api.create(kind, **place("other", 3))


async def test_numbers_of_an_older_server_are_read_and_freed(api: Api, store: MemoryStore) -> None:
    """They have no project, and count for none."""
    mine = await service(api, *PROJECT, "a")
    await api.server.allocate(PORTS, "default/unknown/p")
    for number in range(4):
        await api.server.allocate(PORTS, f"default/{mine}/p{number}")
    await api.server.free(PORTS, owner="default/unknown/p")
    listed = await api.server.held(PORTS, "default/")
    assert sorted(held.value for held in listed) == [50002, 50003, 50004, 50005]
    entries = await below(store, "pool-owner/bgpaas_port/")
    assert len(entries) == 4 and all(json.loads(value)[1] for value in entries)


async def test_a_dropped_pool_leaves_no_counts(api: Api, store: MemoryStore) -> None:
    await api.server.allocate(PORTS, f"default/{await service(api, *PROJECT, 'a')}/p")
    assert await below(store, "pool-share/bgpaas_port/") == [b"1"]
    await api.server.drop_pool(PORTS)
    assert not await below(store, "pool-share/bgpaas_port/")


async def test_the_metrics_show_size_and_use_of_each_pool(api: Api) -> None:
    await api.server.allocate(PORTS, f"default/{await service(api, *PROJECT, 'a')}/p")
    transport = httpx2.ASGITransport(app=create_app(api.server))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", trust_env=False) as client:
        text = (await client.get("/metrics")).text
    assert 'intentc_pool_size{pool="bgpaas_port"} 10.0' in text
    assert 'intentc_pool_used{pool="bgpaas_port"} 1.0' in text
    assert 'intentc_pool_size{pool="virtual_network_id"}' in text
    assert "addresses" not in text


async def test_the_metrics_need_their_token_or_one_that_reads_everything(store: MemoryStore, schema: Schema) -> None:
    users = [
        StaticUser(name, name, lambda: "pw", roles=(StaticRole(name, "p", "p"),)) for name in ("admin", "auditor", "x")
    ]
    keystone = Keystone(users)
    tokens: list[str] = []
    for user in users:
        identity = {"methods": ["password"], "password": {"user": {"id": user.id, "password": "pw"}}}
        tokens.append((await keystone.log_in({"auth": {"identity": identity}})).text)
    server = ApiServer(store, schema, policy=Policy(Mode.RBAC, "admin", "auditor"))
    transport = httpx2.ASGITransport(app=create_app(server, keystone, metrics_token=lambda: "scraper"))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", trust_env=False) as client:
        for token, status in (
            ("scraper", 200),
            (tokens[0], 200),
            (tokens[1], 200),
            (tokens[2], 403),
            ("other", 401),
            ("", 401),
        ):
            answer = await client.get("/metrics", headers={"Authorization": f"Bearer {token}"} if token else {})
            assert answer.status_code == status, (token, answer.text)
        assert (await client.get("/virtual-networks", headers={"Authorization": "Bearer scraper"})).status_code == 401
