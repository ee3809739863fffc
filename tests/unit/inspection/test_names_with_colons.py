"""An element of a name may hold colons itself (route targets do): such an object is found by its whole name, too."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from intentc import Claim, Context, Fact
from intentc.inspection.compared import one_object
from intentc.inspection.finding import Found, find
from intentc.inspection.neighbourhood import neighbourhood
from intentc.inspection.why import why
from intentc.model import Name
from intentc.offline.offline import Offline
from intentc.reconcile.failures import Rejected
from tests.support.box_system import BoxIntent, BoxSystem, part
from tests.support.contrail_system import ContrailSystem

pytestmark = pytest.mark.anyio

TARGET = "target:64512:100"


@pytest.fixture
async def rejected(box_system: BoxSystem) -> BoxSystem:
    """The part of a box with colons in its name is wanted, and rejected."""
    box_system.write.failures["a:b"] = [Rejected(422, "no such colour")]
    await box_system.boxes("a:b")
    return box_system


@pytest.fixture
async def system() -> ContrailSystem:
    """A network that names a route target which the compiler makes."""
    system = await ContrailSystem().begin()
    await system.create("virtual_network", "blue:red", route_target_list={"route_target": [TARGET]})
    return system


@pytest.mark.parametrize("text", ["a:b:one", "b:one"])
async def test_what_is_claimed_and_not_there_is_found(rejected: BoxSystem, text: str) -> None:
    assert await find(rejected.engine, "part", text) == Found(part("a:b"), None)


async def test_why_shows_who_claims_what_is_rejected_and_that(rejected: BoxSystem) -> None:
    answer = await why(rejected.engine, "part", "a:b:one")
    assert (answer["exists"], answer["state"]) == (False, "rejected")
    assert [owner["name"] for owner in answer["owners"]] == ["a:b"]


async def test_the_object_as_it_should_be_is_shown(rejected: BoxSystem) -> None:
    answer = await one_object(rejected.engine, "part", "a:b:one")
    assert (answer["actual"], answer["desired"]["content"]) == (None, "hello")


async def test_what_is_claimed_and_not_there_has_its_neighbours(rejected: BoxSystem) -> None:
    answer = await neighbourhood(rejected.engine, "part", "a:b:one")
    assert [(node["kind"], node["name"], node["role"]) for node in answer["nodes"]] == [
        ("part", "a:b:one", "output"),
        ("box", "a:b", "input"),
    ]


async def test_a_route_target_that_an_observer_would_make_is_found(system: ContrailSystem) -> None:
    system.stop()
    await system.create("virtual_network", "blue:green", route_target_list={"route_target": ["target:64512:200"]})
    observing = Offline(system.loaded, store=system.offline.store, observe=True)
    await observing.settle()
    answer = await why(observing.engine, "route_target", "target:64512:200")
    assert (answer["name"], answer["exists"]) == ("target:64512:200", False)
    assert "default-domain:blue:green" in str(answer["owners"])


async def test_what_was_deleted_is_reported_with_its_history(box_system: BoxSystem) -> None:
    await box_system.boxes("a:b")
    await box_system.remove("a:b")
    answer = await why(box_system.engine, "part", "a:b:one")
    assert answer["written"]["operation"] == "delete"
    assert [line["operation"] for line in answer["history"] if line["sort"] == "write"] == ["create", "delete"]


async def test_after_a_restart_files_show_of_what_was_deleted(box_system: BoxSystem, tmp_path: Path) -> None:
    await box_system.boxes("a:b")
    await box_system.remove("a:b")
    box_system.keep_journal(tmp_path, "host-1")
    again = BoxSystem(box_system.offline.store)
    again.engine.journal.directory = tmp_path
    await again.offline.settle()
    for text in ("a:b:one", "b:one"):
        answer = await why(again.engine, "part", text)
        assert (answer["name"], answer["written"]["operation"]) == ("a:b:one", "delete")
        assert [line["operation"] for line in answer["history"] if line["sort"] == "write"] == ["create", "delete"]


async def test_an_intent_that_claims_it_before_it_fails_is_named(
    box_system: BoxSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    def evaluate(self: BoxIntent, ctx: Context) -> Iterable[Claim | Fact]:
        yield self.owned("ticket", (TARGET,))
        raise RuntimeError("as the test asked for")

    monkeypatch.setattr(BoxIntent, "evaluate", evaluate)
    await box_system.boxes("a")
    answer = await why(box_system.engine, "ticket", TARGET)
    assert answer["summary"].startswith("box a would create it, but is held")


async def test_the_resource_above_it_is_known_though_the_last_element_holds_colons(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    answer = await why(box_system.engine, "part", "a:two:three")
    assert answer["summary"] == "No intent claims it: box a exists and is compiled, and needs no such object."


async def test_the_name_that_nothing_has_stays_as_it_was_given(system: ContrailSystem) -> None:
    answer = await why(system.offline.engine, "route_target", "target:64512:999")
    assert (answer["exists"], answer["name"]) == (False, "target:64512:999")
    assert Name("route_target", (TARGET,)) in system.offline.engine.planner.book
