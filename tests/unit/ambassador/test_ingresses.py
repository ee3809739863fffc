"""Ingresses: which belong to the gateway, what their paths match, where they lead, and their certificates."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.model import Key
from tests.support.ambassador.hosts import NAMESPACE, MemoryGateway, host, listener, route, secret
from tests.support.ambassador.mappings import Routes, upstreams
from tests.support.certificates import Authority

pytestmark = pytest.mark.anyio

EVERYBODY = host("all", "*", requestPolicy=route("Route"))
OLDER_CLASS = "kubernetes.io/ingress.class"
KEPT = {"ambassador.ingress_keeps_paths": True}


def backend(service: str = "echo", **port: Any) -> dict[str, Any]:
    return {"service": {"name": service, "port": port or {"number": 80}}}


def path(text: str, path_type: str = "Prefix", **given: Any) -> dict[str, Any]:
    return {"path": text, "pathType": path_type, "backend": backend(), **given}


def ingress(
    *paths: dict[str, Any], name: str = "web", host: str = "", annotations: dict[str, str] | None = None, **spec: Any
) -> dict[str, Any]:
    rule = {"http": {"paths": list(paths)}, **({"host": host} if host else {})}
    if annotations is None:
        annotations = {} if "ingressClassName" in spec else {OLDER_CLASS: "ambassador"}
    metadata = {"name": name, "namespace": NAMESPACE, "annotations": annotations}
    given = {"rules": [rule] if paths else [], **spec}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": given}


def ingress_class(name: str = "ambassador", controller: str = "getambassador.io/Ingress-Controller") -> dict[str, Any]:
    metadata, spec = {"name": name}, {"controller": controller}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": metadata, "spec": spec}


def service(*ports: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": "echo", "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": list(ports)}}


async def routes(*resources: dict[str, Any], settings: dict[str, Any] | None = None) -> Routes:
    return Routes(await MemoryGateway(settings).apply(EVERYBODY, listener(), *resources))


def problems(found: Routes) -> list[str]:
    return sorted(problem.reason for problem in found.gate.service.problems if problem.kind == "ingress")


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The Secret ``certificate``."""
    issued = Authority(tmp_path_factory.mktemp("ingress") / "authority").issue("shop.example")
    return secret("certificate", tls_crt=issued.certificate.read_bytes(), tls_key=issued.key.read_bytes())


# Which are ours


async def test_one_without_a_class_counts_where_a_setting_says_so() -> None:
    found = await routes(ingress(path("/"), annotations={}))
    assert found.configs == []
    assert problems(found) == ["NoIngressClass"]
    found = await routes(ingress(path("/"), annotations={}), settings={"ambassador.ingress_without_class": True})
    assert len(found.configs) == 1
    assert problems(found) == []


async def test_an_ingress_class_may_come_later_and_go() -> None:
    found = await routes(ingress(path("/"), ingressClassName="ambassador"))
    assert (found.configs, problems(found)) == ([], ["NoIngressClass"])
    await found.gate.apply(ingress_class())
    assert (len(found.configs), problems(found)) == (1, [])
    await found.gate.service.update(ingress_class(controller="nginx.org/ingress-controller"))
    assert (found.configs, problems(found)) == ([], [])
    assert found.gate.service.offline.engine.evaluator.missing_reactions == {}


# Paths


@pytest.mark.parametrize(
    ("text", "path_type", "match"),
    [
        ("/a", "Prefix", {"path_separated_prefix": "/a"}),
        ("/a/", "Prefix", {"path_separated_prefix": "/a"}),
        ("/", "Prefix", {"prefix": "/"}),
        ("/a/", "Exact", {"path": "/a/"}),
        ("/a", "ImplementationSpecific", {"prefix": "/a"}),
        ("", "ImplementationSpecific", {"prefix": "/"}),
    ],
)
async def test_a_prefix_is_whole_segments(text: str, path_type: str, match: dict[str, str]) -> None:
    """Defect 10."""
    found = await routes(ingress(path(text, path_type)), settings=KEPT)
    assert found.only["match"] == match
    assert not {"prefix_rewrite", "regex_rewrite"} & found.only["route"].keys()
    assert problems(found) == []


@pytest.mark.parametrize(("text", "path_type"), [("a", "Prefix"), ("/a", "prefix"), ("/a", ""), ("", "Exact")])
async def test_a_path_that_matches_nothing_is_reported_and_the_others_are_routed(text: str, path_type: str) -> None:
    found = await routes(ingress(path(text, path_type), path("/other")))
    assert found.only["match"] == {"path_separated_prefix": "/other"}
    assert problems(found) == ["InvalidPath"]


@pytest.mark.parametrize("name", ["shop.*", "*.shop.*", "shop example"])
async def test_a_host_that_is_none_is_reported(name: str) -> None:
    found = await routes(ingress(path("/a"), host=name))
    assert found.configs == []
    assert problems(found) == ["InvalidHostname"]


# Backends


async def test_a_port_by_its_name_is_that_of_the_service() -> None:
    named = ingress(path("/a", backend=backend(name="web")))
    found = await routes(named)
    assert found.only["direct_response"] == {"status": 503}
    assert problems(found) == ["NoService"]
    await found.gate.apply(service({"name": "web", "port": 8080}))
    assert upstreams(found.only) == {"cluster_echo_8080": 100}
    assert problems(found) == []
    assert found.gate.service.offline.engine.evaluator.missing_reactions == {}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"serviceName": "echo", "servicePort": 80}, "InvalidBackend"),
        ({"resource": {"kind": "Bucket", "name": "b"}}, "Unsupported"),
        (backend("no name"), "InvalidService"),
        (backend(name="missing"), "NoPort"),
    ],
)
async def test_a_backend_that_cant_be_is_answered_503_and_reported(given: dict[str, Any], reason: str) -> None:
    found = await routes(ingress(path("/a", backend=given)), service({"name": "web", "port": 8080}))
    assert found.only["direct_response"] == {"status": 503}
    assert problems(found) == [reason]


async def test_one_without_rules_is_reported() -> None:
    assert problems(await routes(ingress(backend={"serviceName": "echo"}))) == ["NoRules"]


# Certificates


def tls(*hosts: str, name: str = "certificate") -> dict[str, Any]:
    return {"tls": [{"hosts": list(hosts), "secretName": name}]}


async def test_a_certificate_without_a_secret_is_reported() -> None:
    found = await routes(ingress(path("/"), tls=[{"hosts": ["shop.example"]}]))
    assert problems(found) == ["InvalidTLS"]


async def test_a_host_that_is_named_twice_has_the_first_certificate(certified: dict[str, Any]) -> None:
    twice = [{"hosts": ["shop.example"], "secretName": name} for name in ("certificate", "missing")]
    found = await routes(ingress(path("/"), tls=twice), certified)
    assert problems(found) == ["DuplicateHostname"]


async def test_our_ingresses_show_the_addresses_of_the_gateways_service() -> None:
    gate = MemoryGateway({"ambassador.ingress_status_service": f"{NAMESPACE}:echo"})
    await gate.apply(
        EVERYBODY,
        listener(),
        service({"port": 80}),
        ingress(path("/a")),
        ingress(path("/b"), name="other", annotations={OLDER_CLASS: "nginx"}),
    )

    async def write(kind: str, name: str, *addresses: str) -> None:
        server = gate.service.offline.server
        key = Key(kind, await server.identify(kind, (NAMESPACE, name)))
        found = {"loadBalancer": {"ingress": [{"ip": address} for address in addresses]}}
        await server.update_status(key, {"status": found})
        await gate.service.offline.settle()

    def shown(name: str) -> list[str]:
        found = gate.service.status("ingress", (NAMESPACE, name)).get("loadBalancer", {})
        return [one["ip"] for one in found.get("ingress", ())]

    assert shown("web") == []
    await write("ingress", "other", "198.51.100.1")
    await write("service", "echo", "192.0.2.1", "192.0.2.2")
    assert (shown("web"), shown("other")) == (["192.0.2.1", "192.0.2.2"], ["198.51.100.1"])
    await write("service", "echo")
    assert (shown("web"), shown("other")) == ([], ["198.51.100.1"])
