"""The port of a backend: which number stands behind what an Ingress writes (docs/appgw.md §6.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

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
