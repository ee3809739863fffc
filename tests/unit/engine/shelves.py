"""A memory system of shelves and labels. What a shelf says of labels, each test's own intent decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from intentc.evaluation import Compiler, Intent
from intentc.logic.dependencies.reactions import ReactionMap
from intentc.model import Key, Schema
from intentc.plugins import Loaded
from tests.support.memory_system import MemorySystem
from tests.support.toy_kinds import build


class Shelves(MemorySystem):
    """``intent``: of the kind ``shelf``; ``kinds``: the declarations of ``shelf``, ``label`` and others."""

    def __init__(self, intent: type[Intent], kinds: Sequence[dict[str, Any]]) -> None:
        compiler = Compiler("shelves", [intent])
        schema = Schema(build(declared) for declared in kinds)
        of_compilers = dict.fromkeys(schema.kinds, "shelves")
        super().__init__(Loaded((compiler,), schema, ReactionMap([]), compiler.intents, of_compilers))

    async def shelf(self, name: str) -> Key:
        return await self.key("shelf", name)

    async def shown(self, name: str) -> list[str]:
        """The labels to which a shelf refers."""
        document = (await self.offline.server.get(await self.shelf(name))).document
        return sorted(entry["to"][0] for entry in document.get("label_refs") or [])

    async def labels(self) -> int:
        """How many there are."""
        return len((await self.store.range("/contrail/label/", "/contrail/label0")).items)

    @property
    def counters(self) -> tuple[int, int]:
        """Repairs of drift, and how often something came into contention."""
        return self.engine.drift.repairs, self.engine.drift.contentions
