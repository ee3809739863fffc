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
from intentc.writing import Conflict, Rejected, Throttled
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


async def test_no_step_calls_back(plant: BoxSystem) -> None:
    with recorded() as calls:
        for sort, error in {
            "refused": Rejected(422, "no such colour"),
            "paused": Throttled(0.001),
            "stale": Conflict(409, "stale"),
        }.items():
            plant.write.failures[sort] = [error]
            await plant.boxes(sort)
            await plant.retry(sort)
        await plant.boxes("plain", "numbered", "failing")
        await plant.change("numbered", text="number")
        await plant.change("failing", text="fail")
        plant.engine.operator_actions.pause(await plant.key("box", "plain"), ("plain",), "by a test")
        await plant.offline.settle()
        plant.engine.operator_actions.resume(await plant.key("box", "plain"))
        plant.engine.withhold(STANDING_BY, "another leads")
        await plant.change("plain", text="other")
        plant.engine.allow(STANDING_BY)
        await plant.relist()
        await plant.remove("plain", "numbered", "failing")
        async with plant.running():
            await plant.boxes("live", settle=False)
            await plant.settled()
    assert len(calls.stacks) > 50
    assert {"engine", "applier", "evaluator", "claims", "object_queue"} <= set().union(*calls.stacks)
    assert ("engine", "reconciler", "sender", "write_failures", "object_queue") in calls.stacks
    assert calls.back == []
