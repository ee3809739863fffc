"""The conditions of Gateways of networking.x-k8s.io/v1alpha1 and of their listeners (docs/gateway.md §9).

The first of these versions names no reasons for good listeners; those of later ones are used.

Pure functions of values: no state.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..addresses import missing
from .condition import Checked, Condition, GatewayState, faults_of, unresolved

READY = Condition("Ready", True, "GatewayReady")


def class_missing(name: str) -> tuple[Condition, ...]:
    """Ready and Scheduled of a Gateway whose class does not exist."""
    ready = Condition("Ready", False, "NonExistentGatewayClass", f"there is no GatewayClass {name}; create it")
    return ready, _scheduled(ready)


def gateway_conditions(state: GatewayState, elsewhere: str, holder: str) -> tuple[Condition, ...]:
    """Ready and Scheduled. ``elsewhere``: why nothing is made in this namespace, if the parameters want it in another
    one. ``holder``: who holds the namespace, empty if it is this Gateway."""
    ready = _ready(state, elsewhere, holder)
    if holder:
        return ready, Condition("Scheduled", False, "NoResources", f"{holder} holds the namespace")
    if state.running is not None:
        return ready, Condition("Scheduled", True, "Scheduled")
    return ready, _scheduled(ready)


def _scheduled(ready: Condition) -> Condition:
    """Of a Gateway for which nothing is made, for the reason that it is not ready."""
    return Condition("Scheduled", False, ready.reason, ready.message)


def _ready(state: GatewayState, elsewhere: str, holder: str) -> Condition:
    def no(reason: str, message: str) -> Condition:
        return Condition("Ready", False, reason, message)

    running, requested = state.running, state.addresses
    if state.fault:
        return no("GatewayClassNotAdmitted", state.fault)
    if faults := faults_of(state.listeners) or ("" if state.valid else "there are no listeners; give one"):
        return no("ListenersNotValid", faults)
    if requested.fault:
        return no("AddressNotAssigned", requested.message)
    given = running.addresses if running is not None else ()
    if running is not None and (absent := missing(requested.assigned, given)):
        return no("AddressNotAssigned", f"the cluster has not given {', '.join(absent)}")
    if references := unresolved(state.listeners):
        return no("ListenersNotReady", references)
    if holder:
        return no("ContourNotAvailable", f"{holder} holds the namespace")
    if elsewhere:
        return no("ContourNotAvailable", elsewhere)
    if running is None:
        return no("ContourNotAvailable", "nothing is made yet")
    if running.taken or running.rejected:
        return no("ContourNotAvailable", "; ".join((*(f"{one} is taken" for one in running.taken), *running.rejected)))
    return READY if running.is_up else no("ContourNotAvailable", running.waits_for)


def listener_status(one: Checked, state: GatewayState, is_ready: bool, generation: int) -> dict[str, Any]:
    """The status of one listener. ``is_ready``: whether its Gateway is, apart from its listeners."""
    conditions = sorted(_listener_conditions(one, state, is_ready))
    return {
        "port": one.listener.port,
        "protocol": one.listener.protocol,
        "hostname": one.listener.hostname,
        "conditions": [condition.document(generation) for condition in conditions],
    }


def _listener_conditions(one: Checked, state: GatewayState, is_ready: bool) -> Iterator[Condition]:
    verdict, resolution = one.verdict, one.resolution
    detached = state.addresses.fault == "unsupported"
    if verdict.reason == "UnsupportedProtocol":
        yield Condition("Detached", True, "UnsupportedProtocol", verdict.message)
    elif detached:
        yield Condition("Detached", True, "UnsupportedAddress", state.addresses.message)
    else:
        yield Condition("Detached", False, "Attached")
    if verdict.conflict:
        yield Condition("Conflicted", True, verdict.conflict, verdict.message)
    else:
        yield Condition("Conflicted", False, "NoConflicts")
    if resolution.reason:
        yield Condition("ResolvedRefs", False, "InvalidCertificateRef", resolution.message)
    else:
        yield Condition("ResolvedRefs", True, "ResolvedRefs")
    if not one.is_good or detached:
        message = verdict.message or resolution.message or state.addresses.message
        yield Condition("Ready", False, "Invalid", message)
    elif is_ready:
        yield Condition("Ready", True, "Ready")
    else:
        yield Condition("Ready", False, "Pending", "the Gateway is not ready")
