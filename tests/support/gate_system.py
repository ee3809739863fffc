"""A memory system of gates, whose status several intents claim (docs/engine.md §5.8).

A ``gate`` has a bar with its text, and the condition ``Ready``, by its text: ``shut REASON`` is not ready, for that
reason; ``hold REASON`` is not ready, and on hold; ``wait`` waits for the gate ``late``; ``fail`` raises; ``bare``
claims nothing; anything else is ready. A ``lamp`` at a gate gives it the state of its colour and the condition ``Lit``.
A gate yields the fact ``opening`` with its text; an ``echo`` of a gate has a bar of that fact.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from intentc.apiserver.sources import DerivedSource
from intentc.evaluation import Compiler, Context, Intent, status
from intentc.logic.dependencies.reactions import Reaction, ReactionMap, Visit
from intentc.model import Claim, Fact, Key, Name, Schema
from intentc.model.schema import KindSpec, build_kind
from intentc.model.types import TypeTable
from intentc.plugins import Loaded
from intentc.watch.memory import MemoryStore
from tests.support.memory_system import MemorySystem

TYPES = TypeTable(
    {
        "Condition": {
            "type": "string",
            "status": "string",
            "reason": "string",
            "message": "string",
            "observedGeneration": "integer",
            "lastTransitionTime": "string",
        },
        "Addresses": {"ingress": {"list": "string"}},
        "GateStatus": {
            "state": "string",
            "phase": "string",
            "loadBalancer": "Addresses",
            "conditions": {"list": "Condition"},
        },
        "SignStatus": {"weight": "integer"},
    }
)

_KINDS: tuple[dict[str, Any], ...] = (
    {
        "kind": "gate",
        "shape": "kubernetes",
        "scope": "cluster",
        "properties": {"text": "string"},
        "status": {"type": "GateStatus", "conditions": ["Lit", "Ready"], "paths": ["state", "loadBalancer.ingress"]},
    },
    {"kind": "lamp", "properties": {"gate": "string", "colour": "string"}},
    {"kind": "sign", "properties": {"text": "string"}, "status": {"type": "SignStatus"}},
    {"kind": "echo", "properties": {"gate": "string"}},
    {"kind": "bar", "system": True, "properties": {"content": {"type": "string", "writer": "compiler"}}},
    {"kind": "opening", "stored": False},
)


class GateIntent(Intent):
    kind = "gate"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        sort, _, reason = self.text.partition(" ")
        if sort == "fail":
            raise RuntimeError("as the test asked for")
        if sort == "wait":
            yield status.condition(self, "Ready", "Unknown", "Waiting")
            ctx.wait_for("gate", ("late",))
        if sort == "hold":
            yield status.condition(self, "Ready", False, reason)
            ctx.hold(f"it is {reason}")
        yield self.owned("bar", (self.name,), content=self.text)
        yield Fact("opening", self.name, self.text)
        if sort == "bare":
            return
        if sort == "shut":
            yield status.condition(self, "Ready", False, reason, f"the gate is {reason}")
            return
        yield status.condition(self, "Ready", True, "Open")


class LampIntent(Intent):
    kind = "lamp"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        gate = Name("gate", (self.gate,))
        yield status.field(gate, "state", self.colour)
        yield status.condition(gate, "Lit", True, self.colour.capitalize())
        if self.colour == "white":
            yield status.field(gate, "loadBalancer.ingress", ["192.0.2.7"])


class EchoIntent(Intent):
    kind = "echo"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        yield self.owned("bar", (self.name,), content=ctx.fact("opening", self.gate) or "nothing")


class SignIntent(Intent):
    """A sign's status is written by others, and is an input."""

    kind = "sign"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        yield self.owned("bar", (self.name,), content=str(self.status.weight))


def gates() -> Loaded:
    compiler = Compiler("gates", [GateIntent, LampIntent, EchoIntent, SignIntent])
    schema = Schema(build_kind(msgspec.convert({"group": "toy", **one}, KindSpec), TYPES, "gates") for one in _KINDS)
    reactions = ReactionMap([Reaction("gate", "self", (Visit("gate", False, "here"),), "here")])
    return Loaded((compiler,), schema, reactions, compiler.intents, dict.fromkeys(schema.kinds, "gates"))


class Clock(DerivedSource):
    """A source whose clock moves by a second each time that it is asked."""

    def __init__(self) -> None:
        self.seconds = 0

    def now(self) -> str:
        self.seconds += 1
        return f"2026-01-01T00:{self.seconds // 60:02}:{self.seconds % 60:02}.000000"


class GateSystem(MemorySystem):
    """A memory system over ``gates``."""

    def __init__(self, store: MemoryStore | None = None, *, observe: bool = False) -> None:
        self.clock = Clock()
        super().__init__(gates(), store=store, observe=observe, choices=self.clock)

    async def make(self, kind: str, name: str, *, settle: bool = True, **fields: Any) -> None:
        await self.offline.server.create(kind, {"fq_name": [name], **fields})
        if settle:
            await self.settle()

    async def change(self, kind: str, name: str, *, settle: bool = True, **fields: Any) -> None:
        await self.offline.server.update(await self.key(kind, name), fields)
        if settle:
            await self.settle()

    async def remove(self, kind: str, name: str, *, settle: bool = True) -> None:
        await self.offline.server.delete(await self.key(kind, name))
        if settle:
            await self.settle()

    async def write_status(self, kind: str, name: str, body: dict[str, Any], *items: str) -> None:
        """As another controller does."""
        await self.offline.server.update_status(await self.key(kind, name), {"status": body}, items=items or None)
        await self.settle()

    async def document(self, kind: str, name: str) -> dict[str, Any]:
        return (await self.offline.server.get(await self.key(kind, name))).document

    async def status(self, name: str) -> dict[str, Any]:
        """The status of a gate; each condition as ``status reason`` under its type."""
        found = dict((await self.document("gate", name)).get("status", {}))
        conditions = {one["type"]: f"{one['status']} {one['reason']}" for one in found.pop("conditions", ())}
        return found | conditions

    async def condition(self, name: str, type_name: str) -> dict[str, Any]:
        found = (await self.document("gate", name)).get("status", {}).get("conditions", ())
        (one,) = [one for one in found if one["type"] == type_name]
        return dict(one)

    async def bars(self) -> dict[str, str]:
        """Name → the content of each bar."""
        found = {}
        for item in (await self.store.range("/contrail/bar/", "/contrail/bar0")).items:
            document = msgspec.json.decode(item.value)
            found[document["fq_name"][0]] = document.get("content", "")
        return found

    async def restart(self) -> GateSystem:
        """Another engine over the same store."""
        self.close()
        again = GateSystem(self.store)
        again.clock.seconds = self.clock.seconds
        await again.settle()
        return again

    def uuid(self, kind: str, name: str) -> Key | None:
        return self.engine.world.named(kind, (name,))
