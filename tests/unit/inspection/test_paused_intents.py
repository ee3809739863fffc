"""What ``/status`` says about paused intents: who paused them, and the command that resumes them."""

from __future__ import annotations

import pytest

from intentc.inspection.pending_work import attention
from tests.support.box_system import BoxSystem
from tests.support.engine_status import engine_status

pytestmark = pytest.mark.anyio

PAUSED = "paused by ann@host"


async def pause(box_system: BoxSystem, kind: str, *name: str, message: str = PAUSED) -> None:
    box_system.engine.operator_actions.pause(await box_system.key(kind, *name), name, message)
    await box_system.offline.settle()


async def test_a_paused_intent_names_the_command_that_resumes_it_and_counts_as_no_problem(
    box_system: BoxSystem,
) -> None:
    await box_system.boxes("a", "b")
    await pause(box_system, "box", "a", message=f"{PAUSED}: maintenance")
    await pause(box_system, "part", "b", "one")
    assert list(attention(box_system.engine, 0, ())) == [f"{PAUSED}: maintenance: `intentc resume box a`"]
    status = engine_status(box_system.engine)
    assert (status["healthy"], status["problems"], status["counts"]["problems"]) == (False, [], 0)
    assert (status["counts"]["quarantined"], status["counts"]["paused"]) == (2, 2)
    assert box_system.engine.states.problems() == ()


async def test_a_held_intent_is_still_named_as_held_and_is_a_problem(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    await pause(box_system, "box", "a")
    await box_system.boxes("bad", text="fail")
    paused, held = sorted(attention(box_system.engine, 0, ()), reverse=True)
    assert paused == f"{PAUSED}: `intentc resume box a`"
    assert held == "held, their outputs stay as they are: box bad: `intentc quarantine list`"
    assert engine_status(box_system.engine)["counts"]["problems"] == 1


async def test_five_paused_intents_are_named_and_the_others_are_counted(box_system: BoxSystem) -> None:
    await box_system.boxes(*"abcdefg")
    for name in "abcdefg":
        await pause(box_system, "box", name)
    *named, further = attention(box_system.engine, 0, ())
    assert named == [f"{PAUSED}: `intentc resume box {name}`" for name in "abcde"]
    assert further == "paused, too: 2 intents: `intentc quarantine list`"


async def test_what_is_resumed_needs_nobody(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    await pause(box_system, "box", "a")
    box_system.engine.operator_actions.resume(await box_system.key("box", "a"))
    await box_system.offline.settle()
    assert list(attention(box_system.engine, 0, ())) == []
    assert engine_status(box_system.engine)["healthy"]
