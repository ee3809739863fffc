"""Kubernetes manifests as live tests need them: everything in one namespace, services on this machine."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

NAMESPACE = "live"
Manifest = dict[str, Any]


def ambassador(kind: str, name: str, **spec: Any) -> Manifest:
    """A resource of ``getambassador.io/v3alpha1``."""
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "getambassador.io/v3alpha1", "kind": kind, "metadata": metadata, "spec": spec}


def listener(name: str, port: int, **spec: Any) -> Manifest:
    """A Listener for plain HTTP and every Host, if ``spec`` doesn't say otherwise."""
    usual = {"protocol": "HTTP", "securityModel": "XFP", "hostBinding": {"namespace": {"from": "ALL"}}}
    return ambassador("Listener", name, port=port, **{**usual, **spec})


def host(name: str, hostname: str = "*", insecure: str = "Route", **spec: Any) -> Manifest:
    """A Host; ``insecure``: what happens to insecure requests."""
    return ambassador("Host", name, hostname=hostname, requestPolicy={"insecure": {"action": insecure}}, **spec)


def mapping(name: str, prefix: str, service: str, **spec: Any) -> Manifest:
    """A Mapping to the Endpoints of a service, for every host name if ``spec`` doesn't say otherwise."""
    return ambassador(
        "Mapping", name, prefix=prefix, service=service, **{"hostname": "*", "resolver": "endpoint", **spec}
    )


def service(name: str, port: int) -> list[Manifest]:
    """A Service on port 80 and Endpoints that lead to ``port`` of this machine."""
    metadata = {"name": name, "namespace": NAMESPACE}
    subset = {"addresses": [{"ip": "127.0.0.1"}], "ports": [{"port": port}]}
    return [
        {"apiVersion": "v1", "kind": "Service", "metadata": metadata,
         "spec": {"ports": [{"port": 80, "targetPort": port}]}},
        {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": [subset]},
    ]  # fmt: skip


def secret(name: str, **files: Path) -> Manifest:
    """A Secret: key (``_`` stands for ``.``) → the file that it holds."""
    data = {key.replace("_", "."): base64.b64encode(path.read_bytes()).decode() for key, path in files.items()}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls" if "tls.key" in data else "Opaque",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "data": data,
    }
