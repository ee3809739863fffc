"""Directives reach the engine: before anything is evaluated, when they are put, and after any cut of the watch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import anyio
import pytest

from intentc.directives import Book, Directive, Drop, Pause, Retry, Suspect, directives_prefix
from intentc.directives.directive import encode
from intentc.directives.obeying import DirectiveExecutor
from intentc.engine.engine import Engine
from intentc.model import Change, Key
from intentc.watch.heartbeat import Heartbeat, Pulse
from intentc.watch.protocol import Put
from intentc.watch.watch_state import SourceCounters
from tests.support.faulty_store import FaultyStore
from tests.support.waiting import until
from tests.unit.directives.recorded_actions import INSTALLATION, Process, RecordedActions

pytestmark = pytest.mark.anyio

U, V = Key("net", "u"), Key("net", "v")
PAUSE = Pause(kind="net", uuid="u", name=("d", "n"), by="me@here", at="noon", reason="maintenance")
PREFIX = directives_prefix(INSTALLATION)
SUSPECT = Suspect(kind="net", uuid="u", mod_revision=3)


LEADER = cast(Engine, SimpleNamespace(may_write=True, first_pass_complete=True))
"""An engine whose first pass is complete, in a process that leads."""


def _change(directive: Directive, mod_revision: int) -> Change:
    return Change(directive.sort, directive.about, encode(directive), mod_revision, mod_revision)


async def test_what_was_ordered_before_is_obeyed_by_load(store: FaultyStore, book: Book) -> None:
    await book.put(PAUSE)
    await book.put(Drop(kind="net", uuid="v", mod_revision=5))
    process = Process(store)
    await process.directives.load()
    assert process.actions.paused == {U: "paused by me@here at noon: maintenance"}
    assert process.actions.dropped == {V: 5}


async def test_load_waits_for_an_unreachable_store_and_logs_it_once(
    store: FaultyStore, book: Book, caplog: pytest.LogCaptureFixture
) -> None:
    await book.put(PAUSE)
    store.faults.unreachable = True
    process = Process(store)
    async with anyio.create_task_group() as group:
        group.start_soon(process.directives.load)
        await until(lambda: process.waits >= 3)
        store.faults.unreachable = False
    assert process.actions.paused.keys() == {U}
    assert caplog.text.count("can't be read yet") == 1


async def test_a_directive_is_obeyed_from_its_creation_to_its_withdrawal(store: FaultyStore, book: Book) -> None:
    async with Process(store).obeying() as process:
        await book.put(PAUSE)
        await until(lambda: process.actions.paused.keys() == {U})
        (kept,) = await book.list()
        await book.withdraw(kept)
        await until(lambda: not process.actions.paused)
        assert process.changes >= 2


async def test_a_directive_put_again_with_another_reason_is_obeyed_again(store: FaultyStore, book: Book) -> None:
    async with Process(store).obeying() as process:
        await book.put(PAUSE)
        await until(lambda: process.actions.paused.keys() == {U})
        await book.put(Pause(kind="net", uuid="u", reason="still"))
        await until(lambda: process.actions.paused == {U: "paused: still"})
        assert ("resume", U) not in process.actions.calls


async def test_the_listing_after_load_pulls_nothing_twice(store: FaultyStore, book: Book) -> None:
    await book.put(PAUSE)
    await book.put(Suspect(kind="net", uuid="v", mod_revision=3))
    async with Process(store).obeying() as process:
        await until(lambda: process.changes >= 1)
        assert process.actions.calls == [("pause", U, ("d", "n")), ("suspect", V, 3)]


async def test_directives_that_changed_during_a_compacted_cut_are_obeyed(store: FaultyStore, book: Book) -> None:
    await book.put(PAUSE)
    async with Process(store).obeying() as process:
        await until(lambda: process.directives.report()["phase"] == "watching")
        store.faults.unreachable = True
        store.faults.cut_watches()
        await until(lambda: process.directives.report()["phase"] == "disconnected")
        store.faults.unreachable = False
        (kept,) = await book.list()
        await book.withdraw(kept)
        last = await book.put(Pause(kind="net", uuid="v"))
        await store.compact(last)
        await until(lambda: process.actions.paused.keys() == {V})


async def test_a_dead_watch_is_noticed_by_the_missing_heartbeat(store: FaultyStore, book: Book) -> None:
    process = Process(store, heartbeat=Heartbeat(INSTALLATION, "host-1", interval=0.02))
    async with process.obeying():
        await until(lambda: process.directives.report()["phase"] == "watching")
        store.faults.silence_watches()
        await book.put(PAUSE)
        await until(lambda: process.actions.paused.keys() == {U})


@pytest.mark.parametrize("lost", ["put", "withdrawal"])
async def test_a_directive_that_the_watch_missed_is_found(store: FaultyStore, book: Book, lost: str) -> None:
    heartbeat = Heartbeat(INSTALLATION, "host-1", interval=0.02, missing=1_000)
    process = Process(store, relist_period=0.02, heartbeat=heartbeat)
    async with process.obeying(), anyio.create_task_group() as group:
        await until(lambda: process.directives.report()["phase"] == "watching")
        if lost == "withdrawal":
            await book.put(PAUSE)
            await until(lambda: process.actions.paused.keys() == {U})
            (kept,) = await book.list()
            store.faults.lose_next()
            await book.withdraw(kept)
        else:
            store.faults.lose_next()
            await book.put(PAUSE)
        group.start_soon(Pulse(store, heartbeat, SourceCounters(), lambda rejection: None).run)
        await until(lambda: process.actions.paused.keys() == (set() if lost == "withdrawal" else {U}))
        assert process.directives.report()["lists"]["missed"] >= 1
        group.cancel_scope.cancel()


async def test_the_applied_revision_shows_when_a_directive_is_obeyed(store: FaultyStore, book: Book) -> None:
    before = await book.put(PAUSE)
    process = Process(store)
    assert process.directives.report()["applied_revision"] == 0
    await process.directives.load()
    assert process.directives.report()["applied_revision"] >= before
    async with process.obeying():
        revision = await book.put(Pause(kind="net", uuid="v"))
        await until(lambda: process.directives.report()["applied_revision"] >= revision)
        assert process.actions.paused.keys() == {U, V}
        assert process.directives.report()["counts"] == {"pause": 2}


async def test_an_unreadable_directive_is_logged_once_by_its_key_and_ignored(
    store: FaultyStore, book: Book, caplog: pytest.LogCaptureFixture
) -> None:
    place = f"{PREFIX}pause/net:u"
    await store.transaction([], [Put(place, b"a-canary")])
    await book.put(Pause(kind="net", uuid="v"))
    async with Process(store).obeying() as process:
        await until(lambda: process.changes >= 1)
        assert process.actions.paused.keys() == {V}
        assert process.directives.report()["unreadable"] == [place]
        assert caplog.text.count(place) == 1
        assert "a-canary" not in caplog.text
        await book.put(PAUSE)
        await until(lambda: process.actions.paused.keys() == {U, V})
        assert process.directives.report()["unreadable"] == []


async def test_an_unreadable_directive_no_longer_counts(store: FaultyStore, book: Book) -> None:
    async with Process(store).obeying() as process:
        await book.put(PAUSE)
        await until(lambda: process.actions.paused.keys() == {U})
        await store.transaction([], [Put(f"{PREFIX}pause/net:u", b"")])
        await until(lambda: not process.actions.paused)


async def test_a_retry_ends_the_suspicions_before_it_and_not_those_after_it(store: FaultyStore, book: Book) -> None:
    await book.put(Suspect(kind="net", uuid="u", mod_revision=3))
    await book.put(Retry())
    await book.put(Suspect(kind="net", uuid="v", mod_revision=3))
    process = Process(store)
    await process.directives.load()
    assert process.actions.suspected == {V: 3}
    assert process.actions.calls.index(("unsuspect", U)) < process.actions.calls.index(("retry", None))


async def test_a_retry_that_is_found_late_does_not_end_a_later_suspicion(store: FaultyStore) -> None:
    obeying = DirectiveExecutor(PREFIX, actions := RecordedActions(), LEADER)
    obeying.take([_change(SUSPECT, 7)], whole=False)
    obeying.take([_change(SUSPECT, 7), _change(Retry(), 5)], whole=True)
    assert actions.suspected == {U: 3}


async def test_what_a_retry_ended_is_withdrawn_before_it(store: FaultyStore) -> None:
    obeying = DirectiveExecutor(PREFIX, RecordedActions(), LEADER)
    for change in (_change(Retry(), 1), _change(SUSPECT, 2), _change(Retry(), 3)):
        obeying.take([change], whole=False)
    assert [known.directive for known in obeying.done()] == [SUSPECT, Retry()]


async def test_only_a_retry_of_one_intent_ends_its_drop(store: FaultyStore, book: Book) -> None:
    await book.put(Drop(kind="net", uuid="u", mod_revision=3))
    await book.put(Drop(kind="net", uuid="v", mod_revision=3))
    await book.put(Retry(kind="net", uuid="u"))
    await book.put(Retry())
    process = Process(store)
    await process.directives.load()
    assert process.actions.dropped == {V: 3}
