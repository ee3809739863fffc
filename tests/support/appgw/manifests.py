"""Manifests for tests of the Application Gateway compiler, and what its publisher has read of the gateway."""

from __future__ import annotations

from typing import Any

ID = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/applicationGateways/gw"
OURS = {"kubernetes.io/ingress.class": "azure/application-gateway"}
PREFIX = "appgw.ingress.kubernetes.io/"

Manifest = dict[str, Any]


def gateway(**fields: Any) -> Manifest:
    """A gateway with a public and a private address, and what else ``fields`` say."""
    frontends: list[dict[str, Any]] = [{"id": f"{ID}/frontendIPConfigurations/public"}]
    frontends += [{"id": f"{ID}/frontendIPConfigurations/private", "private": True}]
    data = {"fq_name": ["gateway"], "id": ID, "sku_tier": "Standard_v2", "frontends": frontends, **fields}
    return {"kind": "appgw_gateway", "data": data}


def service(name: str, *, namespace: str = "shop", port: int = 80, target: Any = 8080, **spec: Any) -> Manifest:
    given = {"selector": {"app": name}, "ports": [{"name": "http", "port": port, "targetPort": target}], **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace}, "spec": given}


def endpoint_slice(service: str, *addresses: str, namespace: str = "shop", port: int = 8080) -> Manifest:
    labels = {"kubernetes.io/service-name": service}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": f"{service}-1", "namespace": namespace, "labels": labels},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}} for address in addresses],
        "ports": [{"name": "http", "port": port, "protocol": "TCP"}],
    }


def backend(name: str, port: Any = 80) -> dict[str, Any]:
    return {"service": {"name": name, "port": {"name": port} if isinstance(port, str) else {"number": port}}}


def rule(host: str = "", *paths: tuple[str, str, str]) -> dict[str, Any]:
    """``paths``: (path, pathType, Service)."""
    found = [{"path": path, "pathType": kind, "backend": backend(to)} for path, kind, to in paths]
    return {**({"host": host} if host else {}), "http": {"paths": found}}


def ingress(
    name: str,
    *rules: dict[str, Any],
    namespace: str = "shop",
    annotations: dict[str, str] | None = None,
    created: str = "",
    **spec: Any,
) -> Manifest:
    """``annotations``: without the prefix."""
    own = {f"{PREFIX}{key}": value for key, value in (annotations or {}).items()}
    metadata = {"name": name, "namespace": namespace, "annotations": {**OURS, **own}}
    if created:
        metadata["creationTimestamp"] = created
    given = {**({"rules": list(rules)} if rules else {}), **spec}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": given}


def secret(name: str, chain: str, key: str, *, namespace: str = "shop", type: str = "kubernetes.io/tls") -> Manifest:
    """``chain``, ``key``: in base64."""
    metadata = {"name": name, "namespace": namespace}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "type": type,
        "data": {"tls.crt": chain, "tls.key": key},
    }
