"""The ``service`` of a Mapping: its valid forms, and texts that are rejected because they have two readings."""

from __future__ import annotations

import pytest

from intentc.compilers.ambassador.upstreams.targets import ServiceUrl, parse_service


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("echo", ServiceUrl("", "echo", 0)),
        ("echo:8080", ServiceUrl("", "echo", 8080)),
        ("http://echo", ServiceUrl("http", "echo", 0)),
        ("HTTPS://Echo.Shop:8443", ServiceUrl("https", "echo.shop", 8443)),
        ("svc_name.shop.svc.cluster.local.", ServiceUrl("", "svc_name.shop.svc.cluster.local.", 0)),
        ("10.0.0.1:80", ServiceUrl("", "10.0.0.1", 80)),
        ("[2001:DB8::1]:80", ServiceUrl("", "2001:db8::1", 80)),
        ("https://[2001:db8::1]", ServiceUrl("https", "2001:db8::1", 0)),
    ],
)
def test_scheme_host_and_port_are_taken_apart(text: str, expected: ServiceUrl) -> None:
    assert parse_service(text) == expected


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


@pytest.mark.parametrize(
    ("text", "unqualified"), [("echo", True), ("echo.shop", False), ("[::1]", False), ("localhost", False)]
)
def test_a_name_without_a_dot_is_unqualified(text: str, unqualified: bool) -> None:
    assert parse_service(text).unqualified is unqualified
