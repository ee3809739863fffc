"""Decides which of the addresses that a Gateway requests its Service can have, and which of these the cluster has not
given (docs/gateway.md §6).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Literal, NamedTuple

from .instance import ServiceType

IP_ADDRESS = "IPAddress"


class Requested(NamedTuple):
    """``assigned``: what the Service asks for. ``fault``: ``unsupported`` (a type that we can't give) or ``malformed``
    (no IP address): nothing is changed then; ``surplus`` (one that the Service can't have in addition). ``message``:
    for people."""

    assigned: tuple[str, ...] = ()
    fault: Literal["", "unsupported", "malformed", "surplus"] = ""
    message: str = ""

    @property
    def stops(self) -> bool:
        """Whether nothing may be made or changed."""
        return self.fault in ("unsupported", "malformed")


def requested(given: Iterable[tuple[str, str]], publishing: ServiceType) -> Requested:
    """``given``: (type, value) in their order; an empty type means an IP address, an empty value any one."""
    wanted: list[str] = []
    for type_, value in given:
        if type_ not in ("", IP_ADDRESS):
            return Requested(fault="unsupported", message=f"address type {type_}; only {IP_ADDRESS} is supported")
        if not value:
            continue
        if publishing == "NodePortService":
            return Requested(fault="unsupported", message=f"address {value}: a NodePort Service can't have one")
        address = ip_address(value)
        if not address:
            return Requested(fault="malformed", message=f"address {value!r} is no IP address")
        if address not in wanted:
            wanted.append(address)
    is_balancer = publishing == "LoadBalancerService"
    assigned: dict[int, str] = {}
    for address in wanted:
        assigned.setdefault(0 if is_balancer else ipaddress.ip_address(address).version, address)
    found, surplus = tuple(assigned.values()), [address for address in wanted if address not in assigned.values()]
    if not surplus:
        return Requested(found)
    limit = "a load balancer has one address" if is_balancer else "a Service has one address of each family"
    return Requested(found, "surplus", f"{limit}; not assigned: {', '.join(surplus)}")


def missing(assigned: Iterable[str], given: Iterable[str]) -> tuple[str, ...]:
    """The assigned addresses that the cluster has not given."""
    there = {(ip_address(address) or address) for address in given}
    return tuple(address for address in assigned if (ip_address(address) or address) not in there)


def ip_address(text: str) -> str:
    """An IP address in its shortest form; empty if ``text`` is none."""
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return ""


def address_type(address: str) -> str:
    """``IPAddress`` or ``Hostname``, as the status of a Gateway says it."""
    return IP_ADDRESS if ip_address(address) else "Hostname"
