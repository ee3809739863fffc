"""Which number stands behind the port that an Ingress writes (docs/appgw.md §6.1)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from intentc.compilers.appgw.pool import EndpointPort, ResolvedPort, candidates, resolved, without_service


def port(number: int, target: Any = None, name: str = "", protocol: str = "TCP") -> Any:
    return SimpleNamespace(port=number, targetPort=target, name=name, protocol=protocol)


def number_of(written: str, *ports: Any, endpoints: Any = (), containers: Any = ()) -> ResolvedPort:
    return resolved(
        "shop:cart",
        written,
        candidates(ports, written),
        [EndpointPort(*one) for one in endpoints],
        [EndpointPort(*one) for one in containers],
    )


@pytest.mark.parametrize("written", ["80", "http", "8080"])
def test_a_port_is_meant_by_its_number_its_name_or_its_target(written: str) -> None:
    assert number_of(written, port(80, 8080, "http")) == ResolvedPort(8080)


@pytest.mark.parametrize("target", [None, 0, ""])
def test_without_a_target_the_number_counts(target: Any) -> None:
    assert number_of("80", port(80, target)) == ResolvedPort(80)


def test_a_named_target_is_the_endpoints_port_of_the_services_name() -> None:
    found = number_of("80", port(80, "web", "http"), endpoints=[("http", 8080), ("web", 9090)])
    assert found == ResolvedPort(8080)


def test_a_named_target_without_endpoints_is_the_containers_port_of_its_name() -> None:
    assert number_of("80", port(80, "web", "http"), containers=[("web", 9090)]) == ResolvedPort(9090)


def test_the_smallest_of_several_counts_and_is_reported() -> None:
    found = number_of("80", port(80, "web", "http"), endpoints=[("http", 8081), ("http", 8080)])
    assert found.number == 8080
    assert found.wrong == "port 80 of Service shop:cart leads to several ports: 8080, 8081; 8080 is used"


@pytest.mark.parametrize(("written", "number"), [("8443", 8443), ("https", 80), ("70000", 80), ("0", 80)])
def test_without_a_service_the_written_number_counts(written: str, number: int) -> None:
    found = resolved("shop:cart", written, None, (), ())
    assert found.number == without_service(written) == number
    assert found.wrong.startswith("there is no Service shop:cart; create it")


def test_a_port_that_the_service_lacks_is_reported() -> None:
    assert number_of("https", port(80)).wrong.startswith("Service shop:cart has no TCP port https")


def test_udp_does_not_count() -> None:
    assert candidates([port(53, None, "dns", "UDP")], "53") == ()


def test_a_number_above_65535_is_80() -> None:
    assert number_of("80", port(80, 70000)) == ResolvedPort(80)
