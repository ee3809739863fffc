"""Property: whatever fails, only the process whose key is in the store holds a fence."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from contextlib import suppress

import anyio
import anyio.abc
from hypothesis import given
from hypothesis import strategies as st

from intentc.reconcile.failures import Failure
from intentc.watch.protocol import Compare, Delete, Put, Relation, Target
from tests.property.profiles import load, share
from tests.support.faulty_store import FaultyStore
from tests.unit.leading.candidates import KEY, TTL, Candidate, process_on, until
from tests.unit.leading.virtual_time import VirtualLoop, jump, now

load(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

_NAMES = ("a", "b", "c")
_FAULTS = ("cut", "renewals_cut", "lose_answers", "slow")
_STEPS = st.one_of(
    st.tuples(st.just("pass"), st.floats(0.5, 2 * TTL)),
    st.tuples(st.just("stop the machine"), st.floats(0.1, 3 * TTL)),
    st.tuples(st.sampled_from(["kill", "resign", "hold back", "deliver", "invalidate"]), st.sampled_from(_NAMES)),
    st.tuples(st.sampled_from(_FAULTS), st.sampled_from(_NAMES)),
    st.tuples(st.sampled_from(["cut watches", "silence watches", "lose an event", "compact", "write"]), st.none()),
)


class _World:
    """Three processes; one that was killed or has resigned is started again under its name."""

    def __init__(self, group: anyio.abc.TaskGroup, tried: Counter[str]) -> None:
        self.store = FaultyStore(clock=now)
        self.tried = tried
        self.everyone: list[Candidate] = []
        self.present: dict[str, Candidate] = {}
        self._group = group
        for name in _NAMES:
            self.start(name)

    def start(self, name: str) -> None:
        """A new process; the check runs before each of its calls, so between all that happens."""
        machine = "east" if name == "c" else "west"
        candidate = self.present[name] = Candidate(self.store, name, identity=process_on(machine))
        self.everyone.append(candidate)
        candidate.line.before_call = self.check
        self._group.start_soon(candidate.live)

    def check(self) -> None:
        """At most one holds a fence, and a write with that fence would be taken at this very moment."""
        holders = [one.election.fence() for one in self.everyone if one.leads]
        assert len(holders) <= 1
        for fence in holders:
            assert fence is not None
            self.store.expire_leases()
            revision = int(fence.rpartition("/")[2])
            assert self.store._history.holds(Compare(KEY, Target.CREATE_REVISION, Relation.EQUAL, revision))

    async def step(self, what: str, about: object) -> None:
        """One thing that happens."""
        self.tried[what] += 1
        match what, about:
            case "pass", float(seconds):
                await anyio.sleep(seconds)
            case "stop the machine", float(seconds):
                jump(seconds)
                self.check()
            case (("kill" | "resign"), str(name)):
                leaving = self.present[name]
                if what == "resign":
                    await leaving.election.resign()
                leaving.kill()
                self.start(name)
            case "hold back", str(name):
                self.present[name].line.hold_back = 1
            case "deliver", str(name):
                with suppress(Failure):  # the store rejects what comes too late
                    await self.present[name].line.deliver()
            case "invalidate", str(name):
                self.present[name].election.invalidate(self.present[name].election.fence() or "")
            case str(fault), str(name):
                line = self.present[name].line
                setattr(line, fault, not getattr(line, fault))
            case "cut watches", _:
                self.store.faults.cut_watches()
            case "silence watches", _:
                self.store.faults.silence_watches()
            case "lose an event", _:
                self.store.faults.lose_next()
            case "compact", _:
                revision = (await self.store.transaction([], [Put("/other", b"")])).revision
                await self.store.compact(revision)
            case _:
                await self.store.transaction([], [Put("/other", b""), Delete("/nothing")])
        self.check()

    def heal(self) -> None:
        """Nothing fails any more."""
        for candidate in self.present.values():
            for fault in _FAULTS:
                setattr(candidate.line, fault, False)
            candidate.line.hold_back = 0


async def _story(steps: list[tuple[str, object]], tried: Counter[str]) -> None:
    async with anyio.create_task_group() as group:
        world = _World(group, tried)
        for what, about in steps:
            await world.step(what, about)
        world.heal()
        await until(lambda: any(one.leads for one in world.everyone), within=4 * TTL)
        world.check()
        for one in world.everyone:
            assert len(one.lost) == len(one.won) - one.leads
        tried["leaderships"] += sum(len(one.won) for one in world.everyone)
        group.cancel_scope.cancel()


def test_nobody_holds_an_outdated_fence_and_somebody_becomes_leader() -> None:
    tried: Counter[str] = Counter()

    @share(0.5)
    @given(steps=st.lists(_STEPS, min_size=10, max_size=40))
    def histories(steps: list[tuple[str, object]]) -> None:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(_story(steps, tried))

    histories()
    # A property about nothing would pass, too.
    assert tried["leaderships"] > 2 * share(0.5).max_examples, tried
