"""The steps call one way: none calls back into a module that called it, whatever happens to an object or an intent."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import intentc.engine
from intentc.engine.permission import STANDING_BY
from intentc.reconcile.failures import Conflict, Rejected, Throttled
from tests.support.box_system import BoxSystem

pytestmark = pytest.mark.anyio

ENGINE = str(Path(intentc.engine.__file__).parent)


class Calls:
    """``stacks``: the modules of the engine on each call's stack, from the outermost; repetitions count once."""

    def __init__(self) -> None:
        self.stacks: set[tuple[str, ...]] = set()

    def seen(self, frame: FrameType, event: str, argument: Any) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(ENGINE):
            return
        modules: list[str] = []
        inner: FrameType | None = frame
        while inner is not None:
            if inner.f_code.co_filename.startswith(ENGINE):
                module = Path(inner.f_code.co_filename).stem
                if modules[-1:] != [module]:
                    modules.append(module)
            inner = inner.f_back
        self.stacks.add(tuple(reversed(modules)))

    @property
    def back(self) -> list[tuple[str, ...]]:
        """The stacks on which a module occurs twice, with another one in between."""
        return sorted(stack for stack in self.stacks if len(set(stack)) < len(stack))


@contextmanager
def recorded() -> Iterator[Calls]:
    calls = Calls()
    sys.setprofile(calls.seen)
    try:
        yield calls
    finally:
        sys.setprofile(None)


async def test_no_step_calls_back(box_system: BoxSystem) -> None:
    with recorded() as calls:
        for sort, error in {
            "rejected": Rejected(422, "no such colour"),
            "paused": Throttled(0.001),
            "stale": Conflict(409, "stale"),
        }.items():
            box_system.write.failures[sort] = [error]
            await box_system.boxes(sort)
            await box_system.retry(sort)
        await box_system.boxes("plain", "numbered", "failing")
        await box_system.change("numbered", text="number")
        await box_system.change("failing", text="fail")
        box_system.engine.operator_actions.pause(await box_system.key("box", "plain"), ("plain",), "by a test")
        await box_system.offline.settle()
        box_system.engine.operator_actions.resume(await box_system.key("box", "plain"))
        box_system.engine.withhold(STANDING_BY, "another leads")
        await box_system.change("plain", text="other")
        box_system.engine.lift(STANDING_BY)
        await box_system.relist()
        await box_system.remove("plain", "numbered", "failing")
        async with box_system.running():
            await box_system.boxes("live", settle=False)
            await box_system.settled()
    assert len(calls.stacks) > 50
    assert {"engine", "applier", "evaluator", "jobs", "objects"} <= set().union(*calls.stacks)
    assert ("engine", "writes", "write_failures", "objects") in calls.stacks
    assert calls.back == []
