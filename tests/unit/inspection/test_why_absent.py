"""Why an object is not there, in each of the ways in which that can be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from intentc import Claim, Context, Fact
from intentc.inspection.why import why
from intentc.model import Key
from intentc.testing import load, service_for
from intentc.watch.protocol import Put
from tests.support.box_system import BoxIntent, BoxSystem
from tests.support.contrail_system import ContrailSystem, rule, rules
from tests.support.toy.compiler import compiler

pytestmark = pytest.mark.anyio


@pytest.fixture
async def system() -> ContrailSystem:
    return await ContrailSystem().begin()


async def asked(box_system: BoxSystem, kind: str, name: str) -> dict[str, Any]:
    answer = await why(box_system.engine, kind, name)
    assert (answer["exists"], answer["state"], answer["uuid"]) == (False, "absent", "")
    return answer


@pytest.fixture
def half_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """A box with the text ``half way`` wants a ticket, and then fails."""
    otherwise = BoxIntent.evaluate

    def evaluate(self: BoxIntent, ctx: Context) -> Iterable[Claim | Fact]:
        if self.text != "half way":
            yield from otherwise(self, ctx)
            return
        yield self.owned("ticket", ("ticket-early",))
        raise RuntimeError("as the test asked for")

    monkeypatch.setattr(BoxIntent, "evaluate", evaluate)


async def test_the_intent_above_it_waits(box_system: BoxSystem) -> None:
    await box_system.boxes("a", text="number", settle=False)
    observing = await BoxSystem(box_system.offline.store, observe=True).begin()
    answer = await asked(observing, "part", "a:one")
    assert answer["summary"].startswith("box a may create it, but is waiting: it waits for an allocation from tickets")
    assert [owner["name"] for owner in answer["owners"]] == ["a"]


@pytest.mark.usefixtures("half_way")
async def test_an_intent_that_claims_it_before_it_fails_is_found_wherever_it_stands(box_system: BoxSystem) -> None:
    await box_system.boxes("a", text="half way")
    key = await box_system.key("box", "a")
    answer = await asked(box_system, "ticket", "ticket-early")
    assert answer["summary"].startswith("box a would create it, but is held: it waits for its evaluation to succeed")
    assert answer["owners"] == [{"kind": "box", "name": "a", "uuid": key.uuid}]
    assert answer["waiting_for"][0]["command"] == "intentc quarantine retry box a"


async def test_the_intent_above_it_is_held(box_system: BoxSystem) -> None:
    await box_system.boxes("a", text="fail")
    answer = await asked(box_system, "part", "a:one")
    assert answer["summary"].startswith("box a may create it, but is held: it waits for its evaluation to succeed")
    assert [problem["reason"] for problem in answer["problems"]] == ["EvaluationFailed"]


async def test_the_resource_above_it_cannot_be_read(box_system: BoxSystem) -> None:
    key = Key("box", "33333333-3333-4333-8333-333333333333")
    value = b'{"fq_name": ["broken"], "text": 7}'
    await box_system.offline.store.transaction((), [Put(f"/contrail/box/{key.uuid}", value)])
    await box_system.offline.settle()
    answer = await asked(box_system, "part", "broken:one")
    assert answer["summary"].startswith("box broken may create it, but is held: it waits for its stored value")


async def test_the_resource_above_it_is_not_there(box_system: BoxSystem) -> None:
    answer = await asked(box_system, "part", "nobody:one")
    assert answer["summary"] == "No intent claims it: there is no box nobody, which would be its parent."
    assert answer["waiting_for"] == []


async def test_none_of_several_possible_parent_kinds_is_assumed(system: ContrailSystem) -> None:
    await system.create("network_policy", "blue:pol")
    answer = await why(system.offline.engine, "access_control_list", "default-domain:blue:pol:list")
    assert answer["summary"] == (
        "No intent claims it: there is neither a security_group nor a virtual_network default-domain:blue:pol, "
        "which would be its parent."
    )
    assert answer["waiting_for"] == []


@pytest.mark.parametrize("name", ["absent", "blue:absent", "default-domain:blue:absent"])
async def test_those_that_refer_to_it_are_shown(system: ContrailSystem, name: str) -> None:
    await system.create("security_group", "blue:lone", security_group_entries=rules(rule("absent", "local")))
    lone = system.named("security_group", "blue:lone")
    answer = await why(system.offline.engine, "security_group", name)
    assert lone is not None
    assert answer["summary"] == (
        "There is no such resource: nobody has created it. security_group default-domain:blue:lone refers to it."
    )
    assert [(one["uuid"], one["relation"]) for one in answer["named_by"]] == [(lone.uuid, "security_group")]


async def test_those_that_refer_to_a_uuid_are_shown(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    absent, key = "44444444-4444-4444-8444-444444444444", Key("box", "33333333-3333-4333-8333-333333333333")
    value = f'{{"fq_name": ["b"], "box_refs": [{{"to": ["gone"], "uuid": "{absent}"}}]}}'.encode()
    await box_system.offline.store.transaction((), [Put(f"/contrail/box/{key.uuid}", value)])
    await box_system.offline.settle()
    answer = await why(box_system.engine, "box", absent)
    assert answer["summary"].endswith(" box b refers to it.")
    assert answer["named_by"] == [{"kind": "box", "name": "b", "uuid": key.uuid, "relation": "box"}]


async def test_the_resource_above_it_wants_no_such_object(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    answer = await asked(box_system, "part", "a:seven")
    assert answer["summary"] == "No intent claims it: box a exists and is compiled, and needs no such object."
    assert answer["candidates"] == ["a:one"]


async def test_it_was_deleted_since_nobody_claims_it_any_more(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    await box_system.remove("a")
    answer = await asked(box_system, "part", "a:one")
    assert answer["summary"].startswith("It was deleted at revision ")
    assert answer["written"]["operation"] == "delete"
    assert [line["sort"] for line in answer["history"]].count("write") == 2


async def test_a_resource_that_users_make_was_not_made_by_one(box_system: BoxSystem) -> None:
    await box_system.boxes("basket")
    answer = await asked(box_system, "box", "baskit")
    assert answer["summary"] == "There is no such resource: nobody has created it."
    assert answer["candidates"] == ["basket"]


async def test_an_intent_that_waits_may_claim_it_like_others_of_its_kind(box_system: BoxSystem) -> None:
    await box_system.boxes("a", text="number")
    observing = await BoxSystem(box_system.offline.store, observe=True).begin()
    await box_system.boxes("b", text="number", settle=False)
    await observing.offline.settle()
    answer = await asked(observing, "ticket", "ticket-9")
    assert answer["summary"] == "No intent claims it; 1 that may claim it can't be compiled now."
    assert answer["waiting_for"][0]["command"] == "intentc why box b"


async def test_nobody_contributes_to_a_fact() -> None:
    service = service_for(compiler)
    await service.create(load("{kind: toy_gateway, data: {fq_name: [shop, front], port: 1}}\n"))
    answer = await why(service.offline.engine, "toy_cluster", "shop:web")
    assert (answer["exists"], answer["role"]) == (False, "fact")
    assert answer["summary"] == "No intent contributes to this fact."


async def test_not_everything_has_been_evaluated_yet(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    box_system.engine.reevaluate([await box_system.key("box", "a")])
    answer = await asked(box_system, "part", "b:one")
    assert answer["summary"] == "No intent claims it so far, and not everything has been evaluated yet."
