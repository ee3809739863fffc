"""The compiler's settings: controller names, images, namespaces, folders of nodes, who writes the status of Gateways.

Rules: docs/gateway.md §3.
"""

from __future__ import annotations

from intentc import Context, InvalidInput

from .instance import Images, Layout

CONTROLLERS = ("projectcontour.io/contour-operator", "projectcontour.io/gateway-controller")
"""A class is ours if it names one of these controllers exactly."""

OPERATOR_NAMESPACE = "gateway.operator_namespace"
HOST_PATHS = "gateway.host_paths"
STATUS = "gateway.status"
_IMAGES: dict[Layout, tuple[tuple[str, str], tuple[str, str]]] = {
    "operator": (
        ("gateway.operator_contour_image", "docker.io/projectcontour/contour:v1.17.0"),
        ("gateway.operator_envoy_image", "docker.io/envoyproxy/envoy:v1.18.3"),
    ),
    "provisioner": (
        ("gateway.contour_image", "ghcr.io/projectcontour/contour:v1.33.7"),
        ("gateway.envoy_image", "docker.io/envoyproxy/envoy:distroless-v1.38.4"),
    ),
}
SETTINGS = (HOST_PATHS, OPERATOR_NAMESPACE, STATUS, *(name for images in _IMAGES.values() for name, _ in images))
"""All settings that evaluations read."""


def operator_namespace(ctx: Context) -> str:
    """The namespace in which a class of v1alpha1 finds parameters for which it names no namespace."""
    return _text(ctx, OPERATOR_NAMESPACE, "contour-operator")


def host_paths(ctx: Context) -> tuple[str, ...]:
    """The folders of the nodes that volumes of an Envoy may mount; none without the setting."""
    return tuple(map(str, ctx.setting(HOST_PATHS, ()) or ()))


def images(ctx: Context, layout: Layout) -> Images:
    contour, envoy = _IMAGES[layout]
    return Images(_text(ctx, *contour), _text(ctx, *envoy))


def shares_status(ctx: Context) -> bool:
    """Whether a running Contour writes the status of Gateways, and we write only that one is not accepted (``shared``);
    otherwise the whole status is ours (``compiler``). Raises ``InvalidInput``."""
    found = _text(ctx, STATUS, "compiler")
    if found not in ("compiler", "shared"):
        raise InvalidInput(f"{STATUS} is {found!r}; it is compiler or shared", source=f"intentc.settings.{STATUS}")
    return found == "shared"


def _text(ctx: Context, name: str, default: str) -> str:
    return str(ctx.setting(name, "")) or default
