"""``pause`` and ``resume``: an order in etcd for the life of one uuid, obeyed by whoever runs."""

from __future__ import annotations

import getpass
from typing import Any

import pytest

from intentc.cli.command_error import Exit
from intentc.directives import Pause
from tests.unit.cli.ordering_etcd import OrderingEtcd
from tests.unit.cli.running import Intentc
from tests.unit.cli.toy_api_server import ToyApiServer

OBEYED: dict[str, Any] = {"directives": {"applied_revision": 1_000_000}}
NOBODY = "127.0.0.1:1"


@pytest.fixture
def red(connected: ToyApiServer, etcd: OrderingEtcd) -> str:
    """The uuid of a network, which is there; a compiler that obeys at once answers."""
    connected.status = [OBEYED]
    uuid = connected.put("virtual-network", "d", "p", "red")
    etcd.resource("virtual_network", uuid)
    return uuid


@pytest.mark.parametrize("kind", ["virtual_network", "virtual-network", "virtual-networks"])
@pytest.mark.parametrize("name", ["d:p:red", "red"])
def test_a_pause_is_an_order_about_the_uuid_that_the_name_means(
    intentc: Intentc, etcd: OrderingEtcd, red: str, kind: str, name: str
) -> None:
    ended = intentc("pause", kind, name, "--reason", "maintenance")
    assert (ended.code, ended.out, ended.err) == (0, "paused virtual_network d:p:red\n", "")
    assert etcd.orders == [Pause(kind="virtual_network", uuid=red, name=("d", "p", "red"), reason="maintenance")]


def test_an_order_says_who_gave_it_and_when(
    intentc: Intentc, etcd: OrderingEtcd, red: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USER", getpass.getuser())
    assert intentc("pause", "virtual_network", "red").code == 0
    (kept,) = etcd.kept
    assert kept.directive.by.startswith(f"{getpass.getuser()}@")
    assert kept.directive.at.endswith("+00:00")


def test_a_resource_is_paused_by_its_uuid_also_if_nobody_can_read_it(
    intentc: Intentc, connected: ToyApiServer, etcd: OrderingEtcd, red: str
) -> None:
    unreadable = "5b0f0000-0000-4000-8000-0000000000ff"
    etcd.resource("virtual_network", unreadable, b"{")
    assert intentc("pause", "virtual_network", unreadable).out == f"paused virtual_network {unreadable}\n"
    assert intentc("pause", "virtual_network", red).out == "paused virtual_network d:p:red\n"
    assert {directive.uuid for directive in etcd.orders if isinstance(directive, Pause)} == {unreadable, red}


@pytest.mark.parametrize("name", ["d:p:blue", "5b0f0000-0000-4000-8000-0000000000ff"])
def test_what_does_not_exist_can_not_be_paused(intentc: Intentc, etcd: OrderingEtcd, red: str, name: str) -> None:
    ended = intentc("pause", "virtual_network", name)
    assert (ended.code, ended.out) == (Exit.INVALID, "")
    assert f"there is no virtual_network named {name}" in ended.err
    assert etcd.orders == []


@pytest.mark.parametrize(
    "arguments", [("pause", "virtual_netwrok", "red"), ("resume", "virtual_netwrok", "red"),
                  ("allow-deletes", "virtual_netwrok"), ("quarantine", "retry", "virtual_netwrok", "red"),
                  ("release", "virtual_netwrok")]
)  # fmt: skip
def test_an_unknown_kind_gets_a_suggestion(intentc: Intentc, red: str, arguments: tuple[str, ...]) -> None:
    ended = intentc(*arguments)
    assert ended.code == Exit.INVALID
    assert "unknown kind 'virtual_netwrok'; did you mean virtual_network" in ended.err


def test_without_a_compiler_the_directive_is_put_and_that_is_said(
    intentc: Intentc, etcd: OrderingEtcd, red: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTENTC_INTENTC__DIAGNOSTICS__ADDRESS", NOBODY)
    ended = intentc("pause", "virtual_network", "red")
    assert (ended.code, len(etcd.orders)) == (0, 1)
    assert ended.err == f"no compiler answers at {NOBODY}; the directive is stored, and takes effect when one runs\n"


def test_pause_without_wait_asks_no_compiler(
    intentc: Intentc, connected: ToyApiServer, etcd: OrderingEtcd, red: str
) -> None:
    connected.status = []
    ended = intentc("pause", "virtual_network", "red", "--no-wait")
    assert (ended.code, ended.err, len(etcd.orders)) == (0, "", 1)


def test_a_compiler_is_waited_for_until_it_has_come_so_far(intentc: Intentc, connected: ToyApiServer, red: str) -> None:
    connected.status = [{}, {"directives": {"applied_revision": 1}}, OBEYED]
    assert intentc("pause", "virtual_network", "red").code == 0
    assert connected.status == [OBEYED]


def test_a_compiler_that_does_not_obey_in_time_is_reported(
    intentc: Intentc, connected: ToyApiServer, etcd: OrderingEtcd, red: str
) -> None:
    connected.status = [{"directives": {"applied_revision": 1}}]
    ended = intentc("pause", "virtual_network", "red", "--timeout", "0.2")
    assert (ended.code, ended.out, len(etcd.orders)) == (Exit.UNREACHABLE, "", 1)
    assert "the directive is stored, but the compiler has not applied it after 0.2 s" in ended.err


@pytest.mark.parametrize("name", ["d:p:red", "p:red", "UUID"])
def test_resuming_withdraws_the_order_also_if_the_resource_is_gone(
    intentc: Intentc, connected: ToyApiServer, etcd: OrderingEtcd, red: str, name: str
) -> None:
    etcd.directive(Pause(kind="virtual_network", uuid=red, name=("d", "p", "red")))
    etcd.directive(Pause(kind="virtual_network", uuid="other", name=("d", "p", "blue")))
    etcd.directive(Pause(kind="security_group", uuid=red, name=("d", "p", "red")))
    connected.stored.clear()
    ended = intentc("resume", "virtual-network", red if name == "UUID" else name)
    assert (ended.code, ended.out) == (0, "resumed virtual_network d:p:red\n")
    assert {directive.about for directive in etcd.orders} == {"virtual_network:other", f"security_group:{red}"}


def test_what_is_not_paused_can_not_be_resumed(intentc: Intentc, red: str) -> None:
    ended = intentc("resume", "virtual_network", "red")
    assert ended.code == Exit.INVALID
    assert "error: virtual_network red is not paused\n" in ended.err


def test_a_name_that_fits_several_pauses_is_rejected_with_all_of_them(
    intentc: Intentc, etcd: OrderingEtcd, red: str
) -> None:
    etcd.directive(Pause(kind="virtual_network", uuid="u", name=("d", "p", "red")))
    etcd.directive(Pause(kind="virtual_network", uuid="v", name=("d", "q", "red")))
    ended = intentc("resume", "virtual_network", "red")
    assert ended.code == Exit.USAGE
    assert "d:p:red, d:q:red" in ended.err
    assert len(etcd.orders) == 2
