"""Ingresses: which belong to the gateway, what their paths match, where they lead, and their certificates."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from intentc.model import Key
from tests.support.ambassador.hosts import NAMESPACE, MemoryGateway, host, listener, route, secret
from tests.support.ambassador.mappings import Routes, mapping, module, upstreams
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


@pytest.mark.parametrize(
    "given",
    [
        {"annotations": {OLDER_CLASS: "Ambassador"}},
        {"annotations": {OLDER_CLASS: "ambassador", "getambassador.io/ambassador-id": "default"}},
        {"ingressClassName": "edge"},
        {"ingressClassName": "nginx", "annotations": {OLDER_CLASS: "ambassador"}},
    ],
)
async def test_one_of_our_class_is_served(given: dict[str, Any]) -> None:
    classes = ingress_class("edge"), ingress_class("nginx", "nginx.org/ingress-controller")
    found = await routes(ingress(path("/"), **given), *classes)
    assert len(found.configs) == 1
    assert problems(found) == []


@pytest.mark.parametrize(
    "given",
    [
        {"ingressClassName": "nginx"},
        {"ingressClassName": "absent"},
        {"annotations": {OLDER_CLASS: "nginx"}},
        {"annotations": {OLDER_CLASS: "ambassador", "getambassador.io/ambassador-id": "other"}},
    ],
)
async def test_one_of_another_controller_has_no_effect_and_is_no_error(given: dict[str, Any]) -> None:
    found = await routes(ingress(path("/"), **given), ingress_class("nginx", "nginx.org/ingress-controller"))
    assert found.configs == []
    assert problems(found) == []


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
    assert found.gate.service.offline.engine.progress.missing_reactions == {}


async def test_the_annotation_of_today_counts_and_not_that_of_yesterday() -> None:
    found = await routes(ingress(path("/"), annotations={OLDER_CLASS: "nginx"}))
    await found.gate.service.update(ingress(path("/"), annotations={OLDER_CLASS: "ambassador"}))
    assert len(found.configs) == 1
    await found.gate.service.update(ingress(path("/"), annotations={OLDER_CLASS: "nginx"}))
    assert found.configs == []


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


@pytest.mark.parametrize(
    ("text", "path_type", "rewrite"),
    [
        ("/a/", "ImplementationSpecific", {"prefix_rewrite": "/"}),
        ("/a", "Exact", {"prefix_rewrite": "/"}),
        ("/a.b/", "Prefix", {"regex_rewrite": {"pattern": {"regex": "^/a\\.b/?"}, "substitution": "/"}}),
        ("/", "Prefix", {}),
    ],
)
async def test_what_is_matched_is_cut_off_as_emissary_does(text: str, path_type: str, rewrite: dict[str, Any]) -> None:
    action = (await routes(ingress(path(text, path_type)))).only["route"]
    assert {key: value for key, value in action.items() if key.endswith("_rewrite")} == rewrite


async def test_an_exact_path_is_asked_before_the_prefix_of_the_same_text() -> None:
    found = await routes(ingress(path("/a"), path("/a", "Exact"), path("/a/b")))
    assert [next(iter(config["match"])) for config in found.configs] == [
        "path_separated_prefix",
        "path",
        "path_separated_prefix",
    ]
    assert found.configs[0]["match"] == {"path_separated_prefix": "/a/b"}


@pytest.mark.parametrize(("text", "path_type"), [("a", "Prefix"), ("/a", "prefix"), ("/a", ""), ("", "Exact")])
async def test_a_path_that_matches_nothing_is_reported_and_the_others_are_routed(text: str, path_type: str) -> None:
    found = await routes(ingress(path(text, path_type), path("/other")))
    assert found.only["match"] == {"path_separated_prefix": "/other"}
    assert problems(found) == ["InvalidPath"]


async def test_a_path_twice_counts_once_and_is_reported() -> None:
    found = await routes(ingress(path("/a", backend=backend("one")), path("/a", backend=backend("two"))))
    assert upstreams(found.only) == {"cluster_one_80": 100}
    assert problems(found) == ["DuplicatePath"]


async def test_its_origins_are_the_fields_of_the_path() -> None:
    found = await routes(ingress(path("/a")))
    (element,) = found.elements
    assert element["origins"] == [{"kind": "ingress", "name": f"{NAMESPACE}:web", "field": "rules[0].http.paths[0]"}]
    (cluster,) = found.gate.elements("envoy_cluster").values()
    assert cluster["origins"][0]["field"] == "rules[0].http.paths[0].backend"


async def test_the_default_backend_comes_after_everything() -> None:
    found = await routes(
        ingress(path("/a"), defaultBackend=backend("rest")), mapping("all", prefix="/", namespace=NAMESPACE)
    )
    assert [next(iter(upstreams(config))) for config in found.configs] == ["cluster_echo_80"] * 2 + ["cluster_rest_80"]


async def test_a_host_is_a_table_of_its_own() -> None:
    found = await routes(ingress(path("/a"), host="Shop.example"))
    assert found.elements[0]["tables"] == ["|shop.example"]


@pytest.mark.parametrize("name", ["shop.*", "*.shop.*", "shop example"])
async def test_a_host_that_is_none_is_reported(name: str) -> None:
    found = await routes(ingress(path("/a"), host=name))
    assert found.configs == []
    assert problems(found) == ["InvalidHostname"]


async def test_it_shares_a_path_with_a_mapping_that_matches_the_same() -> None:
    same = mapping("canary", namespace=NAMESPACE, prefix="/a", service="other", weight=10)
    found = await routes(ingress(path("/a", "ImplementationSpecific")), same)
    assert upstreams(found.only) == {"cluster_other_80": 10, "cluster_echo_80": 90}


async def test_what_an_ingress_cant_say_the_module_says() -> None:
    found = await routes(ingress(path("/a")), module(cluster_request_timeout_ms=7000))
    assert found.only["route"]["timeout"] == "7.000s"


# Backends


async def test_a_port_by_its_name_is_that_of_the_service() -> None:
    named = ingress(path("/a", backend=backend(name="web")))
    found = await routes(named)
    assert found.only["direct_response"] == {"status": 503}
    assert problems(found) == ["NoService"]
    await found.gate.apply(service({"name": "web", "port": 8080}))
    assert upstreams(found.only) == {"cluster_echo_8080": 100}
    assert problems(found) == []
    assert found.gate.service.offline.engine.progress.missing_reactions == {}


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


async def test_its_certificates_serve_its_hosts(certified: dict[str, Any]) -> None:
    secure = listener("https", 8443, protocol="HTTPS")
    found = await MemoryGateway().apply(
        secure, ingress(path("/"), host="shop.example", **tls("shop.example")), certified
    )
    assert found.chains(f"{NAMESPACE}/https")[0]["filter_chain_match"]["server_names"] == ["shop.example"]
    assert found.virtual_hosts() == {
        f"{NAMESPACE}/https|tls:shop.example": [""],
        f"{NAMESPACE}/https|cleartext:shop.example": [""],
    }
    assert found.problems() == []


async def test_without_its_certificate_a_host_is_not_served_by_tls() -> None:
    secure = listener("https", 8443, protocol="HTTPS", securityModel="SECURE")
    found = await MemoryGateway().apply(secure, ingress(path("/"), host="shop.example", **tls("shop.example")))
    assert found.elements("envoy_listener") == {}
    assert ("ingress", f"{NAMESPACE}:web", "NoSecret") in found.problems()


async def test_a_certificate_without_a_secret_is_reported() -> None:
    found = await routes(ingress(path("/"), tls=[{"hosts": ["shop.example"]}]))
    assert problems(found) == ["InvalidTLS"]


async def test_a_host_that_is_named_twice_has_the_first_certificate(certified: dict[str, Any]) -> None:
    twice = [{"hosts": ["shop.example"], "secretName": name} for name in ("certificate", "missing")]
    found = await routes(ingress(path("/"), tls=twice), certified)
    assert problems(found) == ["DuplicateHostname"]


@pytest.mark.parametrize("version", ["networking.k8s.io/v1beta1", "extensions/v1beta1"])
async def test_an_older_version_is_served_like_the_present_one(version: str) -> None:
    present = ingress(path("/"))
    older = copy.deepcopy(present) | {"apiVersion": version}
    for rule in older["spec"]["rules"]:
        for one in rule["http"]["paths"]:
            service = one["backend"]["service"]
            port = service["port"]
            one["backend"] = {"serviceName": service["name"], "servicePort": port.get("name") or port["number"]}
    assert (await routes(older)).elements == (await routes(present)).elements


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
