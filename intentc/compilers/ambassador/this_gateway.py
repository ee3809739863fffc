"""Decides which resources belong to this gateway, by its id, its namespace, and the class of an Ingress.

Several gateways may share one cluster, each with its own id. A resource lists the ids of its gateways in
``ambassador_id`` (v2 also accepts a text); without it, the resource belongs to ``default``. The id of this gateway is
the setting ``ambassador.id`` (docs/ambassador.md §4.3). Services in the gateway's own namespace need no namespace in
their name (docs/ambassador.md §4.4), and gateway-wide resources there take precedence over others.

An Ingress belongs to this gateway if its annotation ``kubernetes.io/ingress.class`` says ``ambassador``, or if its
``ingressClassName`` names an IngressClass of our controller (docs/ambassador.md §6.10). An Ingress of another class
belongs to another controller; that is not a mistake. An Ingress without a class belongs to this gateway if a setting
says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from intentc import Context, View

DEFAULT_ID = "default"
DEFAULT_NAMESPACE = "default"
_ANY = "_automatic_"
_ID_ANNOTATION = "getambassador.io/ambassador-id"
_CLASS_ANNOTATION = "kubernetes.io/ingress.class"
CONTROLLER = "getambassador.io/ingress-controller"
OLDER_CLASS = "ambassador"
WITHOUT_CLASS = "ambassador.ingress_without_class"
"""The setting by which an Ingress without a class is ours."""


class Unusable(Exception):
    """What a resource asks for can't be had, or must not be; ``reason`` and ``message`` are those of the problem.

    There is never a second choice: no TLS, no route, or a cluster without endpoints, which answers 503.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


def ours(resource: View, ctx: Context) -> bool:
    """Whether ``resource`` (its ``ambassador_id`` is an opaque property) belongs to this gateway. A resource of another
    gateway has no effect and no problems here: the other gateway reports them."""
    return _serves(_ids(resource.ambassador_id), ctx)


def annotated_for_us(resource: View, ctx: Context) -> bool:
    """The same of a resource of Kubernetes, which names one gateway in an annotation."""
    return _serves((resource.metadata.annotations.get(_ID_ANNOTATION) or DEFAULT_ID,), ctx)


def _serves(ids: tuple[str, ...], ctx: Context) -> bool:
    return _ANY in ids or (str(ctx.setting("ambassador.id", "")) or DEFAULT_ID) in ids


def _ids(declared: Any) -> tuple[str, ...]:
    if not declared:
        return (DEFAULT_ID,)
    given = msgspec.json.decode(declared.text)
    named = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    return tuple(str(one) for one in named if one) or (DEFAULT_ID,)


def gateway_namespace(ctx: Context) -> str:
    """The setting ``ambassador.namespace``; ``default`` without one."""
    return str(ctx.setting("ambassador.namespace", "")) or DEFAULT_NAMESPACE


def in_order(kind: str, ctx: Context) -> Iterator[View]:
    """The resources of ``kind`` for this gateway, those in its own namespace first, then by name.

    Of several gateway-wide resources the first takes effect. It reads no further than the caller iterates, so that an
    unreadable one does not hold back callers that need only the first.
    """
    own = gateway_namespace(ctx)
    for resource in ctx.select(kind, "name", own):
        if resource.fq_name[0] == own and ours(resource, ctx):
            yield resource
    for resource in ctx.all(kind):
        if resource.fq_name[0] != own and ours(resource, ctx):
            yield resource


def of_our_class(ingress: View, ctx: Context) -> bool:
    """Whether ``ingress`` is ours. If not, and that may be a mistake, it reports why: no class, or a missing
    IngressClass."""
    older_class = ingress.metadata.annotations.get(_CLASS_ANNOTATION, "")
    if older_class.lower() == OLDER_CLASS:
        return True
    name = ingress.ingressClassName
    if name:
        found = [one for one in ctx.select("ingress_class", "name", name) if one.name == name]
        if not found and name.lower() == OLDER_CLASS:
            ctx.problem(
                "NoIngressClass",
                f"there is no IngressClass {name} (networking.k8s.io/v1); apply one with controller {CONTROLLER}. "
                "Until then this Ingress has no effect",
            )
        return any(one.controller.lower() == CONTROLLER and annotated_for_us(one, ctx) for one in found)
    if older_class:
        return False
    if ctx.setting(WITHOUT_CLASS, False) is True:
        return True
    ctx.problem(
        "NoIngressClass",
        f"it names no class, so it has no effect; write ingressClassName (of an IngressClass with controller "
        f"{CONTROLLER}), or the annotation kubernetes.io/ingress.class: {OLDER_CLASS}, or set {WITHOUT_CLASS} to true",
    )
    return False


_VARIABLE = re.compile(r"(?<!\\)\$(?:\{[A-Za-z_][0-9A-Za-z_]*\}|[A-Za-z_][0-9A-Za-z_]*)")
_FOR_PEOPLE = "docs"


def report_variables(resource: View, ctx: Context) -> None:
    """Reports a problem for each field of ``resource`` with what Emissary takes for a variable."""
    for field, text in resource.texts_with("$"):
        found = _VARIABLE.search(text)
        if found and field.partition(".")[0] != _FOR_PEOPLE:
            ctx.problem(
                "VariableNotReplaced",
                f"{field} has {found[0]}, which stays as it is: variables are not replaced; write the value itself",
            )
