"""Every call of the API server by every sort of caller in every mode, over HTTP in this process: a test per cell.

The table is the one of docs/security.md. A route that is not in it fails here.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple
from uuid import uuid4

import httpx2
import pytest

from intentc.apiserver.app import create_app
from intentc.apiserver.auth import Keystone, StaticRole, StaticUser
from intentc.apiserver.authorization import Mode, Policy
from intentc.apiserver.documents import encode
from intentc.apiserver.resources import Caller
from intentc.apiserver.seeds import write_seeds
from intentc.apiserver.service import ApiServer
from intentc.loading import load_schema
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Put, Store

pytestmark = pytest.mark.anyio

DEMO = ["default-domain", "demo"]
OTHER = ["default-domain", "other"]
POOL = "route_target_number"
ROLES = {
    "roleless": (),
    "stranger": (StaticRole("Member", "other", "other"),),
    "member": (StaticRole("Member", "demo", "demo"),),
    "reader": (StaticRole("auditor", "other", "other"),),
    "admin": (StaticRole("Admin", "admin", "admin"),),
    "compiler": (StaticRole("admin", "admin", "admin"),),
}
RULES = [
    ("virtual-network", "Member:CRUD"),
    ("network-policy", "Member:CRUD"),
    ("access-control-list", "Member:CRUD"),
    ("security-group", "Member:CRUD"),
    ("project", "Member:R"),
]


class Thing(NamedTuple):
    """What a cell is tried on: resources of project demo."""

    network: str
    policy: str
    name: list[str]
    acl: str


class World:
    """One store with a server for each mode."""

    def __init__(self, store: Store, clients: dict[Mode, httpx2.AsyncClient], tokens: dict[str, str]) -> None:
        self.store = store
        self.clients = clients
        self.tokens = tokens
        self._count = itertools.count(1)
        self.untouched = Thing("", "", [], "")
        """What calls are tried on that must not change anything."""

    async def call(self, mode: Mode, who: str, method: str, path: str, body: Any = None) -> httpx2.Response:
        headers = {"X-Auth-Token": self.tokens[who]} if who in self.tokens else {}
        json = {} if body is None else {"json": body}
        return await self.clients[mode].request(method, path, headers=headers, **json)

    async def made(self, kind: str, body: dict[str, Any], who: str = "compiler") -> dict[str, Any]:
        answer = await self.call(Mode.RBAC, who, "POST", f"/{kind}s", {kind: body})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()[kind]
        return found

    def name(self) -> str:
        return f"n{next(self._count)}"

    async def thing(self) -> Thing:
        """A policy, a network that refers to it, and a group's list, all of project demo."""
        perms, group, listed = {"owner": "demo"}, str(uuid4()), str(uuid4())
        name, refs = [*DEMO, self.name()], [{"uuid": group, "attr": {"sequence": {"major": 0, "minor": 0}}}]
        network = {"uuid": str(uuid4()), "fq_name": name, "perms2": perms, "network_policy_refs": refs}
        acl = {"uuid": listed, "name": name[-1], "parent_type": "virtual-network", "parent_uuid": network["uuid"]}
        items = [
            {"kind": "network_policy", "data": {"uuid": group, "fq_name": name, "perms2": perms}},
            {"kind": "virtual_network", "data": network},
            {"kind": "access_control_list", "data": {**acl, "perms2": perms}},
        ]
        answer = await self.call(Mode.RBAC, "compiler", "POST", "/sync", {"resources": items})
        assert answer.status_code == 200, answer.text
        return Thing(str(network["uuid"]), group, name, listed)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def world(anyio_backend: str) -> AsyncIterator[World]:
    store, schema = MemoryStore(max_txn_ops=128), load_schema("contrail")
    keystone = Keystone([StaticUser(name, name, lambda: "pw", roles=roles) for name, roles in ROLES.items()])
    tokens = {
        name: keystone.log_in(
            {"auth": {"identity": {"methods": ["password"], "password": {"user": {"id": name, "password": "pw"}}}}}
        ).text
        for name in ROLES
    }
    clients = {}
    for mode in Mode:
        server = ApiServer(store, schema, policy=Policy(mode, "admin", "auditor", frozenset({"compiler"})))
        app = create_app(server, None if mode is Mode.NO_AUTH else keystone)
        transport = httpx2.ASGITransport(app=app)
        clients[mode] = httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", trust_env=False)
    await write_seeds(server)
    made = World(store, clients, tokens)
    for project in (DEMO, OTHER):
        await made.made("project", {"fq_name": project, "perms2": {"owner": project[-1]}})
    rules = [{"rule_object": kind, "rule_perms": [_perm(grant)]} for kind, grant in RULES]
    await made.made("api-access-list", access_list(["default-global-system-config", "a"], rules))
    made.untouched = await made.thing()
    yield made
    for client in clients.values():
        await client.aclose()
    await store.close()


def _perm(grant: str) -> dict[str, str]:
    role, letters = grant.split(":")
    return {"role_name": role, "role_crud": letters}


def access_list(fq_name: list[str], rules: list[Any]) -> dict[str, Any]:
    parent = {1: "global-system-config", 2: "project"}[len(fq_name) - 1]
    return {"fq_name": fq_name, "parent_type": parent, "api_access_list_entries": {"rbac_rule": rules}}


Call = Callable[[World, Mode, str, Thing], Awaitable[httpx2.Response]]


def to(method: str, path: str, body: Callable[[Thing, str], Any] | None = None) -> Call:
    """A call of ``path``, in which a thing's uuids may stand. ``body``: from the thing and a new name."""

    async def call(world: World, mode: Mode, who: str, thing: Thing) -> httpx2.Response:
        content = None if body is None else body(thing, world.name())
        return await world.call(mode, who, method, path.format(**thing._asdict()), content)

    return call


def reference(operation: str) -> Callable[[Thing, str], Any]:
    return lambda thing, _: {
        "operation": operation, "type": "virtual-network", "uuid": thing.network,
        "ref-type": "network-policy", "ref-uuid": thing.policy, "attr": {"sequence": {"major": 1, "minor": 0}},
    }  # fmt: skip


def sync(operation: str) -> Callable[[Thing, str], Any]:
    return lambda thing, name: {
        "resources": [
            {
                "kind": "network_policy",
                "operation": operation,
                "data": {"fq_name": [*DEMO, name]}
                if operation == "CREATE"
                else {"uuid": thing.policy, "display_name": name},
            }
        ]
    }


def annotate(thing: Thing, name: str) -> Any:
    value = {"key": "k", "value": name}
    return {"uuid": thing.policy, "updates": [{"field": "annotations", "operation": "set", "value": value}]}


# sort → the calls that are allowed alike
CALLS: dict[str, dict[str, Call]] = {
    "read": {
        "get": to("GET", "/network-policy/{policy}"),
        "fqname-to-id": to("POST", "/fqname-to-id", lambda t, _: {"type": "network-policy", "fq_name": t.name}),
        "id-to-fqname": to("POST", "/id-to-fqname", lambda t, _: {"uuid": t.policy}),
    },
    "write": {
        "create": to("POST", "/network-policys", lambda _, n: {"network-policy": {"fq_name": [*DEMO, n]}}),
        "update": to("PUT", "/network-policy/{policy}", lambda _, n: {"network-policy": {"display_name": n}}),
        "delete": to("DELETE", "/access-control-list/{acl}"),
        "refer": to("POST", "/ref-update", reference("ADD")),
        "let go": to("POST", "/ref-update", reference("DELETE")),
        "relax": to("POST", "/ref-relax-for-delete", lambda t, _: {"uuid": t.network, "ref-uuid": t.policy}),
        "collection": to("POST", "/prop-collection-update", annotate),
        "sync create": to("POST", "/sync", sync("CREATE")),
        "sync update": to("POST", "/sync", sync("UPDATE")),
        "sync create again": to("POST", "/sync", lambda t, n: {"resources": [
            {"kind": "network_policy", "data": {"uuid": t.policy, "display_name": n}}]}),
        "sync delete": to("POST", "/sync", lambda t, _: {"resources": [
            {"kind": "access_control_list", "operation": "DELETE", "data": {"uuid": t.acl}}]}),
    },
    "read numbers": {"numbers": to("GET", f"/int-pool?pool={POOL}")},
    "number": {
        "make pool": to("POST", "/int-pools", lambda _, n: {"pool": n, "start": 1, "end": 5}),
        "drop pool": to("DELETE", "/int-pools", lambda _, n: {"pool": n}),
        "allocate": to("POST", "/int-pool", lambda _, n: {"pool": POOL, "owner": n}),
        "free": to("DELETE", "/int-pool", lambda _, n: {"pool": POOL, "owner": n}),
    },
    "output": {
        "update": to("PUT", "/access-control-list/{acl}", lambda _, n: {
            "access-control-list": {"access_control_list_hash": int(n[1:])}}),
        "sync": to("POST", "/sync", lambda t, n: {"resources": [{"kind": "access_control_list", "operation": "UPDATE",
            "data": {"uuid": t.acl, "access_control_list_hash": int(n[1:])}}]}),
        "create": to("POST", "/access-control-lists", lambda t, n: {"access-control-list": {
            "name": n, "parent_type": "virtual-network", "parent_uuid": t.network, "access_control_list_hash": 7}}),
    },
}  # fmt: skip

# (mode, caller) → the sorts that are allowed; every other cell is 403
EVERYTHING = set(CALLS)
TABLE: dict[tuple[Mode, str], set[str]] = {
    **{(Mode.NO_AUTH, who): EVERYTHING for who in ("nobody", "member")},
    (Mode.CLOUD_ADMIN, "roleless"): set(),
    (Mode.CLOUD_ADMIN, "stranger"): set(),
    (Mode.CLOUD_ADMIN, "member"): set(),
    (Mode.CLOUD_ADMIN, "reader"): {"read", "read numbers"},
    (Mode.CLOUD_ADMIN, "admin"): EVERYTHING - {"output"},
    (Mode.CLOUD_ADMIN, "compiler"): EVERYTHING,
    (Mode.RBAC, "roleless"): set(),
    (Mode.RBAC, "stranger"): set(),
    (Mode.RBAC, "member"): {"read", "write"},
    (Mode.RBAC, "reader"): {"read", "read numbers"},
    (Mode.RBAC, "admin"): EVERYTHING - {"output"},
    (Mode.RBAC, "compiler"): EVERYTHING,
}
CELLS = [
    pytest.param(mode, who, sort, name, id=f"{mode.value}-{who}-{sort}-{name}".replace(" ", "_"))
    for (mode, who) in TABLE
    for sort, calls in CALLS.items()
    for name in calls
]


@pytest.mark.parametrize(("mode", "who", "sort", "name"), CELLS)
async def test_a_cell(world: World, mode: Mode, who: str, sort: str, name: str) -> None:
    allowed = sort in TABLE[mode, who]
    thing = await world.thing() if allowed else world.untouched
    before = (await world.store.range("/none/")).revision
    answer = await CALLS[sort][name](world, mode, who, thing)
    assert answer.status_code == (200 if allowed else 403), answer.text
    assert allowed or (await world.store.range("/none/")).revision == before


@pytest.mark.parametrize(("mode", "who"), TABLE)
async def test_a_list_shows_what_one_may_read(world: World, mode: Mode, who: str) -> None:
    thing = await world.thing()
    answer = await world.call(mode, who, "GET", f"/network-policys?obj_uuids={thing.policy}")
    count = await world.call(mode, who, "GET", f"/network-policys?obj_uuids={thing.policy}&count=true")
    if (mode, who) == (Mode.RBAC, "stranger"):
        assert answer.json() == {"network-policys": []}
        assert count.json() == {"network-policys": {"count": 0}}
    elif "read" in TABLE[mode, who]:
        assert [one["uuid"] for one in answer.json()["network-policys"]] == [thing.policy]
        assert count.json() == {"network-policys": {"count": 1}}
    else:
        assert (answer.status_code, count.status_code) == (403, 403)


OPEN = {("/", "GET"), ("/keystone/v3/auth/tokens", "POST")}
"""They say which kinds there are, and check a password."""


@pytest.mark.parametrize("mode", [Mode.CLOUD_ADMIN, Mode.RBAC])
async def test_every_route_asks_who_calls_before_it_reads_a_body(world: World, mode: Mode) -> None:
    transport: Any = world.clients[mode]._transport
    asked = 0
    for route in transport.app.routes:
        for method in route.methods - {"HEAD"}:
            if (route.path, method) in OPEN:
                continue
            path = route.path_format.format(plural="network-policys", kind="network-policy", uuid="u")
            for who, status in (("nobody", 401), ("roleless", 403)):
                answer = await world.call(mode, who, method, path, None if method == "GET" else [])
                assert answer.status_code == status, (method, path, who, answer.text)
            asked += 1
    assert asked == 16, "a new route needs a line in CALLS"


async def test_a_share_lets_another_project_do_what_it_says_and_no_more(world: World) -> None:
    thing = await world.thing()
    path = f"/network-policy/{thing.policy}"
    owner_refers = {"network-policy": {"display_name": "x"}}
    for access, reads, writes in ((4, 200, 403), (6, 200, 200), (1, 403, 403)):
        share = {"network-policy": {"perms2": {"share": [{"tenant": "tenant:other", "tenant_access": access}]}}}
        assert (await world.call(Mode.RBAC, "member", "PUT", path, share)).status_code == 200
        assert (await world.call(Mode.RBAC, "stranger", "GET", path)).status_code == reads
        assert (await world.call(Mode.RBAC, "stranger", "PUT", path, owner_refers)).status_code == writes


@pytest.mark.parametrize(("access", "status"), [(0, 403), (1, 200), (6, 403)])
async def test_a_new_reference_asks_its_target(world: World, access: int, status: int) -> None:
    thing = await world.thing()
    shared = {"network-policy": {"perms2": {"share": [{"tenant": "other", "tenant_access": access}]}}}
    assert (await world.call(Mode.RBAC, "member", "PUT", f"/network-policy/{thing.policy}", shared)).status_code == 200
    refs = [{"uuid": thing.policy, "attr": {"sequence": {"major": 0, "minor": 0}}}]
    own = await world.made("virtual-network", {"fq_name": [*OTHER, world.name()]}, "stranger")
    body = {"fq_name": [*OTHER, world.name()], "network_policy_refs": refs}
    calls: list[tuple[str, str, Any]] = [
        ("POST", "/virtual-networks", {"virtual-network": body}),
        ("PUT", f"/virtual-network/{own['uuid']}", {"virtual-network": {"network_policy_refs": refs}}),
        ("POST", "/sync", {"resources": [{"kind": "virtual_network", "data": {**body, "fq_name": [*OTHER, "s"]}}]}),
    ]
    for method, path, content in calls:
        answer = await world.call(Mode.RBAC, "stranger", method, path, content)
        assert answer.status_code == status, answer.text
    linked = reference("ADD")(Thing(own["uuid"], thing.policy, [], ""), "")
    await world.call(Mode.RBAC, "compiler", "PUT", calls[1][1], {"virtual-network": {"network_policy_refs": []}})
    assert (await world.call(Mode.RBAC, "stranger", "POST", "/ref-update", linked)).status_code == status
    if status == 200:
        await world.call(Mode.RBAC, "compiler", "DELETE", f"/virtual-network/{await _uuid(world, [*OTHER, 's'])}")


async def _uuid(world: World, fq_name: list[str]) -> str:
    body = {"type": "virtual-network", "fq_name": fq_name}
    found: str = (await world.call(Mode.RBAC, "compiler", "POST", "/fqname-to-id", body)).json()["uuid"]
    return found


async def test_a_reference_that_stands_is_not_asked_for_again(world: World) -> None:
    """A network's owner writes it although the policy that it refers to is no more shared."""
    thing = await world.thing()
    closed = {"network-policy": {"perms2": {"owner": "other"}}}
    assert (await world.call(Mode.RBAC, "admin", "PUT", f"/network-policy/{thing.policy}", closed)).status_code == 200
    whole = (await world.call(Mode.RBAC, "member", "GET", f"/virtual-network/{thing.network}")).json()
    changed = {"virtual-network": {**whole["virtual-network"], "display_name": "x"}}
    answer = await world.call(Mode.RBAC, "member", "PUT", f"/virtual-network/{thing.network}", changed)
    assert answer.status_code == 200, answer.text


async def test_a_whole_resource_is_written_back_by_whoever_may_write_it(world: World) -> None:
    """Fields of compilers, and perms2, count where they change."""
    thing = await world.thing()
    output = {"access-control-list": {"access_control_list_hash": 5}}
    path = f"/access-control-list/{thing.acl}"
    assert (await world.call(Mode.RBAC, "compiler", "PUT", path, output)).status_code == 200
    whole = (await world.call(Mode.RBAC, "member", "GET", path)).json()
    whole["access-control-list"]["display_name"] = "mine"
    assert (await world.call(Mode.RBAC, "member", "PUT", path, whole)).status_code == 200
    whole["access-control-list"]["access_control_list_hash"] = 6
    answer = await world.call(Mode.RBAC, "member", "PUT", path, whole)
    assert answer.status_code == 403
    assert "access-control-list.access_control_list_hash is written by the compiler alone" in answer.text


async def test_ownership_is_given_by_administrators_and_shares_by_owners(world: World) -> None:
    thing = await world.thing()
    path = f"/network-policy/{thing.policy}"
    for who, perms, status in (
        ("member", {"owner": "other"}, 403),
        ("member", {"owner": ""}, 403),
        ("member", {"owner": "demo"}, 200),
        ("member", {"global_access": 6}, 200),
        ("stranger", {"global_access": 7}, 403),
        ("stranger", {"owner": "other"}, 403),
        ("admin", {"owner": "other", "global_access": 0}, 200),
    ):
        answer = await world.call(Mode.RBAC, who, "PUT", path, {"network-policy": {"perms2": perms}})
        assert answer.status_code == status, (who, perms, answer.text)
    foreign = {"network-policy": {"fq_name": [*DEMO, world.name()], "perms2": {"owner": "other"}}}
    assert (await world.call(Mode.RBAC, "member", "POST", "/network-policys", foreign)).status_code == 403


async def test_a_new_resource_asks_its_parent(world: World) -> None:
    body = {"network-policy": {"fq_name": [*DEMO, world.name()]}}
    answer = await world.call(Mode.RBAC, "stranger", "POST", "/network-policys", body)
    assert answer.status_code == 403
    assert "does not let the project other write it" in answer.text


async def test_children_and_back_references_that_one_may_not_read_are_not_shown(world: World) -> None:
    thing = await world.thing()
    path = f"/network-policy/{thing.policy}"
    shared = {"network-policy": {"perms2": {"global_access": 4}}}
    assert (await world.call(Mode.RBAC, "member", "PUT", path, shared)).status_code == 200
    for who, shown in (("member", True), ("reader", True), ("stranger", False)):
        one = (await world.call(Mode.RBAC, who, "GET", path)).json()["network-policy"]
        query = f"obj_uuids={thing.policy}&fields=virtual_network_back_refs"
        listed = await world.call(Mode.RBAC, who, "GET", f"/network-policys?{query}")
        assert ("virtual_network_back_refs" in one) is shown
        assert ("virtual_network_back_refs" in listed.json()["network-policys"][0]) is shown


async def test_rules_of_a_project_concern_its_own_users_alone(world: World) -> None:
    rule = {"rule_object": "route-table", "rule_perms": [_perm("Member:CR")]}
    listed = await world.made("api-access-list", access_list([*DEMO, "a"], [rule]))
    for who, status in (("member", 200), ("stranger", 403)):
        answer = await world.call(Mode.RBAC, who, "GET", "/route-tables")
        assert answer.status_code == status, answer.text
    path = f"/api-access-list/{listed['uuid']}"
    assert (await world.call(Mode.RBAC, "admin", "DELETE", path)).status_code == 200
    answer = await world.call(Mode.RBAC, "member", "GET", "/route-tables")
    assert answer.status_code == 403
    assert "no rule of an access list lets the roles Member read route-table" in answer.text


async def test_a_field_has_rules_of_its_own(world: World) -> None:
    rules = [{"rule_object": "security-group", "rule_field": "annotations", "rule_perms": [_perm("Boss:CRUD")]}]
    listed = await world.made("api-access-list", access_list([*DEMO, "b"], rules))
    group = await world.made("security-group", {"fq_name": [*DEMO, world.name()]}, "member")
    path = f"/security-group/{group['uuid']}"
    pairs = {"key_value_pair": [{"key": "a", "value": "b"}]}
    for body, mask, status in (
        ({"display_name": "x"}, None, 200),
        ({"annotations": pairs}, None, 403),
        ({"annotations": pairs}, {"paths": ["annotations.key_value_pair"]}, 403),
    ):
        content = {"security-group": body, **({"field_mask": mask} if mask else {})}
        assert (await world.call(Mode.RBAC, "member", "PUT", path, content)).status_code == status
    element = {"field": "annotations", "operation": "set", "value": pairs["key_value_pair"][0]}
    update = {"uuid": group["uuid"], "updates": [element]}
    assert (await world.call(Mode.RBAC, "member", "POST", "/prop-collection-update", update)).status_code == 403
    await world.call(Mode.RBAC, "admin", "DELETE", f"/api-access-list/{listed['uuid']}")


async def test_a_rejected_element_of_sync_is_named(world: World) -> None:
    items = [{"kind": "network_policy", "data": {"fq_name": [*project, world.name()]}} for project in (DEMO, OTHER)]
    answer = await world.call(Mode.RBAC, "member", "POST", "/sync", {"resources": items})
    assert (answer.status_code, answer.json()["item"]) == (403, 1)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"rule_perms": []}, "rule_object is missing"),
        ({"rule_object": "*", "rule_perms": [{"role_crud": "R"}]}, "role_name is missing"),
        ({"rule_object": "*", "rule_perms": [{"role_name": "Member", "role_crud": "RX"}]}, "give letters of CRUD"),
        ({"rule_object": "*", "rule_perms": [{"role_name": "Member"}]}, "give letters of CRUD"),
    ],
)
async def test_a_rule_that_grants_nothing_is_rejected(world: World, rule: dict[str, Any], words: str) -> None:
    body = {"api-access-list": access_list([*DEMO, world.name()], [rule])}
    answer = await world.call(Mode.RBAC, "admin", "POST", "/api-access-lists", body)
    assert answer.status_code == 400
    assert words in answer.text


@pytest.mark.parametrize("perms2", [{"owner_access": 8}, {"global_access": "7"}, {"share": [{"tenant_access": 1}]}])
async def test_perms2_has_its_shape(world: World, perms2: dict[str, Any]) -> None:
    body = {"network-policy": {"fq_name": [*DEMO, world.name()], "perms2": perms2}}
    answer = await world.call(Mode.RBAC, "admin", "POST", "/network-policys", body)
    assert answer.status_code == 400
    assert "perms2" in answer.text


async def test_a_compilers_entries_of_a_shared_list_are_its_own(world: World) -> None:
    """A router's targets: its owner keeps own ones, and changes none that the compiler has put there."""
    marked = {"annotations": {"key_value_pair": [{"key": "intentc", "value": "default/contrail/shared"}]}}
    (own, foreign), perms = ["target:64512:8000500", "target:64512:8000501"], {"perms2": {"global_access": 7}}
    uuids = {
        name: (await world.made("route-target", {"fq_name": [name], **perms, **more}))["uuid"]
        for name, more in ((own, {}), (foreign, marked))
    }
    body = {"fq_name": [*DEMO, world.name()], "perms2": {"owner": "demo"}}
    refs = [{"uuid": uuid} for uuid in uuids.values()]
    router = await world.made("logical-router", {**body, "route_target_refs": refs})
    rule = {"rule_object": "logical-router", "rule_perms": [_perm("Member:CRUD")]}
    listed = await world.made("api-access-list", access_list([*DEMO, "c"], [rule]))
    path = f"/logical-router/{router['uuid']}"
    for targets, status in (([own], 403), ([own, foreign], 200), ([foreign], 200), ([], 403)):
        for who in ("member", "admin"):
            changed = {"logical-router": {"route_target_refs": [{"uuid": uuids[name]} for name in targets]}}
            answer = await world.call(Mode.RBAC, who, "PUT", path, changed)
            assert answer.status_code == status, (who, targets, answer.text)
    for call, where, content in (
        ("POST", "/ref-update", {"operation": "DELETE", "type": "logical-router", "uuid": router["uuid"],
                                 "ref-type": "route-target", "ref-uuid": uuids[foreign]}),
        ("POST", "/sync", {"resources": [{"kind": "logical_router", "operation": "UPDATE",
                                          "data": {"uuid": router["uuid"], "route_target_refs": []}}]}),
    ):  # fmt: skip
        answer = await world.call(Mode.RBAC, "member", call, where, content)
        assert (answer.status_code, "is the compiler's alone" in answer.text) == (403, True), answer.text
    await world.call(Mode.RBAC, "admin", "DELETE", f"/api-access-list/{listed['uuid']}")


@pytest.mark.parametrize("mode", Mode)
async def test_a_server_with_another_role_for_administrators_writes_its_seeds(mode: Mode) -> None:
    store = MemoryStore(max_txn_ops=128)
    server = ApiServer(store, load_schema("contrail"), policy=Policy(mode, "boss"))
    await write_seeds(server)
    await write_seeds(server)
    assert await server.identify("project", ["default-domain", "default-project"], caller=Caller(privileged=True))
    await store.close()


async def test_a_hand_written_reference_without_a_uuid_hinders_nobody_who_may_write(world: World) -> None:
    thing = await world.thing()
    raw = {"uuid": thing.network, "fq_name": [*DEMO, "by-hand"], "perms2": {"owner": "demo", "owner_access": 7},
           "network_policy_refs": [{"to": ["x"]}]}  # fmt: skip
    await world.store.transaction((), [Put(f"/contrail/virtual_network/{thing.network}", encode(raw))])
    path = f"/virtual-network/{thing.network}"
    answer = await world.call(Mode.RBAC, "member", "PUT", path, {"virtual-network": {"display_name": "x"}})
    assert answer.status_code == 200, answer.text
