"""``quarantine`` and ``allow-deletes``: directives that are checked against the compiler's status."""

from __future__ import annotations

import json
from typing import Any

import pytest

from intentc.cli.command_error import Exit
from intentc.directives import AllowDeletes, Drop, Retry
from intentc.loading.yaml import load_yaml
from tests.unit.cli.ordering_etcd import OrderingEtcd
from tests.unit.cli.running import Intentc
from tests.unit.cli.toy_api_server import ToyApiServer

NOBODY = "127.0.0.1:1"


def entry(uuid: str, state: str = "held", name: str = "d:p:web", kind: str = "security_group") -> dict[str, Any]:
    return {"kind": kind, "name": name, "uuid": uuid, "state": state, "reason": "Raised", "message": "it raises",
            "since": 1_767_225_600.0, "tries": 3, "next_try": 1_767_225_660.0, "on": None}  # fmt: skip


def status(*quarantine: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "directives": {"applied_revision": 1_000_000},
        "converged": True,
        "first_pass_complete": True,
        "quarantine": list(quarantine),
        "withheld_deletes": [],
        "counts": {"withheld_deletes": 0},
        **fields,
    }


@pytest.fixture
def web(connected: ToyApiServer, etcd: OrderingEtcd) -> str:
    """The uuid of a group that is held."""
    uuid = connected.put("security-group", "d", "p", "web")
    etcd.resource("security_group", uuid)
    connected.status = [status(entry(uuid))]
    return uuid


def test_the_list_shows_what_is_held_since_when_and_why(intentc: Intentc, web: str) -> None:
    header, row = intentc("quarantine", "list").out.splitlines()
    assert header.split() == ["KIND", "NAME", "STATE", "SINCE", "TRIES", "NEXT", "TRY", "MESSAGE"]
    since, next_try = "2026-01-01T00:00:00+00:00", "2026-01-01T00:01:00+00:00"
    assert row.split() == ["security_group", "d:p:web", "held", since, "3", next_try, "it", "raises"]


@pytest.mark.parametrize(("form", "read"), [("json", json.loads), ("yaml", lambda text: load_yaml(text).value)])
def test_the_list_is_the_same_for_programs(intentc: Intentc, web: str, form: str, read: Any) -> None:
    assert read(intentc("quarantine", "list", "-o", form).out)["quarantine"] == [entry(web)]


def test_an_empty_list_says_so_on_stderr(intentc: Intentc, connected: ToyApiServer, etcd: OrderingEtcd) -> None:
    connected.status = [status()]
    ended = intentc("quarantine", "list")
    assert (ended.code, ended.out, ended.err) == (0, "", "nothing is quarantined\n")
    assert intentc("quarantine", "list", "-o", "json").err == ""


def test_the_list_needs_a_compiler(intentc: Intentc, etcd: OrderingEtcd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTENTC_INTENTC__DIAGNOSTICS__ADDRESS", NOBODY)
    assert intentc("quarantine", "list").code == Exit.UNREACHABLE


@pytest.mark.parametrize("state", ["held", "rejected", "contended", "suspect", "dropped", "unreadable"])
@pytest.mark.parametrize("name", ["d:p:web", "web", "UUID"])
def test_a_retry_is_an_order_about_what_the_compiler_has_in_quarantine(
    intentc: Intentc, connected: ToyApiServer, etcd: OrderingEtcd, web: str, state: str, name: str
) -> None:
    connected.status = [status(entry(web, state), entry("other", name="d:p:db")), status()]
    ended = intentc("quarantine", "retry", "security-group", web if name == "UUID" else name)
    assert (ended.code, ended.out, ended.err) == (0, "retried security_group d:p:web\n", "")
    assert etcd.orders == [Retry(kind="security_group", uuid=web, name=("d", "p", "web"))]


def test_a_retry_that_leaves_something_held_ends_with_5(intentc: Intentc, web: str) -> None:
    ended = intentc("quarantine", "retry", "security_group", "web")
    assert ended.code == Exit.HELD
    assert ended.err == "held: security_group d:p:web: it raises\n"


def test_the_end_of_a_retry_is_waited_for(intentc: Intentc, connected: ToyApiServer, web: str) -> None:
    before, after = status(entry(web)), status()
    connected.status = [before, {**before, "converged": False}, {**before, "converged": False}, after]
    assert intentc("quarantine", "retry", "security_group", "web").code == 0


def test_retry_all_is_one_directive_and_ignores_what_an_operator_chose(
    intentc: Intentc, connected: ToyApiServer, etcd: OrderingEtcd, web: str
) -> None:
    connected.status = [status(entry(web, "dropped"), entry("other", "paused"))]
    ended = intentc("quarantine", "retry", "--all")
    assert (ended.code, ended.out) == (0, "retried everything\n")
    assert etcd.orders == [Retry()]


@pytest.mark.parametrize("command", ["retry", "drop"])
def test_what_is_not_quarantined_is_rejected(
    intentc: Intentc, connected: ToyApiServer, etcd: OrderingEtcd, web: str, command: str
) -> None:
    connected.status = [status()]
    ended = intentc("quarantine", command, "security_group", "web")
    assert (ended.code, etcd.orders) == (Exit.INVALID, [])
    assert "security_group web is not quarantined" in ended.err


def test_a_pause_is_not_ended_by_a_retry(
    intentc: Intentc, connected: ToyApiServer, etcd: OrderingEtcd, web: str
) -> None:
    connected.status = [status(entry(web, "paused"))]
    ended = intentc("quarantine", "retry", "security_group", "web")
    assert (ended.code, etcd.orders) == (Exit.INVALID, [])
    assert "`intentc resume` ends that" in ended.err


def test_an_object_that_was_never_created_is_tried_with_all_others(
    intentc: Intentc, connected: ToyApiServer, etcd: OrderingEtcd, web: str
) -> None:
    connected.status = [status(entry("", "rejected"))]
    ended = intentc("quarantine", "retry", "security_group", "web")
    assert (ended.code, etcd.orders) == (Exit.INVALID, [])
    assert "retry --all" in ended.err


def test_without_a_compiler_the_resource_is_looked_up_and_the_order_put(
    intentc: Intentc, etcd: OrderingEtcd, web: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTENTC_INTENTC__DIAGNOSTICS__ADDRESS", NOBODY)
    ended = intentc("quarantine", "retry", "security_group", "web")
    assert (ended.code, ended.out) == (0, "requested a retry of security_group d:p:web\n")
    assert "takes effect when one runs" in ended.err
    assert etcd.orders == [Retry(kind="security_group", uuid=web, name=("d", "p", "web"))]


@pytest.mark.parametrize("state", ["held", "suspect", "unreadable", "dropped"])
def test_a_drop_is_an_order_about_the_intent_as_it_stands(
    intentc: Intentc, connected: ToyApiServer, etcd: OrderingEtcd, web: str, state: str
) -> None:
    connected.status = [status(entry(web, state))]
    revision = etcd.resource("security_group", web, {"uuid": web})
    ended = intentc("quarantine", "drop", "security_group", "web")
    assert (ended.code, ended.out) == (0, "dropped security_group d:p:web\n")
    assert etcd.orders == [Drop(kind="security_group", uuid=web, name=("d", "p", "web"), mod_revision=revision)]


@pytest.mark.parametrize("state", ["rejected", "contended", "paused"])
def test_only_a_held_intent_can_be_given_up(
    intentc: Intentc, connected: ToyApiServer, etcd: OrderingEtcd, web: str, state: str
) -> None:
    connected.status = [status(entry(web, state))]
    ended = intentc("quarantine", "drop", "security_group", "web")
    assert (ended.code, etcd.orders) == (Exit.INVALID, [])
    assert "only a held intent can be dropped" in ended.err


def test_giving_up_all_needs_a_yes_and_takes_held_intents_only(
    intentc: Intentc, connected: ToyApiServer, etcd: OrderingEtcd, web: str
) -> None:
    etcd.resource("security_group", "u")
    connected.status = [
        status(entry(web), entry("u", "suspect", "d:p:db"), entry("v", "rejected"), entry("w", "paused"))
    ]
    rejected = intentc("quarantine", "drop", "--all")
    assert (rejected.code, etcd.orders) == (Exit.USAGE, [])
    ended = intentc("quarantine", "drop", "--all", "--yes")
    assert ended.out.splitlines() == ["dropped security_group d:p:web", "dropped security_group d:p:db"]
    assert {order.about for order in etcd.orders} == {f"security_group:{web}", "security_group:u"}


@pytest.mark.parametrize("command", ["retry", "drop"])
@pytest.mark.parametrize("arguments", [(), ("security_group",), ("security_group", "web", "--all")])
def test_one_is_named_or_all_are_meant(intentc: Intentc, web: str, command: str, arguments: tuple[str, ...]) -> None:
    assert intentc("quarantine", command, *arguments).code == Exit.USAGE


def test_approval_is_given_for_what_is_withheld(
    intentc: Intentc, connected: ToyApiServer, etcd: OrderingEtcd, web: str
) -> None:
    connected.status = [status(withheld_deletes=["access_control_list d:p:web:in"], counts={"withheld_deletes": 1})]
    ended = intentc("allow-deletes", "access-control-list", "--reason", "cleaned up")
    assert (ended.code, ended.out) == (0, "approved the withheld deletes of access_control_list\n")
    assert etcd.orders == [AllowDeletes(kind="access_control_list", reason="cleaned up")]


def test_approval_for_what_is_not_withheld_is_rejected(
    intentc: Intentc, connected: ToyApiServer, etcd: OrderingEtcd, web: str
) -> None:
    connected.status = [status(withheld_deletes=["access_control_list d:p:web:in"], counts={"withheld_deletes": 1})]
    ended = intentc("allow-deletes", "route_target")
    assert (ended.code, etcd.orders) == (Exit.INVALID, [])
    assert "no deletes of route_target are withheld" in ended.err


@pytest.mark.parametrize(
    "unsure", [{"first_pass_complete": False}, {"withheld_deletes": ["x a"], "counts": {"withheld_deletes": 101}}]
)
def test_approval_is_stored_where_the_compiler_does_not_say_whether_it_withholds(
    intentc: Intentc, connected: ToyApiServer, etcd: OrderingEtcd, web: str, unsure: dict[str, Any]
) -> None:
    connected.status = [status(**unsure)]
    assert intentc("allow-deletes", "route_target").code == 0
    assert etcd.orders == [AllowDeletes(kind="route_target")]
