"""A Contour without class is a candidate for the instance of its namespace; with a class it is only parameters. Its
status says what became of it.

Rules: docs/gateway.md §5, §7, §9, §10. ``contour_instance.py`` makes the objects of whoever holds the namespace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from intentc import Claim, Context, Fact, Intent, status

from .condition import Condition
from .contenders import (
    candidate_of,
    contest,
    has_ours,
    holder_among,
    instance_name,
    is_ending,
    objects_of,
    objects_of_any,
    of_holder,
)
from .contour_parameters import Parameters, contour_parameters
from .gateway_class import CLASS, EARLY_CLASS, class_named, is_ours, named_class, read_class
from .instance import Instance
from .running import Running, running
from .settings import images, operator_namespace


def of_parameters(class_name: str, *, exists: bool, fault: str) -> Condition:
    """Of a Contour that names a class. ``fault``: why the class is not admitted, empty if it is."""
    if not exists:
        message = f"there is no GatewayClass {class_name}; create it, or clear gatewayClassRef"
        return Condition("Available", False, "GatewayClassNonExistent", message)
    if fault:
        return Condition("Available", False, "GatewayClassNotAdmitted", fault)
    return Condition("Available", True, "GatewayClassAdmitted")


def of_instance(faults: tuple[str, ...], holder: str, running: Running | None) -> Condition:
    """Of a Contour without class. ``holder``: who else holds its namespace, empty if it does. ``running``: None if
    nothing is made for it."""
    if faults:
        return Condition("Available", False, "Invalid", "; ".join(faults))
    if holder:
        return Condition("Available", False, "NamespaceInUse", f"{holder} holds the namespace; name another one")
    if running is None:
        return Condition("Available", False, "ContourUnavailable", "nothing is made yet")
    if running.taken:
        names = ", ".join(running.taken)
        return Condition("Available", False, "NameTaken", f"others have {names}; rename or delete them")
    rejected = "; ".join(running.rejected)
    if running.missing or running.is_contour_available is False or not running.envoys:
        return Condition("Available", False, "ContourUnavailable", rejected or running.waits_for)
    if running.is_contour_available is None:
        return Condition("Available", "Unknown", "ContourUnknown", "the Deployment of Contour has not reported yet")
    return Condition("Available", True, "ContourAvailable", rejected)


_NEVER_REMOVED = frozenset({"contour-operator", "default", "kube-system"})


class ContourIntent(Intent):
    kind = "contour"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        name = named_class(self)
        yield from self._as_parameters(ctx, name) if name else self._as_instance(ctx)

    def _as_parameters(self, ctx: Context, name: str) -> Iterator[Claim | Fact]:
        view = class_named(ctx, EARLY_CLASS, name) or class_named(ctx, CLASS, name)
        fault = ""
        if view is not None:
            fault = read_class(ctx, view).fault if is_ours(view) else f"GatewayClass {name} is another controller's"
        yield from self._available(ctx, of_parameters(name, exists=view is not None, fault=fault))
        used = [count for _, count in ctx.contributions("parameters_use", ":".join(self.fq_name))]
        yield from self._counts(sum(contours for contours, _ in used), sum(envoys for _, envoys in used))

    def _as_instance(self, ctx: Context) -> Iterator[Claim | Fact]:
        checked = contour_parameters(ctx, self)
        given = checked.parameters
        instance = None if checked.faults else self._instance(ctx, given)
        name = instance_name(given.namespace)
        # While it is being deleted, only its Namespace is claimed, of which an invalid Contour says enough.
        wanted = self._instance(ctx, given) if is_ending(self) else instance
        candidate = candidate_of(self, wanted, "; ".join(checked.faults))
        if given.namespace:
            yield Fact("contour_instance", name, candidate)
        held_by = holder_among(ctx, name, self, candidate)
        other = held_by.title if held_by is not None and held_by is not candidate else ""
        seen: Running | None = None
        if instance is not None and not other:
            made, lost = contest(
                ctx,
                of_holder(candidate, given.namespace),
                objects_of(self, ctx, instance),
                gives_way=candidate.is_ending,
            )
            seen = running(ctx, made, instance.publishing.type, lost)
            if seen.rejected:
                ctx.problem("Rejected", f"the cluster rejects {'; '.join(seen.rejected)}")
        elif given.namespace and not other and has_ours(self):
            # What runs goes on as it is.
            seen = running(ctx, objects_of_any(self, ctx, "operator", given.namespace), given.publishing.type)
        yield from self._available(ctx, of_instance(checked.faults, other, seen))
        yield from self._counts(seen.contours if seen else 0, seen.envoys if seen else 0)

    def _instance(self, ctx: Context, given: Parameters) -> Instance:
        own = self.fq_name[0]
        return Instance(
            layout="operator",
            namespace=given.namespace,
            images=images(ctx, "operator"),
            contour=given.contour,
            ingress_class=given.ingress_class,
            contour_pods=given.contour_pods,
            envoy_pods=given.envoy_pods,
            publishing=given.publishing,
            makes_namespace=given.namespace != own,
            keeps_namespace=not given.removes_namespace or _is_needed(ctx, given.namespace),
        )

    def _available(self, ctx: Context, condition: Condition) -> Iterator[Claim]:
        if condition.status is False and condition.reason != "ContourUnavailable":
            ctx.problem(condition.reason, condition.message)
        yield condition.of(self)

    def _counts(self, contours: int, envoys: int) -> Iterator[Claim]:
        yield status.field(self, "availableContours", contours)
        yield status.field(self, "availableEnvoys", envoys)


def _is_needed(ctx: Context, namespace: str) -> bool:
    """Whether a namespace stays although a Contour asks for its removal."""
    if namespace in _NEVER_REMOVED or namespace == operator_namespace(ctx):
        return True
    gateways = (one for kind in ("gateway", "gateway_v1alpha1") for one in ctx.select(kind, "namespace", namespace))
    return any(gateway.fq_name[0] == namespace for gateway in gateways)
