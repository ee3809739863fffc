"""Servers in every mode over one store, with callers of every sort, for tests of authorization."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from uuid import uuid4

import httpx2

from intentc.apiserver.api_server import ApiServer
from intentc.apiserver.app import create_app
from intentc.apiserver.auth import Keystone, StaticRole, StaticUser
from intentc.apiserver.authorization import Mode, Policy
from intentc.apiserver.startup import write_seeds
from intentc.loading import load_schema
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Store

DEMO = ["default-domain", "demo"]
OTHER = ["default-domain", "other"]
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
    ("service-instance", "Member:CRUD"),
    ("virtual-machine-interface", "Member:CRUD"),
    ("project", "Member:R"),
    ("routing-instance", "Member:R"),
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


@asynccontextmanager
async def opened_world() -> AsyncIterator[World]:
    """The world, until the block is left."""
    store, schema = MemoryStore(max_txn_ops=128), load_schema("contrail")
    keystone = Keystone([StaticUser(name, name, lambda: "pw", roles=roles) for name, roles in ROLES.items()])
    tokens: dict[str, str] = {}
    for name in ROLES:
        identity = {"methods": ["password"], "password": {"user": {"id": name, "password": "pw"}}}
        tokens[name] = (await keystone.log_in({"auth": {"identity": identity}})).text
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
    rules = [{"rule_object": kind, "rule_perms": [perm(grant)]} for kind, grant in RULES]
    await made.made("api-access-list", access_list(["default-global-system-config", "a"], rules))
    made.untouched = await made.thing()
    yield made
    for client in clients.values():
        await client.aclose()
    await store.close()


def perm(grant: str) -> dict[str, str]:
    role, letters = grant.split(":")
    return {"role_name": role, "role_crud": letters}


def access_list(fq_name: list[str], rules: list[Any]) -> dict[str, Any]:
    parent = {1: "global-system-config", 2: "project"}[len(fq_name) - 1]
    return {"fq_name": fq_name, "parent_type": parent, "api_access_list_entries": {"rbac_rule": rules}}
