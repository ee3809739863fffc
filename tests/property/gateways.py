"""Random gateways: manifests of Ambassador's kinds, mixed, with few names, so that they meet; and the requests to ask.

Values are drawn from small pools: names with dots, equal names in two namespaces, certificates that are there, missing
and broken, weights that sum to less and to more than a hundred.
"""

from __future__ import annotations

import base64
import functools
import itertools
import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import strategies as st

from intentc.apiserver.errors import ApiError
from intentc.model import Key
from intentc.model.manifest import manifest_identity
from tests.oracle.ambassador import Request
from tests.oracle.ambassador_manifests import Json, full
from tests.simulation.simulated_system import SimulatedSystem
from tests.support.certificates import Authority

BEYOND_THE_ORACLE = {
    "ConsulResolver": "consul_resolver",
    "KubernetesEndpointResolver": "kubernetes_endpoint_resolver",
    "KubernetesServiceResolver": "kubernetes_service_resolver",
    "LogService": "log_service",
    "RateLimitService": "rate_limit_service",
    "TracingService": "tracing_service",
}
"""Kinds of which the oracle knows nothing; none of ``gateways``."""
KINDS = {
    "AuthService": "auth_service",
    "Endpoints": "endpoints",
    "Host": "host",
    "Ingress": "ingress",
    "IngressClass": "ingress_class",
    "Listener": "listener",
    "Mapping": "mapping",
    "Module": "module",
    "Secret": "secret",
    "Service": "service",
    "TCPMapping": "tcp_mapping",
    "TLSContext": "tls_context",
    **BEYOND_THE_ORACLE,
}
"""A manifest's kind → ours."""
KNOWN = sorted(set(KINDS.values()) - set(BEYOND_THE_ORACLE.values()))
"""Our kinds of which the oracle knows."""

ANNOTATION = "getambassador.io/config"
NAMESPACES = ("default", "shop")
NAMES = ("app", "app.v1", "app.v2", "edge", "web")
SERVICES = ("echo", "echo", "echo:8080", "https://echo", "echo.shop", "other", "other.default:8080", "http://")
HOSTNAMES = ("*", "a.example", "*.example", "b.example", "shop.*", "*-eu.example")
LABELS: tuple[Json, ...] = ({}, {}, {"team": "red"}, {"team": "red", "tier": "front"})

Manifests = st.SearchStrategy[Json]
_UNSET = object()


def _maybe(*values: Any, unset: int = 1) -> st.SearchStrategy[Any]:
    """One of ``values``, or nothing; the more of ``unset``, the more often."""
    return st.sampled_from([*values, *([_UNSET] * unset)])


def _fields(**fields: st.SearchStrategy[Any]) -> Manifests:
    return st.fixed_dictionaries(fields).map(lambda d: {key: value for key, value in d.items() if value is not _UNSET})


def _manifest(kind: str, spec: Manifests, names: tuple[str, ...] = NAMES, version: str = "") -> Manifests:
    return st.builds(
        lambda name, namespace, labels, spec: {
            "apiVersion": version or "getambassador.io/v3alpha1",
            "kind": kind,
            "metadata": {"name": name, "namespace": namespace, **({"labels": labels} if labels else {})},
            "spec": spec,
        },
        st.sampled_from(names),
        st.sampled_from(NAMESPACES),
        st.sampled_from(LABELS),
        spec,
    )


def _selector(*unset: None) -> st.SearchStrategy[Any]:
    return _maybe({"matchLabels": {"team": "red"}}, {"matchLabels": {"tier": "front"}}, unset=4)


_ids = _maybe(["other"], ["other", "default"], unset=12)
_weights = _maybe(0, 20, 30, 60, 80, 100, unset=6)

mappings = _manifest(
    "Mapping",
    _fields(
        ambassador_id=_ids,
        prefix=st.sampled_from(["/", "/", "/", "/a/", "/a/b", "/B/"]),
        prefix_exact=_maybe(True, unset=8),
        case_sensitive=_maybe(False, unset=8),
        hostname=_maybe(*HOSTNAMES, "*", "*", "*", "*", "*", unset=1),
        method=_maybe("GET", "POST", unset=12),
        headers=_maybe({"x-user": "1"}, {"x-user": "2", "x-team": "1"}, unset=14),
        precedence=_maybe(1, unset=10),
        service=st.sampled_from(SERVICES),
        weight=_weights,
        rewrite=_maybe("", "/new/", unset=3),
        host_rewrite=_maybe("inner.example", unset=8),
        host_redirect=_maybe(True, unset=12),
        shadow=_maybe(True, unset=15),
        bypass_auth=_maybe(True, unset=12),
        resolver=_maybe("endpoint", unset=4),
        tls=_maybe("upstream", unset=8),
        outlier_detection=_maybe({"consecutive_5xx": 3}, unset=15),
        timeout_ms=_maybe(0, 1000, unset=4),
    ),
)
_MATCHED = ("prefix", "prefix_exact", "case_sensitive", "hostname", "method", "headers", "precedence")


def _sibling(one: Json, other: Json) -> Json:
    """``other``, for the requests of ``one``."""
    same = {field: one["spec"][field] for field in _MATCHED if field in one["spec"]}
    spec = {field: value for field, value in other["spec"].items() if field not in _MATCHED}
    labels = {key: value for key, value in one["metadata"].items() if key == "labels"}
    metadata = {key: value for key, value in other["metadata"].items() if key != "labels"}
    return {**other, "metadata": {**metadata, **labels}, "spec": {**spec, **same}}


families = st.lists(mappings, min_size=2, max_size=4, unique_by=full).map(
    lambda found: [found[0], *(_sibling(found[0], other) for other in found[1:])]
)
"""Mappings that match the same: canaries, a redirect among them, one of another gateway."""

hosts = _manifest(
    "Host",
    _fields(
        ambassador_id=_ids,
        hostname=_maybe(*HOSTNAMES, "*"),
        tlsSecret=_maybe({"name": "certificate"}, {"name": "certificate"}, {"name": "missing"}, unset=2),
        requestPolicy=_maybe(*({"insecure": {"action": a}} for a in ("Route", "Route", "Route", "Reject", "Redirect"))),
        mappingSelector=_selector(),
    ),
)
listeners = _manifest(
    "Listener",
    _fields(
        ambassador_id=_ids,
        port=st.sampled_from([8080, 8443]),
        protocol=st.sampled_from(["HTTP", "HTTPS", "HTTPS", "TCP"]),
        securityModel=st.sampled_from(["XFP", "XFP", "SECURE", "INSECURE"]),
        hostBinding=_fields(
            namespace=st.sampled_from([{"from": "ALL"}] * 4 + [{"from": "SELF"}, {"from": "SELECTOR"}]),
            selector=_selector(),
        ),
        l7Depth=_maybe(1, unset=2),
    ),
)
tcp_mappings = _manifest(
    "TCPMapping",
    _fields(
        ambassador_id=_ids,
        port=st.sampled_from([6789, 8080, 8443]),
        host=_maybe("a.example", "*.example", unset=2),
        service=st.sampled_from(SERVICES),
        weight=_weights,
        idle_timeout_ms=_maybe("1000", "soon", unset=3),
        resolver=_maybe("endpoint", unset=4),
    ),
)
modules = _manifest(
    "Module",
    _fields(
        config=st.sampled_from(
            [
                {},
                {"resolver": "endpoint"},
                {"use_ambassador_namespace_for_service_resolution": True},
                {"cluster_request_timeout_ms": 5000, "no_such_key": 1},
                {"forward_client_cert_details": "X"},
            ]
        )
    ),
    ("ambassador",),
)
tls_contexts = _manifest("TLSContext", _fields(sni=_maybe("upstream.example")), ("upstream",))
auth_services = _manifest("AuthService", _fields(auth_service=st.sampled_from(["auth", "http://"])), NAMES[:2])


def _carrying(service: Json, noted: Json | None) -> Json:
    """``service`` with a Mapping in its annotation, always of the same name, so that carriers meet."""
    if noted is None:
        return service
    metadata = {**noted["metadata"], "namespace": service["metadata"]["namespace"], "name": "noted_mapping"}
    annotations = {ANNOTATION: json.dumps({**noted, "metadata": metadata})}
    return {**service, "metadata": {**service["metadata"], "annotations": annotations}}


services = st.builds(
    _carrying,
    _manifest(
        "Service",
        _fields(ports=st.sampled_from([[{"port": 80}], [{"name": "web", "port": 80}, {"name": "alt", "port": 8080}]])),
        ("echo", "other"),
        "v1",
    ),
    st.one_of(st.none(), st.none(), st.none(), mappings),
)


def _endpoints(names: tuple[str, ...], addresses: tuple[str, ...]) -> Json:
    ports = [{"name": name, "port": 3000 + position} for position, name in enumerate(names)]
    return {"subsets": [{"addresses": [{"ip": ip} for ip in addresses], "ports": ports}]}


endpoints = st.builds(
    lambda manifest, names, addresses: {**manifest, **_endpoints(names, addresses)},
    _manifest("Endpoints", st.just({}), ("echo", "other"), "v1"),
    st.sampled_from([("",), ("web", "alt"), ("web",)]),
    st.sampled_from([("10.0.0.1",), ("10.0.0.1", "10.0.0.2", "10.0.0.3"), ()]),
)


@functools.cache
def certified() -> Json:
    """The ``data`` of a Secret that holds a certificate and its key."""
    with tempfile.TemporaryDirectory() as folder:
        issued = Authority(Path(folder) / "authority").issue("gateway")
        parts = {"tls.crt": issued.certificate.read_bytes(), "tls.key": issued.key.read_bytes()}
        return {name: base64.b64encode(part).decode() for name, part in parts.items()}


secrets = st.builds(
    lambda manifest, whole: {
        **manifest,
        "data": certified() if whole else {"tls.crt": certified()["tls.crt"]},
    },
    _manifest("Secret", st.just({}), ("certificate", "certificate", "fallback-self-signed-cert"), "v1"),
    st.sampled_from([True, True, True, False]),
)

_backends = st.sampled_from(
    [
        {"service": {"name": name, "port": port}}
        for name in ("echo", "other")
        for port in ({"number": 80}, {"name": "alt"})
    ]
)
_paths = _fields(
    path=st.sampled_from(["/", "/a", "/a/", "/a/b", "/b"]),
    pathType=st.sampled_from(["Prefix", "Prefix", "Exact", "ImplementationSpecific"]),
    backend=_backends,
)
_rules = _fields(
    host=_maybe("a.example", "*.example", unset=2),
    http=_fields(paths=st.lists(_paths, min_size=1, max_size=3)),
)
_certificates = st.builds(
    lambda hosts, name: {"hosts": [hosts], "secretName": name},
    st.sampled_from(["a.example", "*.example", "b.example"]),
    st.sampled_from(["certificate", "certificate", "missing"]),
)
ingresses = _manifest(
    "Ingress",
    _fields(
        ingressClassName=_maybe("ambassador", "ambassador", "ambassador", "nginx"),
        defaultBackend=st.one_of(st.just(_UNSET), st.just(_UNSET), _backends),
        rules=st.lists(_rules, min_size=1, max_size=2),
        tls=st.lists(_certificates, max_size=2),
    ),
    ("inward", "inward.v2"),
    "networking.k8s.io/v1",
)

ingress_classes = _manifest(
    "IngressClass",
    _fields(controller=_maybe("getambassador.io/Ingress-Controller", "nginx.org/ingress", unset=0)),
    ("ambassador", "ambassador", "nginx"),
    "networking.k8s.io/v1",
)

anything: Manifests = st.one_of(
    mappings, mappings, mappings, mappings, hosts, hosts, listeners, tcp_mappings, modules, tls_contexts,
    auth_services, services, endpoints, secrets, ingresses, ingresses, ingress_classes,
)  # fmt: skip

_HTTP = {"protocol": "HTTPS", "securityModel": "XFP", "hostBinding": {"namespace": {"from": "ALL"}}}
FRONT: Json = {
    "apiVersion": "getambassador.io/v3alpha1",
    "kind": "Listener",
    "metadata": {"name": "a-front", "namespace": "default"},
    "spec": {"port": 8080, **_HTTP},
}
"""There in the beginning, so that most examples answer something."""
EVERYBODY: Json = {
    "apiVersion": "getambassador.io/v3alpha1",
    "kind": "Host",
    "metadata": {"name": "a-all", "namespace": "default"},
    "spec": {"requestPolicy": {"insecure": {"action": "Route"}}},
}
"""Likewise, in most."""

gateways = st.tuples(
    st.sampled_from([[], [EVERYBODY], [EVERYBODY]]),
    families,
    families,
    families,
    st.lists(mappings, max_size=2),
    st.lists(hosts, min_size=1, max_size=3),
    st.lists(secrets, max_size=2),
    st.lists(anything, min_size=2, max_size=6),
).map(lambda found: [FRONT, *itertools.chain(*found)])

MANY: tuple[Json, ...] = tuple(
    {
        "apiVersion": "getambassador.io/v3alpha1",
        "kind": "Mapping",
        "metadata": {"name": f"many-{number}", "namespace": "default"},
        "spec": {"hostname": "*", "prefix": f"/many/{number}/", "service": f"many-{number}"},
    }
    for number in range(20)
)
"""Mappings that have nothing to do with each other: each makes two elements or more."""

REQUESTS = tuple(
    Request(port, host, path, method, headers, tls, forwarded)
    for port, host, path, method, headers, tls, forwarded in itertools.product(
        (8080, 8080, 8080, 8080, 8080, 8443, 6789),
        ("a.example", "b.example", "c-eu.example", "shop.test", "other.test"),
        ("/", "/a/b", "/A/b/c", "/b/x", "/B/x", "/.well-known/acme-challenge/x"),
        ("GET", "POST"),
        ((), (("x-user", "1"),), (("x-user", "2"), ("x-team", "1"))),
        (False, False, True),
        ("", "https", "http"),
    )
)


class ApplyManifest(NamedTuple):
    """A user creates or replaces."""

    manifest: Json

    async def apply(self, system: SimulatedSystem) -> None:
        await apply_manifest(system, self.manifest)


class RemoveManifest(NamedTuple):
    """A user deletes the resource of this kind and name, if it is there."""

    manifest: Json

    async def apply(self, system: SimulatedSystem) -> None:
        await system.delete(KINDS[self.manifest["kind"]], fq_name(self.manifest))


def fq_name(manifest: Json) -> tuple[str, ...]:
    """What the resource of a manifest is called: an IngressClass is in no namespace."""
    return manifest_identity(manifest, cluster_scoped=manifest["kind"] == "IngressClass")


async def apply_manifest(system: SimulatedSystem, manifest: Json) -> None:
    kind = KINDS[manifest["kind"]]
    uuid = await system.uuid(kind, fq_name(manifest))
    try:
        if uuid is None:
            await system.server.create(kind, manifest)
        else:
            await system.server.update(Key(kind, uuid), manifest)
    except ApiError as error:
        assert error.status < 500 or system.spoilt, f"{full(manifest)}: {error.status} {error.message}"
