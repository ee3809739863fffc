"""An intent on hold reports its status, and keeps what it made and its facts (docs/engine.md §4.5)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from intentc.retained import RetainedFacts
from tests.support.gate_system import GateSystem

pytestmark = pytest.mark.anyio


@pytest.fixture
async def system() -> AsyncIterator[GateSystem]:
    system = GateSystem()
    await system.settle()
    await system.make("gate", "a", text="ok")
    await system.make("echo", "e", gate="a")
    yield system
    system.close()


async def test_its_new_status_is_written_and_the_rest_stays(system: GateSystem) -> None:
    await system.change("gate", "a", text="hold Torn")
    assert await system.status("a") == {"Ready": "False Torn"}
    assert await system.bars() == {"a": "ok", "e": "ok"}
    await system.change("gate", "a", text="hold Bent")
    assert await system.status("a") == {"Ready": "False Bent"}
    assert await system.bars() == {"a": "ok", "e": "ok"}
    await system.change("gate", "a", text="fine")
    assert await system.status("a") == {"Ready": "True Open"}
    assert await system.bars() == {"a": "fine", "e": "fine"}


async def test_status_that_a_held_intent_no_longer_claims_is_cleared(system: GateSystem) -> None:
    await system.make("lamp", "one", gate="a", colour="white")
    await system.change("gate", "a", text="hold Torn")
    await system.remove("lamp", "one")
    assert await system.status("a") == {"Ready": "False Torn"}


async def test_after_a_restart_its_status_is_known_and_its_outputs_stay(system: GateSystem) -> None:
    await system.make("lamp", "one", gate="a", colour="white")
    await system.change("gate", "a", text="hold Torn")
    system.close()
    await system.remove("lamp", "one", settle=False)
    again = await system.restart()
    assert await again.status("a") == {"Ready": "False Torn"}
    assert (await again.bars())["a"] == "ok"
    again.close()


async def test_while_an_intent_fails_whose_claims_are_unknown_no_status_is_cleared(system: GateSystem) -> None:
    await system.make("lamp", "one", gate="a", colour="white")
    await system.make("gate", "b", text="fail")
    system.close()
    await system.remove("lamp", "one", settle=False)
    again = await system.restart()
    assert (await again.status("a"))["state"] == "white"
    await again.change("gate", "b", text="ok")
    assert await again.status("a") == {"Ready": "True Open"}
    again.close()


async def test_its_facts_outlive_a_restart(system: GateSystem) -> None:
    """As those of intents that fail (docs/adr/0017-facts-that-outlive-a-process.md)."""
    await system.change("gate", "a", text="hold Torn")
    facts = RetainedFacts(system.store, system.loaded.schema, installation="default")
    for held in system.engine.held_facts().values():
        await facts.put(held)
    (kept,) = (await facts.load()).values()
    assert [(fact.name, fact.value) for fact in kept.facts] == [("a", "ok")]


async def test_deleting_it_deletes_its_outputs(system: GateSystem) -> None:
    await system.change("gate", "a", text="hold Torn")
    await system.remove("gate", "a")
    assert await system.bars() == {"e": "nothing"}
