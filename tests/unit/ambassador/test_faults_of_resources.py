"""What keeps a Mapping or a Host from taking effect shows in its status, whichever intent finds out
(docs/ambassador.md §4.7)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.compilers.ambassador.elements import digest
from intentc.testing import MemoryService, service_for

pytestmark = pytest.mark.anyio

LISTENER: dict[str, Any] = {
    "apiVersion": "getambassador.io/v3alpha1",
    "kind": "Listener",
    "metadata": {"name": "http"},
    "spec": {"port": 8080, "protocol": "HTTP", "securityModel": "XFP", "hostBinding": {"namespace": {"from": "ALL"}}},
}
HOST: dict[str, Any] = {
    "apiVersion": "getambassador.io/v3alpha1",
    "kind": "Host",
    "metadata": {"name": "all"},
    "spec": {"hostname": "*", "requestPolicy": {"insecure": {"action": "Route"}}},
}


def mapping(name: str = "m", **spec: Any) -> dict[str, Any]:
    spec = {"hostname": "*", "prefix": f"/{name}/", "service": "echo", **spec}
    return {"apiVersion": "getambassador.io/v3alpha1", "kind": "Mapping", "metadata": {"name": name}, "spec": spec}


def host(**spec: Any) -> dict[str, Any]:
    return {**HOST, "spec": {**HOST["spec"], **spec}}


def of_mapping(service: MemoryService, name: str = "m") -> dict[str, Any]:
    return service.status("mapping", ("default", name))


@pytest.fixture
async def service() -> MemoryService:
    service = service_for("ambassador")
    await service.create(LISTENER, HOST)
    return service


async def test_what_takes_effect_has_no_status(service: MemoryService) -> None:
    await service.create(mapping())
    assert of_mapping(service) == service.status("host", ("default", "all")) == {}


async def test_a_mapping_that_is_not_routed_is_inactive_until_it_is_fixed(service: MemoryService) -> None:
    await service.create(mapping(prefix="no-slash/"))
    found = of_mapping(service)
    assert found["state"] == "Inactive"
    assert found["reason"].startswith("prefix 'no-slash/' matches no path")
    await service.update(mapping())
    assert of_mapping(service) == {}


async def test_what_another_intent_finds_out_shows_as_well(service: MemoryService) -> None:
    """The group of its match knows that no Host serves it; its own intent, that its service can't be used."""
    await service.create(mapping(hostname="shop.example", service="a/path"))
    await service.delete(HOST)
    await service.create({**host(hostname="other.example"), "metadata": {"name": "other"}})
    found = of_mapping(service)
    assert found["state"] == "Inactive"
    assert "no Host serves shop.example" in found["reason"]
    assert "is not a host" in found["reason"]


async def test_what_envoy_rejects_shows_with_its_words(service: MemoryService) -> None:
    await service.create(mapping())
    (route,) = [one for one in service.offline.outputs() if one["kind"] == "envoy_route"]
    rejected = {"fq_name": ["envoy_route", ":".join(route["fq_name"])], "message": "no such filter"}
    await service.create({"kind": "envoy_rejection", "data": rejected | {"digest": digest(route["config"])}})
    assert of_mapping(service)["reason"].startswith("Envoy rejects envoy_route")
    assert "no such filter" in of_mapping(service)["reason"]


async def test_a_note_is_no_fault(service: MemoryService) -> None:
    await service.create(mapping(host="shop.example"))
    assert [problem.reason for problem in service.problems] == ["IgnoredField"]
    assert of_mapping(service) == {}


async def test_a_host_says_why_it_is_not_served(service: MemoryService) -> None:
    await service.update(host(tlsSecret={"name": "missing"}))
    found = service.status("host", ("default", "all"))
    assert found["state"] == "Error"
    assert found["errorReason"].startswith("there is no Secret default:missing")


async def test_a_long_reason_is_cut() -> None:
    service = service_for("ambassador")
    await service.create(mapping(hostname="*", prefix="x" * 3000))
    assert len(of_mapping(service)["reason"]) == 1024
