"""Of what has gone, the answer says that and when, by a whole name or its end, from memory and from files."""

from __future__ import annotations

from pathlib import Path

import pytest

from intentc.diagnostics.questions import Unanswerable
from intentc.inspection.why import why
from intentc.journal.keeping import Keeping
from intentc.journal.ring import JournalFiles, this_process
from tests.support.box_system import BoxSystem
from tests.support.contrail_system import ContrailSystem, rule, rules

pytestmark = pytest.mark.anyio


@pytest.fixture
async def system() -> ContrailSystem:
    system = await ContrailSystem().begin()
    await system.create("security_group", "blue:web", security_group_entries=rules(rule("local", "any")))
    return system


@pytest.mark.parametrize("name", ["web", "blue:web", "default-domain:blue:web"])
async def test_a_resource_that_was_deleted_says_when_and_has_its_history(system: ContrailSystem, name: str) -> None:
    await system.remove("security_group", "blue:web")
    answer = await why(system.offline.engine, "security_group", name)
    assert (answer["exists"], answer["name"]) == (False, "default-domain:blue:web")
    revision = answer["deleted"]["revision"]
    assert answer["summary"] == f"It was deleted at revision {revision}. It was not created again."
    ended = answer["history"][-1]
    assert (ended["status"], ended["revision"], ended["at"]) == ("deleted", revision, answer["deleted"]["at"])


async def test_what_a_compiler_deleted_is_found_by_its_end(system: ContrailSystem) -> None:
    await system.remove("security_group", "blue:web")
    answer = await why(system.offline.engine, "access_control_list", "web:egress-access-control-list")
    assert answer["name"] == "default-domain:blue:web:egress-access-control-list"
    assert answer["deleted"]["revision"] == answer["written"]["revision"]
    revision = answer["deleted"]["revision"]
    assert answer["summary"].startswith(f"It was deleted at revision {revision}. No intent claims it")


async def test_an_end_that_several_had_that_are_gone_is_rejected_with_them(system: ContrailSystem) -> None:
    await system.create("project", "red")
    await system.create("security_group", "red:web", security_group_entries=rules())
    for project in ("red", "blue"):
        await system.remove("security_group", f"{project}:web")
    with pytest.raises(Unanswerable) as raised:
        await why(system.offline.engine, "security_group", "web")
    assert raised.value.candidates == ("default-domain:blue:web", "default-domain:red:web")


async def test_what_is_there_again_was_not_deleted(system: ContrailSystem) -> None:
    await system.remove("security_group", "blue:web")
    await system.create("security_group", "blue:web", security_group_entries=rules())
    answer = await why(system.offline.engine, "security_group", "web")
    assert (answer["exists"], answer["deleted"]) == (True, None)


async def test_after_a_restart_files_show_it_of_resources_and_of_objects(box_system: BoxSystem, tmp_path: Path) -> None:
    await box_system.boxes("a")
    await box_system.remove("a")
    journal = box_system.engine.journal
    files = JournalFiles(tmp_path, files=3, file_bytes=100_000, process=this_process("lab", "host-1", 1.0))
    Keeping(journal, files, lambda key: journal.names.get(key, key.uuid), box_system.engine.world.at_start).end()
    again = BoxSystem(box_system.offline.store)
    again.engine.journal.directory = tmp_path
    await again.offline.settle()
    for kind, name in (("box", "a"), ("part", "one")):
        answer = await why(again.offline.engine, kind, name)
        assert answer["deleted"]["revision"]
        assert answer["history"]
