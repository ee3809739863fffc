"""Decides which of several Contours or Gateways holds a namespace (docs/gateway.md §7), and which of several instances
has an object whose name they all want (§12).

Each candidate yields a ``Candidate`` to the instance of its namespace, an intent of its own; that makes the objects,
and whoever holds it may change without any object ending.

Names of objects follow fixed rules, since what the operator and the provisioner made has them. So those of two
instances may meet: Gateways ``a-b/c`` and ``a/b-c`` want one ClusterRole, ``x`` and ``certgen-x`` one ServiceAccount.
The oldest owner has the object, and the others say so. Who made it does not count, so restarts and the order of arrival
change nothing. The instance of a namespace all of whose candidates are being deleted wants no names: the next contender
takes its objects over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from intentc import Context, Fact, FinalizerClaim, Intent, ResourceClaim, View, finalizer

from .children import Child, children
from .gateway_class import Class
from .instance import Instance, Layout, Resource
from .settings import images


class Candidate(msgspec.Struct, frozen=True):
    """``kind``: ``contour`` or ``gateway_v1alpha1``. ``created``: RFC 3339. ``instance``: what it wants, None while
    that can't be made; ``fault`` says why. Of a Contour that is being deleted it is right about the Namespace, even if
    there is a ``fault``. ``counts``: it may hold the namespace; one that does not only keeps what runs for it.
    ``is_ending``: it is being deleted. ``parameters``, ``gateway_class``: (kind, elements of the name …) of what the
    instance follows from, which must not be removed before it."""

    kind: Literal["contour", "gateway_v1alpha1"]
    namespace: str
    name: str
    created: str = ""
    instance: Instance | None = None
    fault: str = ""
    counts: bool = True
    is_ending: bool = False
    parameters: tuple[str, ...] = ()
    gateway_class: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """For people: ``Contour shop/web``."""
        return f"{'Contour' if self.kind == 'contour' else 'Gateway'} {self.namespace}/{self.name}"


def instance_name(namespace: str) -> str:
    """The name of the fact to which the candidates of a namespace contribute."""
    return f"contour/{namespace}"


def holder(candidates: Iterable[Candidate]) -> Candidate | None:
    """Who holds the namespace: the oldest candidate that is not being deleted; of those of one second the first by
    namespace and name. Else one that keeps what runs, else the last to be deleted; None without any."""
    ranked = sorted(candidates, key=_rank)
    return ranked[0] if ranked else None


def _rank(candidate: Candidate) -> tuple[bool, bool, str, str, str, str]:
    return (
        candidate.is_ending,
        not candidate.counts,
        candidate.created,
        candidate.namespace,
        candidate.name,
        candidate.kind,
    )


Object = tuple[Child, ResourceClaim]


def objects_of(intent: Intent, ctx: Context, instance: Instance) -> tuple[Object, ...]:
    """The objects of an instance, in the order of their phases, and the claims of ``intent`` that they exist."""

    def observed(child: Child) -> View | None:
        return ctx.observed(_claim_of(intent, child))

    return tuple((child, _claim_of(intent, child)) for child in children(instance, observed))


def objects_of_any(
    intent: Intent, ctx: Context, layout: Layout, namespace: str, gateway: Resource | None = None
) -> tuple[Object, ...]:
    """The objects that the instance of a namespace, or of a Gateway, has whatever it is configured to be."""
    contour = None if gateway is not None else Resource(namespace, "any")
    instance = Instance(
        layout=layout, namespace=namespace, images=images(ctx, layout), contour=contour, gateway=gateway
    )
    return objects_of(intent, ctx, instance)


def _claim_of(intent: Intent, child: Child) -> ResourceClaim:
    return intent.manifest(child.manifest, **child.options)


CONTOUR = "contour.operator.projectcontour.io/finalizer"
GATEWAY = "contour.operator.projectcontour.io/gateway-finalizer"
EARLY_GATEWAY = "gateway.networking.x-k8s.io/finalizer"
CLASS = "gateway-exists-finalizer.gateway.networking.k8s.io"
EARLY_CLASS = "gateway-exists-finalizer.networking.x-k8s.io"
DESIGNED = "gatewayclass-exists-finalizer.operator.projectcontour.io"
"""In the operator's design only; one that is found is removed."""

OF_KIND = {
    "contour": CONTOUR,
    "gateway": GATEWAY,
    "gateway_v1alpha1": EARLY_GATEWAY,
    "gateway_class": CLASS,
    "gateway_class_v1alpha1": EARLY_CLASS,
}
"""Kind → the finalizer that we claim on it."""

ALL = frozenset({*OF_KIND.values(), DESIGNED})


def has_ours(view: View) -> bool:
    """Whether the resource has our finalizer: something was made that follows from it."""
    return OF_KIND[view.kind] in view.metadata.finalizers


def is_ending(view: View) -> bool:
    return bool(view.metadata.deletionTimestamp)


def keeping(*views: View | None) -> Iterator[FinalizerClaim]:
    """Claims that these resources stay while what follows from them exists. One that is being deleted takes no more
    finalizers, and a claim would only hold up what is made. Kinds without a finalizer of ours are left out."""
    for view in views:
        if view is not None and view.kind in OF_KIND and (not is_ending(view) or has_ours(view)):
            yield finalizer(view, OF_KIND[view.kind])


class Contender(msgspec.Struct, frozen=True, order=True):
    """Whoever an instance belongs to; the first in order has what several want. ``kind``: ``Gateway`` or ``Contour``.
    ``place``: the namespace of an instance of layout O, which may change hands; empty for layout P. ``wanted``: the
    kinds of the objects of one name."""

    created: str
    namespace: str
    name: str
    kind: Literal["Contour", "Gateway"]
    place: str = ""
    wanted: tuple[str, ...] = ()

    def is_same(self, other: Contender) -> bool:
        """Whether both are about one instance."""
        if self.place or other.place:
            return self.place == other.place
        return (self.namespace, self.name) == (other.namespace, other.name)


def of_gateway(gateway: View) -> Contender:
    """A Gateway of version 1, an instance of its own."""
    namespace, name = gateway.fq_name
    return Contender(gateway.metadata.creationTimestamp, namespace, name, "Gateway")


def of_holder(held_by: Candidate, namespace: str) -> Contender:
    """Who holds the instance of ``namespace``."""
    kind: Literal["Contour", "Gateway"] = "Contour" if held_by.kind == "contour" else "Gateway"
    return Contender(held_by.created, held_by.namespace, held_by.name, kind, namespace)


def names_wanted(own: Contender, objects: Iterable[Object]) -> Iterator[Fact]:
    """The names that an instance wants, so that others know of it."""
    wanted: dict[str, list[str]] = {}
    for child, _ in objects:
        wanted.setdefault(child.place, []).append(child.manifest["kind"])
    for place, kinds in wanted.items():
        yield Fact("object_name", place, msgspec.structs.replace(own, wanted=tuple(sorted(kinds))))


def contest(
    ctx: Context, own: Contender, objects: Iterable[Object], *, gives_way: bool = False
) -> tuple[tuple[Object, ...], tuple[str, ...]]:
    """(the objects that an instance has; those that others have, for people). ``gives_way``: it wants none of them any
    more, or can't make them now; it has only those that nobody else wants, however old its owner is, and has lost
    none."""
    others: dict[str, list[Contender]] = {}
    made: list[Object] = []
    lost: list[str] = []
    for one in objects:
        place, kind = one[0].place, one[0].manifest["kind"]
        if place not in others:
            found = (value for _, value in ctx.contributions("object_name", place))
            others[place] = sorted(value for value in found if not value.is_same(own) and (gives_way or value < own))
        winner = next((other for other in others[place] if kind in other.wanted), None)
        if winner is None:
            made.append(one)
        elif not gives_way:
            lost.append(f"{kind} {place.rpartition('/')[2]} (of {winner.kind} {winner.namespace}/{winner.name})")
    return tuple(made), tuple(lost)


def candidate_of(view: View, instance: Instance | None, fault: str = "", found: Class | None = None) -> Candidate:
    """``view``: a Contour, or a Gateway of v1alpha1. ``found``: its class; a Gateway without one does not count."""
    holder = found.holder if found is not None else None
    return Candidate(
        kind="contour" if view.kind == "contour" else "gateway_v1alpha1",
        namespace=view.fq_name[0],
        name=view.fq_name[1],
        created=view.metadata.creationTimestamp,
        instance=instance,
        fault=fault,
        counts=found is not None or view.kind == "contour",
        is_ending=is_ending(view),
        parameters=(holder.kind, *holder.fq_name) if holder is not None else (),
        gateway_class=(found.view.kind, *found.view.fq_name) if found is not None else (),
    )


def holder_among(ctx: Context, name: str, view: View, candidate: Candidate) -> Candidate | None:
    """Who holds an instance. ``name``: of the fact; ``candidate``: that of ``view``."""
    found = ctx.contributions("contour_instance", name)
    return holder((candidate, *(value for key, value in found if key != view.key)))
