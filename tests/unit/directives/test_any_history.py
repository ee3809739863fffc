"""After any sequence of puts, withdrawals and watch failures exactly the directives in etcd are in force, and those
that are done are deleted."""

from __future__ import annotations

import anyio
import anyio.lowlevel
from hypothesis import given
from hypothesis import strategies as st

from intentc.directives import AllowDeletes, Book, Drop, Pause, Retry, Suspect
from intentc.directives.directive import Directive
from intentc.model import Key
from intentc.watch.heartbeat import Heartbeat, Pulse
from intentc.watch.watch_state import SourceCounters
from tests.property.profiles import share
from tests.support.faulty_store import FaultyStore
from tests.support.waiting import PATIENCE, until
from tests.unit.directives.recorded_actions import INSTALLATION, Process

UUIDS = st.sampled_from(["u", "v", "w"])
ORDERS: st.SearchStrategy[Directive] = st.one_of(
    UUIDS.map(lambda uuid: Pause(kind="net", uuid=uuid)),
    st.builds(lambda uuid, at: Drop(kind="net", uuid=uuid, mod_revision=at), UUIDS, st.integers(1, 3)),
    st.builds(lambda uuid, at: Suspect(kind="net", uuid=uuid, mod_revision=at), UUIDS, st.integers(1, 3)),
    UUIDS.map(lambda uuid: Retry(kind="net", uuid=uuid)),
    st.just(Retry()),
    st.just(AllowDeletes(kind="net")),
)
STEPS = st.one_of(ORDERS, st.sampled_from(["withdraw", "cut", "compact", "silence", "replay", "lose", "wait"]))


@given(steps=st.lists(STEPS, max_size=20), begun=st.integers(0, 5))
@share(0.4)
def test_in_the_end_what_lies_in_etcd_holds(steps: list[Directive | str], begun: int) -> None:
    anyio.run(_run, steps, begun)


async def _run(steps: list[Directive | str], begun: int) -> None:
    store = FaultyStore()
    book = Book(store, INSTALLATION)
    heartbeat = Heartbeat(INSTALLATION, "host-1", interval=0.01, missing=10)
    leader = Process(store, relist_period=0.01, heartbeat=heartbeat)
    standby = Process(store, leads=False)
    for step in steps[:begun]:
        await _do(step, store, book)
    async with leader.obeying(), anyio.create_task_group() as group:
        group.start_soon(Pulse(store, heartbeat, SourceCounters(), lambda rejection: None).run)
        await _watching(leader)
        for step in steps[begun:]:
            await (_watching(leader) if step == "wait" else _do(step, store, book))
        with anyio.fail_after(PATIENCE):
            while await _once(book):  # noqa: ASYNC110 - the leader withdraws them
                await anyio.sleep(0.002)
        left = [kept.directive for kept in await book.list()]
        await until(lambda: _holding(leader) == _wanted(left))
        group.cancel_scope.cancel()
    async with standby.obeying():
        await until(lambda: _holding(standby) == _wanted(left))


async def _do(step: Directive | str, store: FaultyStore, book: Book) -> None:
    match step:
        case "withdraw":
            for kept in (await book.list())[:1]:
                await book.withdraw(kept)
        case "cut":
            store.faults.cut_watches()
        case "compact":
            await store.compact((await store.range("/")).revision)
        case "silence":
            store.faults.silence_watches()
            store.faults.cut_watches()
        case "replay":
            store.faults.replay(3)
        case "lose":
            store.faults.lose_next()
        case "wait":
            await anyio.lowlevel.checkpoint()
        case _:
            assert not isinstance(step, str)
            await book.put(step)


async def _watching(process: Process) -> None:
    await until(lambda: process.directives.report()["phase"] == "watching")


async def _once(book: Book) -> list[Directive]:
    """The directives that lie there though they are done once."""
    return [kept.directive for kept in await book.list() if isinstance(kept.directive, Retry | AllowDeletes)]


def _holding(process: Process) -> tuple[set[Key], dict[Key, int], dict[Key, int]]:
    return set(process.actions.paused), dict(process.actions.dropped), dict(process.actions.suspected)


def _wanted(directives: list[Directive]) -> tuple[set[Key], dict[Key, int], dict[Key, int]]:
    return (
        {directive.key for directive in directives if isinstance(directive, Pause)},
        {directive.key: directive.mod_revision for directive in directives if isinstance(directive, Drop)},
        {directive.key: directive.mod_revision for directive in directives if isinstance(directive, Suspect)},
    )
