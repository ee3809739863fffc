"""Random worlds for a gateway: few names, so that much meets."""

from __future__ import annotations

from random import Random
from typing import Any

from .certificates import pair
from .manifests import OURS, PREFIX, Manifest, backend, endpoint_slice, secret, service

NAMESPACES = ("shop", "pay")
SERVICES = ("cart", "bank", "disk")
HOSTS = ("", "a.test", "a.test", "B.test", "*.test", "c.b.test", "bad-.test")
PATHS = ("/", "", "/*", "/a", "/a", "/a/", "/a/b", "/A/b", "/a*", "/.well-known/acme-challenge/x", "/bad?")
TYPES = ("Exact", "Prefix", "Prefix", "ImplementationSpecific")
PORTS: tuple[Any, ...] = (80, 80, "http", 443, "odd", 8080)
POLICY = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/policies"
ID = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/applicationGateways/gw"
ANNOTATIONS: dict[str, tuple[str, ...]] = {
    "ssl-redirect": ("true", "true", "true", "true", "no"),
    "override-frontend-port": ("8080", "443", "0"),
    "hostname-extension": ("e1.test,e2.test", "e1.test,e2.test,e3.test,e4.test,e5.test,e6.test"),
    "use-private-ip": ("true",),
    "appgw-ssl-certificate": ("own", "own", "missing"),
    "appgw-ssl-profile": ("strict",),
    "appgw-trusted-root-certificate": ("root",),
    "backend-protocol": ("https", "HTTP"),
    "backend-hostname": ("inner.test",),
    "backend-path-prefix": ("/inner/*",),
    "health-probe-path": ("/ready",),
    "health-probe-port": ("9000",),
    "health-probe-status-codes": ("200-399, 401",),
    "cookie-based-affinity": ("true",),
    "connection-draining": ("true",),
    "request-timeout": ("5", "x"),
    "waf-policy-for-path": (f"{POLICY}/one", f"{POLICY}/two"),
    "rewrite-rule-set": ("theirs", "theirs", "missing"),
    "rewrite-rule-set-custom-resource": ("headers",),
    "rule-priority": ("10", "19005", "20000"),
    "unheard-of": ("x",),
}


def gateway() -> dict[str, Any]:
    """A gateway that has what Ingresses may name."""

    def entry(collection: str, name: str, **properties: Any) -> dict[str, Any]:
        return {"id": f"{ID}/{collection}/{name}", "name": name, "properties": properties}

    public = {"publicIPAddress": {"id": "/public"}}
    return {
        "id": ID,
        "name": "gw",
        "location": "north",
        "tags": {"team": "net"},
        "properties": {
            "sku": {"name": "Standard_v2", "tier": "Standard_v2"},
            "frontendIPConfigurations": [
                entry("frontendIPConfigurations", "public", **public),
                entry("frontendIPConfigurations", "private", subnet={"id": "/subnet"}),
            ],
            "frontendPorts": [entry("frontendPorts", "web", port=80)],
            "sslCertificates": [entry("sslCertificates", "own"), entry("sslCertificates", "cert-gone")],
            "sslProfiles": [entry("sslProfiles", "strict")],
            "trustedRootCertificates": [entry("trustedRootCertificates", "root")],
            "rewriteRuleSets": [entry("rewriteRuleSets", "theirs"), entry("rewriteRuleSets", "crd-gone")],
            "probes": [entry("probes", "hand-made")],
            "membersOfLaterVersions": {"some": [1, {"thing": "else"}]},
        },
    }


def usual(random: Random) -> list[Manifest]:
    """Services with endpoints, and Secrets: most of what Ingresses name."""
    found = []
    for namespace in NAMESPACES:
        for name in SERVICES:
            if random.random() < 0.9:
                found += [service(name, namespace=namespace), endpoint_slice(name, "10.0.0.9", namespace=namespace)]
        found += [secret(name, *pair(name), namespace=namespace) for name in ("c1", "c2") if random.random() < 0.9]
    return found


def random_manifest(random: Random) -> Manifest:
    """A new resource of any kind."""
    sort = random.choices(
        ("ingress", "service", "slice", "endpoints", "pod", "secret", "rewrite", "class", "node"),
        (16, 2, 2, 1, 2, 1, 1, 1, 0.3),
    )[0]
    namespace = random.choice(NAMESPACES)
    if sort == "ingress":
        return _ingress(random, namespace)
    if sort == "service":
        return _service(random, namespace)
    if sort == "secret":
        return _secret(random, namespace)
    if sort == "pod":
        return _pod(random, namespace)
    if sort == "slice":
        return _slice(random, namespace)
    if sort == "endpoints":
        return _endpoints(random, namespace)
    if sort == "rewrite":
        header = {"actionType": random.choice(["set", "delete"]), "headerName": "X-A", "headerValue": "1"}
        rule = {"name": "r", "ruleSequence": 1, "actions": {"requestHeaderConfigurations": [header]}}
        metadata = {"name": "headers", "namespace": namespace}
        kind = {"apiVersion": "appgw.ingress.azure.io/v1beta1", "kind": "AzureApplicationGatewayRewrite"}
        return {**kind, "metadata": metadata, "spec": {"rewriteRules": [rule]}}
    if sort == "class":
        flag: Any = {"ingressclass.kubernetes.io/is-default-class": random.choice(["true", "false"])}
        metadata = {"name": "azure-application-gateway", "annotations": flag}
        controller = random.choice(["azure/application-gateway", "other"])
        kind = {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass"}
        return {**kind, "metadata": metadata, "spec": {"controller": controller}}
    group = random.choice(["MC_rg_cluster_north", "odd"])
    provider = f"azure:///subscriptions/s/resourceGroups/{group}/providers/Microsoft.Compute/x"
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "spec": {"providerID": provider}}


def _ingress(random: Random, namespace: str) -> Manifest:
    annotations = dict(random.choice([OURS, OURS, OURS, {}, {"kubernetes.io/ingress.class": "other"}]))
    for name in random.sample(sorted(ANNOTATIONS), random.choice([0, 1, 2, 4])):
        annotations[PREFIX + name] = random.choice(ANNOTATIONS[name])
    if random.random() < 0.3:
        annotations[PREFIX + "ssl-redirect"] = "true"
    spec: dict[str, Any] = {"rules": [_rule(random) for _ in range(random.choice([0, 1, 1, 1, 2]))]}
    if not spec["rules"] or random.random() < 0.3:
        spec["defaultBackend"] = _backend(random)
    if not annotations and random.random() < 0.8:
        spec["ingressClassName"] = random.choice(["azure-application-gateway", "other"])
    if random.random() < 0.5:
        hosts = random.sample([*HOSTS[1:5], "*.b.test"], random.choice([0, 1, 2]))
        spec["tls"] = [
            {"secretName": random.choice(["c1", "c2", "c1", "c2", "none"]), **({"hosts": hosts} if hosts else {})}
        ]
    created = random.choice(["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"])
    metadata = {
        "name": f"i{random.randrange(6)}", "namespace": namespace, "annotations": annotations,
        "creationTimestamp": created,
    }  # fmt: skip
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": spec}


def _rule(random: Random) -> dict[str, Any]:
    host = random.choice(HOSTS)
    if random.random() < 0.1:
        return {"host": host or "a.test"}
    paths = [
        {"path": random.choice(PATHS), "pathType": random.choice(TYPES), "backend": _backend(random)}
        for _ in range(random.choice([1, 1, 2, 4]))
    ]
    return {**({"host": host} if host else {}), "http": {"paths": paths}}


def _backend(random: Random) -> dict[str, Any]:
    if random.random() < 0.05:
        return {"resource": {"kind": "Bucket", "name": "b"}}
    return backend(random.choice(SERVICES), random.choice(PORTS))


def _service(random: Random, namespace: str) -> Manifest:
    name = random.choice(SERVICES)
    target = random.choice([8080, "web", None, 443])
    ports: list[dict[str, Any]] = [{"name": "http", "port": 80, **({"targetPort": target} if target else {})}]
    if random.random() < 0.3:
        ports.append({"name": "other", "port": 443, "targetPort": random.choice([8443, "80"])})
    more: dict[str, Any] = random.choice(
        [{}, {}, {}, {"type": "ExternalName", "externalName": "x.test"}, {"selector": {}}]
    )
    return service(name, namespace=namespace, ports=ports, **more)


def _addresses(random: Random) -> list[str]:
    return [f"10.0.0.{number}" for number in random.sample(range(1, 6), random.choice([0, 1, 2, 3]))]


def _slice(random: Random, namespace: str) -> Manifest:
    name = random.choice(SERVICES)
    metadata = {
        "name": f"{name}-{random.randrange(2)}", "namespace": namespace,
        "labels": {"kubernetes.io/service-name": name},
    }  # fmt: skip
    endpoints = [
        {
            "addresses": [one],
            "conditions": random.choice([{}, {"ready": True}, {"ready": False}, {"terminating": True}]),
        }
        for one in _addresses(random)
    ]
    ports = [{"name": random.choice(["http", "web"]), "port": random.choice([8080, 8081, 443]), "protocol": "TCP"}]
    return {
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata,
        "addressType": random.choice(["IPv4", "IPv4", "FQDN"]), "endpoints": endpoints,
        "ports": random.choice([ports, ports, []]),
    }  # fmt: skip


def _endpoints(random: Random, namespace: str) -> Manifest:
    metadata = {"name": random.choice(SERVICES), "namespace": namespace}
    subsets = [
        {
            "addresses": [{"ip": ip} for ip in _addresses(random)],
            "notReadyAddresses": [{"ip": ip} for ip in _addresses(random)],
            "ports": [{"name": "http", "port": random.choice([8080, 80]), "protocol": "TCP"}],
        }
        for _ in range(random.choice([0, 1, 2]))
    ]
    return {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": subsets}


def _pod(random: Random, namespace: str) -> Manifest:
    name = random.choice(SERVICES)
    get = {"path": random.choice(["/live", ""]), "port": random.choice([8080, "web", "none"])}
    container: dict[str, Any] = {
        "name": "c", "image": "i", "ports": [{"name": "web", "containerPort": random.choice([8080, 80])}],
    }  # fmt: skip
    probe = {"httpGet": get, "periodSeconds": random.choice([0, 7]), "failureThreshold": random.choice([0, 30])}
    container[random.choice(["readinessProbe", "livenessProbe", "startupProbe"])] = probe
    metadata = {
        "name": f"{name}-{random.randrange(3)}", "namespace": namespace, "labels": {"app": name},
        "creationTimestamp": random.choice(["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"]),
    }  # fmt: skip
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


def _secret(random: Random, namespace: str) -> Manifest:
    name = random.choice(["c1", "c2"])
    chain, key = pair(name)
    if random.random() < 0.2:
        key = pair("another").key
    if random.random() < 0.1:
        chain = "bm8="
    kind = random.choice(["kubernetes.io/tls"] * 6 + ["Opaque"])
    return secret(name, chain, key, namespace=namespace, type=kind)
