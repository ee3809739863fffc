"""Which stored resources make up the answer of each sort of read."""

from __future__ import annotations

import pytest

from intentc.logic import Service
from intentc.logic.live_world import answering
from intentc.model import Key, Read
from intentc.model.reads import (
    allocation_read,
    fact_read,
    index_read,
    name_read,
    object_read,
    setting_read,
    sources_read,
    targets_read,
)
from intentc.testing import load, service_for
from tests.support.toy.compiler import compiler

pytestmark = pytest.mark.anyio

SHOP = load("""
resources:
  - {kind: toy_pod, data: {fq_name: [shop, one], metadata: {labels: {app: web}}, address: 10.0.0.1}}
  - {kind: toy_service, data: {fq_name: [shop, web], selector: {app: web}}}
  - {kind: toy_route, data: {fq_name: [shop, home], hostname: a.example, service: web}}
""")
NOBODY = Key("toy_service", "nobody")


@pytest.fixture
async def logic() -> Service:
    service = service_for(compiler)
    await service.create(SHOP)
    return service.offline.engine._logic


def key(logic: Service, kind: str, name: str) -> Key:
    found = logic.named(kind, ("shop", name))
    assert found is not None
    return found


def behind(logic: Service, read: Read) -> list[str]:
    return sorted(logic.name_of(found) for found in answering(logic, read))


async def test_an_object_is_behind_its_own_reads_by_key_and_by_name(logic: Service) -> None:
    assert behind(logic, object_read(key(logic, "toy_service", "web"))) == ["shop:web"]
    assert behind(logic, name_read("toy_service", ("shop", "web"))) == ["shop:web"]


async def test_a_relation_is_answered_by_both_of_its_ends(logic: Service) -> None:
    service = key(logic, "toy_service", "web")
    assert behind(logic, targets_read(service, "pods")) == ["shop:one", "shop:web"]
    assert behind(logic, sources_read(service, "toy_route", "service")) == ["shop:home", "shop:web"]


async def test_an_index_is_answered_by_those_who_offer_the_value(logic: Service) -> None:
    assert behind(logic, index_read("toy_pod", "all", "")) == ["shop:one"]


async def test_behind_an_absence_and_behind_what_is_not_stored_there_is_nothing(logic: Service) -> None:
    for read in (
        object_read(NOBODY),
        targets_read(NOBODY, "pods"),
        name_read("toy_service", ("shop", "nobody")),
        fact_read("toy_cluster", "shop:web"),
        allocation_read("pool", "owner"),
        setting_read("name"),
    ):
        assert behind(logic, read) == []
