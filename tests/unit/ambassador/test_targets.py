"""Which targets upstreams may have, and how exceptions are allowed."""

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
        "64:ff9b::a9fe:a9fe",
        "64:ff9b::7f00:1",
        "64:ff9b:1::a9fe:a9fe",
        "64:ff9b:1:a9fe:a9:fe00::",
        "64:ff9b:1:2:a9:fea9:fe00:0",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::1",
        "::ffff:0:a9fe:a9fe",
        "2001:0:a9fe:a9fe::1",
        "2001:db8::5efe:7f00:1",
        "fe80::1",
        "fd00:ec2::254",
        "localhost",
        "localhost.",
        "app.localhost",
        "metadata.google.internal",
        "metadata.google.internal.",
        "a.metadata.google.internal",
        "instance-data",
        "instance-data.ec2.internal",
        "instance-data.eu-west-1.compute.internal",
        "metadata.tencentyun.com",
        "localhost6.localdomain6",
    ],
)
def test_the_gateways_own_machine_and_the_clouds_metadata_are_forbidden(host: str) -> None:
    assert forbidden(host, NOTHING)


@pytest.mark.parametrize(
    "host",
    [
        *("10.0.0.1", "192.168.1.1", "2001:db8::1", "fd00::1", "echo.shop", "8.8.8.8"),
        *("64:ff9b::808:808", "64:ff9b:1::a00:1", "2002:808:808::1", "instance-data.shop", "metadata.shop"),
    ],
)
def test_other_addresses_and_names_are_not(host: str) -> None:
    assert not forbidden(host, NOTHING)


@pytest.mark.parametrize("host", ["127.0.0.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "localhost"])
def test_what_is_allowed_is_not_forbidden(host: str) -> None:
    allowed = AllowedTargets((ipaddress.ip_network("127.0.0.0/8"),), frozenset({"localhost"}))
    assert not forbidden(host, allowed)


def test_an_allowed_network_allows_nothing_else() -> None:
    assert forbidden("169.254.169.254", AllowedTargets((ipaddress.ip_network("127.0.0.0/8"),)))
