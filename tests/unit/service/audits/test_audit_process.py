"""The audit's process: its report is read, its words are logged, and it is gone afterwards whatever happens."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

import anyio
import msgspec
import pytest

from intentc.offline.audit import Report
from intentc.service.audits import AuditFailed, AuditProcess
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

REPORT = Report(revision=42, resources=3)
SAYS_REPORT = f"print({msgspec.json.encode(REPORT).decode()!r})"


def process(script: str, *, config_file: str = "", time_limit: float = PATIENCE) -> AuditProcess:
    """A Python script in place of the command."""
    return AuditProcess(config_file, time_limit=time_limit, program=[sys.executable, "-c", f"import sys, os\n{script}"])


@pytest.mark.parametrize("code", [0, 1, 5])
async def test_its_report_is_read_whether_something_differs_or_is_held(code: int) -> None:
    assert await process(f"{SAYS_REPORT}; sys.exit({code})")() == REPORT


async def test_it_is_the_audit_command_with_the_services_configuration() -> None:
    arguments = ["--config-file", "f.yml", "audit", "--beside-service", "--output", "json"]
    script = f"assert sys.argv[1:] == {arguments}; {SAYS_REPORT}"
    assert await process(script, config_file="f.yml")() == REPORT


async def test_it_inherits_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTENTC_INSTALLATION", "here")
    script = f"assert os.environ['INTENTC_INSTALLATION'] == 'here'; {SAYS_REPORT}"
    assert await process(script)() == REPORT


async def test_what_it_says_on_stderr_is_logged_line_by_line(caplog: pytest.LogCaptureFixture) -> None:
    await process(f"print('one', 'two', sep='\\n', end='', file=sys.stderr); {SAYS_REPORT}")()
    said = [record.message for record in caplog.records if record.name == "intentc.service.audits.audit_process"]
    assert said == ["audit: one", "audit: two"]
    assert all(record.levelno == logging.WARNING for record in caplog.records)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("print('error: no etcd', file=sys.stderr); sys.exit(4)", "ended with code 4: no etcd$"),
        (
            "print('error: no kind x\\n  where: f.yml:4\\n  next:  fix it', file=sys.stderr); sys.exit(3)",
            r"ended with code 3: no kind x \(f.yml:4\)$",
        ),
        ("print('first', 'last words', sep='\\n', file=sys.stderr); sys.exit(9)", "ended with code 9: last words$"),
        ("os.kill(os.getpid(), 9)", "ended with code -9"),
        ("print('no report')", "its report can't be read"),
        ("", "its report can't be read"),
    ],
)
async def test_without_a_report_it_has_failed(script: str, message: str) -> None:
    with pytest.raises(AuditFailed, match=message):
        await process(script)()


async def test_a_program_that_is_not_there_has_failed() -> None:
    with pytest.raises(AuditFailed, match="could not be started"):
        await AuditProcess("", time_limit=PATIENCE, program=["/nowhere/intentc"])()


async def test_one_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    with pytest.raises(AuditFailed, match="took more than"):
        await process(_stays(tmp_path), time_limit=2.0)()
    assert _is_gone(_pid(tmp_path))


async def test_it_ends_when_the_service_stops_waiting_for_it(tmp_path: Path) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(process(_stays(tmp_path)))
        with anyio.fail_after(PATIENCE):
            while not _pid(tmp_path):  # noqa: ASYNC110 - another process has no event for us
                await anyio.sleep(0.02)
        group.cancel_scope.cancel()
    assert _is_gone(_pid(tmp_path))


def _stays(folder: Path) -> str:
    """A script that prints its pid and never ends."""
    return f"import time; open({str(folder / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(3600)"


def _pid(folder: Path) -> int:
    file = folder / "pid"
    return int(file.read_text() or 0) if file.exists() else 0


def _is_gone(pid: int) -> bool:
    """Also if it ends before it prints its pid."""
    if not pid:
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False
