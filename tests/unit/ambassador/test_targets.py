"""Where the text of a service leads, and which targets are forbidden (docs/ambassador.md §4.4)."""

from __future__ import annotations

import ipaddress

import pytest

from intentc.compilers.ambassador.upstreams.service_targets import AllowedTargets, forbidden, parse_service


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a host"),
        ("echo/path", "without a path"),
        ("http://", "is not a host"),
        ("http+unix:///run/echo.sock", "the scheme is http or https"),
        ("ftp://echo", "the scheme is http or https"),
        ("user@echo", "is not a host"),
        ("echo:0", "1 to 65535"),
        ("echo:65536", "1 to 65535"),
        ("echo:http", "1 to 65535"),
        ("echo:", "1 to 65535"),
        ("echo:٨٠", "1 to 65535"),
        ("2001:db8::1", "in brackets"),
        ("[2001:db8::1", "[address]"),
        ("[fe80::1%eth0]:80", "not an IPv6 address"),
        ("[10.0.0.1]:80", "not an IPv6 address"),
        ("2130706433", "looks like an address"),
        ("127.1", "looks like an address"),
        ("0x7f.0.0.0x1", "looks like an address"),
        ("-echo", "is not a host"),
        ("echo..shop", "is not a host"),
        ("éclair", "is not a host"),
        ("echo shop", "is not a host"),
        ("x" * 64, "is not a host"),
    ],
)
def test_what_is_no_service_is_rejected_with_what_to_write(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=r"^service ") as rejected:
        parse_service(text)
    assert said in str(rejected.value)


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
