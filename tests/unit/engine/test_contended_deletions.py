"""What others make again and again though nobody claims it comes into contention like any other part (docs/engine.md
§5.6, F20)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from intentc.evaluation import Context, Intent
from intentc.model import Claim, Fact, Name
from intentc.reconcile.backoff import CONTENDED, CONTENTION_REVERTS, CONTENTION_SECONDS
from tests.support.engine_status import engine_status
from tests.unit.engine.shelves import Shelves

pytestmark = pytest.mark.anyio

KINDS: tuple[dict[str, Any], ...] = (
    {"kind": "shelf", "properties": {"text": "string"}},
    {
        "kind": "label",
        "parents": [{"kind": "shelf", "derived": True}],
        "system": True,
        "ours": ".*",
        "only_claimed": ":label$",
        "properties": {"content": {"type": "string", "writer": "compiler"}},
    },
)

LABEL = Name("label", ("a", "label"))


class ShelfIntent(Intent):
    """Has a label with its text, unless that is empty."""

    kind = "shelf"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        if self.text:
            yield self.child("label", "label", content=self.text)


class LabelledShelf(Shelves):
    """A shelf ``a``. ``now``: what the engine takes for the time, in seconds, while others contend."""

    def __init__(self) -> None:
        super().__init__(ShelfIntent, KINDS)
        self.now = 1000.0
        self.engine.drift._clock = lambda: self.now

    async def says(self, text: str) -> None:
        await self.offline.server.update(await self.key("shelf", "a"), {"text": text})
        await self.settle()

    async def others_make(self) -> None:
        """Another writer makes the label, and the compiler has its say."""
        data = {"fq_name": ["a", "label"], "parent_type": "shelf", "content": "theirs"}
        await self.offline.server.create("label", data)
        await self.settle()

    @property
    def contended(self) -> list[str]:
        return [entry["name"] for entry in engine_status(self.engine)["quarantine"] if entry["state"] == "contended"]

    def remembered(self) -> int:
        self.engine.drift.tidy()
        return len(self.engine.drift._records) + len(self.engine.drift._standing)


@pytest.fixture
async def shelves() -> LabelledShelf:
    shelves = LabelledShelf()
    await shelves.offline.server.create("shelf", {"fq_name": ["a"], "text": ""})
    await shelves.settle()
    return shelves


async def contend(shelves: LabelledShelf) -> None:
    for _ in range(CONTENTION_REVERTS):
        assert (await shelves.labels(), shelves.contended) == (0, [])
        await shelves.others_make()


async def test_it_is_left_alone_and_reported(shelves: LabelledShelf) -> None:
    await contend(shelves)
    assert (await shelves.labels(), shelves.contended) == (1, ["a:label"])
    assert shelves.counters == (CONTENTION_REVERTS - 1, 1), "the first was there before we looked"
    status = engine_status(shelves.engine)
    assert status["converged"] and not status["healthy"]


async def test_it_is_tried_again_later_and_after_each_time_less_often(shelves: LabelledShelf) -> None:
    await contend(shelves)
    for pause in (CONTENDED.seconds(1), CONTENDED.seconds(2)):
        shelves.now += pause - 1
        shelves.engine.objects.plan([LABEL])
        await shelves.settle()
        assert await shelves.labels() == 1
        shelves.now += 1
        shelves.engine.objects.plan([LABEL])
        await shelves.settle()
        assert (await shelves.labels(), shelves.contended) == (0, [])
        await shelves.others_make()
        assert (await shelves.labels(), shelves.contended) == (1, ["a:label"])


async def test_a_retry_deletes_it(shelves: LabelledShelf) -> None:
    await contend(shelves)
    key = await shelves.key("label", "a", "label")
    assert shelves.engine.operator_actions.retry(key) == 1
    await shelves.settle()
    assert (await shelves.labels(), shelves.contended) == (0, [])


async def test_a_contended_object_is_written_once_claimed_and_deleted_once_unclaimed(
    shelves: LabelledShelf,
) -> None:
    await contend(shelves)
    await shelves.says("ours")
    assert (await shelves.labels(), shelves.contended) == (1, [])
    await shelves.says("")
    assert (await shelves.labels(), shelves.contended) == (0, [])


async def test_it_goes_with_its_parent(shelves: LabelledShelf) -> None:
    await contend(shelves)
    await shelves.offline.server.delete(await shelves.key("shelf", "a"))
    await shelves.settle()
    assert (await shelves.labels(), shelves.contended) == (0, [])


async def test_what_its_makers_delete_themselves_is_not_reported_any_more(shelves: LabelledShelf) -> None:
    await contend(shelves)
    await shelves.offline.server.delete(await shelves.key("label", "a", "label"))
    await shelves.settle()
    assert (await shelves.labels(), shelves.contended) == (0, [])


async def test_what_is_made_now_and_then_is_deleted_each_time(shelves: LabelledShelf) -> None:
    for _ in range(2 * CONTENTION_REVERTS):
        await shelves.others_make()
        assert await shelves.labels() == 0
        shelves.now += CONTENTION_SECONDS / (CONTENTION_REVERTS - 2)
    assert shelves.counters[1] == 0
    shelves.now += CONTENTION_SECONDS
    assert shelves.remembered() == 0


async def test_a_label_of_ours_that_comes_and_goes_is_no_drift(shelves: LabelledShelf) -> None:
    for _ in range(2 * CONTENTION_REVERTS):
        await shelves.says("ours")
        await shelves.says("")
    assert shelves.counters == (0, 0)
    assert shelves.remembered() <= 1, "the intent's own objects are not kept"
