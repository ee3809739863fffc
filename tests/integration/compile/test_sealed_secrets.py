"""Compilers copy and compare secrets as they are encrypted in etcd, on a real etcd and over HTTP (docs/security.md)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from intentc.apiserver.api_server import ApiServer
from intentc.apiserver.secrets import PREFIX, Secrets
from intentc.apiserver.startup import reseal
from intentc.model import Key
from intentc.writing.endpoint import Endpoint
from intentc.writing.http import http_services
from tests.support.live_system import PROJECT, LiveSystem

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

OLD, NEW = "an old key, with forty characters in it!", "a new key, with forty characters in it!!"
FABRIC = ("default-domain", "default-project", "ip-fabric", "__default__")


def auth(key: str) -> dict[str, Any]:
    return {"auth_data": {"key_type": "md5", "key_items": [{"key_id": 1, "key": key}]}}


def server(world: LiveSystem) -> ApiServer:
    """Another server of this world."""
    return ApiServer(
        world.store, world.loaded.schema, path=world.path, max_txn_ops=1024, secrets=Secrets(lambda: world.keys)
    )


async def keys_of(world: LiveSystem, kind: str) -> set[str]:
    """The keys of sessions, as they are stored in all resources of a kind."""
    found: set[str] = set()

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            found.update(value["key"] for _ in "x" if "key_id" in value)
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(list((await world.stored()).get(kind, {}).values()))
    return found


async def test_a_key_of_a_bgp_service_gets_to_its_routers_encrypted_and_follows_rotations(world: LiveSystem) -> None:
    world.keys = OLD
    network, port = ({"to": [*PROJECT, name]} for name in ("vn1", "p1"))
    async with world.compiling() as service:
        await world.create("virtual_network", "vn1")
        await world.create("virtual_machine_interface", "p1", parent_type="project", virtual_network_refs=[network])
        fields: dict[str, Any] = {"autonomous_system": 64600, "virtual_machine_interface_refs": [port]}
        uuid = await world.create("bgp_as_a_service", "b", **fields, bgpaas_session_attributes=auth("hunter2"))
        # The compiler sets the autonomous system of this one, within the parameters that hold the key.
        parameters = {"router_type": "router", "vendor": "contrail", "address": "10.0.0.1", **auth("hunter3")}
        mine = await world.create("bgp_router", "r", FABRIC, bgp_router_parameters=parameters)
        await world.settle(service)
        (sealed,) = await keys_of(world, "bgp_as_a_service")
        assert sealed.startswith(PREFIX)
        assert len(await keys_of(world, "bgp_router")) == 2 and sealed in await keys_of(world, "bgp_router")
        assert "hunter" not in json.dumps(await world.stored())
        await world.assert_compiled()
        await world.update("bgp_as_a_service", uuid, bgpaas_session_attributes=auth("hunter4"))
        await world.settle(service)
        assert sealed not in await keys_of(world, "bgp_router")
    before = await world.values()
    await world.compile_once()
    assert await world.values() == before, "what is there is what is wanted"
    world.keys = f"{NEW}\n{OLD}"
    async with world.compiling() as service:
        await world.settle(service)
        assert await reseal(server(world)) == 4
        await world.update("bgp_as_a_service", uuid, display_name="b")
        await world.settle(service)
    assert await reseal(server(world)) == 0
    world.keys = NEW
    rotated = await keys_of(world, "bgp_as_a_service") | await keys_of(world, "bgp_router")
    newest = server(world).secrets.newest
    assert len(rotated) == 2 and all(key.startswith(f"{PREFIX}{newest}$") for key in rotated)
    before = await world.values()
    await world.compile_once()
    assert await world.values() == before
    await world.assert_compiled()
    router = (await server(world).get(Key("bgp_router", mine))).document["bgp_router_parameters"]
    assert (router["auth_data"], router["autonomous_system"]) == (auth("hunter3")["auth_data"], 64512)


async def test_a_compiler_reads_back_what_is_in_etcd(world: LiveSystem) -> None:
    world.keys = NEW
    uuid = await world.create("bgp_as_a_service", "b", bgpaas_session_attributes=auth("hunter2"))
    async with http_services(Endpoint(world.url), world.loaded.schema, pools=()) as (_, read):
        found = await read.read(Key("bgp_as_a_service", uuid))
    assert found is not None and PREFIX.encode() in found.value and b"hunter2" not in found.value
    answer = await world.person.get(f"{world.url}/bgp-as-a-service/{uuid}")
    assert "hunter2" in answer.text, "whoever may read secrets gets them open"
