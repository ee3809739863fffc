"""What is to be deleted waits for the object that refers to it, also if an intent is held in between (docs/engine.md
§6.4, §7)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from intentc.evaluation import Context, Intent
from intentc.evaluation.intent import refer
from intentc.model import Batch, Claim, Fact, Name
from intentc.watch.keys import Layout
from intentc.watch.protocol import Delete, Put
from tests.unit.engine.shelves import Shelves

pytestmark = pytest.mark.anyio

KINDS: tuple[dict[str, Any], ...] = (
    {"kind": "shelf", "properties": {"makes": "string", "shows": "string"},
     "references": {"label": {"writer": "compiler"}}},
    {"kind": "label", "properties": {}},
    {"kind": "board", "references": {"label": {}}},
)  # fmt: skip


class ShelfIntent(Intent):
    """Makes the labels in ``makes``, or fails, and refers to those in ``shows``, whoever makes them."""

    kind = "shelf"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        if self.makes == "fail":
            raise RuntimeError("as the test asked for")
        for name in self.makes.split():
            yield self.owned("label", (name,))
        for name in self.shows.split():
            yield refer(self, Name("label", (name,)))


class WaitingShelves(Shelves):
    """``step`` applies what is in the store, and evaluates and plans once what that concerns."""

    def __init__(self) -> None:
        super().__init__(ShelfIntent, KINDS)

    async def place(self, name: str, **fields: str) -> None:
        await self.offline.server.create("shelf", {"fq_name": [name], **fields})
        await self.settle()

    async def makes(self, name: str, labels: str) -> None:
        await self.offline.server.update(await self.shelf(name), {"makes": labels})

    async def step(self) -> None:
        layout = Layout.of("/contrail/")
        batches = self.store.batches("/contrail/", self.engine.revision)
        await self.engine.step([Batch(b.revision, layout.changes(b.events, lambda key: None)) for b in batches])


async def test_a_holder_drops_its_target_after_the_targets_owner_was_held() -> None:
    """The holder keeps its reference while the owner is held, and nothing else would have it planned afterwards."""
    shelves = WaitingShelves()
    await shelves.place("owner", makes="red")
    await shelves.place("holder", shows="absent red")
    assert await shelves.shown("holder") == ["red"]

    await shelves.makes("owner", "")
    await shelves.step()
    assert await shelves.shown("holder") == ["red"], "the label has its turn first, and waits for the shelf"
    await shelves.makes("owner", "fail")
    await shelves.settle()
    assert (await shelves.shown("holder"), await shelves.labels()) == (["red"], 1)

    await shelves.makes("owner", "")
    await shelves.settle()
    assert (await shelves.shown("holder"), await shelves.labels()) == ([], 0)


@pytest.mark.parametrize("way", ["change", "delete"])
async def test_to_which_a_user_refers_until_later(way: str) -> None:
    """While a user refers to it, our holder keeps its reference as well."""
    shelves = WaitingShelves()
    await shelves.place("owner", makes="red")
    await shelves.place("holder", shows="red")
    await shelves.offline.server.create("board", {"fq_name": ["board"], "label_refs": [{"to": ["red"]}]})
    await shelves.settle()

    await shelves.makes("owner", "")
    await shelves.settle()
    assert (await shelves.shown("holder"), await shelves.labels()) == (["red"], 1)
    (problem,) = shelves.offline.problems()
    assert problem.reason == "StillReferred"

    board = await shelves.key("board", "board")
    if way == "change":
        await shelves.offline.server.update(board, {"label_refs": []})
    else:
        await shelves.offline.server.delete(board)
    await shelves.settle()
    assert (await shelves.shown("holder"), await shelves.labels()) == ([], 0)


@pytest.mark.parametrize("way", ["change", "delete"])
async def test_to_which_an_object_that_cannot_be_read_refers(way: str) -> None:
    shelves = WaitingShelves()
    await shelves.place("owner", makes="red")
    await shelves.offline.server.create("board", {"fq_name": ["board"], "label_refs": [{"to": ["red"]}]})
    await shelves.settle()
    board = await shelves.key("board", "board")
    where = f"/contrail/board/{board.uuid}"
    (before,) = (await shelves.store.range(where)).items
    await shelves.store.transaction((), [Put(where, b"no json")])
    await shelves.settle()

    await shelves.makes("owner", "")
    await shelves.settle()
    assert await shelves.labels() == 1
    if way == "change":
        await shelves.store.transaction((), [Put(where, before.value)])
        await shelves.settle()
        await shelves.offline.server.update(board, {"label_refs": []})
    else:
        await shelves.store.transaction((), [Delete(where)])
    await shelves.settle()
    assert await shelves.labels() == 0


async def test_to_which_a_user_refers_at_the_last_moment() -> None:
    """It stays, and so our holder refers to it again, as it does after a restart."""
    shelves = WaitingShelves()
    await shelves.place("owner", makes="red")
    await shelves.place("holder", shows="red")
    await shelves.makes("owner", "")
    while await shelves.shown("holder"):
        await shelves.step()
    await shelves.offline.server.create("board", {"fq_name": ["board"], "label_refs": [{"to": ["red"]}]})
    await shelves.settle()
    assert (await shelves.shown("holder"), await shelves.labels()) == (["red"], 1)
