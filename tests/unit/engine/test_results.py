"""Views of outputs: as stored, converged or not, without holding the loop."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from intentc.engine.permission import OBSERVING
from intentc.evaluation import Compiled, Compiler, Overview, Row
from intentc.inspection import Reader
from intentc.model import InvalidInput
from intentc.plugins import load_all
from intentc.reconcile.failures import Rejected
from tests.support.box_system import BoxSystem

pytestmark = pytest.mark.anyio


def _parts(compiled: Compiled) -> Iterator[Row]:
    for part in compiled.objects("part"):
        box = compiled.named("box", part["fq_name"][0])
        yield {"name": ":".join(part["fq_name"]), "content": part.get("content"), "box": box is not None}


PARTS = Overview("the parts", ("part", "box"), ("name", "content", "box"), _parts)


def everything(row: Row) -> bool:
    return True


def results(box_system: BoxSystem, **views: Overview) -> Reader:
    return Reader(box_system.engine, views)


async def test_a_view_sees_the_objects_of_its_kinds_sorted_by_name(box_system: BoxSystem) -> None:
    await box_system.boxes("b", "a")
    assert await results(box_system, parts=PARTS).rows("parts", everything) == [
        {"name": "a:one", "content": "hello", "box": True},
        {"name": "b:one", "content": "hello", "box": True},
    ]


async def test_a_view_sees_only_the_kinds_that_it_declares(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    blind = PARTS._replace(kinds=("part",))
    assert [row["box"] for row in await results(box_system, parts=blind).rows("parts", everything)] == [False]
    with pytest.raises(KeyError):
        await results(box_system, parts=PARTS._replace(kinds=("box",))).rows("parts", everything)


async def test_only_rows_that_are_wanted_come(box_system: BoxSystem) -> None:
    await box_system.boxes("a", "b")
    found = await results(box_system, parts=PARTS).rows("parts", lambda row: row["name"] == "b:one")
    assert [row["name"] for row in found] == ["b:one"]


async def test_before_anything_was_listed_there_is_nothing_to_see() -> None:
    box_system = BoxSystem()
    found = results(box_system, parts=PARTS)
    assert [await found.rows(view, everything) for view in found.views] == [[], [], []]


async def test_rows_are_read_in_a_thread_so_that_the_loop_is_not_held(box_system: BoxSystem) -> None:
    threads = Overview("", (), ("thread",), lambda compiled: [{"thread": threading.get_ident()}])
    (row,) = await results(box_system, threads=threads).rows("threads", everything)
    assert row["thread"] != threading.get_ident()


async def test_problems_are_a_view_of_every_compiler(box_system: BoxSystem) -> None:
    box_system.write.failures["a"] = [Rejected(422, "no such colour")] * 1000
    await box_system.boxes("a", "b")
    found = results(box_system)
    (row,) = await found.rows("problems", everything)
    assert (row["name"], "no such colour" in row["message"]) == ("a:one", True)
    assert list(found.views) == ["problems", "planned"]


async def test_a_problem_stays_while_others_change_and_ends_when_it_is_fixed(box_system: BoxSystem) -> None:
    """docs/ambassador.md §5.3: it vanished at the next pass."""
    await box_system.boxes("a", text="fail")
    await box_system.boxes("b")
    await box_system.change("b", text="other")
    assert [row["kind"] for row in await results(box_system).rows("problems", everything)] == ["box"]
    await box_system.change("a", text="fine")
    assert await results(box_system).rows("problems", everything) == []


async def test_an_unknown_view_is_a_key_error(box_system: BoxSystem) -> None:
    with pytest.raises(KeyError):
        await results(box_system).rows("parts", everything)


@pytest.mark.parametrize("name", ["problems", "planned"])
def test_no_compiler_may_have_a_view_with_the_name_of_one_of_ours(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"every compiler has a view '{name}'"):
        Compiler("toy", [], views={name: PARTS})


async def test_what_would_be_written_is_a_view_of_every_compiler(box_system: BoxSystem) -> None:
    box_system.engine.withhold(OBSERVING, "--observe")
    await box_system.boxes("a")
    rows = await results(box_system).rows("planned", everything)
    assert rows == [{"kind": "part", "name": "a:one", "write": "create", "fields": []}]


def test_two_compilers_with_a_view_of_one_name_are_rejected() -> None:
    with pytest.raises(InvalidInput, match="2 compilers have a view 'parts'"):
        load_all([Compiler(name, [], views={"parts": PARTS}) for name in ("contrail", "ambassador")])
