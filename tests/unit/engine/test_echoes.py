"""The echo of a create is planned only if it does not show what was written."""

from __future__ import annotations

import pytest

from intentc.model import Create, Name
from intentc.planning import Plan
from intentc.writing import Written
from tests.support.box_system import BoxSystem, part

pytestmark = pytest.mark.anyio


@pytest.fixture
def planned(box_system: BoxSystem, monkeypatch: pytest.MonkeyPatch) -> list[Name]:
    """The objects that were planned, in order."""
    names: list[Name] = []
    plan = box_system.engine.planner.plan

    def noted(name: Name) -> Plan:
        names.append(name)
        return plan(name)

    monkeypatch.setattr(box_system.engine.planner, "plan", noted)
    return names


async def test_an_echo_that_shows_what_was_written_is_not_planned(box_system: BoxSystem, planned: list[Name]) -> None:
    await box_system.boxes("a")
    assert planned == [part("a")]
    await box_system.change("a", text="other")
    assert await box_system.contents() == {"a": "other"}


async def test_an_echo_that_shows_something_else_is_repaired(
    box_system: BoxSystem, planned: list[Name], monkeypatch: pytest.MonkeyPatch
) -> None:
    target = box_system.write.target
    create = target.create

    async def altered(operation: Create, fence: str | None = None, /) -> Written:
        return await create(operation._replace(properties={"content": "altered"}), fence)

    monkeypatch.setattr(target, "create", altered)
    await box_system.boxes("a")
    assert planned.count(part("a")) > 1
    assert await box_system.contents() == {"a": "hello"}
