"""A small compiler over memory, for tests of the engine: a few kinds, one intent, a server that fails on demand.

A ``box`` has, by its text: ``fail`` raises; ``hold REASON`` finds its input unusable, once it has yielded a part;
``number`` a ticket with a number out of the pool; ``numbers COUNT`` so many tickets; ``see NAME`` a part with the text
of that box, which it looks up by name; ``below UUID NAME`` a part below that box, which it does not read; ``label SHELF
PURPOSE`` a number out of the pool for that purpose on a shelf, which users make; anything else a part with that text.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from intentc.evaluation import Compiler, Context, Intent, assign
from intentc.journal.keeping import Keeping
from intentc.journal.ring import JournalFiles, this_process
from intentc.logic.dependencies.reactions import Reaction, ReactionMap, Visit
from intentc.model import Claim, Create, Delete, Fact, Key, Name, Parent, ResourceClaim, Schema, Update
from intentc.plugins import Loaded
from intentc.reconcile.failures import UnknownOutcome
from intentc.testing.recording import Recording
from intentc.watch.keys import Layout
from intentc.watch.listing import list_all
from intentc.watch.memory import MemoryStore
from intentc.writing import DryRun, Written
from tests.support.memory_system import MemorySystem
from tests.support.toy_kinds import build

POOL = "tickets"
_MOST_STEPS = 20_000
"""Of the engine of one system; the largest test takes a tenth of them."""

_KINDS: tuple[dict[str, Any], ...] = (
    {"kind": "box", "properties": {"text": "string"}, "references": {"box": {"derived": True}}},
    {
        "kind": "part",
        "parents": [{"kind": "box", "derived": True}],
        "system": True,
        "ours": "^one$",
        "properties": {"content": {"type": "string", "writer": "compiler"}},
    },
    {"kind": "ticket", "properties": {}},
    {"kind": "shelf", "properties": {"label": {"type": "integer", "writer": "compiler"}}},
)


class BoxIntent(Intent):
    kind = "box"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        if self.text == "fail":
            raise RuntimeError("as the test asked for")
        if self.text.startswith("hold "):
            yield self.child("part", "two", content="not taken")
            ctx.hold(self.text.removeprefix("hold "))
        if self.text == "number":
            yield self.owned("ticket", (f"ticket-{ctx.allocate(POOL, 'ticket')}",))
            return
        if self.text.startswith("numbers "):
            count = int(self.text.removeprefix("numbers "))
            for number in ctx.allocate_all((POOL, f"ticket {place}") for place in range(count)):
                yield self.owned("ticket", (f"ticket-{number}",))
            return
        if self.text.startswith("see "):
            seen = ctx.find("box", (self.text.removeprefix("see "),))
            yield self.child("part", "one", content=seen.text if seen else "nothing")
            return
        if self.text.startswith("below "):
            _, uuid, name = self.text.split(" ")
            yield ResourceClaim(Name("part", (name, "two")), Parent(Key("box", uuid), (name,)), self.uuid)
            return
        if self.text.startswith("label "):
            _, shelf, purpose = self.text.split(" ")
            yield assign(Name("shelf", (shelf,)), "label", ctx.allocate(POOL, purpose))
            return
        yield self.child("part", "one", content=self.text)


def boxes_and_parts() -> Loaded:
    """The compiler and its kinds. The map leads from a box to the boxes that it is related to."""
    compiler = Compiler("boxes", [BoxIntent], pools=[POOL])
    schema = Schema(build(declared) for declared in _KINDS)
    reactions = ReactionMap([Reaction("box", "self", (Visit("box", False, "here"),), "here")])
    return Loaded((compiler,), schema, reactions, compiler.intents, dict.fromkeys(schema.kinds, "boxes"))


class Gate:
    """Where a call waits until ``opened`` is set; ``entered`` is set as soon as one waits."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.opened = asyncio.Event()

    async def passed(self) -> None:
        self.entered.set()
        await self.opened.wait()


class Failing(Recording):
    """Raises what stands in ``failures`` for an object (by the first element of its name, or ``*``), one a call. Writes
    of objects in ``lost`` are made, and not answered. A call in ``gates`` (as it stands in the log) waits there first.
    ``log``: what was asked for, in order, and ``times`` when, by the loop's clock."""

    def __init__(self) -> None:
        super().__init__(DryRun())
        self.failures: dict[str, list[Exception]] = {}
        self.lost: set[str] = set()
        self.gates: dict[str, Gate] = {}
        self.log: list[str] = []
        self.times: list[float] = []

    async def create(self, operation: Create, fence: str | None = None, /) -> Written:
        await self._enter("create", operation.name)
        return self._leave(operation.name, await super().create(operation, fence))

    async def update(self, operation: Update, fence: str | None = None, /) -> Written:
        await self._enter("update", operation.name)
        return self._leave(operation.name, await super().update(operation, fence))

    async def delete(self, operation: Delete, fence: str | None = None, /) -> Written:
        await self._enter("delete", operation.name)
        return self._leave(operation.name, await super().delete(operation, fence))

    async def allocate(self, pool: str, owner: str, fence: str | None = None, /) -> int:
        await self._enter("allocate", Name(pool, (owner.split("/")[1],)))
        return await super().allocate(pool, owner, fence)

    async def free(self, pool: str, owner: str, value: int, fence: str | None = None, /) -> None:
        await self._enter("free", Name(pool, (str(value),)))
        await super().free(pool, owner, value, fence)

    async def _enter(self, call: str, name: Name) -> None:
        entry = f"{call} {name.fq_name[0]}"
        self.log.append(entry)
        self.times.append(asyncio.get_running_loop().time())
        if entry in self.gates:
            await self.gates[entry].passed()
        for failures in (self.failures.get(name.fq_name[0]), self.failures.get("*")):
            if failures:
                raise failures.pop(0)

    def _leave(self, name: Name, written: Written) -> Written:
        if name.fq_name[0] in self.lost:
            self.lost.discard(name.fq_name[0])
            raise UnknownOutcome("cut off, as the test asked for")
        return written


class BoxSystem(MemorySystem):
    """A memory system of boxes and their parts. ``write.failures`` and its neighbours say which requests fail."""

    write: Failing

    def __init__(
        self,
        store: MemoryStore | None = None,
        *,
        observe: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(boxes_and_parts(), write=Failing(), store=store, observe=observe, clock=clock)
        self._fail_instead_of_hanging()

    def _fail_instead_of_hanging(self) -> None:
        """An engine whose steps wake each other for ever never gives the loop back: no time limit would end it."""
        queue_releases, calls = self.engine.allocations.queue_releases, itertools.count()

        def counted() -> None:
            assert next(calls) < _MOST_STEPS, "its steps wake each other without end"
            queue_releases()

        self.engine.allocations.queue_releases = counted  # type: ignore[method-assign]

    async def begin(self) -> BoxSystem:
        await self.offline.server.ensure_pool(POOL, 1, 1000)
        await self.settle()
        return self

    async def boxes(self, *names: str, text: str = "hello", settle: bool = True, **fields: Any) -> None:
        """Create boxes in one transaction."""
        entries = [
            {"kind": "box", "operation": "CREATE", "data": {"fq_name": [name], "text": text, **fields}}
            for name in names
        ]
        await self.offline.server.sync(entries)
        if settle:
            await self.settle()

    async def change(self, name: str, *, settle: bool = True, **fields: Any) -> None:
        await self.offline.server.update(await self.key("box", name), fields)
        if settle:
            await self.settle()

    async def remove(self, *names: str, settle: bool = True) -> None:
        """Delete boxes in one transaction."""
        uuids = [(await self.key("box", name)).uuid for name in names]
        await self.offline.server.sync([{"kind": "box", "operation": "DELETE", "data": {"uuid": u}} for u in uuids])
        if settle:
            await self.settle()

    async def relist(self, *, settle: bool = True) -> None:
        """As after a gap in the watch: everything is listed, and what went meanwhile shows by its absence. Without
        ``settle`` the writes that follow are made, and not seen yet."""
        listing = await list_all(self.store, Layout.of("/contrail/"), lambda key: None)
        await self.engine.step([listing.snapshot])
        if settle:
            await self.settle()

    async def numbers(self) -> dict[str, int]:
        """Owner's uuid → number, as the server has them."""
        allocations = await self.offline.local.allocations(POOL, "default/")
        return {owner.split("/")[1]: number for owner, number in allocations.items()}

    async def retry(self, *names: str) -> None:
        """As if the back-off of the parts of these boxes were over, and a pause that the server asked for."""
        self.engine.throttle._ends = 0.0
        for name in names:
            self.engine.objects.plan([part(name)])
        await self.settle()

    async def contents(self) -> dict[str, str]:
        """Box → the content of its part, as stored."""
        found: dict[str, str] = {}
        for item in (await self.store.range("/contrail/part/", "/contrail/part0")).items:
            document = self.engine.world.schema.kind("part").decode_values(item.value)
            found[document.fq_name[0]] = document.content
        return found

    def keep_journal(self, directory: Path, process: str) -> None:
        """Write all lines of the journal to files, as the service does at its end."""
        journal = self.engine.journal
        journal.writer = f"lab/{process}"
        files = JournalFiles(directory, files=3, file_bytes=100_000, process=this_process("lab", process, 1.0))
        Keeping(journal, files, self.engine.world.name_of, self.engine.world.at_start).end()


def part(box: str) -> Name:
    """The name of a box's part."""
    return Name("part", (box, "one"))
