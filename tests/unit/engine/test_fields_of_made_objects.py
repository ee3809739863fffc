"""What nobody claims any more of an object that we made goes, though the object stays; what users write there stays.

docs/engine.md §5.1: the schema says who writes a field on objects that compilers made.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest

from intentc.evaluation import Compiler, Context, Intent
from intentc.evaluation.intent import refer, shared
from intentc.logic.dependencies.reactions import ReactionMap
from intentc.model import Claim, Fact, Name, Schema
from intentc.plugins import Loaded
from intentc.watch.memory import MemoryStore
from tests.support.engine_status import engine_status
from tests.support.memory_system import MemorySystem
from tests.support.toy_kinds import build

pytestmark = pytest.mark.anyio

KINDS: tuple[dict[str, Any], ...] = (
    {"kind": "maker", "properties": {"text": "string"}},
    {
        "kind": "crate",
        "properties": {
            "color": {"type": "string", "writer_if_made": "compiler"},
            "size": {"type": "string", "enum": ["small", "large"], "writer_if_made": "compiler"},
            "note": "string",
        },
        "references": {
            "item": {"writer_if_made": "compiler"},
            "label": {"writer_if_made": "shared", "ours": "^auto-"},
            "tool": None,
        },
    },
    {"kind": "item", "properties": {}},
    {"kind": "label", "properties": {}},
    {"kind": "tool", "properties": {}},
)


class MakerIntent(Intent):
    """Makes the crate ``c`` with what its text says: ``color=red item:barley``; ``tool:saw`` makes that tool alone."""

    kind = "maker"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        words = self.text.split()
        crate = shared("crate", ("c",), **dict(word.split("=") for word in words if "=" in word))
        yield crate
        for kind, _, name in (word.partition(":") for word in words if ":" in word):
            if kind == "tool":
                yield shared(kind, (name,))
            else:
                yield refer(crate, Name(kind, (name,)))


class Crates(MemorySystem):
    """A memory system of makers, which users create and change."""

    def __init__(self, store: MemoryStore | None = None) -> None:
        compiler = Compiler("crates", [MakerIntent])
        schema = Schema(build(declared) for declared in KINDS)
        owners = dict.fromkeys(schema.kinds, "crates")
        super().__init__(Loaded((compiler,), schema, ReactionMap([]), compiler.intents, owners), store=store)

    async def make(self, kind: str, name: str, *, settle: bool = True, **fields: Any) -> None:
        await self.offline.server.sync([{"kind": kind, "operation": "CREATE", "data": {"fq_name": [name], **fields}}])
        if settle:
            await self.settle()

    async def change(self, kind: str, name: str, *, settle: bool = True, **fields: Any) -> None:
        await self.offline.server.update(await self.key(kind, name), fields)
        if settle:
            await self.settle()

    async def crate(self) -> dict[str, Any]:
        """The crate's properties, and the names to which it refers."""
        key = await self.key("crate", "c")
        values = self.engine.world.resource(key).values()  # type: ignore[union-attr]
        held = {name: [":".join(e.to) for e in getattr(values, f"{name}_refs")] for name in ("item", "label", "tool")}
        return {name: getattr(values, name) for name in ("color", "size", "note")} | held


EMPTY: dict[str, Any] = {"color": "", "size": "", "note": "", "item": [], "label": [], "tool": []}
FULL = "color=red size=large item:barley label:auto-x"


@pytest.fixture
async def crates() -> AsyncIterator[Crates]:
    """Two makers of one crate; the second one claims everything that can be claimed of it."""
    crates = Crates()
    for kind, name in (("item", "barley"), ("item", "oats"), ("label", "auto-x"), ("label", "mine"), ("tool", "saw")):
        await crates.make(kind, name, settle=False)
    await crates.make("maker", "one", text="", settle=False)
    await crates.make("maker", "two", text=FULL)
    claimed = EMPTY | {"color": "red", "size": "large", "item": ["barley"], "label": ["auto-x"]}
    assert await crates.crate() == claimed
    yield crates
    crates.close()


async def test_what_the_last_claim_withdraws_goes_though_the_object_stays(crates: Crates) -> None:
    await crates.change("maker", "two", text="")
    assert await crates.crate() == EMPTY
    before = crates.write.calls
    await crates.change("maker", "one", text=" ")
    assert crates.write.calls == before


async def test_it_goes_as_well_if_it_was_withdrawn_while_no_compiler_ran(crates: Crates) -> None:
    await crates.change("maker", "two", text="", settle=False)
    crates.close()
    later = Crates(crates.store)
    await later.settle()
    assert await later.crate() == EMPTY
    later.close()


async def test_what_a_user_writes_there_stays(crates: Crates) -> None:
    note: dict[str, Any] = {"note": "careful", "tool_refs": [{"to": ["saw"]}]}
    await crates.change("crate", "c", **note)
    await crates.change("crate", "c", label_refs=[{"to": ["mine"]}, {"to": ["auto-x"]}])
    await crates.change("maker", "two", text="")
    assert await crates.crate() == EMPTY | {"note": "careful", "tool": ["saw"], "label": ["mine"]}


async def test_what_a_user_writes_into_fields_of_ours_is_drift(crates: Crates) -> None:
    await crates.change("maker", "two", text="")
    await crates.change("crate", "c", color="blue", item_refs=[{"to": ["oats"]}], label_refs=[{"to": ["auto-x"]}])
    assert await crates.crate() == EMPTY
    assert engine_status(crates.engine)["counters"]["drift_repairs"] == 1


async def test_a_users_reference_on_it_keeps_a_target_of_ours_with_a_problem(crates: Crates) -> None:
    await crates.change("maker", "two", text="tool:axe")
    await crates.change("crate", "c", tool_refs=[{"to": ["axe"]}])
    await crates.change("maker", "two", text="")
    (problem,) = crates.offline.problems()
    assert problem.reason == "StillReferred"
    assert "crate c" in problem.message
    await crates.change("crate", "c", tool_refs=[])
    assert crates.offline.problems() == ()
    assert crates.engine.world.named("tool", ("axe",)) is None
