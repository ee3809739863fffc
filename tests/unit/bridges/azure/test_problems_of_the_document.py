"""What only the whole document shows is a problem of the Ingress that it is about, until it is over."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from intentc.reconcile.failures import Rejected
from intentc.writing import Written
from tests.support.appgw.manifests import endpoint_slice, ingress, rule, service
from tests.unit.bridges.azure.published_system import PublishedSystem

pytestmark = pytest.mark.anyio
TO_CART = ("/", "Prefix", "cart")
FIRST = ingress("first", rule("a.test", TO_CART), created="2026-01-01T00:00:00Z", annotations={"rule-priority": "7"})
SECOND = ingress("second", rule("b.test", TO_CART), created="2026-02-01T00:00:00Z", annotations={"rule-priority": "7"})


def problems(system: PublishedSystem) -> list[tuple[str, str]]:
    return sorted((one.name, one.reason) for one in system.offline.problems())


async def test_an_ingress_without_room_and_one_without_its_priority_report_it() -> None:
    system = PublishedSystem()
    await system.start(service("cart"), endpoint_slice("cart", "10.0.0.1"), FIRST, SECOND)
    await system.until_quiet()
    assert problems(system) == [("shop:second", "PriorityTaken")]
    sent = len(system.azure.puts)
    await system.restart()
    assert (await system.look()).state == "Applied"
    assert len(system.azure.puts) == sent
    await system.apply(ingress("second", rule("b.test", TO_CART), created="2026-02-01T00:00:00Z"))
    await system.until_quiet()
    assert problems(system) == []


async def test_the_record_goes_with_its_ingress() -> None:
    system = PublishedSystem()
    await system.start(service("cart"), endpoint_slice("cart", "10.0.0.1"), FIRST, SECOND)
    await system.until_quiet()
    await system.delete(("Ingress", "shop", "second"))
    await system.until_quiet()
    assert system.stored.of_kind("appgw_document_problem") == []


async def test_an_ingress_that_does_not_fit_reports_it() -> None:
    system = PublishedSystem(limits={"httpListeners": 1})
    await system.start(service("cart"), endpoint_slice("cart", "10.0.0.1"), FIRST, SECOND)
    await system.until_quiet()
    assert system.hosts == ["a.test"]
    assert problems(system) == [("shop:second", "CapacityExceeded")]


class _Picky(PublishedSystem):
    """Its API server rejects the records of Ingresses whose name begins with ``denied``."""

    def write(self, entry: dict[str, Any], fence: str | None) -> asyncio.Future[Written]:
        if str(entry["data"].get("ingress", "")).startswith("shop:denied"):
            return asyncio.ensure_future(self._rejected())
        return super().write(entry, fence)

    async def _rejected(self) -> Written:
        raise Rejected(403, "not this one")


@pytest.mark.parametrize("count", [1, 10, 50])
async def test_a_rejected_record_delays_no_document_and_no_other_record(count: int) -> None:
    system = _Picky()
    denied = [ingress(f"denied-{number}", rule(f"n{number}.test", TO_CART)) for number in range(count)]
    await system.start(service("cart"), endpoint_slice("cart", "10.0.0.1"), FIRST, SECOND, *denied)
    assert (await system.until_quiet()).state == "Applied"
    assert "a.test" in system.hosts
    assert sorted(found.name for found in system.stored.of_kind("appgw_publication")) == ["shop:first", "shop:second"]
