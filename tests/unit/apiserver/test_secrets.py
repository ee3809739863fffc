"""Secrets in resources are encrypted in etcd, and shown to compilers and readers of secrets alone."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from intentc.apiserver.api_server import ApiServer
from intentc.apiserver.app import create_app
from intentc.apiserver.auth import Keystone, StaticRole, StaticUser
from intentc.apiserver.authorization import Mode, Policy
from intentc.apiserver.documents import encode
from intentc.apiserver.secrets import PREFIX, Secrets
from intentc.apiserver.startup import reseal, write_seeds
from intentc.model import Schema
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Put

from .tenants import access_list, perm

pytestmark = pytest.mark.anyio

OLD, NEW = "an old key, with forty characters in it!", "a new key, with forty characters in it!!"
CONFIG = ["default-global-system-config"]
HIDDEN = "<secret>"
ROLES = {"admin": "admin", "compiler": "admin", "manager": "device-manager", "member": "Member", "auditor": "auditor"}
KINDS = ("physical-router", "fabric", "bgp-router", "bgp-as-a-service", "virtual-network", "service-appliance-set")


class World:
    """A server with ``rbac`` whose ``keys`` a test sets, over HTTP in this process."""

    def __init__(self, store: MemoryStore, schema: Schema) -> None:
        self.store = store
        self.keys = [NEW]
        policy = Policy(
            Mode.RBAC, "admin", "auditor", frozenset({"compiler"}), secret_reader_roles=frozenset({"device-manager"})
        )
        self.server = ApiServer(store, schema, policy=policy, secrets=Secrets(lambda: "\n".join(self.keys)))
        users = [
            StaticUser(name, name, lambda: "pw", roles=(StaticRole(role, "p", "p"),)) for name, role in ROLES.items()
        ]
        self.keystone = Keystone(users)
        self.tokens: dict[str, str] = {}
        transport = httpx2.ASGITransport(app=create_app(self.server, self.keystone))
        self.client = httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", trust_env=False)

    async def begin(self) -> None:
        for name in ROLES:
            identity = {"methods": ["password"], "password": {"user": {"id": name, "password": "pw"}}}
            self.tokens[name] = (await self.keystone.log_in({"auth": {"identity": identity}})).text
        await write_seeds(self.server)
        rules = [
            {"rule_object": kind, "rule_perms": [perm("Member:CRUD"), perm("device-manager:CRUD")]} for kind in KINDS
        ]
        await self.made("api-access-list", access_list([*CONFIG, "a"], rules))

    async def call(self, who: str, method: str, path: str, body: Any = None) -> httpx2.Response:
        json_body = {} if body is None else {"json": body}
        return await self.client.request(method, path, headers={"X-Auth-Token": self.tokens[who]}, **json_body)

    async def made(self, kind: str, body: dict[str, Any], who: str = "compiler") -> dict[str, Any]:
        answer = await self.call(who, "POST", f"/{kind}s", {kind: {"perms2": {"global_access": 7}, **body}})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()[kind]
        return found

    async def seen(self, who: str, kind: str, uuid: str, query: str = "") -> dict[str, Any]:
        answer = await self.call(who, "GET", f"/{kind}/{uuid}{query}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()[kind]
        return found

    async def put(self, who: str, kind: str, uuid: str, fields: dict[str, Any], status: int = 200) -> httpx2.Response:
        answer = await self.call(who, "PUT", f"/{kind}/{uuid}", {kind: fields})
        assert answer.status_code == status, answer.text
        return answer

    async def stored(self, kind: str, uuid: str) -> dict[str, Any]:
        (item,) = (await self.store.range(f"/contrail/{kind}/{uuid}")).items
        found: dict[str, Any] = json.loads(item.value)
        return found

    async def router(self, **fields: Any) -> str:
        made = await self.made("physical-router", {"fq_name": [*CONFIG, "r"], **login("hunter2"), **fields})
        return str(made["uuid"])


def login(password: str, user: str = "root") -> dict[str, Any]:
    return {"physical_router_user_credentials": {"username": user, "password": password}}


def keys(**texts: str) -> dict[str, Any]:
    """``auth_data`` with a key for each id."""
    return {"key_type": "md5", "key_items": [{"key_id": int(n.strip("k")), "key": text} for n, text in texts.items()]}


@pytest.fixture
async def world(store: MemoryStore, schema: Schema) -> AsyncIterator[World]:
    made = World(store, schema)
    await made.begin()
    yield made
    await made.client.aclose()


async def test_the_password_of_a_device_is_in_no_value_of_etcd(world: World) -> None:
    uuid = await world.router(physical_router_snmp_credentials={"version": 2, "v2_community": "sesame"})
    found = await world.stored("physical_router", uuid)
    assert found["physical_router_user_credentials"]["password"].startswith(f"{PREFIX}{world.server.secrets.newest}$")
    assert found["physical_router_snmp_credentials"]["version"] == 2
    everything = b"".join([item.value for item in (await world.store.range("/", "0")).items])
    assert uuid.encode() in everything
    assert b"hunter2" not in everything and b"sesame" not in everything


@pytest.mark.parametrize("stored_plain", [False, True])
async def test_answers_show_it_to_compilers_and_readers_of_secrets_alone(world: World, stored_plain: bool) -> None:
    if stored_plain:
        world.keys = []
    uuid = await world.router()
    for who, password in (
        ("compiler", "hunter2"), ("manager", "hunter2"), ("admin", HIDDEN), ("auditor", HIDDEN), ("member", HIDDEN),
    ):  # fmt: skip
        one = await world.seen(who, "physical-router", uuid)
        assert one["physical_router_user_credentials"]["password"] == password, who
        sealed = await world.seen(who, "physical-router", uuid, "?sealed=true")
        hides = sealed["physical_router_user_credentials"]["password"]
        assert hides.startswith(PREFIX) is (password == "hunter2" and not stored_plain), who
        for query in ("detail=true", "fields=physical_router_user_credentials"):
            (listed,) = (await world.call(who, "GET", f"/physical-routers?{query}")).json()["physical-routers"]
            listed = listed.get("physical-router", listed)
            assert listed["physical_router_user_credentials"]["password"] == password, who
        written = (await world.put(who, "physical-router", uuid, login("hunter2"))).json() if who != "auditor" else {}
        if written:
            assert written["physical-router"]["physical_router_user_credentials"]["password"] == password, who
        item = {"kind": "physical_router", "operation": "UPDATE", "data": {"uuid": uuid, **login("hunter2")}}
        if who != "auditor":
            synced = await world.call(who, "POST", "/sync", {"resources": [item]})
            assert ("hunter2" in synced.text) is (password == "hunter2"), synced.text


async def test_elements_of_collections_and_back_references_hide_it_too(world: World) -> None:
    credential = {"credential": {"username": "u", "password": "hunter2"}, "vendor": "juniper"}
    fabric = await world.made(
        "fabric", {"fq_name": [*CONFIG, "f"], "fabric_credentials": {"device_credential": [credential]}}
    )
    above = ["default-domain", "default-project", "ip-fabric", "__default__"]
    peer = await world.made("bgp-router", {"fq_name": [*above, "peer"]})
    session = {"session": [{"attributes": [{"auth_data": keys(k1="hunter2")}]}]}
    await world.made(
        "bgp-router", {"fq_name": [*above, "r"], "bgp_router_refs": [{"to": peer["fq_name"], "attr": session}]}
    )
    for who, shown in (("manager", True), ("member", False), ("admin", False)):
        path = f"/prop-collection-get?uuid={fabric['uuid']}&fields=fabric_credentials"
        elements = await world.call(who, "GET", path)
        assert elements.status_code == 200
        assert ("hunter2" in elements.text) is shown
        seen = json.dumps(await world.seen(who, "bgp-router", peer["uuid"]))
        assert "bgp_router_back_refs" in seen and '"md5"' in seen
        assert ("hunter2" in seen) is shown


async def test_what_was_read_hidden_and_is_written_back_changes_nothing(world: World) -> None:
    uuid = await world.router()
    before = await world.stored("physical_router", uuid)
    revision = (await world.store.range("/")).revision
    await world.put("member", "physical-router", uuid, await _own_fields(world, "member", uuid))
    assert (await world.store.range("/")).revision == revision
    await world.put("member", "physical-router", uuid, {**login(HIDDEN, "other"), "physical_router_role": "leaf"})
    after = await world.stored("physical_router", uuid)
    old, new = (one["physical_router_user_credentials"] for one in (before, after))
    assert new["password"] == old["password"] and new["username"] != old["username"]
    seen = await world.seen("manager", "physical-router", uuid)
    assert seen["physical_router_user_credentials"] == {"username": "other", "password": "hunter2"}


async def _own_fields(world: World, who: str, uuid: str) -> dict[str, Any]:
    whole = await world.seen(who, "physical-router", uuid)
    return {field: value for field, value in whole.items() if not field.endswith(("href", "_refs"))}


async def test_hidden_elements_of_a_list_keep_their_own_secret(world: World) -> None:
    body = {"fq_name": ["default-domain", "default-project", "b"], "autonomous_system": 65000}
    made = await world.made(
        "bgp-as-a-service", {**body, "bgpaas_session_attributes": {"auth_data": keys(k1="one", k2="two", k3="three")}}
    )

    async def change(**texts: str) -> dict[int, str]:
        fields = {"bgpaas_session_attributes": {"auth_data": keys(**texts)}}
        await world.put("member", "bgp-as-a-service", made["uuid"], fields)
        seen = await world.seen("manager", "bgp-as-a-service", made["uuid"])
        items = seen["bgpaas_session_attributes"]["auth_data"]["key_items"]
        return {item["key_id"]: item["key"] for item in items}

    assert await change(k2=HIDDEN, k3=HIDDEN) == {2: "two", 3: "three"}
    assert await change(k3=HIDDEN, k2=HIDDEN) == {2: "two", 3: "three"}
    assert await change(k3=HIDDEN, k2="new") == {2: "new", 3: "three"}
    fields = {"bgpaas_session_attributes": {"auth_data": keys(k2=HIDDEN, k3=HIDDEN, k4=HIDDEN)}}
    answer = await world.put("member", "bgp-as-a-service", made["uuid"], fields, 400)
    assert "key_items[2].key" in answer.text and "send the secret" in answer.text


async def test_a_hidden_secret_of_one_reference_goes_to_no_other_target(world: World) -> None:
    above = ["default-domain", "default-project", "ip-fabric", "__default__"]
    peers = [await world.made("bgp-router", {"fq_name": [*above, name]}) for name in ("a", "b")]
    session = {"session": [{"attributes": [{"auth_data": keys(k1="hunter2")}]}]}
    hidden = {"session": [{"attributes": [{"auth_data": keys(k1=HIDDEN)}]}]}
    refs = [{"uuid": peers[0]["uuid"], "attr": session}]
    router = await world.made("bgp-router", {"fq_name": [*above, "r"], "bgp_router_refs": refs})
    for peer, status in zip(peers, (200, 400), strict=True):
        fields = {"bgp_router_refs": [{"to": peer["fq_name"], "attr": hidden}]}
        await world.put("admin", "bgp-router", router["uuid"], fields, status)
    assert "hunter2" in json.dumps(await world.seen("manager", "bgp-router", router["uuid"]))


async def test_hidden_and_sealed_texts_are_no_secrets(world: World) -> None:
    """A tenant who found a sealed text must not let the server open it."""
    uuid = await world.router()
    sealed = (await world.stored("physical_router", uuid))["physical_router_user_credentials"]["password"]
    for password in (HIDDEN, sealed):
        body = {"physical-router": {"fq_name": [*CONFIG, "thief"], **login(password)}}
        assert (await world.call("admin", "POST", "/physical-routers", body)).status_code == 400
    other = await world.made("physical-router", {"fq_name": [*CONFIG, "other"]})
    assert "can't begin with" in (await world.put("admin", "physical-router", other["uuid"], login(sealed), 400)).text
    await world.put("compiler", "physical-router", other["uuid"], login(sealed))
    assert (await world.stored("physical_router", other["uuid"]))["physical_router_user_credentials"][
        "password"
    ] == sealed


@pytest.mark.parametrize("stored_plain", [False, True])
async def test_a_filter_does_not_say_whether_a_guess_is_right(world: World, stored_plain: bool) -> None:
    if stored_plain:
        world.keys = []
    await world.router(physical_router_snmp_credentials="sesame")
    for who, found in (("member", 0), ("manager", 1)):
        answer = await world.call(who, "GET", "/physical-routers?filters=physical_router_snmp_credentials==sesame")
        assert len(answer.json()["physical-routers"]) == found


async def test_a_rotated_key_opens_what_it_sealed_until_everything_is_sealed_anew(world: World) -> None:
    world.keys = [OLD]
    uuid = await world.router()
    before = await world.stored("physical_router", uuid)
    world.keys = [NEW, OLD]
    seen = await world.seen("manager", "physical-router", uuid)
    assert seen["physical_router_user_credentials"] == {"username": "root", "password": "hunter2"}
    assert (await reseal(world.server), await reseal(world.server)) == (1, 0)
    world.keys = [NEW]
    seen = await world.seen("manager", "physical-router", uuid)
    assert seen["physical_router_user_credentials"] == {"username": "root", "password": "hunter2"}
    after = await world.stored("physical_router", uuid)
    assert after.pop("physical_router_user_credentials") != before.pop("physical_router_user_credentials")
    assert after == before, "nothing else changes"


async def test_a_lost_key_is_named_and_hinders_no_other_change(world: World) -> None:
    world.keys = [OLD]
    uuid, lost = await world.router(), world.server.secrets.newest
    world.keys = [NEW]
    await world.made("physical-router", {"fq_name": [*CONFIG, "s"], **login("hunter3")})
    listed = (await world.call("manager", "GET", "/physical-routers?detail=true")).json()["physical-routers"]
    assert [one["physical-router"]["name"] for one in listed] == ["s"]
    assert len((await world.call("member", "GET", "/physical-routers")).json()["physical-routers"]) == 2
    answer = await world.call("manager", "GET", f"/physical-router/{uuid}")
    assert answer.status_code == 422 and lost in answer.text and "intentc.api.secret_keys" in answer.text
    await world.put("member", "physical-router", uuid, {"physical_router_role": "leaf"})
    assert await reseal(world.server) == 0
    await world.put("member", "physical-router", uuid, login("new one"))
    seen = await world.seen("manager", "physical-router", uuid)
    assert seen["physical_router_user_credentials"]["password"] == "new one"


async def test_plain_values_are_sealed_by_the_next_change_or_the_next_start(world: World) -> None:
    world.keys = []
    first = await world.router()
    second = (await world.made("physical-router", {"fq_name": [*CONFIG, "s"], **login("hunter3")}))["uuid"]
    assert (await world.stored("physical_router", second))["physical_router_user_credentials"]["password"] == "hunter3"
    world.keys = [NEW]
    await world.put("member", "physical-router", first, {"physical_router_role": "leaf"})
    for uuid, changed in ((first, 1), (second, 0)):
        stored = (await world.stored("physical_router", uuid))["physical_router_user_credentials"]
        assert stored["password"].startswith(PREFIX)
        assert await reseal(world.server) == changed
    seen = await world.seen("manager", "physical-router", second)
    assert seen["physical_router_user_credentials"]["password"] == "hunter3"


async def test_what_can_not_be_read_keeps_nothing_from_being_sealed(world: World) -> None:
    world.keys = []
    await world.router()
    broken = "00000000-0000-4000-8000-000000000001"
    raw = encode({"uuid": broken, "fq_name": 7, **login("hunter2")})
    await world.store.transaction((), [Put(f"/contrail/physical_router/{broken}", raw)])
    world.keys = [NEW]
    assert await reseal(world.server) == 1
