"""Static users and their tokens (docs/contrail.md B.3; yml case keystone)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.apiserver.auth import Keystone, StaticRole, StaticUser, static_users
from intentc.apiserver.logins import MOST_TOKENS, network_of
from intentc.loading.configuration.sections import Keystone as Section
from intentc.loading.configuration.sections import (
    KeystoneAssignment,
    KeystoneData,
    KeystoneProject,
    KeystoneRole,
    KeystoneUser,
)
from intentc.loading.configuration.setting_types import Secret

from .conftest import rejected

pytestmark = pytest.mark.anyio

ALICE = StaticUser("a", "Alice", lambda: "secret", roles=(StaticRole("admin", "p1", "Project"),))
BOB = StaticUser("b", "Bob", lambda: "other", roles=(StaticRole("Member", "p2", "Demo"),))


def log_in(password: str = "secret", scope: dict[str, Any] | None = None, **user: Any) -> dict[str, Any]:
    identity = {"methods": ["password"], "password": {"user": {"password": password, **(user or {"id": "a"})}}}
    return {"auth": {"identity": identity, **({"scope": scope} if scope else {})}}


async def test_a_user_by_id_or_name_gets_a_token_that_says_who_calls() -> None:
    keystone = Keystone([ALICE, BOB])
    for user in ({"id": "a"}, {"name": "Alice", "domain": {"id": "default"}}):
        token = await keystone.log_in(log_in(scope={"project": {"id": "p1"}}, **user))
        caller = keystone.caller(token.text)
        assert (caller.project_id, caller.roles) == ("p1", frozenset({"admin"}))
        assert token.body["token"]["project"]["id"] == "p1"


@pytest.mark.parametrize(
    "body",
    [
        log_in("wrong"),
        log_in("secret", id="nobody"),
        log_in("secret", name="Alice", domain={"id": "elsewhere"}),
        log_in(scope={"project": {"id": "p2"}}),
    ],
)
async def test_a_wrong_log_in_is_rejected_without_saying_why(body: Any) -> None:
    with rejected(401):
        await Keystone([ALICE, BOB]).log_in(body)


@pytest.mark.parametrize("body", [{}, {"auth": {"identity": {"methods": ["token"]}}}])
async def test_what_is_no_password_log_in_is_rejected(body: Any) -> None:
    with rejected(400):
        await Keystone([ALICE]).log_in(body)


async def test_tokens_end() -> None:
    now = [0.0]
    keystone = Keystone([ALICE], lifetime=10, clock=lambda: now[0])
    token = (await keystone.log_in(log_in())).text
    now[0] = 9.9
    keystone.caller(token)
    now[0] = 10.0
    for text in (token, "", "guess"):
        with rejected(401, "log in"):
            keystone.caller(text)


async def test_a_users_tokens_displace_only_that_users_own() -> None:
    now = [0.0]
    keystone = Keystone([ALICE, BOB], clock=lambda: now[0])
    bobs = (await keystone.log_in(log_in("other", id="b"))).text
    alices = []
    for _ in range(MOST_TOKENS + 1):
        now[0] += 1
        alices.append((await keystone.log_in(log_in())).text)
    keystone.caller(bobs)
    with rejected(401):
        keystone.caller(alices[0])
    for token in alices[1:]:
        keystone.caller(token)


async def test_log_ins_of_a_user_past_a_rate_are_rejected_for_a_while() -> None:
    now = [0.0]
    keystone = Keystone([ALICE, BOB], clock=lambda: now[0])
    with rejected(429, "use a token again"):
        for _ in range(1000):
            await keystone.log_in(log_in())
    await keystone.log_in(log_in("other", id="b"))
    now[0] += 1
    await keystone.log_in(log_in())


async def test_failed_log_ins_are_limited_and_the_right_password_always_works() -> None:
    now = [0.0]
    keystone = Keystone([ALICE, BOB], clock=lambda: now[0])
    for wrong in (log_in("wrong"), log_in("wrong", id="nobody")):
        for _ in range(10):
            with rejected(401):
                await keystone.log_in(wrong, "2001:db8::1")
        with rejected(429, "too many failed"):
            await keystone.log_in(wrong, "2001:db8::2")
    keystone.caller((await keystone.log_in(log_in(), "2001:db8::1")).text)
    with rejected(429, "too many failed"):
        await keystone.log_in(log_in("wrong"), "2001:db8::1")
    with rejected(401):
        await keystone.log_in(log_in("wrong"), "127.0.0.1")
    with rejected(401):
        await keystone.log_in(log_in("wrong", id="b"), "2001:db8::1")
    now[0] += 1
    with rejected(401):
        await keystone.log_in(log_in("wrong"), "2001:db8::1")


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::1", "::/64"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("x", "x"),
    ],
)
def test_what_counts_as_one_client(address: str, network: str) -> None:
    assert network_of(address) == network


def test_users_come_from_contrails_configuration() -> None:
    role = KeystoneRole(id="admin", name="admin", project=KeystoneProject(id="admin", name="admin"))
    user = KeystoneUser(id="alice", name="Alice", password=Secret("pw"), roles=(role,))
    section = Section(local=True, assignment=KeystoneAssignment(data=KeystoneData(users={"alice": user})))
    (found,) = static_users(section)
    roles = (StaticRole("admin", "admin", "admin", "default", "default"),)
    expected = StaticUser("alice", "Alice", found.password, roles=roles)
    assert (found, found.password()) == (expected, "pw")
    assert "pw" not in repr(found)


async def test_a_user_without_a_password_can_not_log_in_by_leaving_it_out() -> None:
    keystone = Keystone([StaticUser("a", "Alice", str, roles=ALICE.roles)])
    with rejected(401, "wrong"):
        await keystone.log_in(
            {"auth": {"identity": {"methods": ["password"], "password": {"user": {"id": "a", "password": ""}}}}}
        )


async def test_roles_of_another_project_never_count() -> None:
    """Neither in a log-in that names no project, nor for a project of the same name elsewhere."""
    roles = (
        StaticRole("Member", "p1", "Demo"),
        StaticRole("admin", "p2", "Admin", "d2", "Second"),
        StaticRole("Boss", "p3", "Demo"),
    )
    keystone = Keystone([StaticUser("a", "Alice", lambda: "secret", roles=roles)])
    for scope, project, domain, role in (
        (None, "p1", "default", "Member"),
        ({"project": {"name": "Demo"}}, "p1", "default", "Member"),
        ({"project": {"id": "p2"}}, "p2", "Second", "admin"),
    ):
        token = await keystone.log_in(log_in(scope=scope))
        caller = keystone.caller(token.text)
        assert (caller.project_id, caller.domain_name, caller.roles) == (project, domain, frozenset({role}))
        assert caller.user_id == "a"
        assert [one["name"] for one in token.body["token"]["roles"]] == [role]
