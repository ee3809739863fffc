"""Tokens of API servers over one etcd: what one issues all accept, after a restart too; what one ends, all end."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import httpx2
import pytest

from intentc.apiserver.auth import Keystone, StaticRole, StaticUser
from intentc.apiserver.logins import MOST_TOKENS
from intentc.loading import load_schema
from intentc.watch.etcd import EtcdStore
from intentc.watch.protocol import prefix_end
from tests.support.api_server import served
from tests.support.waiting import until_true

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

SCHEMA = load_schema("contrail")
TOKENS = "/keystone/v3/auth/tokens"
_PATHS = itertools.count(1)


@pytest.fixture
def path() -> str:
    return f"tokens-{next(_PATHS)}"


def keystone(*names: str) -> Keystone:
    """A server's own, as each process has one."""
    return Keystone(
        [StaticUser(name, name, lambda: "secret", roles=(StaticRole("admin", "p", "p"),)) for name in names]
    )


async def log_in(client: httpx2.AsyncClient, name: str = "alice") -> str:
    user = {"id": name, "password": "secret"}
    body: dict[str, Any] = {"auth": {"identity": {"methods": ["password"], "password": {"user": user}}}}
    answer = await client.post(TOKENS, json=body)
    assert answer.status_code == 201, answer.text
    return answer.headers["X-Subject-Token"]


async def accepts(client: httpx2.AsyncClient, token: str) -> bool:
    return (await client.get("/projects", headers={"X-Auth-Token": token})).status_code == 200


async def rejects(client: httpx2.AsyncClient, token: str) -> bool:
    return (await client.get("/projects", headers={"X-Auth-Token": token})).status_code == 401


async def test_two_servers_share_tokens_and_log_outs(etcd_store: EtcdStore, path: str) -> None:
    async with (
        served(etcd_store, SCHEMA, path, keystone=keystone("alice", "bob")) as one,
        served(etcd_store, SCHEMA, path, keystone=keystone("alice", "bob")) as other,
    ):
        token, bobs = await log_in(one), await log_in(one, "bob")
        await until_true(lambda: accepts(other, token))
        await until_true(lambda: accepts(other, bobs))
        others = {"X-Auth-Token": bobs, "X-Subject-Token": token}
        assert (await other.delete(TOKENS, headers=others)).status_code == 404
        assert await accepts(one, token)
        own = {"X-Auth-Token": token, "X-Subject-Token": token}
        assert (await other.delete(TOKENS, headers=own)).status_code == 204
        assert await rejects(other, token)
        await until_true(lambda: rejects(one, token))
        assert await accepts(one, bobs)


async def test_a_token_outlives_its_server_but_not_its_user(etcd_store: EtcdStore, path: str) -> None:
    async with served(etcd_store, SCHEMA, path, keystone=keystone("alice", "bob")) as first:
        token, bobs = await log_in(first), await log_in(first, "bob")
    async with served(etcd_store, SCHEMA, path, keystone=keystone("alice")) as second:
        assert await accepts(second, token)
        assert await rejects(second, bobs)


async def test_etcd_holds_no_token_and_ends_each_by_a_lease(etcd_store: EtcdStore, path: str) -> None:
    async with served(etcd_store, SCHEMA, path, keystone=keystone("alice")) as client:
        token = await log_in(client)
        prefix = f"/intentc/apiserver/{path}/token/"
        (item,) = (await etcd_store.range(prefix, prefix_end(prefix))).items
        assert token not in item.key and token.encode() not in item.value
        assert item.lease


async def test_a_user_has_the_same_number_of_tokens_at_all_servers_together(etcd_store: EtcdStore, path: str) -> None:
    async with (
        served(etcd_store, SCHEMA, path, keystone=keystone("alice")) as one,
        served(etcd_store, SCHEMA, path, keystone=keystone("alice")) as other,
    ):
        first = await log_in(one)
        for number in range(MOST_TOKENS):
            client = (one, other)[number % 2]
            last = await log_in(client)
            for server in (one, other):
                await until_true(partial(accepts, server, last))
        await until_true(lambda: rejects(one, first))
        await until_true(lambda: rejects(other, first))
        prefix = f"/intentc/apiserver/{path}/token/"
        assert (await etcd_store.range(prefix, prefix_end(prefix), keys_only=True)).count == MOST_TOKENS
