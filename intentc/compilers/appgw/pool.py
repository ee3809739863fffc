"""The addresses behind a port of a Service become a pool, while a backend uses them (docs/appgw.md §6.2).

A change of an endpoint changes the pool and nothing else, unless it is the first or the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from intentc import Claim, Context, Fact, Intent

from .backends import EndpointPort, is_tcp
from .sub_resource_names import POOLS, Owner
from .sub_resources import given_name, of_ingress, sub_resource, this_gateway, wanted_name


class PoolState(msgspec.Struct, frozen=True):
    """``name``: the pool's, empty if the default pool takes its place for ``reason``; ``message``: for people."""

    name: str = ""
    reason: str = ""
    message: str = ""


class Endpoint(NamedTuple):
    """An address with the TCP ports at which it answers. Either ``ip`` or ``fqdn`` is empty."""

    ports: tuple[EndpointPort, ...]
    ip: str
    fqdn: str
    ready: bool


class Behind(NamedTuple):
    """What is behind a Service. ``exists``: whether there are slices or Endpoints at all; ``ports``: all TCP ports,
    also those of endpoints without an address."""

    exists: bool
    ports: tuple[EndpointPort, ...]
    endpoints: tuple[Endpoint, ...]


def behind(slices: Iterable[Any], endpoints: Any) -> Behind:
    """What is behind a Service by its EndpointSlices; by its Endpoints (None if there are none) if it has no slices."""
    slices = tuple(slices)
    if slices:
        ports = [port for one in slices for port in _ports(one.ports)]
        return Behind(True, tuple(ports), tuple(found for one in slices for found in _of_slice(one)))
    if endpoints is None:
        return Behind(False, (), ())
    ports = [port for subset in endpoints.subsets for port in _ports(subset.ports)]
    return Behind(True, tuple(ports), tuple(found for subset in endpoints.subsets for found in _of_subset(subset)))


def pool(service: str, found: Behind, number: int, *, not_ready: bool) -> tuple[list[dict[str, str]], PoolState]:
    """The addresses with the port ``number``, as the gateway has them, and what is wrong if there are none.
    ``not_ready``: whether those that are not ready count."""
    if not found.ports:
        message = f"Service {service} has no endpoints; start Pods that it selects. Until then requests get 502"
        return [], PoolState(reason="EndpointsEmpty", message=message)
    if not any(port.number == number for port in found.ports):
        known = ", ".join(str(one) for one in sorted({port.number for port in found.ports}))
        message = f"no endpoint of Service {service} has the port {number}; they have {known}"
        return [], PoolState(reason="BackendPortTargetMatch", message=f"{message}. Until then requests get 502")
    there = {
        (one.fqdn, one.ip)
        for one in found.endpoints
        if (one.ready or not_ready) and any(port.number == number for port in one.ports)
    }
    if not there:
        message = f"no endpoint of Service {service} with the port {number} has an address; until then requests get 502"
        return [], PoolState(reason="EndpointsEmpty", message=message)
    ordered = sorted(there, key=lambda one: f"{one[0]}-{one[1]}")
    return [{"fqdn": fqdn} if fqdn else {"ipAddress": ip} for fqdn, ip in ordered], PoolState()


def _ports(ports: Iterable[Any]) -> Iterator[EndpointPort]:
    return (EndpointPort(port.name, port.port) for port in ports if is_tcp(port))


def _of_slice(one: Any) -> Iterator[Endpoint]:
    ports = tuple(_ports(one.ports))
    for endpoint in one.endpoints:
        if endpoint.conditions.terminating:
            continue
        # What is not said about an endpoint counts as ready.
        ready = endpoint.conditions.ready is not False
        for address in endpoint.addresses:
            by_name = one.addressType == "FQDN"
            yield Endpoint(ports, "" if by_name else address, address if by_name else "", ready)
        if not endpoint.addresses and endpoint.hostname:
            yield Endpoint(ports, "", endpoint.hostname, ready)


def _of_subset(subset: Any) -> Iterator[Endpoint]:
    ports = tuple(_ports(subset.ports))
    for addresses, ready in ((subset.addresses, True), (subset.notReadyAddresses, False)):
        for address in addresses:
            if address.ip or address.hostname:
                yield Endpoint(ports, address.ip, "" if address.ip else address.hostname, ready)


_SERVICE = "kubernetes.io/service-name"


class PoolUseIntent(Intent):
    kind = "appgw_pool_use"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        here = this_gateway(ctx)
        config = here.config
        namespace, service_name, port, number = self.uuid.split("|")
        owners: list[Owner] = sorted(value for _, value in ctx.contributions(self.kind, self.uuid))
        service = ctx.find("service", (namespace, service_name))
        shown = f"{namespace}:{service_name}"
        addresses: list[dict[str, str]] = []
        if service is None:
            message = f"there is no Service {shown}; create it. Until then requests get 502"
            state = PoolState(reason="EndpointsEmpty", message=message)
        elif service.type == "ExternalName":
            addresses, state = _external(shown, service.externalName, is_on=config.external_name)
        else:
            found = behind_service(ctx, namespace, service_name)
            addresses, state = pool(shown, found, int(number), not_ready=config.not_ready)
        if not addresses:
            yield Fact("appgw_pool_state", self.uuid, state)
            return
        source = (namespace, service_name, port, number)
        name = config.names.pool(namespace, service_name, port, int(number))
        yield wanted_name(POOLS, name, source, owners[0])
        name = given_name(ctx, POOLS, name, source, owners[0])
        yield Fact("appgw_pool_state", self.uuid, PoolState(name=name))
        origins = [of_ingress(owner) for owner in owners[:20]]
        content = {"backendAddresses": addresses}
        yield sub_resource(self, "appgw_pool", here.id, POOLS, name, content, origins)


def behind_service(ctx: Context, namespace: str, service: str) -> Behind:
    """What is behind a Service now."""
    found = [
        one for one in ctx.select("endpoint_slice", "label", f"{_SERVICE}={service}") if one.fq_name[0] == namespace
    ]
    endpoints = None if found else ctx.find("endpoints", (namespace, service))
    return behind(found, endpoints)


def _external(service: str, name: str, *, is_on: bool) -> tuple[list[dict[str, str]], PoolState]:
    if is_on and name:
        return [{"fqdn": name}], PoolState()
    message = f"Service {service} is of type ExternalName; set appgw.external_name to on. Until then requests get 502"
    return [], PoolState(reason="ExternalNameUnsupported", message=message)
