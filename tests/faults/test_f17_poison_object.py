"""F17: the server always rejects one object. It is listed with the server's words and all others converge; it recovers
by itself once the server accepts it, or once its resource is repaired."""

from __future__ import annotations

import itertools
import time
from typing import Any

import pytest

from intentc.reconcile.backoff import Backoff
from intentc.service.service import CompilerService
from tests.faults.faulty_system import FaultySystem
from tests.faults.scale import in_full
from tests.faults.scale_writing import SCALE
from tests.faults.server_faults import Fault, Reject, Request, Rule, no_fault
from tests.faults.writing_load import RULE, lists_of, many_groups
from tests.oracle import contrail as oracle
from tests.support.contrail_content import LOCAL, group, rule, rules, tenant
from tests.support.live_system import LiveSystem
from tests.support.waiting import PATIENCE, until, until_true

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

WORDS = "no such colour"
POISONED = "many-7"
CROWD = 20
OTHER_RULE = "bdf042c0-0000-4000-8000-00000000000f"


def poison(name: str, *, named: bool = True) -> Rule:
    """Whatever writes the ingress list of this group is rejected; ``named``: a rejected batch says which it was,
    as our server does, and others don't."""

    def guilty(item: dict[str, Any]) -> bool:
        body = item.get("data") or item.get("access-control-list") or {}
        return list(body.get("fq_name", [])[-2:]) == [name, "ingress-access-control-list"]

    def rule_of(request: Request) -> Fault | None:
        if not request.mutates:
            return None
        found = [place for place, item in enumerate(request.items) if guilty(item)]
        if not found:
            return None
        return Reject(422, WORDS, item=found[0] if named and request.path == "/sync" else None)

    return rule_of


def poison_in_a_crowd(chosen: list[str], *, named: bool) -> Rule:
    """The same for a list in the midst of the first batch of twenty or more, whichever that is: its group's name is
    put into ``chosen``."""

    def rule_of(request: Request) -> Fault | None:
        if not chosen and request.path == "/sync" and len(request.items) >= CROWD:
            names = [item["data"]["fq_name"] for item in request.items if item["operation"] == "CREATE"]
            lists = [name[-2] for name in names if name[-1] == "ingress-access-control-list"]
            chosen.append(lists[len(lists) // 2])
        return poison(chosen[0], named=named)(request) if chosen else None

    return rule_of


def problems(service: CompilerService) -> list[str]:
    """The resources whose problems have the server's words."""
    return [problem["name"] for problem in service.status()["problems"] if WORDS in problem["message"]]


async def all_but(world: LiveSystem, name: str, missing: int) -> bool:
    """Whether the world is compiled save for ``missing`` objects, lists of this group."""
    stored, numbers = await world.stored(), await world.numbers()
    there, wanted = oracle.actual(stored), oracle.expected(stored, numbers)
    lacking = {place for place in wanted if there.get(place) != wanted[place]}
    return there.keys() <= wanted.keys() and len(lacking) == missing and all(name in place[1] for place in lacking)


@pytest.mark.parametrize("named", [True, False])
async def test_one_rejected_object_is_listed_and_all_others_converge(faulty: FaultySystem, named: bool) -> None:
    faults = faulty.faults
    faults.rule = poison(POISONED, named=named)
    async with faulty.compiling() as service:
        await tenant(faulty)
        await many_groups(faulty, SCALE.groups)
        await faulty.settle(service)
        assert faults.struck
        assert await all_but(faulty, POISONED, 1)
        assert problems(service) == [f"default-domain:default-project:{POISONED}:ingress-access-control-list"]
        status = service.status()
        assert status["healthy"] is False
        assert status["counts"]["rejected"] == 1

        faults.rule = no_fault
        await until_true(lambda: all_but(faulty, POISONED, 0))
        await faulty.settle(service)
        assert problems(service) == []
        assert service.status()["healthy"] is True
    await faulty.check()


@pytest.mark.parametrize("named", [True, False])
async def test_a_rejected_element_of_a_batch_costs_the_others_no_second_write(
    faulty: FaultySystem, named: bool
) -> None:
    """All or nothing is a batch: it is sent again without the guilty one, or halved until that one is alone."""
    faults = faulty.faults
    await tenant(faulty)
    await many_groups(faulty, SCALE.groups)
    chosen: list[str] = []
    faults.rule = poison_in_a_crowd(chosen, named=named)
    async with faulty.compiling() as service:
        await faulty.settle(service)
        assert any(len(request.items) >= CROWD for request, _ in faults.struck)
        assert await all_but(faulty, chosen[0], 1)
        requests, bound = len(faults.seen), SCALE.groups // 2 + 60
        assert requests <= bound
        prefix = f"/{faulty.path}/access_control_list/"
        listed = (await faulty.store.range(prefix, prefix[:-1] + "0")).items
        assert len(listed) >= 2 * SCALE.groups
        assert {item.version for item in listed} == {1}
        faults.rule = no_fault
        await until_true(lambda: all_but(faulty, chosen[0], 0))
        await faulty.settle(service)
    await faulty.check()


async def test_a_rejected_object_is_tried_again_ever_more_rarely(faulty: FaultySystem) -> None:
    faults = faulty.faults
    async with faulty.compiling() as service:
        await tenant(faulty)
        await faulty.settle(service)
        faults.rule = poison("poisoned")
        await faulty.create("security_group", "poisoned")
        begun = time.monotonic()
        await until(lambda: len(faults.struck) >= 9)
        times = [request.at - begun for request, _ in faults.struck[:9]]
        gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
        # The delays double, each drawn from its upper half: three further on, it is at least twice as long.
        assert in_full(all(later > 2 * earlier for earlier, later in zip(gaps[2:], gaps[5:], strict=False)))
        faults.rule = no_fault
        await until_true(lambda: listed(faulty, "poisoned", 2))
        await faulty.settle(service)
    await faulty.check()


async def listed(world: LiveSystem, name: str, count: int) -> bool:
    return len(await lists_of(world, name)) == count


async def test_a_rejected_object_heals_at_once_when_its_resource_is_repaired(
    faulty: FaultySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not wait for the back-off, which is longer than this test."""
    slow = Backoff(9 * PATIENCE, 9 * PATIENCE)
    monkeypatch.setattr("intentc.engine.jobs.RETRY", slow)
    monkeypatch.setattr("intentc.engine.objects.RETRY", slow)
    faults = faulty.faults

    def reject_the_rule(request: Request) -> Fault | None:
        return Reject(422, WORDS) if request.mutates and request.names(OTHER_RULE) else None

    async with faulty.compiling() as service:
        await tenant(faulty)
        await faulty.settle(service)
        faults.rule = reject_the_rule
        poisoned = rules(rule(OTHER_RULE, group("group-1"), LOCAL))
        uuid = await faulty.create("security_group", "repaired", **poisoned)
        await until(lambda: bool(faults.struck))
        await faulty.settle(service)
        assert problems(service)

        await faulty.update("security_group", uuid, **rules(rule(RULE, group("group-1"), LOCAL)))
        await faulty.settle(service)
        assert problems(service) == []
        await faulty.assert_compiled()
    faults.rule = no_fault
    await faulty.check()


async def test_a_restart_with_a_rejected_object_asks_for_nothing_but_that(faulty: FaultySystem) -> None:
    faults = faulty.faults
    faults.rule = poison("poisoned")
    async with faulty.compiling() as service:
        await tenant(faulty)
        await faulty.create("security_group", "poisoned")
        await faulty.settle(service)
    before = await faulty.values()
    faults.forget()
    async with faulty.compiling() as again:
        await faulty.settle(again)
        assert problems(again)
    asked = [request for request in faults.seen if request.mutates]
    assert asked and all(request.names("poisoned") for request in asked)
    assert await faulty.values() == before
    faults.rule = no_fault
    await faulty.compile_once()
    await faulty.check()
