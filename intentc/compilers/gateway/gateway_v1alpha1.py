"""A Gateway of networking.x-k8s.io/v1alpha1 is a candidate for the instance of its namespace (layout O).

``contour_instance.py`` makes the objects of whoever holds the namespace. Here the Gateway is checked, and its
conditions say what became of it. Rules: docs/gateway.md.

It reads and reports problems through ``ctx``, and yields status claims and facts; no state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from intentc import Claim, Context, Fact, Intent, status

from .candidates import candidate_of, others_of
from .conditions.condition import Condition, GatewayState
from .conditions.early import class_missing, gateway_conditions, listener_status
from .contenders import contest, of_holder
from .finalizers import has_ours
from .gateways import addresses_of, instance_of, remains_of, state_of, use_of_parameters
from .holder import holder, instance_name
from .objects import objects_of
from .parameters.classes import EARLY_CLASS, Class, class_named, is_ours, read_class
from .running import running


class EarlyGatewayIntent(Intent):
    kind = "gateway_v1alpha1"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        view = class_named(ctx, EARLY_CLASS, self.gatewayClassName)
        if view is None or not is_ours(view):
            conditions = class_missing(self.gatewayClassName)
            ready = conditions[0]
            if view is None:
                ctx.problem(ready.reason, ready.message)
                yield from (one.of(self) for one in conditions)
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
        held_by = holder((candidate, *others_of(ctx, name, self)))
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
        yield from self._details(state, ready)

    def _details(self, state: GatewayState, ready: Condition) -> Iterator[Claim]:
        generation = int(self.metadata.generation)
        is_up = bool(ready.status) or _only_listeners(ready, state)
        listeners = [listener_status(one, state, is_up, generation) for one in state.listeners]
        yield status.field(self, "listeners", listeners)
        yield from addresses_of(self, state.running or state.remains)


def _only_listeners(ready: Condition, state: GatewayState) -> bool:
    """Whether only other listeners keep the Gateway from being ready, so that a good one is."""
    return ready.reason.startswith("Listeners") and state.running is not None and state.running.is_up
