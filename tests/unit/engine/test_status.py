"""Several intents claim the status of one object, which others write as well (docs/engine.md §5.8)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from intentc.model import UpdateStatus
from tests.support.gate_system import GateSystem

pytestmark = pytest.mark.anyio

FOREIGN = {"type": "Watched", "status": "True", "reason": "Owl", "lastTransitionTime": "2020-01-01T00:00:00Z"}


@pytest.fixture
async def system() -> AsyncIterator[GateSystem]:
    system = GateSystem()
    await system.settle()
    yield system
    system.close()


async def test_what_intents_claim_is_written_by_type_and_path(system: GateSystem) -> None:
    await system.make("gate", "a", text="ok")
    await system.make("lamp", "one", gate="a", colour="white")
    assert await system.status("a") == {
        "state": "white", "loadBalancer": {"ingress": ["192.0.2.7"]}, "Ready": "True Open", "Lit": "True White",
    }  # fmt: skip
    assert (await system.document("gate", "a"))["status_claims"] == {
        "default": ["conditions[Lit]", "conditions[Ready]", "loadBalancer.ingress", "state"]
    }


async def test_a_status_claimed_before_its_owner_exists_is_written_once_it_does(system: GateSystem) -> None:
    await system.make("lamp", "one", gate="a", colour="red")
    await system.make("gate", "a", text="ok")
    assert await system.status("a") == {"state": "red", "Ready": "True Open", "Lit": "True Red"}


async def test_a_further_pass_and_a_restart_write_nothing(system: GateSystem) -> None:
    await system.make("gate", "a", text="ok")
    await system.make("lamp", "one", gate="a", colour="red")
    calls = system.write.calls
    system.engine.reevaluate([await system.key("gate", "a"), await system.key("lamp", "one")])
    await system.settle()
    assert system.write.calls == calls
    again = await system.restart()
    assert again.write.calls == 0
    await again.write_status("gate", "a", {"state": "blue"}, "state")
    assert [type(one) for one in again.write.written] == [UpdateStatus]
    assert (await again.status("a"))["state"] == "red"
    again.close()


async def test_status_never_runs_its_own_intent(system: GateSystem) -> None:
    await system.make("gate", "a", text="ok")
    await system.make("lamp", "one", gate="a", colour="red")
    runs = system.engine.evaluator.runs
    await system.write_status("gate", "a", {"phase": "Dusk", "conditions": [FOREIGN]}, "phase", "conditions[Watched]")
    assert system.engine.evaluator.runs == runs


async def test_a_status_that_others_write_is_an_input(system: GateSystem) -> None:
    await system.make("sign", "s", text="slow")
    await system.write_status("sign", "s", {"weight": 7})
    assert await system.bars() == {"s": "7"}
    assert system.engine.evaluator.missing_reactions == {}


async def test_what_others_write_stays(system: GateSystem) -> None:
    await system.make("gate", "a", text="ok")
    await system.write_status("gate", "a", {"phase": "Dusk", "conditions": [FOREIGN]}, "phase", "conditions[Watched]")
    await system.change("gate", "a", text="shut Broken")
    assert await system.status("a") == {"phase": "Dusk", "Watched": "True Owl", "Ready": "False Broken"}
    assert await system.condition("a", "Watched") == FOREIGN
    await system.change("gate", "a", text="bare")
    assert await system.status("a") == {"phase": "Dusk", "Watched": "True Owl"}


async def test_the_time_of_a_condition_changes_with_its_status_only(system: GateSystem) -> None:
    await system.make("gate", "a", text="shut Broken")
    first = (await system.condition("a", "Ready"))["lastTransitionTime"]
    assert first.endswith("Z")
    await system.change("gate", "a", text="shut Rusty")
    again = await system.condition("a", "Ready")
    assert (again["reason"], again["lastTransitionTime"]) == ("Rusty", first)
    await system.change("gate", "a", text="ok")
    assert (await system.condition("a", "Ready"))["lastTransitionTime"] > first


async def test_a_condition_says_which_generation_was_read(system: GateSystem) -> None:
    await system.make("gate", "a", text="ok")
    await system.make("lamp", "one", gate="a", colour="red")
    assert (await system.condition("a", "Ready"))["observedGeneration"] == 1
    await system.change("gate", "a", text="good")
    assert (await system.condition("a", "Ready"))["observedGeneration"] == 2
    assert (await system.condition("a", "Lit"))["observedGeneration"] == 2
    await system.change("gate", "a", metadata={"labels": {"team": "red"}})
    assert (await system.document("gate", "a"))["metadata"]["generation"] == 2


async def test_what_nobody_claims_any_more_is_cleared(system: GateSystem) -> None:
    await system.make("gate", "a", text="ok")
    await system.make("lamp", "one", gate="a", colour="white")
    await system.remove("lamp", "one")
    assert await system.status("a") == {"Ready": "True Open"}
    await system.change("gate", "a", text="bare")
    assert {"status", "status_claims"}.isdisjoint(await system.document("gate", "a"))


async def test_what_was_claimed_before_a_restart_is_cleared_after_it(system: GateSystem) -> None:
    await system.make("gate", "a", text="ok")
    await system.make("lamp", "one", gate="a", colour="white")
    system.close()
    await system.remove("lamp", "one", settle=False)
    await system.change("gate", "a", text="bare", settle=False)
    again = await system.restart()
    assert "status" not in await again.document("gate", "a")
    again.close()


async def test_contradicting_claims_are_a_problem_of_both_and_what_is_stored_stays(system: GateSystem) -> None:
    await system.make("gate", "a", text="ok")
    await system.make("lamp", "one", gate="a", colour="red")
    await system.make("lamp", "two", gate="a", colour="blue")
    assert await system.status("a") == {"state": "red", "Ready": "True Open", "Lit": "True Red"}
    problems = system.offline.problems()
    assert {(problem.name, problem.reason) for problem in problems} == {("one", "Conflict"), ("two", "Conflict")}
    assert any("different values of status.state on gate a" in problem.message for problem in problems)
    await system.remove("lamp", "one")
    assert await system.status("a") == {"state": "blue", "Ready": "True Open", "Lit": "True Blue"}
    assert system.offline.problems() == ()


async def test_equal_claims_of_several_intents_are_one(system: GateSystem) -> None:
    await system.make("gate", "a", text="ok")
    await system.make("lamp", "one", gate="a", colour="red")
    await system.make("lamp", "two", gate="a", colour="red")
    assert system.offline.problems() == ()
    await system.remove("lamp", "one")
    assert (await system.status("a"))["state"] == "red"


async def test_a_failing_or_waiting_intent_keeps_its_status(system: GateSystem) -> None:
    for text in ("fail", "wait"):
        await system.make("gate", text, text="shut Broken")
        await system.change("gate", text, text=text)
    again = await system.restart()
    for found in (system, again):
        assert await found.status("fail") == {"Ready": "False Broken"}
        assert await found.status("wait") == {"Ready": "False Broken"}
    again.close()


async def test_others_that_revert_an_item_again_and_again_are_contention(system: GateSystem) -> None:
    await system.make("gate", "a", text="ok")
    await system.make("lamp", "one", gate="a", colour="red")
    for _ in range(6):
        await system.write_status("gate", "a", {"state": "blue"}, "state")
    assert (await system.status("a"))["state"] == "blue"
    (problem,) = system.offline.problems()
    assert problem.reason == "Contended"
    assert "status.state" in problem.message
    await system.change("gate", "a", text="shut Broken")
    assert (await system.status("a"))["Ready"] == "False Broken"
