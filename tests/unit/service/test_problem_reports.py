"""The leader stores the problems of mirrored resources for the bridge: the present ones, and those alone."""

from __future__ import annotations

from typing import Any

import anyio
import msgspec
import pytest

from intentc.engine.state_tables import ProblemCounts
from intentc.loading import load_schema
from intentc.model import Change, HeldInput, Key, Problem, Resource
from intentc.model.bridge_keys import (
    LONGEST_MESSAGE,
    MOST_PROBLEMS,
    ProblemReport,
    problem_reports_prefix,
)
from intentc.reconcile.failures import Denied
from intentc.service.problem_reports import ProblemReports
from intentc.watch.keys import leader_key
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Delete, Put, prefix_end
from tests.simulation.simulated_clock import SimulatedLoop, now

pytestmark = pytest.mark.anyio
SCHEMA = load_schema("appgw")
PREFIX = problem_reports_prefix("shop", "one")
LOST = ("SecretNotFound", "there is no Secret shop:account; create it")


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """Nothing waits for real."""
    return "asyncio", {"loop_factory": SimulatedLoop}


class _System:
    """A store, and what the engine shows: ``copies`` are Ingresses by name, those in ``foreign`` no bridge wrote."""

    may_write = first_pass_complete = True
    schema = SCHEMA

    def __init__(self, store: MemoryStore | None = None) -> None:
        self.store = store or MemoryStore()
        self.problem_counts = ProblemCounts()
        self.cache = self.names = self
        self.copies = {"shop:web": "uid-1", "shop:late": "uid-2"}
        self.foreign: set[str] = set()
        self.reports = ProblemReports(
            self.store,
            self,  # type: ignore[arg-type]
            self,  # type: ignore[arg-type]
            self,  # type: ignore[arg-type]
            path="shop",
            installation="one",
            fence=None,
        )

    # World

    def in_force(self, kind: str, joined: str) -> str | None:
        return self.copies.get(joined) if kind == "ingress" else None

    def exists(self, key: Key) -> bool:
        return key.uuid in self.copies.values()

    def name_of(self, key: Key) -> str:
        return next(name for name, uuid in self.copies.items() if uuid == key.uuid)

    def resource(self, key: Key) -> Resource:
        name = self.name_of(key)
        document = {
            "uuid": key.uuid,
            "fq_name": name.split(":"),
            "metadata": {} if name in self.foreign else {"mirrored": True},
        }
        return SCHEMA.kind("ingress").decode(Change("ingress", key.uuid, msgspec.json.encode(document), 1, 1))

    def shown(self, key: Key) -> Resource:
        return self.resource(key)

    # The test

    def report(self, name: str, *problems: tuple[str, str], kind: str = "ingress") -> None:
        """Let these be the problems of a resource."""
        before = tuple(self.problem_counts.about(kind, name))
        self.problem_counts.replace(before, [Problem(kind, name, *one) for one in problems])

    async def pass_seconds(self, seconds: float) -> None:
        # A look may be due at the same moment.
        with anyio.move_on_after(seconds + 0.1):
            await self.reports.loop.run()

    async def stored(self) -> dict[str, list[tuple[str, str]]]:
        found = (await self.store.range(PREFIX, prefix_end(PREFIX))).items
        decoded = {one.key.removeprefix(PREFIX): msgspec.json.decode(one.value, type=ProblemReport) for one in found}
        return {key: [(one.reason, one.message) for one in report.problems] for key, report in decoded.items()}

    async def revision(self) -> int:
        return (await self.store.range("/")).revision


async def test_the_problems_of_a_mirrored_resource_are_stored_until_they_end() -> None:
    system = _System()
    system.report("shop:web", LOST, ("PathInvalid", "a"))
    await system.pass_seconds(3)
    assert await system.stored() == {"ingress/uid-1": [("PathInvalid", "a"), LOST]}
    system.report("shop:web", LOST)
    await system.pass_seconds(3)
    assert await system.stored() == {"ingress/uid-1": [LOST]}
    before = await system.revision()
    await system.pass_seconds(30)
    assert await system.revision() == before, "nothing changed"
    system.report("shop:web")
    await system.pass_seconds(3)
    assert await system.stored() == {}


async def test_a_problem_that_ends_at_once_is_not_stored() -> None:
    system = _System()
    await system.pass_seconds(1)
    before = await system.revision()
    system.report("shop:web", LOST)
    await system.pass_seconds(1)
    system.report("shop:web")
    await system.pass_seconds(20)
    assert await system.revision() == before


async def test_resources_that_no_bridge_wrote_and_outputs_get_no_report() -> None:
    system = _System()
    system.foreign.add("shop:late")
    system.report("shop:late", LOST)
    system.report("gw:rule", LOST, kind="appgw_rule")
    system.report("shop:gone", LOST)
    await system.pass_seconds(20)
    assert await system.stored() == {}
    system.foreign.clear()
    await system.pass_seconds(20)
    assert await system.stored() == {"ingress/uid-2": [LOST]}, "a bridge wrote it since"


async def test_a_resource_created_again_has_the_report_and_the_former_one_none() -> None:
    system = _System()
    system.report("shop:web", LOST)
    await system.pass_seconds(3)
    system.copies["shop:web"] = "uid-3"
    await system.pass_seconds(20)
    assert await system.stored() == {"ingress/uid-3": [LOST]}


async def test_a_new_leader_writes_only_what_differs_and_removes_what_ended() -> None:
    former = _System()
    former.report("shop:web", LOST)
    former.report("shop:late", LOST)
    await former.pass_seconds(3)
    await former.store.transaction([], [Put(f"{PREFIX}ingress/uid-of-another-life", b"{}")])
    system = _System(former.store)
    system.report("shop:web", LOST)
    before = await system.revision()
    await system.pass_seconds(5)
    assert await system.stored() == {"ingress/uid-1": [LOST]}
    assert await system.revision() == before + 2, "two removals"


async def test_a_standby_writes_no_reports() -> None:
    system = _System()
    system.may_write = False
    system.report("shop:web", LOST)
    await system.pass_seconds(5)
    assert await system.stored() == {}
    system.may_write = True
    await system.pass_seconds(5)
    assert await system.stored() == {"ingress/uid-1": [LOST]}


async def test_a_former_leader_that_knows_of_no_other_one_writes_nothing() -> None:
    system = _System()
    await system.store.transaction([], [Put(leader_key("one"), b"another")])
    fence = f"one/{await system.revision() - 1}"
    system.reports._fence = lambda: fence
    system.report("shop:web", LOST)
    await system.pass_seconds(5)
    assert await system.stored() == {}
    fence = f"one/{await system.revision()}"
    await system.pass_seconds(5)
    assert await system.stored() == {"ingress/uid-1": [LOST]}


async def test_a_report_is_bounded() -> None:
    system = _System()
    system.report("shop:web", *(("PathInvalid", f"{number:03} " + "x" * 5000) for number in range(500)))
    await system.pass_seconds(3)
    (found,) = (await system.stored()).values()
    assert len(found) == MOST_PROBLEMS
    assert {len(message) for _, message in found} == {LONGEST_MESSAGE}


async def test_a_report_is_written_once_the_problems_of_its_resource_stay_the_same() -> None:
    system = _System()
    await system.pass_seconds(1)
    for number in range(5):
        system.report("shop:web", ("PathInvalid", str(number)))
        await system.pass_seconds(1)
        assert await system.stored() == {}
    await system.pass_seconds(2)
    assert await system.stored() == {"ingress/uid-1": [("PathInvalid", "4")]}


async def test_problems_that_never_stay_the_same_are_reported_all_the_same() -> None:
    system = _System()
    await system.pass_seconds(1)
    for number in range(12):
        system.report("shop:web", ("PathInvalid", str(number)))
        await system.pass_seconds(1)
    assert list(await system.stored()) == ["ingress/uid-1"]


async def test_a_resource_that_is_back_under_its_uuid_keeps_its_report() -> None:
    former = _System()
    former.report("shop:web", LOST)
    await former.pass_seconds(3)
    system = _System(former.store)
    uuid = system.copies.pop("shop:web")
    await system.pass_seconds(1)
    system.copies["shop:web"] = uuid
    system.report("shop:web", LOST)
    await system.pass_seconds(60)
    assert await system.stored() == {"ingress/uid-1": [LOST]}
    system.report("shop:web")
    await system.pass_seconds(60)
    assert await system.stored() == {}


async def test_a_resource_that_cant_be_read_keeps_its_report(monkeypatch: pytest.MonkeyPatch) -> None:
    system = _System()
    system.report("shop:web", LOST)
    await system.pass_seconds(3)

    def unreadable(self: object, key: Key) -> Resource:
        raise HeldInput(key)

    good = system.resource(Key("ingress", "uid-1"))
    monkeypatch.setattr(_System, "resource", unreadable)
    monkeypatch.setattr(_System, "shown", lambda self, key: good)
    system.report("shop:web", LOST, ("PathInvalid", "a"))
    await system.pass_seconds(20)
    assert await system.stored() == {"ingress/uid-1": [("PathInvalid", "a"), LOST]}


async def test_a_report_that_somebody_removed_is_written_again() -> None:
    system = _System()
    system.report("shop:web", LOST)
    await system.pass_seconds(3)
    await system.store.transaction([], [Delete(f"{PREFIX}ingress/uid-1")])
    assert await system.stored() == {}
    await system.pass_seconds(310)
    assert await system.stored() == {"ingress/uid-1": [LOST]}


@pytest.mark.parametrize("led_before", [True, False])
async def test_a_standby_keeps_no_list_of_changes(led_before: bool) -> None:
    system = _System()
    system.may_write = led_before
    await system.pass_seconds(1)
    system.may_write = False
    for number in range(100):
        system.report(f"shop:{number}", LOST)
        system.report(f"shop:{number}")
    await system.pass_seconds(1)
    assert not system.problem_counts.take_changed()


async def test_a_store_without_the_right_is_logged_once_and_asked_rarely(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    system = _System()
    asked = []

    async def deny(*given: object) -> Any:
        asked.append(now())
        raise Denied("permission denied")

    granted: Any = system.store.transaction
    monkeypatch.setattr(system.store, "transaction", deny)
    system.report("shop:web", LOST)
    await system.pass_seconds(200)
    assert len(asked) == 4
    assert caplog.text.count("run the script of `intentc etcd-roles`") == 1
    monkeypatch.setattr(system.store, "transaction", granted)
    await system.pass_seconds(70)
    assert await system.stored() == {"ingress/uid-1": [LOST]}
