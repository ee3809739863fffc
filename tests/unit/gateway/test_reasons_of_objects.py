"""``why`` of an object in the cluster leads to the Gateway, and of a port of Envoy's Service to the listeners."""

from __future__ import annotations

import pytest

from intentc.inspection.part_sources import parts_of
from intentc.model import Name
from tests.support.gateway.documents import (
    ADMIN,
    HTTP,
    Document,
    contour,
    early_class,
    early_gateway,
    gateway,
    gateway_class,
)
from tests.unit.gateway.worlds import World

pytestmark = pytest.mark.anyio


async def reasons_of(name: str, *documents: Document) -> dict[str, set[str]]:
    """The reasons of a manifest of the namespace ``shop``: part → its sources."""
    world = World()
    await world.create(*documents)
    found = parts_of(world.service.offline.engine, Name("manifest", ("shop", name)))
    return {
        part: {f"{source.kind} {source.name} {source.field}".strip() for reason in given for source in reason.sources}
        for part, given in found.items()
    }


async def test_a_port_names_the_listeners_that_share_it() -> None:
    other = {**HTTP, "name": "other", "hostname": "other.example.com"}
    found = await reasons_of("service--envoy-web", gateway_class(), gateway("web", HTTP, ADMIN, other))
    assert found[""] == {"gateway shop:web"}
    assert found["content.spec.ports[0]"] == {"gateway shop:web listeners[0]", "gateway shop:web listeners[2]"}
    assert found["content.spec.ports[1]"] == {"gateway shop:web listeners[1]"}


async def test_a_listener_that_is_in_conflict_is_no_reason() -> None:
    twice = [{**HTTP, "name": name} for name in ("a", "b")]
    found = await reasons_of("service--envoy-web", gateway_class(), gateway("web", *twice, ADMIN))
    assert found["content.spec.ports[0]"] == {"gateway shop:web listeners[2]"}


async def test_in_the_layout_of_the_operator_the_holder_is_the_reason() -> None:
    found = await reasons_of("service--envoy", early_class(), early_gateway("a", HTTP), early_gateway("b", ADMIN))
    assert found[""] == {"gateway_v1alpha1 shop:a"}
    assert found["content.spec.ports[0]"] == {"gateway_v1alpha1 shop:a listeners[0]"}
    assert (await reasons_of("service--envoy", contour("web")))[""] == {"contour shop:web"}
