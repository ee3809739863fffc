"""What ``intentc.journal`` sets reaches the service."""

from __future__ import annotations

from pathlib import Path

import pytest

from intentc.journal.ring import UnusableDirectory
from intentc.loading.configuration import Configuration
from intentc.loading.configuration.sections import Intentc, Journal
from intentc.plugins import installed
from intentc.service.service import CompilerService, build_service
from intentc.watch.memory import MemoryStore
from intentc.writing import DryRun
from tests.support.box_system import BoxSystem

pytestmark = pytest.mark.anyio


def service(box_system: BoxSystem, journal: Journal, *, observe: bool = False) -> CompilerService:
    configuration = Configuration(intentc=Intentc(installation="lab", journal=journal))
    loaded = installed(configuration)
    return build_service(configuration, loaded, MemoryStore(), DryRun(), box_system.offline.local, observe=observe)


def entries(directory: Path) -> list[Path]:
    return list(directory.iterdir())


@pytest.fixture
def box_system() -> BoxSystem:
    return BoxSystem()


async def test_how_much_is_kept_in_memory_is_as_configured(box_system: BoxSystem) -> None:
    journal = service(box_system, Journal(entries=7, bytes=5_000)).engine.journal
    assert (journal.size, journal.directory) == (7, None)
    assert journal.writer.startswith("lab/")


async def test_a_directory_is_used_and_reported_in_the_status(box_system: BoxSystem, tmp_path: Path) -> None:
    running = service(box_system, Journal(directory=str(tmp_path / "journal")))
    assert running.engine.journal.directory == tmp_path / "journal"
    assert running.status()["journal"]["files"] == {
        "directory": str(tmp_path / "journal"),
        "written": 0,
        "lost": 0,
        "failures": 0,
        "last_error": None,
    }


async def test_one_that_observes_keeps_no_files(box_system: BoxSystem, tmp_path: Path) -> None:
    running = service(box_system, Journal(directory=str(tmp_path / "journal")), observe=True)
    assert running.status()["journal"]["files"] is None
    assert entries(tmp_path) == []


async def test_a_directory_that_cannot_be_used_is_rejected_at_the_start(box_system: BoxSystem, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UnusableDirectory):
        service(box_system, Journal(directory=str(tmp_path / "file")))
