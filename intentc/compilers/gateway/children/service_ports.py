"""The ports of Envoy's Service, and of Envoy's container behind them (docs/gateway.md §8, §8.1).

Pure functions of values.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..instance import Instance, Port
from .pods import Fields

_HIGHEST = 65535
_PRIVILEGED = 1023
"""The highest port that only a privileged process may listen on."""
_NODE_PORTS = range(30000, 32768)
"""The ports that a cluster gives to Services of nodes, unless it is configured otherwise."""
_USUAL = (Port(80, "http"), Port(443, "https"))
"""The ports of a Contour without class, and those that have the plain names ``http`` and ``https``."""


def container_port(number: int) -> int:
    """The port on which Envoy listens for a listener's port (layout P). Different ports of listeners may have the same.

    >>> container_port(80), container_port(443), container_port(57546)
    (8080, 8443, 1034)
    """
    found = number + 8000
    if found > _HIGHEST:
        found -= _HIGHEST
    return found + _PRIVILEGED if found <= _PRIVILEGED else found


def service_ports(instance: Instance) -> list[Fields]:
    """The ports of Envoy's Service."""
    if instance.layout == "operator":
        return _ports_of_operator(instance)
    return [_port_of_provisioner(instance, port) for port in sorted(instance.ports)]


def _port_of_provisioner(instance: Instance, port: Port) -> Fields:
    found = _port(f"{port.traffic}-{port.number}", port.number, container_port(port.number))
    if instance.publishing.type == "NodePortService" and port.number in _NODE_PORTS:
        found["nodePort"] = port.number
    return found


def _ports_of_operator(instance: Instance) -> list[Fields]:
    settings = instance.envoy_pods
    container_ports = {"http": settings.http_port, "https": settings.https_port}
    ports = sorted(_USUAL if instance.gateway is None else instance.ports)
    found = {port: _port(_name(port), port.number, container_ports[port.traffic]) for port in ports}
    if instance.publishing.type == "NodePortService":
        for traffic, number in instance.publishing.node_ports:
            if (carrier := _carrier(ports, traffic)) is not None:
                found[carrier]["nodePort"] = number
    return list(found.values())


def _carrier(ports: Iterable[Port], traffic: str) -> Port | None:
    """The port that gets the nodePort of a traffic: the one of that name, else the lowest."""
    candidates = [port for port in ports if port.traffic == traffic]
    return next((port for port in candidates if port in _USUAL), candidates[0] if candidates else None)


def _name(port: Port) -> str:
    return port.traffic if port in _USUAL else f"{port.traffic}-{port.number}"


def _port(name: str, number: int, target: int) -> Fields:
    return {"name": name, "port": number, "protocol": "TCP", "targetPort": target}
