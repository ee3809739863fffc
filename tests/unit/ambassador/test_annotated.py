"""Resources in annotations of Services and Ingresses: they are created and deleted with their carrier."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.ambassador.hosts import NAMESPACE, MemoryGateway, host, listener, manifest, route

pytestmark = pytest.mark.anyio

EVERYBODY = host("all", "*", requestPolicy=route("Route"))
ONE = """
---
apiVersion: ambassador/v2
kind: Mapping
name: one_mapping
prefix: /one/
service: echo
labels: {}
---
apiVersion: getambassador.io/v3alpha1
kind: Mapping
metadata: {name: two}
spec: {hostname: "*", prefix: /two/, service: echo, timeout_ms: 5000, retry_policy: {retry_on: 5xx}}
"""


def carrier(config: str | None, name: str = "echo", kind: str = "Service", **labels: str) -> dict[str, Any]:
    annotations = {} if config is None else {"getambassador.io/config": config}
    metadata = {"name": name, "namespace": NAMESPACE, "annotations": annotations, "labels": labels}
    if kind == "Service":
        return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": {"ports": [{"port": 80}]}}
    annotations["kubernetes.io/ingress.class"] = "ambassador"
    backend = {"service": {"name": "echo", "port": {"number": 80}}}
    spec = {"defaultBackend": backend}
    return {"apiVersion": "networking.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec}


async def gate(*resources: dict[str, Any], settings: dict[str, Any] | None = None) -> MemoryGateway:
    return await MemoryGateway(settings).apply(EVERYBODY, listener(), *resources)


def prefixes(found: MemoryGateway) -> list[str]:
    return sorted(one["config"]["match"]["prefix"] for one in found.elements("envoy_route").values())


def messages(found: MemoryGateway) -> list[tuple[str, str]]:
    return sorted((problem.name, problem.message) for problem in found.service.problems)


@pytest.mark.parametrize("kind", ["Service", "Ingress"])
async def test_they_are_resources_that_live_and_die_with_their_carrier(kind: str) -> None:
    with_host = ONE.replace("service: echo\nlabels", "service: echo\nhost: shop.example\nlabels")
    rest = ["/"] if kind == "Ingress" else []
    found = await gate(carrier(with_host, kind=kind))
    assert prefixes(found) == [*rest, "/one/", "/two/"]
    assert sorted(found.elements("mapping")) == [f"{NAMESPACE}:one_mapping", f"{NAMESPACE}:two"]
    assert found.problems() == []
    changed = with_host.replace("/two/", "/three/").replace(", timeout_ms: 5000, retry_policy: {retry_on: 5xx}", "")
    await found.service.update(carrier(changed, kind=kind))
    assert prefixes(found) == [*rest, "/one/", "/three/"]
    changed_route = next(one for one in found.elements("envoy_route") if one.startswith("three"))
    action = found.elements("envoy_route")[changed_route]["config"]["route"]
    assert (action["timeout"], "retry_policy" in action) == ("3.000s", False)
    await found.service.update(carrier("", kind=kind))
    assert (prefixes(found), found.elements("mapping")) == (rest, {})
    await found.service.update(carrier(with_host, kind=kind))
    await found.service.delete(carrier(with_host, kind=kind))
    assert (prefixes(found), found.elements("mapping")) == ([], {})
    assert found.service.offline.engine.evaluator.missing_reactions == {}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("{apiVersion: ambassador/v1, kind: Mapping, name: a, prefx: /a/, service: b}", "did you mean prefix"),
        ("{apiVersion: ambassador/v1, kind: Mapping, name: a, service: b}", "prefix must be given"),
        ("{apiVersion: ambassador/v1, kind: Mapping, name: a, prefix: [1], service: b}", "prefix: must be a string"),
        ("{apiVersion: ambassador/v1, kind: Maping, name: a}", "'Maping' is unknown"),
        ("{apiVersion: v1, kind: Secret, name: a}", "apiVersion 'v1'"),
        ("{apiVersion: ambassador/v1, kind: Mapping, prefix: /a/, service: b}", "metadata.name is missing"),
        ("{apiVersion: ambassador/v1, kind: Mapping, name: a, namespace: other, prefix: /a/, service: b}", "carrier"),
        ("{apiVersion: getambassador.io/v9, kind: Mapping, name: a}", "'getambassador.io/v9' is not known"),
        ("[1]", "a resource is expected"),
    ],
)
async def test_an_invalid_document_is_reported_and_the_others_count(document: str, message: str) -> None:
    good = '{apiVersion: getambassador.io/v3alpha1, kind: Mapping, name: good, hostname: "*", prefix: /g/, service: e}'
    found = await gate(carrier(f"---\n{document}\n---\n{good}\n"))
    assert prefixes(found) == ["/g/"]
    [(name, shown)] = messages(found)
    assert name == f"{NAMESPACE}:echo"
    assert shown.startswith("document 1 of getambassador.io/config: ")
    assert message in shown


async def test_a_text_that_is_no_yaml_names_the_line() -> None:
    found = await gate(carrier("a: b\nc: [\n"))
    [(_, shown)] = messages(found)
    assert "is not YAML: line:" in shown


async def test_where_they_are_switched_off_the_carrier_has_a_problem() -> None:
    found = await gate(carrier(ONE), settings={"ambassador.annotations": False})
    assert found.problems() == [("service", f"{NAMESPACE}:echo", "AnnotationIgnored")]
    assert found.elements("mapping") == {}


async def test_when_the_users_resource_goes_that_of_the_annotation_comes_back() -> None:
    found = await gate(carrier(ONE))
    applied = manifest("Mapping", "two", {"hostname": "*", "prefix": "/applied/", "service": "echo"})
    await found.service.update(applied)
    assert prefixes(found) == ["/applied/"]
    await found.service.delete(applied)
    assert prefixes(found) == ["/two/"]
    assert ("service", f"{NAMESPACE}:echo", "NameTaken") not in found.problems()


@pytest.mark.parametrize("first", ["echo", "other"])
async def test_the_first_of_two_carriers_by_name_counts_whichever_was_created_first(first: str) -> None:
    carriers = {"echo": carrier(ONE), "other": carrier(ONE.replace("/two/", "/other/"), name="other")}
    found = await gate(carriers.pop(first))
    await found.apply(*carriers.values())
    assert prefixes(found) == ["/two/"]
    second = ("service", f"{NAMESPACE}:other", "SecondCarrier")
    assert found.problems().count(second) == 2
    await found.service.delete(carrier(ONE))
    assert prefixes(found) == ["/other/"]
    assert second not in found.problems()


async def test_variables_are_not_replaced_and_that_is_said() -> None:
    spec = {"hostname": "*", "prefix": "/a/", "service": "${BACKEND}.shop", "docs": {"path": "$docs"}}
    found = await gate(
        manifest("Mapping", "a", spec | {"add_request_headers": {"x-cost": {"value": "$5 or \\\\$HOME"}}}),
        manifest(
            "LogService",
            "log",
            {"service": "log", "driver": "$DRIVER", "protocol_version": "v3"}
            | {"driver": "http", "stats_name": "$NAME"},
        ),
    )
    shown = [(name, message) for name, message in messages(found) if "not replaced" in message]
    assert [name for name, _ in shown] == [f"{NAMESPACE}:a", f"{NAMESPACE}:log"]
    assert shown[0][1].startswith("service has ${BACKEND}, which stays as it is")
