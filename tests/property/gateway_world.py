"""One gateway that has a resource of every kind, each of which leads to an element or a problem.

For tests that do something to each kind in turn.
"""

from __future__ import annotations

from tests.oracle.ambassador_manifests import Json
from tests.property.gateways import certified


def manifest(kind: str, name: str, spec: Json | None = None, *, version: str = "", **fields: Json) -> Json:
    """A manifest in the namespace ``default``; ``fields`` stand beside ``spec``."""
    metadata = {"namespace": "default", "name": name, **fields.pop("metadata", {})}
    shown = {"apiVersion": version or "getambassador.io/v3alpha1", "kind": kind, "metadata": metadata}
    return {**shown, **({} if spec is None else {"spec": spec}), **fields}


def _host(name: str, hostname: str, **spec: Json) -> Json:
    return manifest("Host", name, {"hostname": hostname, **spec})


_RED: Json = {"matchLabels": {"team": "red"}}
_ALL: Json = {"hostBinding": {"namespace": {"from": "ALL"}}, "securityModel": "XFP"}
_ENDPOINTS = [{"addresses": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}], "ports": [{"name": "web", "port": 3000}]}]
_BACKEND: Json = {"service": {"name": "echo", "port": {"name": "web"}}}
_RULE: Json = {
    "host": "ingress.example",
    "http": {"paths": [{"path": "/cart/", "pathType": "Prefix", "backend": _BACKEND}]},
}
_OURS: Json = {"annotations": {"kubernetes.io/ingress.class": "ambassador"}}
_IN_ENDPOINTS: Json = {"service": "echo", "resolver": "endpoint"}


def world() -> list[Json]:
    """The whole gateway."""
    red: Json = {"labels": {"team": "red"}}
    return [
        manifest("Service", "echo", {"ports": [{"name": "web", "port": 80}]}, version="v1"),
        manifest("Endpoints", "echo", version="v1", subsets=_ENDPOINTS),  # type: ignore[arg-type]
        manifest("Secret", "certificate", version="v1", data=certified()),
        manifest("Secret", "other-certificate", version="v1", data=certified()),
        manifest("KubernetesServiceResolver", "plain", {}),
        manifest("KubernetesEndpointResolver", "endpoint", {}),
        manifest("ConsulResolver", "consul", {"address": "consul:8500", "datacenter": "dc1"}),
        manifest("Module", "ambassador", {"config": {"cluster_request_timeout_ms": 5000}}),
        manifest("TLSContext", "upstream", {"sni": "upstream.example"}),
        manifest("TLSContext", "secure", {"secret": "other-certificate", "min_tls_version": "v1.3"}),
        manifest("Listener", "front", {"port": 8443, "protocol": "HTTPS", **_ALL}),
        manifest("Listener", "second", {"port": 8443, "protocol": "HTTP", **_ALL}),
        _host("all", "*", requestPolicy={"insecure": {"action": "Route"}}),
        _host("shop", "shop.example", tlsSecret={"name": "certificate"}, mappingSelector=_RED),
        _host("bank", "bank.example", tlsSecret={"name": "other-certificate"}, tlsContext={"name": "secure"}),
        manifest("Mapping", "plain", {"prefix": "/", "hostname": "*", "service": "echo"}),
        manifest("Mapping", "canary", {"prefix": "/", "hostname": "*", "service": "other", "weight": 20}),
        manifest("Mapping", "red", {"prefix": "/red/", **_IN_ENDPOINTS}, metadata=red),
        manifest("Mapping", "secret", {"prefix": "/tls/", "hostname": "*", "service": "safe", "tls": "upstream"}),
        manifest("TCPMapping", "raw", {"port": 6789, **_IN_ENDPOINTS}),
        manifest("Ingress", "paths", {"rules": [_RULE]}, version="networking.k8s.io/v1", metadata=_OURS),
        manifest("AuthService", "auth", {"auth_service": "auth"}),
        manifest("AuthService", "later", {"auth_service": "auth"}),
        manifest("RateLimitService", "rates", {"service": "rates"}),
        manifest("RateLimitService", "more-rates", {"service": "more-rates"}),
        manifest("TracingService", "traces", {"service": "traces", "driver": "zipkin"}),
        manifest("TracingService", "more-traces", {"service": "more-traces", "driver": "zipkin"}),
        manifest("LogService", "log", {"service": "log", "driver": "http", "protocol_version": "v3"}),
    ]
