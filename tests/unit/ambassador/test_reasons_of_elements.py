"""The reasons of each element and its parts, while an explanation is requested."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.compilers.ambassador.reasons.groups import sufficient
from intentc.inspection.part_sources import parts_of
from intentc.inspection.shown_resources import lower_level
from intentc.model import Name
from intentc.offline.offline import Offline
from tests.property.gateway_steps import LOADED
from tests.property.gateway_world import manifest
from tests.property.gateways import KINDS, certified

pytestmark = pytest.mark.anyio

FRONT = manifest(
    "Listener",
    "front",
    {"port": 8443, "protocol": "HTTPS", "securityModel": "XFP", "hostBinding": {"namespace": {"from": "ALL"}}},
)
ALL = manifest("Host", "all", {"hostname": "*"})


def mapping(name: str, prefix: str, service: str, **spec: Any) -> dict[str, Any]:
    return manifest("Mapping", name, {"prefix": prefix, "hostname": "*", "service": service, **spec})


async def reasons_of(kind: str, start: str, *manifests: dict[str, Any]) -> dict[str, set[str]]:
    """The reasons of the element of this kind whose name starts so: part → its reasons, the sources of each joined by
    `` + ``."""
    offline = Offline(LOADED)
    await offline.seed()
    for one in manifests:
        await offline.server.create(KINDS[one["kind"]], one)
    await offline.settle()
    view = offline.engine
    (name,) = {
        Name(one.key.kind, one.fq_name)
        for one in lower_level(view.world, view.planner)
        if one.key.kind == kind and ":".join(one.fq_name).startswith(start)
    }
    return {
        part: {" + ".join(f"{s.kind} {s.name} {s.field}".strip() for s in reason.sources) for reason in reasons}
        for part, reasons in parts_of(view, name).items()
    }


async def test_a_route_needs_each_mapping_of_its_group() -> None:
    canary = mapping("canary", "/", "new", weight=20)
    found = await reasons_of("envoy_route", "root", mapping("main", "/", "old"), canary)
    assert found[""] == {"mapping default:canary prefix", "mapping default:main prefix"}
    clusters = "config.route.weighted_clusters.clusters"
    assert found[f"{clusters}[0]"] == {"mapping default:canary service"}
    assert found[f"{clusters}[1]"] == {"mapping default:main service"}


async def test_a_route_that_a_host_selects_needs_that_host() -> None:
    host = manifest("Host", "shop", {"hostname": "shop.example", "mappingSelector": {"matchLabels": {"team": "red"}}})
    red = manifest("Mapping", "red", {"prefix": "/red/", "service": "echo"}, metadata={"labels": {"team": "red"}})
    found = await reasons_of("envoy_route", "red", host, red)
    assert found[""] == {"mapping default:red prefix + host default:shop"}


async def test_a_setting_comes_from_the_mapping_or_else_from_the_module() -> None:
    module = manifest("Module", "ambassador", {"config": {"cluster_request_timeout_ms": 5000}})
    quick = mapping("quick", "/quick/", "echo", timeout_ms=100)
    of_module = await reasons_of("envoy_route", "slow", module, mapping("slow", "/slow/", "echo"))
    assert of_module["config.route.timeout"] == {"module default:ambassador config.cluster_request_timeout_ms"}
    assert (await reasons_of("envoy_route", "quick", module, quick))["config.route.timeout"] == {
        "mapping default:quick timeout_ms"
    }


async def test_a_shadow_depends_on_the_mapping_that_it_shadows() -> None:
    shadow = mapping("shadow", "/", "copy", shadow=True)
    found = await reasons_of("envoy_cluster", "cluster_shadow_copy", mapping("main", "/", "old"), shadow)
    assert found[""] == {"mapping default:main service + mapping default:shadow service"}


async def test_a_path_that_an_ingress_writes_twice_has_two_reasons() -> None:
    path = {"path": "/a", "pathType": "Prefix", "backend": {"service": {"name": "echo", "port": {"number": 80}}}}
    rules = [{"host": "a.example", "http": {"paths": [path, path]}}]
    ours = {"annotations": {"kubernetes.io/ingress.class": "Ambassador"}}
    ingress = manifest("Ingress", "paths", {"rules": rules}, version="networking.k8s.io/v1", metadata=ours)
    found = await reasons_of("envoy_route", "a", ingress)
    assert found[""] == {f"ingress default:paths rules[0].http.paths[{n}]" for n in (0, 1)}


async def test_a_virtual_host_needs_a_listener_a_host_and_a_mapping() -> None:
    shop = mapping("shop", "/", "echo", hostname="shop.example")
    other = manifest("Host", "other", {"hostname": "other.example"})
    found = await reasons_of("envoy_virtual_host", "default/front|cleartext:shop", FRONT, ALL, other, shop)
    assert found[""] == {"mapping default:shop prefix + listener default:front + host default:all"}


async def test_what_stands_without_any_host_needs_none() -> None:
    found = await reasons_of("envoy_listener", "default/front", FRONT, ALL)
    assert found[""] == {"listener default:front"}


async def test_a_certificate_stands_on_the_secret_and_on_who_uses_it() -> None:
    secret = manifest("Secret", "certificate", version="v1", data=certified())
    host = manifest("Host", "shop", {"hostname": "shop.example", "tlsSecret": {"name": "certificate"}})
    found = await reasons_of("envoy_secret", "default:certificate", FRONT, secret, host)
    assert found[""] == {"host default:shop + secret default:certificate"}


async def test_an_endpoint_stands_on_the_service_and_its_place_in_the_endpoints() -> None:
    service = manifest("Service", "echo", {"ports": [{"name": "web", "port": 80}]}, version="v1")
    subsets = [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"name": "web", "port": 3000}]}]
    endpoints = {**manifest("Endpoints", "echo", version="v1"), "subsets": subsets}
    found = await reasons_of(
        "envoy_endpoints", "cluster_echo", service, endpoints, mapping("all", "/", "echo", resolver="endpoint")
    )
    assert found[""] == {"mapping default:all service"}
    assert found["config.endpoints[0].lb_endpoints[0]"] == {
        "service default:echo + endpoints default:echo subsets[0].addresses[0]"
    }


async def test_a_guard_comes_from_each_auth_service_and_address_list() -> None:
    module = manifest("Module", "ambassador", {"config": {"ip_deny": [{"peer": "192.0.2.1"}]}})
    services = [manifest("AuthService", name, {"auth_service": "auth"}) for name in ("auth", "later")]
    found = await reasons_of("envoy_listener", "default/front", FRONT, ALL, module, *services)
    assert found["guards[0]"] == {"auth_service default:auth", "auth_service default:later"}
    assert found["guards[1]"] == {"module default:ambassador config.ip_deny"}


async def test_tls_with_an_upstream_needs_the_context_that_is_named() -> None:
    context = manifest("TLSContext", "upstream", {"sni": "upstream.example"})
    found = await reasons_of("envoy_cluster", "cluster_safe", context, mapping("safe", "/", "safe", tls="upstream"))
    assert found["config.transport_socket"] == {"mapping default:safe tls + tls_context default:upstream"}


def test_where_no_small_set_is_found_all_are_one_reason() -> None:
    many = list(range(20))
    assert list(sufficient(many, lambda some: len(some) == 20)) == [tuple(many)]
