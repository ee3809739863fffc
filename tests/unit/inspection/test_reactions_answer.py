"""What is answered about the reaction map: its edges, its findings, what it leaves out."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from intentc.inspection.reaction_map import reactions
from intentc.logic.dependencies import load
from intentc.testing import service_for
from tests.support.box_system import BoxSystem
from tests.support.toy.compiler import compiler

pytestmark = pytest.mark.anyio


@pytest.fixture
async def box_system() -> AsyncIterator[BoxSystem]:
    box_system = await BoxSystem().begin()
    yield box_system
    box_system.close()


async def test_each_edge_is_reported_with_its_place(box_system: BoxSystem) -> None:
    answer = await reactions(box_system.engine)
    assert answer["kinds"] == ["box"]
    (edge,) = answer["edges"]
    assert edge == {
        "kind": "box",
        "cause": "self",
        "to": "box",
        "everyone": False,
        "source": "here",
    }


async def test_findings_come_with_file_and_line() -> None:
    engine = service_for(compiler).offline.engine
    answer = await reactions(engine)
    assert [kind for kind in answer["kinds"] if kind.startswith("toy_")] == answer["kinds"]
    assert all(edge["source"].rpartition(":")[2].isdigit() for edge in answer["edges"])
    assert answer["findings"] == []


async def test_a_map_with_something_odd_says_so(box_system: BoxSystem) -> None:
    box_system.engine._logic.reactions = load("intent-compiler: {box: {self: [moon]}}\n")
    answer = await reactions(box_system.engine)
    assert "UnknownKind" in {finding["reason"] for finding in answer["findings"]}
    assert (answer["kinds"], answer["compiled"]) == (["box", "moon"], ["box"])


async def test_missing_reactions_are_reported_with_their_number(box_system: BoxSystem) -> None:
    await box_system.boxes("b")
    await box_system.boxes("a", text="see b")
    await box_system.change("b", text="other")
    assert (await reactions(box_system.engine))["missing"] == [{"reader": "box", "read": "box", "count": 1}]


async def test_since_when_the_map_is_in_force_is_reported(box_system: BoxSystem) -> None:
    answer = await reactions(box_system.engine)
    assert (answer["reloads"], answer["last_error"]) == (0, None)
    assert answer["loaded_at"] > 0
