"""The addresses behind a port of a Service (docs/appgw.md §6.2)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from intentc.compilers.appgw.pool import behind, pool


def ports(*numbers: int) -> list[Any]:
    return [SimpleNamespace(name=f"p{number}", port=number, protocol="TCP") for number in numbers]


def endpoint(*addresses: str, ready: bool | None = None, terminating: bool = False) -> Any:
    conditions = SimpleNamespace(ready=ready, serving=None, terminating=terminating)
    return SimpleNamespace(addresses=addresses, conditions=conditions, hostname="")


def one_slice(*endpoints: Any, numbers: tuple[int, ...] = (8080,), family: str = "IPv4") -> Any:
    return SimpleNamespace(addressType=family, ports=ports(*numbers), endpoints=endpoints)


def subset(*ips: str, not_ready: tuple[str, ...] = (), numbers: tuple[int, ...] = (8080,)) -> Any:
    def addresses(given: tuple[str, ...]) -> list[Any]:
        return [SimpleNamespace(ip=ip, hostname="") for ip in given]

    return SimpleNamespace(addresses=addresses(ips), notReadyAddresses=addresses(not_ready), ports=ports(*numbers))


def ips(found: Any, number: int = 8080, *, not_ready: bool = True) -> list[str]:
    addresses, _ = pool("shop:cart", found, number, not_ready=not_ready)
    return [one.get("ipAddress") or one["fqdn"] for one in addresses]


def reason(found: Any, number: int = 8080) -> str:
    return pool("shop:cart", found, number, not_ready=True)[1].reason


def test_all_slices_with_the_port_count() -> None:
    slices = [one_slice(endpoint("10.0.0.2")), one_slice(endpoint("10.0.0.1")), one_slice(endpoint("x"), numbers=(9,))]
    assert ips(behind(slices, None)) == ["10.0.0.1", "10.0.0.2"]


def test_all_subsets_with_the_port_count() -> None:
    endpoints = SimpleNamespace(subsets=[subset("10.0.0.2"), subset("10.0.0.1", "10.0.0.2"), subset("x", numbers=(9,))])
    assert ips(behind([], endpoints)) == ["10.0.0.1", "10.0.0.2"]


def test_slices_count_before_endpoints() -> None:
    assert ips(behind([one_slice(endpoint("a"))], SimpleNamespace(subsets=[subset("b")]))) == ["a"]


def test_addresses_that_are_not_ready_count_unless_they_are_excluded() -> None:
    found = behind([one_slice(endpoint("a", ready=False), endpoint("b", ready=True), endpoint("c"))], None)
    assert ips(found) == ["a", "b", "c"]
    assert ips(found, not_ready=False) == ["b", "c"]
    assert ips(behind([], SimpleNamespace(subsets=[subset("a", not_ready=("b",))])), not_ready=False) == ["a"]


def test_addresses_that_end_never_count() -> None:
    assert ips(behind([one_slice(endpoint("a", terminating=True), endpoint("b"))], None)) == ["b"]


def test_names_are_names() -> None:
    addresses, state = pool("s", behind([one_slice(endpoint("db.test"), family="FQDN")], None), 8080, not_ready=True)
    assert addresses == [{"fqdn": "db.test"}]
    assert state.reason == ""


def test_what_is_missing_is_reported() -> None:
    assert reason(behind([], None)) == "EndpointsEmpty"
    assert reason(behind([], SimpleNamespace(subsets=[]))) == "EndpointsEmpty"
    assert reason(behind([one_slice(endpoint("a"), numbers=(9090,))], None)) == "BackendPortTargetMatch"
    assert reason(behind([one_slice(endpoint("a", terminating=True))], None)) == "EndpointsEmpty"
