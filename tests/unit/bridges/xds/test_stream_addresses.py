"""Which listener must release an address before another takes it."""

from __future__ import annotations

import pytest

from intentc.bridges.xds.draining import StreamAddresses
from intentc.bridges.xds.encoding import addresses_of
from intentc.bridges.xds.rejections import in_use


def places(**held: str) -> StreamAddresses:
    found = StreamAddresses()
    found.accepted({name: (address,) for name, address in held.items()}, whole=True)
    return found


def test_listeners_that_swap_addresses_both_leave_and_both_wait() -> None:
    found = places(a="1", b="2").hand_over(["a", "b"], {"a": ("2",), "b": ("1",)})
    assert found == ({"a", "b"}, {"a", "b"})


def test_a_listener_that_moves_to_a_free_address_stays_until_then() -> None:
    assert places(a="1", b="2").hand_over(["a"], {"a": ("3",), "b": ("2",)}) == (set(), set())


def test_a_removed_listener_leaves_before_another_takes_its_address() -> None:
    assert places(a="1").hand_over(["a", "b"], {"b": ("1",)}) == ({"a"}, {"b"})


def test_a_listener_that_keeps_its_address_is_never_removed_for_another() -> None:
    assert places(a="1").hand_over(["a", "b"], {"a": ("1",), "b": ("1",)}) == (set(), set())


def test_until_a_move_is_answered_the_old_address_counts_too() -> None:
    found = places(a="1")
    found.sent({"a": ("2",)})
    assert found.hand_over(["a", "b"], {"a": ("2",), "b": ("1",)}) == ({"a"}, {"b"})
    found.accepted({"a": ("2",)}, whole=False)
    assert found.hand_over(["a", "b"], {"a": ("2",), "b": ("1",)}) == (set(), set())


def test_the_addresses_of_a_listener_are_all_its_sockets() -> None:
    socket = {"socket_address": {"address": "::1", "port_value": 80}}
    more = [{"address": {"socket_address": {"protocol": "UDP", "address": "0.0.0.0", "port_value": 81}}}, {}]
    assert addresses_of({"address": socket, "additional_addresses": more}) == ("TCP ::1:80", "UDP 0.0.0.0:81")
    assert addresses_of({"address": {"pipe": {"path": "/x"}}}) == ()


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("cannot bind '127.0.0.1:80': Address already in use", True),
        ("error adding listener: 'b' has duplicate address '127.0.0.1:80' as existing listener", True),
        ("error adding listener '127.0.0.1:80': no filter chains specified", False),
    ],
)
def test_only_rejections_about_the_address_are_no_fault_of_the_listener(message: str, expected: bool) -> None:
    assert in_use(message) is expected
