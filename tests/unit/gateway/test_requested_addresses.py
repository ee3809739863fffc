"""Which of the addresses that a Gateway requests its Service can have (docs/gateway.md §6)."""

from __future__ import annotations

import pytest

from intentc.compilers.gateway.gateway_addresses import missing, requested
from intentc.compilers.gateway.instance import ServiceType


@pytest.mark.parametrize(
    ("given", "publishing", "assigned", "fault"),
    [
        ([], "LoadBalancerService", (), ""),
        ([("", "192.0.2.1")], "LoadBalancerService", ("192.0.2.1",), ""),
        ([("IPAddress", "")], "NodePortService", (), ""),
        ([("", "192.0.2.1"), ("", "192.0.2.2")], "LoadBalancerService", ("192.0.2.1",), "surplus"),
        ([("", "192.0.2.1"), ("", "fd00::1")], "ClusterIPService", ("192.0.2.1", "fd00::1"), ""),
        ([("", "192.0.2.1"), ("", "192.0.2.2")], "ClusterIPService", ("192.0.2.1",), "surplus"),
        ([("", "192.0.2.1"), ("", "192.0.2.1")], "LoadBalancerService", ("192.0.2.1",), ""),
        ([("", "fd00::1"), ("", "FD00:0::1")], "ClusterIPService", ("fd00::1",), ""),
        ([("", "192.0.2.1")], "NodePortService", (), "unsupported"),
        ([("Hostname", "a.example.com")], "LoadBalancerService", (), "unsupported"),
        ([("", "192.0.2")], "LoadBalancerService", (), "malformed"),
    ],
)
def test_what_is_assigned_and_what_is_wrong(
    given: list[tuple[str, str]], publishing: ServiceType, assigned: tuple[str, ...], fault: str
) -> None:
    found = requested(given, publishing)
    assert (found.assigned, found.fault) == (assigned, fault)
    assert bool(found.message) == bool(fault)


def test_an_address_is_given_however_it_is_written() -> None:
    assert missing(("fd00::1", "192.0.2.1"), ("FD00:0::1",)) == ("192.0.2.1",)
