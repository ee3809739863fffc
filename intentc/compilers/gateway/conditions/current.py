"""The conditions of Gateways of gateway.networking.k8s.io and of their listeners (docs/gateway.md §9).

Pure functions of values: no state.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..addresses import missing
from ..listeners.routes import GROUP, supported_kinds, unknown_kinds
from .condition import Checked, Condition, GatewayState, faults_of, unresolved


def gateway_conditions(state: GatewayState) -> tuple[Condition, ...]:
    """Accepted, Programmed and ResolvedRefs."""
    accepted = _accepted(state)
    references = unresolved(state.listeners)
    resolved = (
        Condition("ResolvedRefs", False, "ListenersNotResolved", references)
        if references
        else Condition("ResolvedRefs", True, "ResolvedRefs")
    )
    return accepted, _programmed(state, accepted), resolved


def _accepted(state: GatewayState) -> Condition:
    if state.fault:
        return Condition("Accepted", False, "InvalidParameters", state.fault)
    if state.addresses.fault == "unsupported":
        return Condition("Accepted", False, "UnsupportedAddress", state.addresses.message)
    faults = faults_of(state.listeners)
    if not state.valid:
        return Condition("Accepted", False, "ListenersNotValid", faults or "there are no listeners; give one")
    if faults:
        return Condition("Accepted", True, "ListenersNotValid", faults)
    return Condition("Accepted", True, "Accepted")


def _programmed(state: GatewayState, accepted: Condition) -> Condition:
    def no(reason: str, message: str) -> Condition:
        return Condition("Programmed", False, reason, message)

    running, requested = state.running, state.addresses
    if not accepted.status:
        return no("Invalid", accepted.message)
    if requested.fault == "malformed":
        return no("AddressNotUsable", requested.message)
    if running is None:
        return no("Pending", "nothing is made yet")
    if running.taken:
        return no("NoResources", f"others have objects of these names; rename or delete them: {_list(running.taken)}")
    if running.rejected:
        return no("NoResources", f"the cluster rejects {_list(running.rejected)}")
    if not running.is_up:
        return no("Pending", running.waits_for)
    if not state.publishes_nodes and not running.addresses:
        return no("AddressNotAssigned", "the Service has no address yet")
    if requested.fault == "surplus":
        return no("AddressNotUsable", requested.message)
    if absent := missing(requested.assigned, running.addresses):
        return no("AddressNotUsable", f"the cluster has not given {_list(absent)}")
    return Condition("Programmed", True, "Programmed")


def listener_status(one: Checked, is_programmed: bool, generation: int) -> dict[str, Any]:
    """The status of one listener. ``is_programmed``: whether its Gateway is."""
    kinds = [{"group": GROUP, "kind": kind} for kind in supported_kinds(one.listener)]
    conditions = sorted(_listener_conditions(one, is_programmed))
    return {
        "name": one.listener.name,
        "supportedKinds": kinds,
        "attachedRoutes": one.attached,
        "conditions": [condition.document(generation) for condition in conditions],
    }


def _listener_conditions(one: Checked, is_programmed: bool) -> Iterator[Condition]:
    verdict, resolution = one.verdict, one.resolution
    if fault := verdict.reason or verdict.conflict:
        yield Condition("Accepted", False, fault, verdict.message)
    else:
        yield Condition("Accepted", True, "Accepted")
    if verdict.conflict:
        yield Condition("Conflicted", True, verdict.conflict, verdict.message)
    else:
        yield Condition("Conflicted", False, "NoConflicts")
    unknown = unknown_kinds(one.listener)
    if resolution.reason:
        yield Condition("ResolvedRefs", False, resolution.reason, resolution.message)
    elif unknown:
        yield Condition("ResolvedRefs", False, "InvalidRouteKinds", f"it can't have routes of kind {_list(unknown)}")
    else:
        yield Condition("ResolvedRefs", True, "ResolvedRefs")
    if verdict.conflict:
        yield Condition("Programmed", False, verdict.conflict, verdict.message)
    elif not one.is_good:
        yield Condition("Programmed", False, "Invalid", verdict.message or resolution.message)
    elif is_programmed:
        yield Condition("Programmed", True, "Programmed")
    else:
        yield Condition("Programmed", False, "Pending", "the Gateway is not programmed")
    if one.overlaps:
        message = "another listener of the port terminates TLS for some of its host names"
        yield Condition("OverlappingTLSConfig", True, "OverlappingHostnames", message)


def _list(texts: tuple[str, ...]) -> str:
    return ", ".join(texts)
