"""What a SIGHUP reads again: the same file with the same adaptation; logs go on as the new one says."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from intentc.cli.connecting import check_connections
from intentc.cli.server_process import reloading_of
from intentc.diagnostics import logs
from intentc.loading.configuration import Configuration, load
from tests.support.box_system import BoxSystem
from tests.unit.engine.conftest import box_system

__all__ = ["box_system"]

pytestmark = pytest.mark.anyio

OLD, NEW = "the-old-password", "the-new-password"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "contrail.yml"


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    logs.set_up("warning")
    root.handlers[:] = handlers
    root.setLevel(level)


def configure(file: Path, password: str, level: str) -> None:
    content = {"log_level": level, "client": {"password": password}, "intentc": {"log": {"format": "text"}}}
    file.write_bytes(msgspec.yaml.encode(content))


def _unchanged(configuration: Configuration) -> Configuration:
    own = msgspec.structs.replace(configuration.intentc, compilers=())
    return msgspec.structs.replace(configuration, intentc=own)


async def test_the_level_of_the_log_changes_and_former_secrets_stay_out_of_it(
    box_system: BoxSystem, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(file, OLD, "warning")
    loaded = load(file, {})
    reloading = reloading_of(box_system.engine, (), loaded, adapted=_unchanged, check=check_connections, relog=True)
    configure(file, NEW, "debug")
    assert await reloading.once()
    logging.getLogger("intentc").debug("%s and %s", OLD, NEW)
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.endswith("<secret> and <secret>")


async def test_a_command_that_does_not_log_as_configured_goes_on_so(box_system: BoxSystem, file: Path) -> None:
    configure(file, OLD, "warning")
    before = logging.getLogger().level
    reloading = reloading_of(box_system.engine, (), load(file, {}), adapted=_unchanged, check=check_connections)
    configure(file, OLD, "debug")
    assert await reloading.once()
    assert logging.getLogger().level == before
