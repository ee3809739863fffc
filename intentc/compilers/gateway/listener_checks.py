"""Decides which listeners are valid by themselves, which conflict with others on their port, and which ports Envoy's
Service has (docs/gateway.md §6, §9).

No listener wins over another one: all that can't be distinguished are refused, as the Gateway API demands. A
certificate that can't be used takes no port away, so that a Secret that arrives later does not change the Service.
Listeners on one port whose TLS host names overlap are reported: a client that reuses its connection may reach one with
another certificate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from .children import container_port
from .gateway_listeners import Listener, is_valid, normal, overlap
from .instance import Layout, Port

Reason = Literal["", "UnsupportedProtocol", "PortUnavailable", "UnsupportedValue"]
Conflict = Literal["", "HostnameConflict", "ProtocolConflict"]

_PROTOCOLS: dict[Layout, frozenset[str]] = {
    "operator": frozenset({"HTTP", "HTTPS", "TLS"}),
    "provisioner": frozenset({"HTTP", "HTTPS", "TLS", "TCP", "projectcontour.io/https"}),
}
_SETS = {"HTTP": "http", "HTTPS": "tls", "TLS": "tls", "projectcontour.io/https": "tls", "TCP": "tcp"}
"""Protocol → the set of protocols that may share a port."""


class Verdict(NamedTuple):
    """What is wrong with a listener: ``reason`` by itself, or ``conflict`` with others; at most one of the two.
    ``message``: for people."""

    reason: Reason = ""
    conflict: Conflict = ""
    message: str = ""

    @property
    def is_good(self) -> bool:
        return not self.reason and not self.conflict


def verdicts(listeners: Sequence[Listener], layout: Layout) -> tuple[Verdict, ...]:
    """One verdict for each listener, in their order."""
    found = [_by_itself(listener, layout) for listener in listeners]
    if layout == "provisioner":
        _check_container_ports(listeners, found)
    valid = [place for place, verdict in enumerate(found) if verdict.is_good]
    for port in {listeners[place].port for place in valid}:
        there = [place for place in valid if listeners[place].port == port]
        for place, verdict in _conflicts(listeners, there):
            found[place] = verdict
    return tuple(found)


def _by_itself(listener: Listener, layout: Layout) -> Verdict:
    known = _PROTOCOLS[layout]
    if listener.protocol not in known:
        return Verdict(
            "UnsupportedProtocol", message=f"protocol {listener.protocol!r}; there are {', '.join(sorted(known))}"
        )
    return Verdict("UnsupportedValue", message=fault) if (fault := _fault(listener, layout)) else Verdict()


def _fault(listener: Listener, layout: Layout) -> str:
    if not 1 <= listener.port <= 65535:
        return f"port {listener.port}; give one from 1 to 65535"
    if not is_valid(listener.hostname):
        return f"hostname {listener.hostname!r} is no DNS name with at most its whole first label `*`"
    if listener.protocol not in ("HTTPS", "TLS"):
        return ""
    if not listener.has_tls:
        return f"protocol {listener.protocol} needs tls"
    if listener.mode not in ("Terminate", "Passthrough"):
        return f"tls.mode {listener.mode!r}; give Terminate or Passthrough"
    if layout == "operator":
        return ""
    if listener.protocol == "HTTPS" and listener.mode == "Passthrough":
        return "protocol HTTPS with tls.mode Passthrough; give protocol TLS, or Terminate"
    if listener.mode == "Terminate" and not listener.certificates and not listener.has_options:
        return "tls.mode Terminate needs certificateRefs, or options"
    return ""


def _check_container_ports(listeners: Sequence[Listener], found: list[Verdict]) -> None:
    ports = {listener.port for listener, verdict in zip(listeners, found, strict=True) if verdict.is_good}
    counted = Counter(map(container_port, ports))
    for place, listener in enumerate(listeners):
        inner = container_port(listener.port)
        if found[place].is_good and counted[inner] > 1:
            others = ", ".join(str(port) for port in sorted(ports) if container_port(port) == inner)
            message = f"ports {others} all have the container port {inner}; change all but one"
            found[place] = Verdict("PortUnavailable", message=message)


def _conflicts(listeners: Sequence[Listener], there: Sequence[int]) -> Iterator[tuple[int, Verdict]]:
    """The conflicts among the listeners of one port. ``there``: their places."""
    sets = {_SETS[listeners[place].protocol] for place in there}
    if len(sets) > 1:
        port = listeners[there[0]].port
        names = ", ".join(listeners[place].name for place in there)
        for place in there:
            yield place, Verdict(conflict="ProtocolConflict", message=f"port {port} has several protocols: {names}")
        return
    # Listeners with equal keys can't be distinguished on one port.
    named = ((place, listeners[place]) for place in there)
    keys = {place: _TCP if one.protocol == "TCP" else normal(one.hostname) for place, one in named}
    counted = Counter(keys.values())
    for place in there:
        if counted[keys[place]] > 1:
            names = ", ".join(listeners[other].name for other in there if keys[other] == keys[place])
            what = f"hostname {listeners[place].hostname or '*'}" if keys[place] != _TCP else "protocol TCP"
            message = f"port {listeners[place].port} has several listeners with {what}: {names}"
            yield place, Verdict(conflict="HostnameConflict", message=message)


_TCP = "\0tcp"


def overlapping(listeners: Sequence[Listener], found: Sequence[Verdict]) -> tuple[bool, ...]:
    """For each listener whether another one of its port also terminates TLS for some of its host names."""
    able = [
        place
        for place, listener in enumerate(listeners)
        if found[place].is_good and listener.protocol in ("HTTPS", "TLS")
    ]
    return tuple(
        place in able
        and any(
            other != place
            and listeners[other].port == listener.port
            and overlap(listeners[other].hostname, listener.hostname)
            for other in able
        )
        for place, listener in enumerate(listeners)
    )


_TRAFFIC: dict[str, Literal["http", "https", "tcp"]] = {"HTTP": "http", "TCP": "tcp"}


def ports_of(listeners: Sequence[Listener], found: Sequence[Verdict]) -> tuple[Port, ...]:
    """The ports of the listeners that are valid and without conflict, each number once, sorted."""
    ports = {
        Port(listener.port, _TRAFFIC.get(listener.protocol, "https"))
        for listener, verdict in zip(listeners, found, strict=True)
        if verdict.is_good
    }
    return tuple(sorted(ports))
