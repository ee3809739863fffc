"""Which targets upstreams may have, and how that is lifted."""

from __future__ import annotations

import ipaddress

import pytest

from intentc.compilers.ambassador.upstreams.targets import AllowedTargets, forbidden

NOTHING = AllowedTargets()


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.8.8.8",
        "0.0.0.0",
        "0.1.2.3",
        "169.254.169.254",
        "100.100.100.200",
        "168.63.129.16",
        "224.0.0.1",
        "::1",
        "::",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::127.0.0.1",
        "fe80::1",
        "fd00:ec2::254",
        "localhost",
        "localhost.",
        "app.localhost",
        "metadata.google.internal",
    ],
)
def test_the_gateways_own_machine_and_the_clouds_metadata_are_forbidden(host: str) -> None:
    assert forbidden(host, NOTHING)


@pytest.mark.parametrize("host", ["10.0.0.1", "192.168.1.1", "2001:db8::1", "fd00::1", "echo.shop", "8.8.8.8"])
def test_other_addresses_and_names_are_not(host: str) -> None:
    assert not forbidden(host, NOTHING)


@pytest.mark.parametrize("host", ["127.0.0.1", "::ffff:127.0.0.1", "localhost"])
def test_what_is_allowed_is_not_forbidden(host: str) -> None:
    allowed = AllowedTargets((ipaddress.ip_network("127.0.0.0/8"),), frozenset({"localhost"}))
    assert not forbidden(host, allowed)


def test_an_allowed_network_allows_nothing_else() -> None:
    assert forbidden("169.254.169.254", AllowedTargets((ipaddress.ip_network("127.0.0.0/8"),)))
