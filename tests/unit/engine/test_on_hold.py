"""An intent that finds its input unusable keeps what it made, also over a restart (docs/engine.md §4.5)."""

from __future__ import annotations

import pytest

from intentc.inspection.why import why
from tests.support.box_system import BoxSystem
from tests.support.engine_status import engine_status

pytestmark = pytest.mark.anyio


async def test_an_intent_on_hold_keeps_its_outputs_and_ignores_the_run(box_system: BoxSystem) -> None:
    await box_system.boxes("a", "b")
    box_system.write.log.clear()
    await box_system.change("a", text="hold it is torn")
    key = await box_system.key("box", "a")
    assert await box_system.contents() == {"a": "hello", "b": "hello"}
    assert box_system.write.log == []
    assert box_system.engine.states.is_held(key)
    assert [(problem.reason, problem.message) for problem in box_system.offline.problems()] == [
        ("OnHold", "it is torn")
    ]


async def test_time_alone_does_not_run_it_again(box_system: BoxSystem) -> None:
    await box_system.boxes("a", text="hold it is torn")
    key = await box_system.key("box", "a")
    assert key not in box_system.engine.jobs.delayed()
    assert box_system.engine.jobs.failures(key) == 0


async def test_an_input_that_is_fixed_is_compiled(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    await box_system.change("a", text="hold it is torn")
    await box_system.change("a", text="fine")
    assert await box_system.contents() == {"a": "fine"}
    assert box_system.offline.problems() == ()


async def test_deleting_it_deletes_what_it_made(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    await box_system.change("a", text="hold it is torn")
    await box_system.remove("a")
    assert await box_system.contents() == {}
    assert box_system.offline.problems() == ()


async def test_after_a_restart_what_it_made_stays_in_the_store(box_system: BoxSystem) -> None:
    await box_system.boxes("a", "b")
    await box_system.change("a", text="hold it is torn")
    box_system.close()
    again = BoxSystem(box_system.store)
    await again.settle()
    assert await again.contents() == {"a": "hello", "b": "hello"}
    assert again.write.log == []
    await again.change("a", text="fine")
    assert await again.contents() == {"a": "fine", "b": "hello"}
    again.close()


async def test_it_is_shown_with_its_reason(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    await box_system.change("a", text="hold it is torn")
    status = engine_status(box_system.engine)
    assert status["counts"]["held"] == 1
    (entry,) = status["quarantine"]
    assert (entry["name"], entry["state"], entry["reason"], entry["message"]) == ("a", "held", "OnHold", "it is torn")
    answer = await why(box_system.engine, "box", "a")
    assert (answer["state"], [each["what"] for each in answer["waiting_for"]]) == (
        "held", ["its input to be fixed: it is torn"]
    )  # fmt: skip
