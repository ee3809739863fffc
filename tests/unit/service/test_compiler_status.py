"""``/status`` shows the role, the lag, the pending work in words, and the progress of the first load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from intentc.directives import DirectiveWatch
from intentc.engine.permission import OBSERVING, RESTORED, STANDING_BY, UPGRADE
from intentc.logic import Job
from intentc.model import Key, Name, Problem
from intentc.model.events import Snapshot
from intentc.planning import DeleteGuard
from intentc.reconcile.failures import Rejected, Throttled, Unavailable
from intentc.service.compiler_status import CompilerStatus, Leadership, Parts
from intentc.watch.heartbeat import Heartbeat
from intentc.watch.keys import Layout
from intentc.watch.listing import list_all
from intentc.watch.protocol import Put
from intentc.watch.source import Source
from intentc.watch.watch_state import Phase
from tests.support.box_system import BoxSystem, part
from tests.support.waiting import until
from tests.unit.engine.conftest import box_system

__all__ = ["box_system"]

pytestmark = pytest.mark.anyio

LEADER = Leadership(leads=True, leader="one", hindered="")
STANDBY = Leadership(leads=False, leader="one", hindered="")


class Reported:
    """The status of a box system, whose watch is open unless the test says otherwise."""

    def __init__(self, box_system: BoxSystem) -> None:
        self.source = Source(box_system.offline.store, "/contrail/", heartbeat=Heartbeat("default", "one"))
        self.enter(Phase.WATCHING)
        engine = box_system.engine
        directives = DirectiveWatch(box_system.offline.store, "default", engine.operator_actions, engine)
        self.compiler_status = CompilerStatus(engine, self.source, Parts(directives))

    def enter(self, phase: Phase, error: str = "") -> None:
        self.source._enter(phase, error)
        self.source.state = self.source.state._replace(since=1_767_225_600.0)

    def status(self, leadership: Leadership | None = LEADER) -> dict[str, Any]:
        self.compiler_status.look()
        return self.compiler_status.head(leadership)

    def pending_work(self, leadership: Leadership | None = LEADER) -> Sequence[str]:
        return list(self.status(leadership)["pending_work"])

    def attention(self) -> Sequence[str]:
        return list(self.status()["attention"])


@pytest.fixture
def reported(box_system: BoxSystem) -> Reported:
    return Reported(box_system)


async def test_one_that_has_converged_waits_for_nothing_and_needs_nobody(
    box_system: BoxSystem, reported: Reported
) -> None:
    await box_system.boxes("a", "b")
    status = reported.status()
    assert (status["pending_work"], status["attention"], status["progress"]) == ([], [], None)
    assert (status["pending_references"], status["busy_seconds"], status["oldest_job_seconds"]) == (0, 0.0, 0.0)


async def test_with_etcd_silent_for_longer_than_the_heartbeats_bound_it_is_not_healthy(
    box_system: BoxSystem, reported: Reported
) -> None:
    await box_system.boxes("a")
    now = [100.0]
    reported.source._clock, reported.source._heard = (lambda: now[0]), 100.0
    now[0] += reported.source.patience
    assert reported.status()["healthy"]
    now[0] += 0.1
    assert not reported.status()["healthy"], "whatever phase the watch is in"
    reported.source._heard = now[0]
    assert reported.status()["healthy"]
    assert not reported.status(LEADER._replace(unanswered_since=1_767_225_600.0))["healthy"]


async def test_one_that_stands_by_shows_no_writing_and_its_first_load_ends() -> None:
    box_system = BoxSystem()
    reported = Reported(box_system)
    box_system.engine.withhold(STANDING_BY, "another leads")
    await box_system.boxes("a", "b", settle=False, text="number")
    box_system.engine._applier.apply(await _listed(box_system))
    await box_system.engine.evaluator.loop.step()
    box_system.engine.work_ended()
    box_system.engine.objects.plan([Name("part", ("a", "one"))])
    assert reported.status(STANDBY)["progress"] == {"phase": "planning", "done": 0, "total": 1}
    await box_system.offline.settle()
    assert reported.status(STANDBY)["progress"] is None, "though the numbers are the leader's to take"


@pytest.mark.parametrize(
    ("leadership", "role"), [(LEADER, "leader"), (STANDBY, "standby"), (None, "alone")], ids=["leads", "waits", "alone"]
)
async def test_the_role_is_reported(reported: Reported, leadership: Leadership | None, role: str) -> None:
    assert reported.status(leadership)["role"] == role


async def test_an_observing_process_is_an_observer_whoever_leads(box_system: BoxSystem, reported: Reported) -> None:
    box_system.engine.withhold(OBSERVING, "--observe")
    assert reported.status(None)["role"] == "observer"


async def test_what_a_write_returned_and_the_watch_has_not_delivered_is_lag(
    box_system: BoxSystem, reported: Reported
) -> None:
    reported.source.progress.delivered(Snapshot(box_system.engine.revision, ()))
    box_system.engine.sender.last_revision = box_system.engine.revision + 3
    status = reported.status()
    assert status["lag_revisions"] == 3
    revision = box_system.engine.revision
    assert status["pending_work"] == [
        f"the watch, which is at revision {revision}; our last write has revision {revision + 3}"
    ]


async def test_only_allocations_that_cannot_be_read_are_waited_for_in_the_beginning() -> None:
    box_system = BoxSystem()
    reported = Reported(box_system)
    reported.compiler_status.lacks("the allocations can't be read yet: connection refused")
    assert reported.pending_work()[0] == "the allocations can't be read yet: connection refused"
    assert reported.status()["progress"] == {"phase": "connecting", "done": 0, "total": None}


async def test_an_etcd_that_is_away_is_waited_for_with_time_and_reason() -> None:
    reported = Reported(BoxSystem())
    reported.enter(Phase.DISCONNECTED, "connection refused")
    assert reported.pending_work()[0] == "etcd, no watch since 00:00:00 UTC: connection refused"


async def test_status_waits_for_an_unreachable_etcd_though_the_known_world_has_converged(
    box_system: BoxSystem, reported: Reported
) -> None:
    reported.enter(Phase.DISCONNECTED, "connection refused")
    assert box_system.engine.converged
    assert reported.pending_work() == ["etcd, no watch since 00:00:00 UTC: connection refused"]


async def test_while_etcd_is_away_nobody_knows_whether_it_has_converged_and_is_healthy(
    box_system: BoxSystem, reported: Reported
) -> None:
    assert _verdicts(reported) == (True, True, None)
    reported.enter(Phase.DISCONNECTED, "connection refused")
    assert _verdicts(reported) == (None, None, 1_767_225_600.0)
    reported.enter(Phase.LISTING)
    assert _verdicts(reported) == (None, None, 1_767_225_600.0), "it knows what it missed only after the list"
    reported.enter(Phase.WATCHING)
    assert _verdicts(reported) == (True, True, None)


async def test_what_is_held_is_not_healthy_even_while_etcd_is_away(box_system: BoxSystem, reported: Reported) -> None:
    await box_system.boxes("a", text="fail")
    reported.enter(Phase.DISCONNECTED, "connection refused")
    assert _verdicts(reported) == (None, False, 1_767_225_600.0)


async def test_an_etcd_that_takes_no_writes_is_known_and_not_healthy(box_system: BoxSystem, reported: Reported) -> None:
    reported.source._rejected("no space")
    assert _verdicts(reported) == (True, False, None)


async def test_an_api_server_that_is_away_leaves_it_unknown_though_nothing_is_queued(
    box_system: BoxSystem, reported: Reported, monkeypatch: pytest.MonkeyPatch
) -> None:
    await box_system.boxes("a")
    monkeypatch.setattr(reported.compiler_status._rates, "_now", lambda: 1_767_225_600.0)
    box_system.engine.throttle.failed(Unavailable("connection refused"), "a")
    assert _verdicts(reported) == (None, None, 1_767_225_600.0)
    assert reported.pending_work() == ["the API server, which can't be reached since 00:00:00 UTC"]
    box_system.engine.throttle.heard()
    assert _verdicts(reported) == (True, True, None)
    assert reported.pending_work() == []


def _verdicts(reported: Reported) -> tuple[bool | None, bool | None, float | None]:
    status = reported.status()
    return status["converged"], status["healthy"], status["unknown_since"]


async def test_an_observer_logs_how_much_it_would_write(
    box_system: BoxSystem, reported: Reported, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "intentc.service.compiler_status")
    box_system.engine.withhold(OBSERVING, "--observe")
    await box_system.boxes("a", "b")
    for _ in range(2):
        reported.status()
    await box_system.boxes("c")
    reported.status()
    assert caplog.messages == [
        "observing: 2 objects would be written: `intentc show planned`",
        "observing: 3 objects would be written: `intentc show planned`",
    ]


async def test_what_etcd_is_behind_with_is_not_known_while_it_is_away(
    box_system: BoxSystem, reported: Reported
) -> None:
    reported.source.progress.delivered(Snapshot(box_system.engine.revision, ()))
    assert reported.status()["lag_revisions"] == 0
    reported.enter(Phase.DISCONNECTED, "connection refused")
    assert reported.status()["lag_revisions"] is None


async def test_status_waits_for_a_silent_etcd_once_it_costs_the_lead(box_system: BoxSystem, reported: Reported) -> None:
    reported.source.progress.delivered(Snapshot(box_system.engine.revision, ()))
    lost = Leadership(leads=False, leader=None, hindered="", unanswered_since=1_767_225_600.0)
    status = reported.status(lost)
    assert status["pending_work"] == ["an answer of etcd, none since 00:00:00 UTC"]
    assert status["lag_revisions"] is None


async def test_the_first_load_shows_how_far_it_is() -> None:
    box_system = BoxSystem()
    reported = Reported(box_system)
    reported.enter(Phase.LISTING)
    reported.source.progress.listing(500, 2000)
    assert reported.pending_work()[0] == "the first list of etcd: 500 of 2,000 keys are read"
    assert reported.status()["progress"] == {"phase": "listing", "done": 500, "total": 2000}

    await box_system.boxes("a", "b", "c", settle=False)
    reported.enter(Phase.WATCHING)
    box_system.engine._applier.apply(await _listed(box_system))
    key = box_system.engine.jobs.take()
    assert key is not None
    box_system.engine.evaluator._evaluate(key)
    box_system.engine.jobs.done(key)
    assert reported.pending_work()[0] == "the first pass: 1 of 3 intents are evaluated"
    assert reported.status()["progress"] == {"phase": "evaluating", "done": 1, "total": 3}

    await box_system.engine.evaluator.loop.step()
    box_system.engine.work_ended()
    assert reported.status()["progress"] == {"phase": "writing", "done": 0, "total": 3}
    assert reported.pending_work() == ["the comparison of 3 objects with their desired state"]
    await box_system.offline.settle()
    assert reported.status()["progress"] is None


async def _listed(box_system: BoxSystem) -> Any:
    await box_system.engine.load_allocations()
    return (await list_all(box_system.offline.store, Layout.of("/contrail/"), lambda key: None)).snapshot


async def test_after_the_first_load_no_progress_is_reported_however_busy_it_is(
    box_system: BoxSystem, reported: Reported
) -> None:
    assert reported.status()["progress"] is None
    box_system.engine.jobs.schedule({Key("box", "some"): Job(by_readers=True)})
    assert reported.status()["progress"] is None
    assert reported.pending_work() == ["the evaluation of 1 intent"]


async def test_an_api_server_that_is_away_is_waited_for(box_system: BoxSystem, reported: Reported) -> None:
    box_system.write.failures["*"] = [Unavailable("connection refused")] * 1000
    await box_system.boxes("a")
    assert reported.pending_work()[0].startswith("the API server, which can't be reached since ")


async def test_a_pause_that_the_server_asked_for_is_waited_for(box_system: BoxSystem, reported: Reported) -> None:
    box_system.write.failures["a"] = [Throttled(300.0, "too many requests")]
    await box_system.boxes("a")
    first, *_, last = reported.pending_work()
    assert first == "the end of the pause that the API server asked for, in 300 s"
    assert last.startswith("the next attempt to write part a:one: ")
    assert "too many requests" in last


async def test_numbers_are_waited_for_by_the_name_of_who_wants_them(box_system: BoxSystem, reported: Reported) -> None:
    box_system.engine.withhold(STANDING_BY, "another leads")
    await box_system.boxes("a", "b", text="number")
    first, second = reported.pending_work(STANDBY)[:2]
    assert first == "one, which leads"
    assert second in {f"an allocation from tickets for box {name} and 1 more" for name in "ab"}


async def test_a_leader_that_may_not_write_yet_says_why(box_system: BoxSystem, reported: Reported) -> None:
    box_system.engine.withhold(STANDING_BY, "another leads")
    await box_system.boxes("a")
    assert reported.pending_work(LEADER._replace(hindered="it leads, and has not caught up yet")) == [
        "permission to write: it leads, and has not caught up yet",
        "permission to write the plans of 1 object",
    ]


async def test_after_a_restore_an_audit_is_waited_for(box_system: BoxSystem, reported: Reported) -> None:
    box_system.engine.restore_guard.require_confirmation()
    box_system.engine.withhold(RESTORED, "restored")
    await box_system.boxes("a")
    assert (
        reported.pending_work()[0] == "an audit, since etcd was restored from an older state: nothing is written before"
    )


async def test_withheld_deletes_need_a_person_and_the_command_is_named(
    box_system: BoxSystem, reported: Reported
) -> None:
    guard = box_system.engine.planner.guard
    assert isinstance(guard, DeleteGuard)
    guard.sift({part(str(number)): "gone" for number in range(60)}, {"part": 60})
    assert reported.attention() == ["60 deletes of part withheld as a mass deletion: `intentc allow-deletes part`"]


async def test_what_is_held_and_rejected_needs_a_person(box_system: BoxSystem, reported: Reported) -> None:
    box_system.write.failures["rejected"] = [Rejected(422, "no such colour")] * 1000
    await box_system.boxes("rejected")
    await box_system.boxes("one", "two", text="fail")
    status = reported.status()
    assert status["pending_work"] == []
    held, rejected = status["attention"]
    assert held.startswith("held, their outputs stay as they are: box ")
    assert held.endswith(" and 1 more: `intentc quarantine list`")
    assert rejected == "rejected by the API server: part rejected:one: `intentc quarantine list`"


async def test_an_upgrade_that_would_write_much_needs_a_person(box_system: BoxSystem, reported: Reported) -> None:
    box_system.engine.withhold(UPGRADE, "it would make 2,000 writes")
    assert reported.attention() == ["it would make 2,000 writes"]


async def test_a_rejected_reload_needs_a_person_until_another_is_taken(
    box_system: BoxSystem, reported: Reported
) -> None:
    box_system.engine.reloads.failed("map.yml:3: unknown kind 'x'")
    assert reported.attention() == [
        "reload rejected, the former configuration stays in force: map.yml:3: unknown kind 'x'; fix it, "
        "see `intentc check`, and send SIGHUP"
    ]
    box_system.engine.reloads.succeeded()
    assert reported.attention() == []


async def test_a_reference_whose_target_has_not_come_is_named(box_system: BoxSystem, reported: Reported) -> None:
    absent = "00000000-0000-4000-8000-000000000002"
    await box_system.boxes("a")
    key = await box_system.key("box", "a")
    value = f'{{"uuid":"{key.uuid}","fq_name":["a"],"text":"x","box_refs":[{{"to":["b"],"uuid":"{absent}"}}]}}'
    await _put(box_system, key, value)
    await reported.compiler_status._pending.look()
    status = reported.status()
    assert status["pending_references"] == 1
    assert status["attention"] == [f"missing: box {absent}, to which box a refers: `intentc why box a`"]


async def _put(box_system: BoxSystem, key: Key, value: str) -> None:
    await box_system.offline.store.transaction([], [Put(f"/contrail/{key.kind}/{key.uuid}", value.encode())])
    await box_system.offline.settle()


async def test_problems_without_consequence_wait_for_nobody(box_system: BoxSystem, reported: Reported) -> None:
    box_system.engine.states.note_object(part("a"), (Problem("part", "a:one", "Odd", "odd"),), frozenset())
    assert (reported.pending_work(), reported.attention()) == ([], [])


async def test_it_looks_by_itself(box_system: BoxSystem, reported: Reported, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("intentc.service.compiler_status._PERIOD", 0.0)
    looks = 0

    def look() -> None:
        nonlocal looks
        looks += 1

    monkeypatch.setattr(reported.compiler_status, "look", look)
    async with anyio.create_task_group() as group:
        group.start_soon(reported.compiler_status.sample)
        await until(lambda: looks > 2)
        group.cancel_scope.cancel()


async def test_the_oldest_job_is_reported(
    box_system: BoxSystem, reported: Reported, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 50.0
    monkeypatch.setattr("intentc.reconcile.keyed.time.monotonic", lambda: now)
    for name in ("one", "two", "one"):
        box_system.engine.jobs.add(Key("box", name), resync=name == "two")
        now += 2.0
    assert reported.status()["oldest_job_seconds"] == 6.0
