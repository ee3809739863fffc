"""The effects of our own writes are no drift, and contention over one entry leaves all others alone (F19, F20)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from msgspec.structs import astuple

from intentc.backoff import CONTENTION_REVERTS
from intentc.evaluation import Compiler, Context, Intent
from intentc.evaluation.claiming import refer, shared
from intentc.logic.dependencies.reactions import ReactionMap
from intentc.model import Claim, Fact, Key, Schema
from intentc.offline.audit import audit
from intentc.offline.offline import Offline
from intentc.plugins import Loaded
from tests.support.engine_status import engine_status
from tests.support.toy_kinds import build

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


class Shelves:
    """The engine over memory, in the test's own task."""

    def __init__(self) -> None:
        compiler = Compiler("shelves", [ShelfIntent])
        schema = Schema(build(declared) for declared in KINDS)
        loaded = Loaded((compiler,), schema, ReactionMap([]), compiler.intents, dict.fromkeys(schema.kinds, "shelves"))
        self.loaded = loaded
        self.offline = Offline(loaded)
        self.server = self.offline.server

    async def put(self, name: str, wants: str) -> None:
        try:
            await self.server.update(await self.key(name), {"wants": wants})
        except Exception:
            await self.server.create("shelf", {"fq_name": [name], "wants": wants})
        await self.offline.settle()

    async def delete(self, name: str) -> None:
        await self.server.delete(await self.key(name))
        await self.offline.settle()

    async def set(self, name: str, *labels: str) -> None:
        """Another writer sets the labels of a shelf, and the compiler has its say."""
        await self.server.update(await self.key(name), {"label_refs": [{"to": [label]} for label in labels]})
        await self.offline.settle()

    async def key(self, name: str) -> Key:
        return Key("shelf", await self.server.identify("shelf", [name]))

    async def labels(self, name: str) -> list[str]:
        document = (await self.server.get(await self.key(name))).document
        return sorted(entry["to"][0] for entry in document.get("label_refs") or [])

    async def revision(self, name: str) -> int:
        key = await self.key(name)
        (item,) = (await self.offline.store.range(f"/contrail/shelf/{key.uuid}")).items
        assert msgspec.json.decode(item.value)["fq_name"] == [name]
        return item.mod_revision

    @property
    def counters(self) -> tuple[int, int]:
        """Repairs of drift, and how often something came into contention."""
        drift = self.offline.engine._drift
        return drift.repairs, drift.contentions

    @property
    def contended(self) -> dict[str, str]:
        entries = engine_status(self.offline.engine)["quarantine"]
        return {entry["name"]: entry["message"] for entry in entries if entry["state"] == "contended"}


@pytest.fixture
async def shelves() -> Shelves:
    shelves = Shelves()
    await shelves.offline.settle()
    return shelves


async def test_whose_shared_target_others_come_to_own_and_leave_is_not_written_at_all(shelves: Shelves) -> None:
    await shelves.put("a", "x next")
    before = await shelves.revision("a")
    for _ in range(2 * CONTENTION_REVERTS):
        await shelves.put("b", "=next")
        assert (await shelves.labels("b"), await shelves.labels("a")) == (["next"], ["next", "x"])
        await shelves.delete("b")
    assert await shelves.revision("a") == before
    assert shelves.counters == (0, 0)
    assert engine_status(shelves.offline.engine)["healthy"]


async def test_a_target_that_is_replaced_again_and_again_brings_its_holders_no_contention(shelves: Shelves) -> None:
    """Its owner goes, and another comes: the object is another one each time."""
    await shelves.put("a", "x next")
    await shelves.put("a", "x")
    for _ in range(2 * CONTENTION_REVERTS):
        await shelves.put("b", "=next")
        await shelves.put("a", "x next")
        await shelves.delete("b")
        assert await shelves.labels("a") == ["next", "x"]
        await shelves.put("a", "x")
    assert shelves.counters == (0, 0)
    assert shelves.contended == {}


async def test_the_removal_of_one_entry_again_and_again_leaves_the_others_to_the_compiler(shelves: Shelves) -> None:
    await shelves.put("a", "x y")
    for _ in range(CONTENTION_REVERTS):
        assert await shelves.labels("a") == ["x", "y"]
        await shelves.set("a", "y")
    assert await shelves.labels("a") == ["y"]
    ((name, message),) = shelves.contended.items()
    assert name == "a" and "label_refs[x]" in message and "[y]" not in message
    status = engine_status(shelves.offline.engine)
    assert status["converged"] and not status["healthy"]

    await shelves.set("a")
    assert await shelves.labels("a") == ["y"], "what nobody contends is repaired as ever"
    assert list(shelves.contended) == ["a"]
    for _ in range(CONTENTION_REVERTS - 1):
        await shelves.set("a")
    assert await shelves.labels("a") == [], "now that one is in contention, too"
    assert "label_refs[y]" in shelves.contended["a"]


async def test_what_is_in_contention_gets_what_others_need_of_it(shelves: Shelves) -> None:
    """The label can be made anew for its new owner only once the shelf has let go of it."""
    await shelves.put("b", "=next")
    await shelves.put("a", "x next")
    for _ in range(CONTENTION_REVERTS):
        await shelves.set("a", "next")
    assert await shelves.labels("a") == ["next"]
    assert list(shelves.contended) == ["a"]
    await shelves.delete("b")
    await shelves.put("c", "=next")
    assert await shelves.labels("c") == ["next"]


async def test_an_audit_names_what_differs_and_what_waits_for_that(shelves: Shelves) -> None:
    await shelves.put("b", "=next")
    await shelves.put("a", "x next")
    await shelves.server.delete(await shelves.key("b"))
    report = await audit(
        shelves.loaded, shelves.offline.store, shelves.offline.local, path="contrail", installation="default"
    )
    assert {
        (found.kind, found.name): [tuple(c) for c in map(astuple, found.operations)] for found in report.differences
    } == {
        ("shelf", "a"): [("update", ("label_refs",))],
        ("label", "next"): [("wait", ("shelf a",))],
    }


async def test_a_retry_puts_all_entries_right(shelves: Shelves) -> None:
    await shelves.put("a", "x y")
    for _ in range(CONTENTION_REVERTS):
        await shelves.set("a", "y")
    assert shelves.offline.engine.operator_actions.retry(await shelves.key("a")) == 1
    await shelves.offline.settle()
    assert await shelves.labels("a") == ["x", "y"]
    assert shelves.contended == {}
