"""Completes and checks the subnets of networks and IPAMs, and says which addresses are free (docs/contrail.md B.8).

Why it exists: a pool holds plain numbers (``pools.py``). Here an address becomes a number of its subnet's pool, and
back. A subnet's pool contains all its addresses; allocation pools only limit what the server chooses, and what clients
may request. So a change of allocation pools needs no change of the pool.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ..errors import BadRequest
from .well_known import ADDRESS_POOLS

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

FLAT = "flat-subnet"
_GATEWAY, _SERVICE = "default_gateway", "dns_server_address"


class Subnet(NamedTuple):
    """One subnet. Numbers count units of ``unit`` addresses from the subnet's first address.

    ``free``: the half-open ranges of numbers that may be allocated. ``gateway`` may be requested by ports of routers.
    """

    pool: str
    network: IPNetwork
    uuid: str
    unit: int
    lowest_first: bool
    gateway: IPAddress | None
    service: IPAddress | None
    free: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        return str(self.network)

    @property
    def size(self) -> int:
        """How many numbers the pool has."""
        return max(self.network.num_addresses // self.unit, 1)

    def number(self, address: IPAddress) -> int:
        """The number of the unit that has ``address``."""
        return (int(address) - int(self.network.network_address)) // self.unit

    def address(self, number: int) -> IPAddress:
        """The first address of the unit with this number."""
        return self.network.network_address + number * self.unit

    def request(self, address: IPAddress, field: str) -> int:
        """The number of an address that a client requests. Raises ``BadRequest`` if it may not have it."""
        number = self.number(address)
        if self.address(number) != address:
            raise BadRequest(
                f"{field}: {address} is no multiple of the subnet's alloc_unit {self.unit}; give {self.address(number)}"
            )
        if address != self.gateway and not any(start <= number < end for start, end in self.free):
            raise BadRequest(
                f"{field}: {address} can't be given out: subnet {self} reserves it (network, broadcast, gateway or "
                f"service address), or it lies outside of the allocation pools; choose another, or leave it out"
            )
        return number


def parse_address(text: Any, field: str) -> IPAddress:
    """Parse the address in a field. Raises ``BadRequest``."""
    try:
        return ipaddress.ip_address(str(text))
    except ValueError:
        raise BadRequest(f"{field}: {text!r} is no IP address; give one such as 10.0.0.5 or 2001:db8::5") from None


def subnets_of(network: Mapping[str, Any] | None, ipams: Iterable[Mapping[str, Any]]) -> list[Subnet]:
    """The subnets from which a network takes addresses, in the order of its ``address_allocation_mode``.

    ``ipams``: those to which it refers."""
    if network is None:
        return []
    mode = network.get("address_allocation_mode") or "user-defined-subnet-preferred"
    own = own_subnets(network)
    flat = [subnet for ipam in ipams for subnet in flat_subnets(ipam)]
    if mode.endswith("-only"):
        return flat if mode.startswith("flat") else own
    return [*flat, *own] if mode.startswith("flat") else [*own, *flat]


def own_subnets(network: Mapping[str, Any]) -> list[Subnet]:
    """The subnets in a network's references to IPAMs."""
    entries = (entry for reference in network.get("network_ipam_refs") or () for entry in entries_of(reference))
    return [_subnet(network["uuid"], entry, found) for entry in entries if (found := _readable(entry)) is not None]


def flat_subnets(ipam: Mapping[str, Any]) -> list[Subnet]:
    """The subnets of an IPAM that shares them among its networks; none of another IPAM."""
    if ipam.get("ipam_subnet_method") != FLAT:
        return []
    entries = _with_prefix((ipam.get("ipam_subnets") or {}).get("subnets"))
    return [_subnet(ipam["uuid"], entry, found) for entry in entries if (found := _readable(entry)) is not None]


def subnets_of_router(router: Mapping[str, Any], ipams: Iterable[Mapping[str, Any]]) -> list[Subnet]:
    """The subnets of flat IPAMs from which a virtual router takes addresses, limited to its own allocation pools."""
    by_uuid = {ipam["uuid"]: ipam for ipam in ipams}
    found = []
    for reference in router.get("network_ipam_refs") or ():
        own = (reference.get("attr") or {}).get("allocation_pools") or ()
        for subnet in flat_subnets(by_uuid.get(reference["uuid"], {})):
            starts = [(known_address(pool.get("start")), pool) for pool in own]
            pools = [
                {**pool, "vrouter_specific_pool": False}
                for start, pool in starts
                if start is not None and start in subnet.network
            ]
            if pools:
                found.append(subnet._replace(free=tuple(_free(subnet, {"allocation_pools": pools}, set()))))
    return found


def entries_of(reference: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The subnets in one reference to an IPAM. One without prefix stands for a flat IPAM and is left out."""
    return _with_prefix((reference.get("attr") or {}).get("ipam_subnets"))


def completed(
    entries: Sequence[dict[str, Any]], before: Iterable[Mapping[str, Any]], where: str, new_uuid: Iterator[str]
) -> list[dict[str, Any]]:
    """``entries`` with uuid, gateway and service address; ``before``: the stored entries, whose values stay.

    Raises ``BadRequest`` for an invalid subnet, and for a change of what addresses depend on. ``where``: the field.
    """
    stored = {_readable(entry): entry for entry in before}
    result = []
    for entry in entries:
        if "ip_prefix" not in (entry.get("subnet") or {}):
            result.append(entry)
            continue
        network = _network(entry, where)
        old = stored.get(network)
        _check_unit(entry, network, where)
        if old is not None:
            _check_unchanged(old, entry, network, where)
        known = old or {"subnet_uuid": next(new_uuid), **_defaults(entry, network)}
        filled = {name: known[name] for name in ("subnet_uuid", _GATEWAY, _SERVICE) if known.get(name)}
        entry = {**entry, **{name: value for name, value in filled.items() if not entry.get(name)}}
        for name in (_GATEWAY, _SERVICE):
            if entry.get(name):
                parse_address(entry[name], f"{where}: {name}")
        for server in entry.get("dns_nameservers") or ():
            parse_address(server, f"{where}: dns_nameservers")
        for pool in entry.get("allocation_pools") or ():
            _pool(pool, network, where)
        result.append(entry)
    return result


def check_overlaps(subnets: Iterable[Subnet], where: str) -> None:
    """Raise ``BadRequest`` if two subnets have addresses in common."""
    ordered = sorted(subnets, key=lambda one: (one.network.version, int(one.network.network_address)))
    for one, other in pairwise(ordered):
        if one.network.overlaps(other.network):
            raise BadRequest(
                f"{where}: {one} and {other} overlap; addresses would be given twice. Leave one of them out"
            )


def _with_prefix(entries: Any) -> list[dict[str, Any]]:
    return [entry for entry in entries or () if "ip_prefix" in (entry.get("subnet") or {})]


def _readable(entry: Mapping[str, Any]) -> IPNetwork | None:
    """The network of a stored subnet; None if it has none, as older servers may have left it."""
    try:
        return _network(entry, "")
    except BadRequest:
        return None


def _network(entry: Mapping[str, Any], where: str) -> IPNetwork:
    subnet = entry.get("subnet") or {}
    text = f"{subnet.get('ip_prefix', '')}/{subnet.get('ip_prefix_len', 0)}"
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError as error:
        raise BadRequest(f"{where}: {text} is no subnet: {error}") from None


def _subnet(holder: str, entry: Mapping[str, Any], network: IPNetwork) -> Subnet:
    unit = max(entry.get("alloc_unit") or 1, 1)
    gateway, service = (known_address(entry.get(name)) for name in (_GATEWAY, _SERVICE))
    subnet = Subnet(
        f"{ADDRESS_POOLS}{holder}:{str(network).replace('/', '-')}",
        network,
        entry.get("subnet_uuid") or "",
        unit,
        bool(entry.get("addr_from_start")),
        gateway,
        service,
        (),
    )
    reserved = [network.network_address, network.broadcast_address] if network.num_addresses > 2 else []
    reserved += [address for address in (gateway, service) if address is not None and address in network]
    return subnet._replace(free=tuple(_free(subnet, entry, {subnet.number(address) for address in reserved})))


def _free(subnet: Subnet, entry: Mapping[str, Any], reserved: set[int]) -> Iterator[tuple[int, int]]:
    """The allocation pools, without what is reserved and what belongs to single virtual routers."""
    network = subnet.network
    ranges = [] if entry.get("allocation_pools") else [(network.network_address, network.broadcast_address)]
    for pool in entry.get("allocation_pools") or ():
        first, last = known_address(pool.get("start")), known_address(pool.get("end"))
        if first is None or last is None or pool.get("vrouter_specific_pool"):
            continue
        if first in network and last in network:
            ranges.append((first, last))
    for first, last in sorted(ranges, key=lambda one: int(one[0])):
        start, end = -(-(int(first) - int(network.network_address)) // subnet.unit), subnet.number(last) + 1
        for number in sorted(reserved):
            if start <= number < end:
                if start < number:
                    yield start, number
                start = number + 1
        if start < end:
            yield start, end


def _pool(pool: Mapping[str, Any], network: IPNetwork, where: str) -> tuple[IPAddress, IPAddress]:
    first, last = (parse_address(pool.get(name), f"{where}: allocation_pools.{name}") for name in ("start", "end"))
    if first not in network or last not in network or int(first) > int(last):
        raise BadRequest(
            f"{where}: the allocation pool {first} to {last} is empty or leaves the subnet {network}; choose a start "
            f"and an end inside, in this order"
        )
    return first, last


def _defaults(entry: Mapping[str, Any], network: IPNetwork) -> dict[str, str]:
    """Gateway and service address: the two outermost addresses for hosts, at the start or at the end."""
    if network.num_addresses < 4:
        return {}
    at_start = entry.get("addr_from_start")
    first, last = network.network_address, network.broadcast_address
    gateway, service = (first + 1, first + 2) if at_start else (last - 1, last - 2)
    given = known_address(entry.get(_GATEWAY))
    if given == service:
        service = gateway
    return {_GATEWAY: str(gateway), _SERVICE: str(service)}


def _check_unit(entry: Mapping[str, Any], network: IPNetwork, where: str) -> None:
    unit = entry.get("alloc_unit") or 1
    if unit < 1 or unit & (unit - 1) or unit > network.num_addresses:
        raise BadRequest(f"{where}: alloc_unit {unit} of {network} must be a power of two that fits into the subnet")


def _check_unchanged(old: Mapping[str, Any], entry: Mapping[str, Any], network: IPNetwork, where: str) -> None:
    """Raise ``BadRequest`` for a change of what given addresses depend on."""
    units = old.get("alloc_unit") or 1, entry.get("alloc_unit") or 1
    gateways = old.get(_GATEWAY), entry.get(_GATEWAY) or old.get(_GATEWAY)
    uuids = old.get("subnet_uuid"), entry.get("subnet_uuid") or old.get("subnet_uuid")
    changes = (("alloc_unit", units), (_GATEWAY, gateways), ("subnet_uuid", uuids))
    for name, (before, after) in changes:
        if before and before != after and (name != _GATEWAY or known_address(before) != known_address(after)):
            raise BadRequest(
                f"{where}: {name} of {network} can't change from {before} to {after}; remove the subnet and add another"
            )


def known_address(text: Any) -> IPAddress | None:
    """The address in ``text``; None if there is none, also for what older servers stored."""
    try:
        return ipaddress.ip_address(text) if text else None
    except ValueError:
        return None
