"""What keeps a Mapping or a Host from taking effect shows in its status, whichever intent finds out
(docs/ambassador.md §4.7)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.compilers.ambassador.envoy_elements import digest
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


def of_mapping(service: MemoryService, name: str = "m") -> dict[str, Any]:
    return service.status("mapping", ("default", name))


@pytest.fixture
async def service() -> MemoryService:
    service = service_for("ambassador")
    await service.create(LISTENER, HOST)
    return service


async def test_what_envoy_rejects_shows_with_its_words(service: MemoryService) -> None:
    await service.create(mapping())
    (route,) = [one for one in service.offline.outputs() if one["kind"] == "envoy_route"]
    rejected = {"fq_name": ["envoy_route", ":".join(route["fq_name"])], "message": "no such filter"}
    await service.create({"kind": "envoy_rejection", "data": rejected | {"digest": digest(route["config"])}})
    assert of_mapping(service)["reason"].startswith("Envoy rejects envoy_route")
    assert "no such filter" in of_mapping(service)["reason"]
