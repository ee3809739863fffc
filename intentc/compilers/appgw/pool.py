"""The port of a backend: which number stands behind what an Ingress writes (docs/appgw.md §6.1). The addresses behind
it become a pool, while a backend uses them (§6.2).

A change of an endpoint changes the pool and nothing else, unless it is the first or the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from intentc import Claim, Context, Fact, Intent

from .sub_resource_names import POOLS, Owner
from .sub_resources import given_name, of_ingress, sub_resource, this_gateway, wanted_name

_MOST_PORT = 65_535
_INSTEAD = 80


class ResolvedPort(msgspec.Struct, frozen=True):
    """``number``: 1 to 65535; ``wrong``: why it may not be the right one, empty if it is."""

    number: int
    wrong: str = ""


class EndpointPort(msgspec.Struct, frozen=True, order=True):
    """A TCP port behind a Service, as an EndpointSlice or a subset of Endpoints has it."""

    name: str
    number: int


class Target(msgspec.Struct, frozen=True):
    """A port of a Service that an Ingress may mean. ``target``: empty for that of the Service itself, digits, or the
    name of a port of the containers."""

    name: str
    number: int
    target: str


def is_tcp(port: Any) -> bool:
    """Whether a port of Kubernetes is TCP, the only protocol that counts."""
    return port.protocol in ("", "TCP")


def candidates(ports: Iterable[Any], written: str) -> tuple[Target, ...]:
    """The TCP ports of a Service whose number, name or target is ``written``."""
    found = []
    for port in ports:
        target = "" if port.targetPort in (None, 0, "", "0") else str(port.targetPort)
        if is_tcp(port) and written in (str(port.port), port.name, target):
            found.append(Target(port.name, port.port, target))
    return tuple(found)


def without_service(written: str) -> int:
    """The number of a port of a Service that does not exist, or has no such port."""
    number = int(written) if written.isascii() and written.isdigit() and len(written) <= 10 else _INSTEAD
    return _limited(number)


def resolved(
    service: str,
    written: str,
    targets: tuple[Target, ...] | None,
    endpoint_ports: Iterable[EndpointPort],
    container_ports: Iterable[EndpointPort],
) -> ResolvedPort:
    """The number behind the port that an Ingress writes.

    ``targets``: the ports of the Service that it may mean, None if there is no Service. ``endpoint_ports``: TCP ports
    of its endpoints; ``container_ports``: of its Pods, for a Service without endpoints.
    """
    hint = f"{without_service(written)} is used"
    if targets is None:
        return ResolvedPort(without_service(written), f"there is no Service {service}; create it. Until then {hint}")
    if not targets:
        return ResolvedPort(
            without_service(written), f"Service {service} has no TCP port {written}; write one that it has. {hint}"
        )
    endpoint_ports, container_ports = tuple(endpoint_ports), tuple(container_ports)
    numbers = sorted({number for target in targets for number in _numbers(target, endpoint_ports, container_ports)})
    if not numbers:
        names = ", ".join(sorted({target.target for target in targets}))
        return ResolvedPort(
            without_service(written), f"no endpoint of Service {service} has a port {names}. Until then {hint}"
        )
    number = _limited(numbers[0])
    if len(numbers) > 1:
        listed = ", ".join(map(str, numbers))
        return ResolvedPort(
            number, f"port {written} of Service {service} leads to several ports: {listed}; {number} is used"
        )
    return ResolvedPort(number)


def _numbers(
    target: Target, endpoints: tuple[EndpointPort, ...], containers: tuple[EndpointPort, ...]
) -> Iterator[int]:
    if not target.target:
        yield target.number
    elif target.target.isascii() and target.target.isdigit():
        yield int(target.target)
    else:
        # Endpoints name their ports like the Service's, containers like its targets.
        found = {port.number for port in endpoints if port.name == target.name}
        yield from found or {port.number for port in containers if port.name == target.target}


def _limited(number: int) -> int:
    return number if 0 < number <= _MOST_PORT else _INSTEAD


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
