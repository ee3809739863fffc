"""What Gateways of both versions have in common: their state, their instance, and what they report of what runs.

``gateway.py`` and ``gateway_v1alpha1.py`` decide what follows from it. Rules: docs/gateway.md §5, §6, §9.
"""

from __future__ import annotations

from collections.abc import Iterator

from intentc import Claim, Context, Fact, Intent, Source, View, status

from .certificate_references import Resolution, resolved
from .condition import Checked, GatewayState
from .contenders import Candidate, Object, has_ours, is_ending, objects_of_any
from .contour_parameters import Parameters, pairs
from .gateway_addresses import address_type, requested
from .gateway_class import Class
from .gateway_listeners import attached_routes, listeners_of
from .instance import Instance, Layout, Resource, ServiceType
from .listener_checks import overlapping, ports_of, verdicts
from .running import Running, running
from .settings import images


def checked_listeners(ctx: Context, gateway: View) -> tuple[Checked, ...]:
    """The listeners of a Gateway, each with what was found out about it."""
    early = gateway.kind == "gateway_v1alpha1"
    listeners = listeners_of(gateway)
    found = verdicts(listeners, "operator" if early else "provisioner")
    overlaps = overlapping(listeners, found)
    attached = (0,) * len(listeners) if early else attached_routes(ctx, gateway, listeners)
    return tuple(
        Checked(
            listener,
            verdict,
            # One that is refused needs no certificate.
            resolved(ctx, listener, gateway.fq_name[0], early=early) if verdict.is_good else Resolution(),
            count,
            overlap,
        )
        for listener, verdict, count, overlap in zip(listeners, found, attached, overlaps, strict=True)
    )


def state_of(ctx: Context, gateway: View, found: Class) -> GatewayState:
    """The listeners and addresses of a Gateway, checked. ``found``: its class, with the parameters that count."""
    publishing = found.parameters.publishing.type
    return GatewayState(
        checked_listeners(ctx, gateway),
        requested([(one.type, one.value) for one in gateway.addresses], publishing),
        found.fault,
        publishes_nodes=publishing == "NodePortService",
    )


def instance_of(ctx: Context, gateway: View, given: Parameters, state: GatewayState) -> Instance:
    """The instance of a Gateway, in the layout of its version. It is in its namespace, and so does not make it."""
    early = gateway.kind == "gateway_v1alpha1"
    layout: Layout = "operator" if early else "provisioner"
    infrastructure = None if early else gateway.infrastructure
    return Instance(
        layout=layout,
        namespace=gateway.fq_name[0],
        images=images(ctx, layout),
        contour=given.contour,
        gateway=Resource(*gateway.fq_name),
        ports=ports_of([one.listener for one in state.listeners], [one.verdict for one in state.listeners]),
        addresses=state.addresses.assigned,
        ingress_class=given.ingress_class,
        contour_pods=given.contour_pods,
        envoy_pods=given.envoy_pods,
        publishing=given.publishing,
        makes_namespace=False,
        resource_labels=given.resource_labels,
        infrastructure_labels=pairs(infrastructure.labels) if infrastructure is not None else (),
        infrastructure_annotations=pairs(infrastructure.annotations) if infrastructure is not None else (),
        runtime_settings=given.runtime_settings,
    )


def remains_of(ctx: Context, gateway: Intent, type_: ServiceType = "LoadBalancerService") -> Running | None:
    """What goes on running for a Gateway that can't be used now; None if nothing was made for it. ``type_``: how its
    parameters publish it; unknown while they can't be read."""
    if not has_ours(gateway):
        return None
    early, own = gateway.kind == "gateway_v1alpha1", Resource(*gateway.fq_name)
    layout: Layout = "operator" if early else "provisioner"
    return running(ctx, objects_of_any(gateway, ctx, layout, own.namespace, None if early else own), type_)


def use_of_parameters(gateway: View, contour: Resource | None, seen: Running | None) -> Iterator[Fact]:
    """What the Contour that has the parameters of a Gateway counts of it; nothing while the Gateway is deleted."""
    if contour is not None and seen is not None and not is_ending(gateway):
        yield Fact("parameters_use", f"{contour.namespace}:{contour.name}", (seen.contours, seen.envoys))


def addresses_of(gateway: View, seen: Running | None) -> Iterator[Claim]:
    """The addresses in the status of a Gateway. ``seen``: None if nothing runs for it."""
    if seen is not None and seen.addresses:
        yield status.field(gateway, "addresses", [{"type": address_type(one), "value": one} for one in seen.addresses])


def explain(ctx: Context, gateway: View, listeners: tuple[Checked, ...], made: tuple[Object, ...]) -> None:
    if not ctx.explaining:
        return
    for child, claim in made:
        ctx.because(claim, Source.of(gateway))
        if child.manifest["kind"] != "Service" or not child.manifest["metadata"]["name"].startswith("envoy"):
            continue
        for position, port in enumerate(child.manifest["spec"]["ports"]):
            for place, one in enumerate(listeners):
                if one.verdict.is_good and one.listener.port == port["port"]:
                    source = Source.of(gateway, f"listeners[{place}]")
                    ctx.because(claim, source, part=f"content.spec.ports[{position}]")


def explain_instance(ctx: Context, held_by: Candidate, made: tuple[Object, ...]) -> None:
    if not ctx.explaining:
        return
    owner = ctx.find(held_by.kind, (held_by.namespace, held_by.name))
    if owner is None:
        return
    if held_by.kind == "contour":
        explain(ctx, owner, (), made)
        return
    explain(ctx, owner, checked_listeners(ctx, owner), made)
