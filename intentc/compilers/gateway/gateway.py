"""A Gateway of gateway.networking.k8s.io becomes an instance of its own, in its namespace (layout P; docs/gateway.md).

While its class, its parameters or an address can't be used, or none of its listeners is valid, whatever runs for it
goes on as it is, and its conditions say why (§9).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from intentc import Claim, Context, Fact, Intent, View, status

from .condition import Checked, Condition, GatewayState, conflicted, faults_of, unless, unresolved
from .contenders import contest, has_ours, is_ending, keeping, names_wanted, objects_of, of_gateway
from .contour_parameters import Parameters
from .gateway_addresses import missing
from .gateway_class import CLASS, Class, class_named, is_ours, parameters_at, parameters_place, read_class
from .gateway_listeners import GROUP, supported_kinds, unknown_kinds
from .gateways import addresses_of, explain, instance_of, remains_of, state_of, use_of_parameters
from .running import running
from .settings import shares_status


def gateway_conditions(state: GatewayState) -> tuple[Condition, ...]:
    """Accepted, Programmed and ResolvedRefs."""
    accepted = _accepted(state)
    references = unresolved(state.listeners)
    fault = "ListenersNotResolved" if references else ""
    return accepted, _programmed(state, accepted), unless(fault, references, "ResolvedRefs", "ResolvedRefs")


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
    yield unless(verdict.reason or verdict.conflict, verdict.message, "Accepted", "Accepted")
    yield conflicted(verdict)
    if (unknown := unknown_kinds(one.listener)) and not resolution.reason:
        yield Condition("ResolvedRefs", False, "InvalidRouteKinds", f"it can't have routes of kind {_list(unknown)}")
    else:
        yield unless(resolution.reason, resolution.message, "ResolvedRefs", "ResolvedRefs")
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


class GatewayIntent(Intent):
    kind = "gateway"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        view = class_named(ctx, CLASS, self.gatewayClassName)
        if view is None or not is_ours(view):
            if view is None and not shares_status(ctx):
                yield from addresses_of(self, remains_of(ctx, self))
            yield from self._stay(ctx, f"GatewayClass {self.gatewayClassName} is missing, or not ours; bring it back")
            return
        found = self._with_own_parameters(ctx, read_class(ctx, view), view)
        state = state_of(ctx, self, found)
        if state.fault or state.addresses.stops or not state.valid:
            state = state._replace(remains=remains_of(ctx, self, found.parameters.publishing.type))
            conditions = gateway_conditions(state)
            yield from self._status(ctx, state, conditions)
            yield from self._stay(ctx, next(one.message for one in conditions if not one.status))
            return
        instance = instance_of(ctx, self, found.parameters, state)
        own, wanted = of_gateway(self), objects_of(self, ctx, instance)
        if not is_ending(self) or has_ours(self):
            # Once everything of one that is being deleted is gone, others need not wait until it is gone itself.
            yield from names_wanted(own, wanted)
        made, lost = contest(ctx, own, wanted, gives_way=is_ending(self))
        yield from keeping(self, view, found.holder)
        yield from (claim for _, claim in made)
        explain(ctx, self, state.listeners, made)
        seen = running(ctx, made, instance.publishing.type, lost)
        state = state._replace(running=seen)
        yield from self._status(ctx, state, gateway_conditions(state))
        yield from use_of_parameters(self, instance.contour, seen)

    def _stay(self, ctx: Context, reason: str) -> Iterator[Claim]:
        """What was made stays. Of a Gateway for which nothing was made, nothing is said."""
        if has_ours(self):
            yield from keeping(self)
            ctx.hold(reason)

    def _with_own_parameters(self, ctx: Context, found: Class, view: View) -> Class:
        """The class with the Gateway's own parameters in place of its own, if the Gateway names some. A class that is
        not accepted can't be used either way."""
        reference = self.infrastructure.parametersRef if self.infrastructure is not None else None
        if reference is None or found.fault:
            return found
        place = parameters_place(reference, self.fq_name[0])
        if isinstance(place, str):
            return Class(view, Parameters(), f"infrastructure.{place}")
        return parameters_at(ctx, view, place)

    def _status(self, ctx: Context, state: GatewayState, conditions: tuple[Condition, ...]) -> Iterator[Claim]:
        for one in conditions:
            if one.reason == "ListenersNotValid" or (one.status is False and one.reason not in _WAITING):
                ctx.problem(one.reason, one.message)
        if shares_status(ctx):
            # A running Contour writes the rest; two writers would contend.
            conditions = tuple(one for one in conditions if one.type == "Accepted" and one.status is False)
            yield from (one.of(self) for one in conditions)
            return
        yield from (one.of(self) for one in conditions)
        programmed = any(one.type == "Programmed" and one.status is True for one in conditions)
        generation = int(self.metadata.generation)
        listeners = [listener_status(one, programmed, generation) for one in state.listeners]
        yield status.field(self, "listeners", listeners)
        yield from addresses_of(self, state.running or state.remains)


_WAITING = frozenset({"Pending", "AddressNotAssigned", "Invalid"})
"""Reasons of conditions that are false and that nobody must fix: ``Invalid`` repeats that it is not accepted."""
