"""Addresses that the server gives to instance IPs, floating IPs and alias IPs (docs/contrail.md B.8)."""

from __future__ import annotations

import ipaddress
import random
from typing import Any

import anyio
import msgspec
import pytest

from intentc.apiserver.api_server import ApiServer
from intentc.apiserver.errors import ApiError
from intentc.model import Schema
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Put

from .conftest import PROJECT, Api, rejected

pytestmark = pytest.mark.anyio

Fields = dict[str, Any]
IPAM = [*PROJECT, "default-network-ipam"]


def subnet(text: str, **fields: Any) -> Fields:
    prefix, _, length = text.partition("/")
    return {"subnet": {"ip_prefix": prefix, "ip_prefix_len": int(length)}, **fields}


def pool(*bounds: str) -> Fields:
    return dict(zip(("start", "end"), bounds, strict=True))


async def network(api: Api, *subnets: Fields, name: str = "n", **fields: Any) -> Fields:
    references = [{"to": IPAM, "attr": {"ipam_subnets": list(subnets)}}]
    return await api.create("virtual_network", name, network_ipam_refs=references, **fields)


async def instance_ip(api: Api, name: str, network: str = "n", **fields: Any) -> Fields:
    return await api.create("instance_ip", fq_name=[name], virtual_network_refs=[{"to": [*PROJECT, network]}], **fields)


async def address(api: Api, name: str, network: str = "n", **fields: Any) -> str:
    return str((await instance_ip(api, name, network, **fields))["instance_ip_address"])


def entries(document: Fields) -> list[Fields]:
    found: list[Fields] = document["network_ipam_refs"][0]["attr"]["ipam_subnets"]
    return found


async def pool_keys(store: MemoryStore) -> list[str]:
    return [item.key for item in (await store.range("/intentc/", "/intentd/")).items if "/addresses:" in item.key]


async def test_a_subnet_gets_a_gateway_a_service_address_and_a_uuid_that_stay(api: Api) -> None:
    made = await network(api, subnet("10.0.0.0/24"), subnet("1000::/16"), subnet("10.1.0.0/24", addr_from_start=True))
    assert [(e["default_gateway"], e["dns_server_address"]) for e in entries(made)] == [
        ("10.0.0.254", "10.0.0.253"),
        ("1000:ffff:ffff:ffff:ffff:ffff:ffff:fffe", "1000:ffff:ffff:ffff:ffff:ffff:ffff:fffd"),
        ("10.1.0.1", "10.1.0.2"),
    ]
    assert len({entry["subnet_uuid"] for entry in entries(made)}) == 3
    references = [{"to": IPAM, "attr": {"ipam_subnets": [subnet("10.0.0.0/24"), subnet("10.2.0.0/24")]}}]
    await api.update("virtual_network", made["uuid"], network_ipam_refs=references)
    now = entries(await api.get("virtual_network", made["uuid"]))
    assert now[0] == entries(made)[0]
    assert now[1]["default_gateway"] == "10.2.0.254"


async def test_a_given_gateway_and_service_address_stay(api: Api) -> None:
    made = await network(api, subnet("10.0.0.0/24", default_gateway="10.0.0.1", dns_server_address="10.0.0.2"))
    assert (entries(made)[0]["default_gateway"], entries(made)[0]["dns_server_address"]) == ("10.0.0.1", "10.0.0.2")
    assert [await address(api, f"i{n}") for n in range(2)] == ["10.0.0.254", "10.0.0.253"]
    with rejected(400, "reserves"):
        await address(api, "x", instance_ip_address="10.0.0.2")


async def test_addresses_are_given_from_the_top_and_freed_with_their_instance_ip(api: Api) -> None:
    made = await network(api, subnet("10.0.0.0/24"))
    one, two = await instance_ip(api, "one"), await instance_ip(api, "two")
    assert (one["instance_ip_address"], two["instance_ip_address"]) == ("10.0.0.252", "10.0.0.251")
    assert one["subnet_uuid"] == entries(made)[0]["subnet_uuid"]
    assert one["instance_ip_subnet"] == {"ip_prefix": "10.0.0.0", "ip_prefix_len": 24}
    await api.delete("instance_ip", one["uuid"])
    assert await address(api, "three") == "10.0.0.252"


async def test_addr_from_start_gives_the_lowest(api: Api) -> None:
    await network(api, subnet("10.0.0.0/24", addr_from_start=True))
    assert [await address(api, f"i{n}") for n in range(2)] == ["10.0.0.3", "10.0.0.4"]


async def test_allocation_pools_limit_what_is_given(api: Api) -> None:
    pools = [pool("10.0.0.5", "10.0.0.6"), pool("10.0.0.250", "10.0.0.254")]
    made = await network(api, subnet("10.0.0.0/24", allocation_pools=pools))
    assert [await address(api, f"i{n}") for n in range(5)] == [
        "10.0.0.252", "10.0.0.251", "10.0.0.250", "10.0.0.6", "10.0.0.5",
    ]  # fmt: skip
    with rejected(403, "no address is free"):
        await address(api, "x")
    with rejected(400, "outside of the allocation pools"):
        await address(api, "x", instance_ip_address="10.0.0.7")
    references = [
        {"to": IPAM, "attr": {"ipam_subnets": [subnet("10.0.0.0/24", allocation_pools=[pool("10.0.0.6", "10.0.0.7")])]}}
    ]
    await api.update("virtual_network", made["uuid"], network_ipam_refs=references)
    assert await address(api, "x") == "10.0.0.7"


async def test_a_pool_of_a_virtual_router_is_left_out(api: Api) -> None:
    pools = [pool("10.0.0.5", "10.0.0.6"), {**pool("10.0.0.8", "10.0.0.9"), "vrouter_specific_pool": True}]
    await network(api, subnet("10.0.0.0/24", allocation_pools=pools))
    assert await address(api, "x") == "10.0.0.6"


async def test_units_are_given_whole(api: Api) -> None:
    await network(api, subnet("10.0.0.0/26", alloc_unit=16))
    assert [await address(api, f"i{n}") for n in range(2)] == ["10.0.0.32", "10.0.0.16"]
    with rejected(403):
        await address(api, "x")


async def test_the_family_chooses_the_subnet(api: Api) -> None:
    await network(api, subnet("1000::/16"), subnet("10.0.0.0/24"))
    assert await address(api, "a") == "10.0.0.252"
    assert await address(api, "b", instance_ip_family="v6") == "1000:ffff:ffff:ffff:ffff:ffff:ffff:fffc"
    assert await address(api, "c", instance_ip_address="1000::5") == "1000::5"


async def test_only_ipv6_serves_without_a_family(api: Api) -> None:
    await network(api, subnet("2001:db8::/64"))
    assert await address(api, "a") == "2001:db8::ffff:ffff:ffff:fffc"


async def test_a_subnet_uuid_chooses_the_subnet_and_the_next_follows_a_full_one(api: Api) -> None:
    made = await network(api, subnet("10.0.0.0/29"), subnet("10.1.0.0/29"))
    second = entries(made)[1]["subnet_uuid"]
    assert await address(api, "a", subnet_uuid=second) == "10.1.0.4"
    assert [await address(api, f"i{n}") for n in range(5)] == [
        "10.0.0.4", "10.0.0.3", "10.0.0.2", "10.0.0.1", "10.1.0.3",
    ]  # fmt: skip


async def test_a_requested_address_is_kept_in_its_canonical_form(api: Api) -> None:
    await network(api, subnet("1000::/16"))
    assert await address(api, "a", instance_ip_address="1000:0:0::5") == "1000::5"
    with rejected(409, "is taken"):
        await address(api, "b", instance_ip_address="1000:0::0:5")


async def test_the_gateway_is_for_a_router(api: Api) -> None:
    await network(api, subnet("10.0.0.0/24"))
    port = await api.create(
        "virtual_machine_interface", "i", parent_type="project", virtual_network_refs=[{"to": [*PROJECT, "n"]}]
    )
    refs = [{"uuid": port["uuid"]}]
    made = await instance_ip(api, "g", instance_ip_address="10.0.0.254", virtual_machine_interface_refs=refs)
    with rejected(409, "is taken"):
        await address(api, "h", instance_ip_address="10.0.0.254")
    machine = await api.create("virtual_machine", fq_name=["m"])
    other = await api.create(
        "virtual_machine_interface", "j", parent_type="project", virtual_network_refs=[{"to": [*PROJECT, "n"]}],
        virtual_machine_refs=[{"uuid": machine["uuid"]}],
    )  # fmt: skip
    with rejected(400, "is the gateway"):
        await api.update("instance_ip", made["uuid"], virtual_machine_interface_refs=[{"uuid": other["uuid"]}])


async def test_leftovers_of_an_older_server_prevent_no_change_and_no_deletion(api: Api, store: MemoryStore) -> None:
    made = await network(api, subnet("10.0.0.0/24"))
    taken = await instance_ip(api, "a")
    broken = [subnet("nonsense/24"), subnet("10.0.0.0/24", alloc_unit=-3, allocation_pools=[pool("x", "y")])]
    made["network_ipam_refs"][0]["attr"]["ipam_subnets"] = broken
    taken["instance_ip_address"] = "nonsense"
    for kind, document in (("virtual_network", made), ("instance_ip", taken)):
        await store.transaction([], [Put(f"/contrail/{kind}/{document['uuid']}", msgspec.json.encode(document))])
        await api.update(kind, document["uuid"], display_name="another")
    await api.delete("instance_ip", taken["uuid"])
    await api.update("virtual_network", made["uuid"], network_ipam_refs=[{"to": IPAM, "attr": {"ipam_subnets": []}}])
    await api.delete("virtual_network", made["uuid"])
    assert await pool_keys(store) == []


async def test_another_form_of_the_same_address_is_no_change(api: Api, store: MemoryStore) -> None:
    await network(api, subnet("2001:db8::/64"))
    made = await instance_ip(api, "a", instance_ip_address="2001:db8::5")
    before = (await store.range("/")).revision
    await api.update("instance_ip", made["uuid"], instance_ip_address="2001:0db8:0::5")
    assert (await store.range("/")).revision == before


async def test_what_is_sent_back_changes_nothing(api: Api, store: MemoryStore) -> None:
    await network(api, subnet("10.0.0.0/24"))
    made = await instance_ip(api, "a")
    before = (await store.range("/")).revision
    sent = {name: value for name, value in made.items() if name not in ("id_perms", "perms2")}
    await api.update("instance_ip", made["uuid"], **sent)
    assert (await store.range("/")).revision == before


async def test_a_network_that_comes_later_gives_the_address(api: Api) -> None:
    await network(api, subnet("10.0.0.0/24"))
    made = await api.create("instance_ip", fq_name=["late"])
    await api.update("instance_ip", made["uuid"], virtual_network_refs=[{"to": [*PROJECT, "n"]}])
    assert (await api.get("instance_ip", made["uuid"]))["instance_ip_address"] == "10.0.0.252"
    await api.update("instance_ip", made["uuid"], virtual_network_refs=[])
    assert await address(api, "other") == "10.0.0.252"


async def test_an_instance_ip_that_leaves_its_network_frees_its_address(api: Api) -> None:
    await network(api, subnet("10.0.0.0/24"))
    left = await instance_ip(api, "left")
    await api.update("instance_ip", left["uuid"], virtual_network_refs=[])
    assert "instance_ip_address" not in await api.get("instance_ip", left["uuid"])
    assert await address(api, "other") == left["instance_ip_address"]
    await api.update("instance_ip", left["uuid"], virtual_network_refs=[{"to": [*PROJECT, "n"]}])
    assert (await api.get("instance_ip", left["uuid"]))["instance_ip_address"] == "10.0.0.251"


async def test_addresses_of_hosts_are_not_given(api: Api) -> None:
    for name in ("ip-fabric", "__link_local__"):
        made = await instance_ip(api, name, name, instance_ip_address="169.254.0.3")
        assert made["instance_ip_address"] == "169.254.0.3"


# ---- flat IPAMs ----------------------------------------------------------------------------------------------------


async def test_networks_share_the_addresses_of_a_flat_ipam(api: Api) -> None:
    await api.create(
        "network_ipam", "flat", ipam_subnet_method="flat-subnet", ipam_subnets={"subnets": [subnet("10.9.0.0/24")]}
    )
    for name in ("a", "b"):
        await api.create("virtual_network", name, network_ipam_refs=[{"to": [*PROJECT, "flat"]}])
    assert [await address(api, "i", "a"), await address(api, "j", "b")] == ["10.9.0.252", "10.9.0.251"]
    with rejected(409, "is taken"):
        await address(api, "k", "b", instance_ip_address="10.9.0.252")


async def test_the_allocation_mode_orders_own_and_flat_subnets(api: Api) -> None:
    await api.create(
        "network_ipam", "flat", ipam_subnet_method="flat-subnet", ipam_subnets={"subnets": [subnet("10.9.0.0/24")]}
    )
    references = [{"to": IPAM, "attr": {"ipam_subnets": [subnet("10.0.0.0/24")]}}, {"to": [*PROJECT, "flat"]}]
    expected = {
        "user-defined-subnet-preferred": "10.0.0.252", "user-defined-subnet-only": "10.0.0.252",
        "flat-subnet-preferred": "10.9.0.252", "flat-subnet-only": "10.9.0.251",
    }  # fmt: skip
    for mode, wanted in expected.items():
        await api.create("virtual_network", mode, network_ipam_refs=references, address_allocation_mode=mode)
        assert await address(api, mode, mode) == wanted


async def test_service_chains_get_addresses_of_the_seeded_ipam(api: Api) -> None:
    """docs/contrail.md A.5: from the top, 0.255.255.252 first."""
    refs = [{"to": [*PROJECT, "service-chain-flat-ipam"]}]
    found = [
        (await api.create("instance_ip", fq_name=[name], network_ipam_refs=refs, instance_ip_family=family))[
            "instance_ip_address"
        ]
        for name, family in (("a-v4", "v4"), ("a-v6", "v6"), ("b-v4", "v4"))
    ]
    assert found[0::2] == ["0.255.255.252", "0.255.255.251"]
    assert ipaddress.ip_address(found[1]) == ipaddress.ip_address("::0.255.255.252")


async def test_a_virtual_router_has_addresses_of_its_own_pools(api: Api) -> None:
    pools = [pool("10.9.0.20", "10.9.0.29"), {**pool("10.9.0.10", "10.9.0.11"), "vrouter_specific_pool": True}]
    await api.create(
        "network_ipam", "flat", ipam_subnet_method="flat-subnet",
        ipam_subnets={"subnets": [subnet("10.9.0.0/24", allocation_pools=pools)]},
    )  # fmt: skip
    refs = [{"to": [*PROJECT, "flat"], "attr": {"allocation_pools": [pool("10.9.0.10", "10.9.0.11")]}}]
    router = await api.create(
        "virtual_router", fq_name=["default-global-system-config", "host"], network_ipam_refs=refs
    )
    found = []
    for name in ("a", "b"):
        made = await api.create("instance_ip", fq_name=[name], virtual_router_refs=[{"uuid": router["uuid"]}])
        found.append(made["instance_ip_address"])
    assert found == ["10.9.0.11", "10.9.0.10"]
    with rejected(403, "no address is free"):
        await api.create("instance_ip", fq_name=["c"], virtual_router_refs=[{"uuid": router["uuid"]}])


# ---- floating and alias IPs ----------------------------------------------------------------------------------------


async def test_floating_and_alias_ips_share_the_networks_addresses(api: Api) -> None:
    made = await network(api, subnet("10.0.0.0/24"), subnet("10.1.0.0/24"))
    first, second = (entry["subnet_uuid"] for entry in entries(made))
    await api.create("floating_ip_pool", fq_name=[*PROJECT, "n", "any"])
    await api.create(
        "floating_ip_pool", fq_name=[*PROJECT, "n", "some"], floating_ip_pool_subnets={"subnet_uuid": [second, first]}
    )
    await api.create("alias_ip_pool", fq_name=[*PROJECT, "n", "pool"])

    async def floating(pool_name: str, name: str, **fields: Any) -> Fields:
        return await api.create(
            "floating_ip", fq_name=[*PROJECT, "n", pool_name, name], parent_type="floating-ip-pool", **fields
        )

    one = await floating("any", "f")
    assert one["floating_ip_address"] == "10.0.0.252"
    assert (await floating("some", "f"))["floating_ip_address"] == "10.1.0.252"
    alias = await api.create("alias_ip", fq_name=[*PROJECT, "n", "pool", "a"])
    assert alias["alias_ip_address"] == "10.0.0.251"
    assert await address(api, "i") == "10.0.0.250"
    with rejected(409, "is taken"):
        await floating("any", "g", floating_ip_address="10.0.0.250")
    await api.delete("floating_ip", one["uuid"])
    await api.delete("alias_ip", alias["uuid"])
    assert [await address(api, name) for name in ("j", "k")] == ["10.0.0.252", "10.0.0.251"]


async def test_a_floating_ip_of_an_instance_ip_has_the_address_that_it_says(api: Api) -> None:
    await network(api, subnet("10.0.0.0/24"))
    await instance_ip(api, "i")
    made = await api.create(
        "floating_ip", fq_name=["i", "f"], parent_type="instance-ip", floating_ip_address="10.0.0.252"
    )
    assert made["floating_ip_address"] == "10.0.0.252"


# ---- what is left, many at once, restarts --------------------------------------------------------------------------


async def test_nothing_is_left_of_a_deleted_network(api: Api, store: MemoryStore) -> None:
    made = await network(api, subnet("10.0.0.0/24"))
    taken = await instance_ip(api, "i")
    assert await pool_keys(store)
    with rejected(409, "instance_ip"):
        await api.delete("virtual_network", made["uuid"])
    await api.delete("instance_ip", taken["uuid"])
    await api.delete("virtual_network", made["uuid"])
    assert await pool_keys(store) == []


async def test_one_request_deletes_network_and_addresses(api: Api, store: MemoryStore) -> None:
    made, taken = await network(api, subnet("10.0.0.0/24")), await instance_ip_of(api)
    items = [("virtual_network", made["uuid"]), ("instance_ip", taken["uuid"])]
    await api.server.sync([{"kind": kind, "operation": "DELETE", "data": {"uuid": uuid}} for kind, uuid in items])
    assert await pool_keys(store) == []


async def instance_ip_of(api: Api) -> Fields:
    return await instance_ip(api, "i")


async def test_a_rejected_request_takes_no_address(api: Api, store: MemoryStore) -> None:
    await network(api, subnet("10.0.0.0/24"))
    before = await pool_keys(store)
    good = {"fq_name": ["a"], "virtual_network_refs": [{"to": [*PROJECT, "n"]}]}
    bad = {"fq_name": ["b"], "virtual_network_refs": [{"to": [*PROJECT, "n"]}], "instance_ip_address": "9.9.9.9"}
    with rejected(400, "9.9.9.9"):
        await api.server.sync([{"kind": "instance_ip", "operation": "CREATE", "data": data} for data in (good, bad)])
    assert await pool_keys(store) == before
    assert await address(api, "c") == "10.0.0.252"


async def test_many_at_once_get_different_addresses(api: Api, store: MemoryStore, schema: Schema) -> None:
    """Two servers, so that no lock of a process helps."""
    await network(api, subnet("10.0.0.0/26"))
    servers = [api.server, ApiServer(store, schema)]
    given: list[str] = []

    async def take(number: int) -> None:
        body = {"fq_name": [f"i{number}"], "virtual_network_refs": [{"to": [*PROJECT, "n"]}]}
        given.append((await servers[number % 2].create("instance_ip", body)).document["instance_ip_address"])

    async with anyio.create_task_group() as tasks:
        for number in range(60):
            tasks.start_soon(take, number)
    assert sorted(map(ipaddress.ip_address, given)) == [ipaddress.ip_address(f"10.0.0.{n}") for n in range(1, 61)]


@pytest.mark.parametrize("seed", range(4))
async def test_no_address_is_given_twice(api: Api, store: MemoryStore, schema: Schema, seed: int) -> None:
    """Random creations, requests, deletions and changes of pools; the server restarts now and then."""
    rng = random.Random(seed)
    made = await network(api, subnet("10.0.0.0/28"), subnet("2001:db8::/124"))
    held: dict[str, ipaddress.IPv4Address | ipaddress.IPv6Address] = {}
    for step in range(150):
        if rng.random() < 0.05:
            api = Api(ApiServer(store, schema))
        if held and rng.random() < 0.4:
            uuid = rng.choice(list(held))
            await api.delete("instance_ip", uuid)
            del held[uuid]
            continue
        if rng.random() < 0.05:
            bounds = sorted(rng.sample(range(1, 15), 2))
            chosen = [pool(*(f"10.0.0.{n}" for n in bounds))]
            given = [subnet("10.0.0.0/28", allocation_pools=chosen), subnet("2001:db8::/124")]
            references = [{"to": IPAM, "attr": {"ipam_subnets": given}}]
            await api.update("virtual_network", made["uuid"], network_ipam_refs=references)
        fields: Fields = {}
        if rng.random() < 0.5:
            fields["instance_ip_address"] = rng.choice(
                [f"10.0.0.{rng.randrange(16)}", f"2001:db8::{rng.randrange(16):x}"]
            )
        else:
            fields["instance_ip_family"] = rng.choice(["v4", "v6"])
        try:
            document = await instance_ip(api, f"i{step}", **fields)
        except ApiError as error:
            assert error.status in (400, 403, 409), error.message
            if error.status == 409:
                assert ipaddress.ip_address(fields["instance_ip_address"]) in held.values()
            continue
        taken = ipaddress.ip_address(document["instance_ip_address"])
        assert taken not in held.values()
        held[document["uuid"]] = taken
    for uuid in held:
        await api.delete("instance_ip", uuid)
    await api.delete("virtual_network", made["uuid"])
    assert await pool_keys(store) == []
