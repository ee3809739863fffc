"""D14: the Go ancestor reads settings that nobody uses. D16: it logs whole resources. (D15, a sleep after each job, is
shown by the benchmark.)"""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec
import pytest

from intentc.loading.configuration import Configuration, load
from intentc.loading.configuration.sections import Compilation
from intentc.model import Key
from intentc.plugins import installed
from intentc.service.service import CompilerService, build_service
from intentc.watch.memory import MemoryStore
from intentc.writing import DryRun, ReadService
from tests.support.box_system import BoxSystem
from tests.support.contrail_system import ContrailSystem

pytestmark = pytest.mark.anyio

CANARY = "c4n4ry-of-a-body"

USED = {
    "enabled": "a compiler that is not enabled is not run",
    "master_election": "whether one of several processes leads",
    "msg_queue_lock_time": "the seconds of the leader's lease",
}
PASSED_OVER = {"number_of_workers", "max_job_queue_len", "msg_index_string", "read_lock_string"}
"""Read for the ancestor's file, and said in ``Compilation`` to have no effect."""


def service(compilation: Compilation, read: ReadService) -> CompilerService:
    configuration = Configuration(compilation=compilation)
    return build_service(configuration, installed(configuration), MemoryStore(), DryRun(), read)


def test_d14_the_compiler_uses_every_setting_or_reports_it_as_ignored() -> None:
    assert {field.name for field in msgspec.structs.fields(Compilation)} == USED.keys() | PASSED_OVER
    for name in PASSED_OVER:
        assert f"``{name}``" in (Compilation.__doc__ or "")


@pytest.mark.parametrize("key", sorted({"plugin_directory", "plugin_names", "service_name"}))
def test_d14_the_predecessors_keys_without_effect_are_named_when_read(tmp_path: Path, key: str) -> None:
    file = tmp_path / "contrail.yml"
    file.write_text(f"compilation:\n  {key}: something\n")
    notes = [str(note) for note in load(file, {}).notes]
    assert any("ignored keys" in note and f"compilation.{key}" in note for note in notes)


async def test_d14_master_election_decides_whether_a_leadership_is_asked_for(box_system: BoxSystem) -> None:
    assert service(Compilation(master_election=True), box_system.offline.local).takeover is not None
    assert service(Compilation(master_election=False), box_system.offline.local).takeover is None


async def test_d16_no_body_of_a_resource_is_logged(system: ContrailSystem, caplog: pytest.LogCaptureFixture) -> None:
    """At the level of debugging, with values that can't be read and writes that are rejected."""
    caplog.set_level(logging.DEBUG)
    group = await system.create("security_group", "blue:group", display_name=CANARY)
    annotations = {"key_value_pair": [{"key": "password", "value": CANARY}]}
    await system.change("security_group", "blue:group", annotations=annotations)
    await system.put(Key("security_group", group), {"uuid": group, "fq_name": 7, "display_name": CANARY})
    nameless = {"uuid": "no-uuid", "fq_name": ["x"], "display_name": {"of": CANARY}}
    await system.put(Key("virtual_network", "no-uuid"), nameless)
    await system.restart()
    assert caplog.records
    assert CANARY not in caplog.text
    assert not [record for record in caplog.records if CANARY in str(record.__dict__)]
