"""The effects of our own writes are no drift, and contention over one entry leaves all others alone (F19, F20)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from msgspec.structs import astuple

from intentc.evaluation import Context, Intent
from intentc.evaluation.intent import refer, shared
from intentc.model import Claim, Fact
from intentc.offline.audit import audit
from intentc.reconcile.backoff import CONTENTION_REVERTS
from tests.support.engine_status import engine_status
from tests.unit.engine.shelves import Shelves

pytestmark = pytest.mark.anyio

KINDS: tuple[dict[str, Any], ...] = (
    {"kind": "shelf", "properties": {"wants": "string"}, "references": {"label": {"writer": "compiler"}}},
    {"kind": "label", "properties": {}},
)


class ShelfIntent(Intent):
    """Wants the labels in ``wants``: ``=NAME`` is its own, any other is shared."""

    kind = "shelf"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        for name in self.wants.split():
            label = self.owned("label", (name[1:],)) if name.startswith("=") else shared("label", (name,))
            yield label
            yield refer(self, label)


class LabelUsers(Shelves):
    def __init__(self) -> None:
        super().__init__(ShelfIntent, KINDS)
        self.server = self.offline.server

    async def wants(self, name: str, wants: str) -> None:
        try:
            await self.server.update(await self.shelf(name), {"wants": wants})
        except Exception:
            await self.server.create("shelf", {"fq_name": [name], "wants": wants})
        await self.offline.settle()

    async def delete(self, name: str) -> None:
        await self.server.delete(await self.shelf(name))
        await self.offline.settle()

    async def set(self, name: str, *labels: str) -> None:
        """Another writer sets the labels of a shelf, and the compiler has its say."""
        await self.server.update(await self.shelf(name), {"label_refs": [{"to": [label]} for label in labels]})
        await self.offline.settle()

    async def revision(self, name: str) -> int:
        key = await self.shelf(name)
        (item,) = (await self.offline.store.range(f"/contrail/shelf/{key.uuid}")).items
        assert msgspec.json.decode(item.value)["fq_name"] == [name]
        return item.mod_revision

    @property
    def contended(self) -> dict[str, str]:
        entries = engine_status(self.offline.engine)["quarantine"]
        return {entry["name"]: entry["message"] for entry in entries if entry["state"] == "contended"}


@pytest.fixture
async def shelves() -> LabelUsers:
    shelves = LabelUsers()
    await shelves.offline.settle()
    return shelves


async def test_a_holder_is_not_written_when_its_shared_target_changes_owners(shelves: LabelUsers) -> None:
    await shelves.wants("a", "x next")
    before = await shelves.revision("a")
    for _ in range(2 * CONTENTION_REVERTS):
        await shelves.wants("b", "=next")
        assert (await shelves.shown("b"), await shelves.shown("a")) == (["next"], ["next", "x"])
        await shelves.delete("b")
    assert await shelves.revision("a") == before
    assert shelves.counters == (0, 0)
    assert engine_status(shelves.offline.engine)["healthy"]


async def test_a_repeatedly_replaced_target_causes_its_holders_no_contention(
    shelves: LabelUsers,
) -> None:
    """Its owner goes, and another comes: the object is another one each time."""
    await shelves.wants("a", "x next")
    await shelves.wants("a", "x")
    for _ in range(2 * CONTENTION_REVERTS):
        await shelves.wants("b", "=next")
        await shelves.wants("a", "x next")
        await shelves.delete("b")
        assert await shelves.shown("a") == ["next", "x"]
        await shelves.wants("a", "x")
    assert shelves.counters == (0, 0)
    assert shelves.contended == {}


async def test_repeated_removal_of_one_entry_leaves_the_others_to_the_compiler(
    shelves: LabelUsers,
) -> None:
    await shelves.wants("a", "x y")
    for _ in range(CONTENTION_REVERTS):
        assert await shelves.shown("a") == ["x", "y"]
        await shelves.set("a", "y")
    assert await shelves.shown("a") == ["y"]
    ((name, message),) = shelves.contended.items()
    assert name == "a" and "label_refs[x]" in message and "[y]" not in message
    status = engine_status(shelves.offline.engine)
    assert status["converged"] and not status["healthy"]

    await shelves.set("a")
    assert await shelves.shown("a") == ["y"], "what nobody contends is repaired as ever"
    assert list(shelves.contended) == ["a"]
    for _ in range(CONTENTION_REVERTS - 1):
        await shelves.set("a")
    assert await shelves.shown("a") == [], "now that one is in contention, too"
    assert "label_refs[y]" in shelves.contended["a"]


async def test_what_is_in_contention_gets_what_others_need_of_it(shelves: LabelUsers) -> None:
    """The label can be made anew for its new owner only once the shelf has let go of it."""
    await shelves.wants("b", "=next")
    await shelves.wants("a", "x next")
    for _ in range(CONTENTION_REVERTS):
        await shelves.set("a", "next")
    assert await shelves.shown("a") == ["next"]
    assert list(shelves.contended) == ["a"]
    await shelves.delete("b")
    await shelves.wants("c", "=next")
    assert await shelves.shown("c") == ["next"]


async def test_an_audit_names_what_differs_and_what_waits_for_that(shelves: LabelUsers) -> None:
    await shelves.wants("b", "=next")
    await shelves.wants("a", "x next")
    await shelves.server.delete(await shelves.shelf("b"))
    report = await audit(
        shelves.loaded, shelves.offline.store, shelves.offline.local, path="contrail", installation="default"
    )
    assert {
        (found.kind, found.name): [tuple(c) for c in map(astuple, found.operations)] for found in report.differences
    } == {
        ("shelf", "a"): [("update", ("label_refs",))],
        ("label", "next"): [("wait", ("shelf a",))],
    }


async def test_a_retry_puts_all_entries_right(shelves: LabelUsers) -> None:
    await shelves.wants("a", "x y")
    for _ in range(CONTENTION_REVERTS):
        await shelves.set("a", "y")
    assert shelves.offline.engine.operator_actions.retry(await shelves.shelf("a")) == 1
    await shelves.offline.settle()
    assert await shelves.shown("a") == ["x", "y"]
    assert shelves.contended == {}
