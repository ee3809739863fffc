"""A Gateway of networking.x-k8s.io/v1alpha1 is a candidate for the instance of its namespace (layout O).

``contour_instance.py`` makes the objects of whoever holds the namespace. Here the Gateway is checked, and its
conditions say what became of it (docs/gateway.md §9). The first of these versions names no reasons for good listeners;
those of later ones are used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from intentc import Claim, Context, Fact, Intent, status

from .condition import Checked, Condition, GatewayState, conflicted, faults_of, unless, unresolved
from .contenders import candidate_of, contest, has_ours, holder_among, instance_name, objects_of, of_holder
from .gateway_addresses import missing
from .gateway_class import EARLY_CLASS, Class, class_named, is_ours, read_class
from .gateways import addresses_of, instance_of, remains_of, state_of, use_of_parameters
from .running import running

READY = Condition("Ready", True, "GatewayReady")


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
    yield conflicted(verdict)
    fault = "InvalidCertificateRef" if resolution.reason else ""
    yield unless(fault, resolution.message, "ResolvedRefs", "ResolvedRefs")
    if not one.is_good or detached:
        message = verdict.message or resolution.message or state.addresses.message
        yield Condition("Ready", False, "Invalid", message)
    elif is_ready:
        yield Condition("Ready", True, "Ready")
    else:
        yield Condition("Ready", False, "Pending", "the Gateway is not ready")


class EarlyGatewayIntent(Intent):
    kind = "gateway_v1alpha1"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        view = class_named(ctx, EARLY_CLASS, self.gatewayClassName)
        if view is None or not is_ours(view):
            message = f"there is no GatewayClass {self.gatewayClassName}; create it"
            ready = Condition("Ready", False, "NonExistentGatewayClass", message)
            if view is None:
                ctx.problem(ready.reason, ready.message)
                yield from (one.of(self) for one in (ready, _scheduled(ready)))
                yield from addresses_of(self, remains_of(ctx, self))
            yield from self._remains(ready.message)
            return
        found = read_class(ctx, view)
        state = state_of(ctx, self, found)
        elsewhere = self._elsewhere(found)
        if state.fault or elsewhere:
            state = self._with_remains(ctx, state, found)
            yield from use_of_parameters(self, found.parameters.contour, state.remains)
            yield from self._remains(state.fault or elsewhere)
            yield from self._status(ctx, state, elsewhere, "")
            return
        usable = bool(state.valid) and not state.addresses.stops
        instance = instance_of(ctx, self, found.parameters, state)
        fault = "" if usable else "none of its listeners is valid, or an address can't be had; see its conditions"
        candidate = candidate_of(self, instance if usable else None, fault, found)
        name = instance_name(self.fq_name[0])
        yield Fact("contour_instance", name, candidate)
        held_by = holder_among(ctx, name, self, candidate)
        if held_by is not None and held_by is not candidate:
            yield from self._status(ctx, state, "", held_by.title)
            return
        if usable:
            own = of_holder(candidate, self.fq_name[0])
            made, lost = contest(ctx, own, objects_of(self, ctx, instance), gives_way=candidate.is_ending)
            seen = running(ctx, made, instance.publishing.type, lost)
            state = state._replace(running=seen)
        else:
            state = self._with_remains(ctx, state, found)
        yield from use_of_parameters(self, instance.contour, state.running or state.remains)
        yield from self._status(ctx, state, "", "")

    def _with_remains(self, ctx: Context, state: GatewayState, found: Class) -> GatewayState:
        return state._replace(remains=remains_of(ctx, self, found.parameters.publishing.type))

    def _remains(self, fault: str) -> Iterator[Fact]:
        """What runs for a Gateway whose class can't be used goes on, as long as nobody else takes over."""
        if has_ours(self):
            remaining = candidate_of(self, None, fault)
            yield Fact("contour_instance", instance_name(self.fq_name[0]), remaining)

    def _elsewhere(self, found: Class) -> str:
        own, wanted = self.fq_name[0], found.parameters.namespace
        if not wanted or wanted == own or found.fault:
            return ""
        return f"the Contour of its class wants the namespace {wanted}; give the Gateway that one, or change it there"

    def _status(self, ctx: Context, state: GatewayState, elsewhere: str, held_by: str) -> Iterator[Claim]:
        conditions = gateway_conditions(state, elsewhere, held_by)
        ready = conditions[0]
        taken = state.running is not None and (state.running.taken or state.running.rejected)
        if not ready.status and (ready.reason != "ContourNotAvailable" or held_by or elsewhere or taken):
            ctx.problem(ready.reason, ready.message)
        yield from (one.of(self) for one in conditions)
        generation = int(self.metadata.generation)
        # If only other listeners keep the Gateway from being ready, a good one is.
        is_running = state.running is not None and state.running.is_up
        is_up = bool(ready.status) or (ready.reason.startswith("Listeners") and is_running)
        listeners = [listener_status(one, state, is_up, generation) for one in state.listeners]
        yield status.field(self, "listeners", listeners)
        yield from addresses_of(self, state.running or state.remains)
