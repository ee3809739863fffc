"""Manifests of users that worlds of the gateway compiler are made of.

Each function gives one; keyword arguments are fields of its ``spec``.
"""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]

CURRENT = "gateway.networking.k8s.io/v1"
EARLY = "networking.x-k8s.io/v1alpha1"
PARAMETERS = {"group": "projectcontour.io", "kind": "ContourDeployment", "namespace": "shop", "name": "small"}
HTTP = {"name": "http", "port": 80, "protocol": "HTTP"}
ADMIN = {"name": "admin", "port": 8080, "protocol": "HTTP"}
HTTPS = {"name": "https", "port": 443, "protocol": "HTTPS", "tls": {"certificateRefs": [{"name": "cert"}]}}
INVALID = {"name": "http", "port": 80, "protocol": "HTTP", "hostname": "10.0.0.1"}


def gateway_class(controller: str = "projectcontour.io/gateway-controller", **spec: Any) -> Document:
    return _document(CURRENT, "GatewayClass", {"name": "contour"}, {"controllerName": controller, **spec})


def early_class(controller: str = "projectcontour.io/contour-operator", **spec: Any) -> Document:
    return _document(EARLY, "GatewayClass", {"name": "contour"}, {"controller": controller, **spec})


def gateway(name: str, *listeners: Document, namespace: str = "shop", **spec: Any) -> Document:
    listening = {"gatewayClassName": "contour", "listeners": list(listeners)}
    return _document(CURRENT, "Gateway", {"name": name, "namespace": namespace}, {**listening, **spec})


def early_gateway(name: str, *listeners: Document, namespace: str = "shop", **spec: Any) -> Document:
    unnamed = [{field: value for field, value in one.items() if field != "name"} for one in listeners]
    listening = {"gatewayClassName": "contour", "listeners": unnamed}
    return _document(EARLY, "Gateway", {"name": name, "namespace": namespace}, {**listening, **spec})


def contour(name: str, namespace: str = "shop", instance: str = "shop", **spec: Any) -> Document:
    """``instance``: the namespace of its instance; one of its own ends with it."""
    kind = "operator.projectcontour.io/v1alpha1"
    wanted = {"name": instance, "removeOnDeletion": instance != namespace}
    return _document(kind, "Contour", {"name": name, "namespace": namespace}, {"namespace": wanted, **spec})


def contour_deployment(**spec: Any) -> Document:
    return _document("projectcontour.io/v1alpha1", "ContourDeployment", {"name": "small", "namespace": "shop"}, spec)


def _document(version: str, kind: str, metadata: Document, spec: Document) -> Document:
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
