"""The journal of a real process: asked over HTTP, kept over a kill, and in the way of nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from intentc.journal.ring import newest_first
from tests.support.commands import Intentc
from tests.support.live_system import LiveSystem
from tests.support.processes import Process
from tests.support.waiting import PATIENCE, until

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

GROUP = "default-domain:default-project:g"
RULES = f"{GROUP}:ingress-access-control-list"


def keeping(intentc: Intentc, directory: Path) -> None:
    """The configuration, with a directory for the journal."""
    configuration = msgspec.json.decode(intentc.configuration.read_bytes())
    configuration["intentc"]["journal"] = {"directory": str(directory)}
    configuration["log_level"] = "debug"
    intentc.write(configuration)


async def group_written(world: LiveSystem, service: Process) -> str:
    """A group comes, and its lists are written; its uuid."""
    await service.settled(world.revision)
    group = await world.create("security_group", "g")
    await service.settled(world.revision)
    return group


async def why(service: Process) -> dict[str, Any]:
    answer = await service.get(f"/why?kind=access_control_list&name={RULES}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def test_journal_files_keep_times_and_paths_over_a_kill(
    world: LiveSystem, intentc: Intentc, tmp_path: Path
) -> None:
    directory = tmp_path / "journal"
    keeping(intentc, directory)
    first = intentc.start()
    group = await group_written(world, first)
    before = await why(first)
    assert before["evaluations"][0]["recorded_in"] == "journal"
    await world.update("security_group", group, display_name="a canary in a body")
    await first.settled(world.revision)
    await kept(directory, await last_line(first))
    first.kill()
    with next(newest_first(directory)).open("ab") as torn:
        torn.write(b'{"sort":"evaluation","at":1')

    second = intentc.start()
    await second.settled(world.revision)
    after = await recorded_in_files(second)
    evaluation, written = after["evaluations"][0], after["written"]
    assert (evaluation["recorded_in"], evaluation["path"][0]["uuid"]) == ("files", group)
    assert {**before["written"]} == {**written}
    assert written["by"].startswith(f"{world.path}/")
    assert [line["sort"] for line in after["history"]][:2] == ["evaluation", "write"]
    in_files = "".join(path.read_text() for path in newest_first(directory))
    assert "a canary in a body" not in in_files + first.log + second.log
    assert await second.terminate() == 0


async def test_a_hanging_journal_file_delays_neither_answers_nor_the_end(
    world: LiveSystem, intentc: Intentc, tmp_path: Path
) -> None:
    keeping(intentc, tmp_path / "journal")
    first = intentc.start()
    await group_written(world, first)
    assert await first.terminate() == 0
    (tmp_path / "sitecustomize.py").write_text(HANGING)
    second = intentc.start(environment={"PYTHONPATH": str(tmp_path)})
    await second.settled(world.revision)
    answer = await why(second)
    assert [one["recorded_in"] for one in answer["evaluations"]] == ["before this start"]
    assert "can't be read in time" in second.log
    assert (tmp_path / "hung").exists()
    assert await second.terminate() == 0
    assert "Traceback" not in second.log


HANGING = """
import os, pathlib, threading
pread, (never, _) = os.pread, os.pipe()

def hanging(file, size, place):
    if threading.current_thread() is threading.main_thread():
        return pread(file, size, place)
    pathlib.Path(__file__).with_name("hung").touch()
    return os.read(never, 1)

os.pread = hanging
"""
"""Reads of the journal in any thread but the main one hang, in the system, as with a disk that is gone."""


async def last_line(service: Process) -> int:
    """The number of the last line of its journal."""
    return int((await service.get("/journal?limit=1")).json()["last"])


async def kept(directory: Path, count: int) -> None:
    """Wait until files hold so many lines, and the one that names the process."""
    await until(lambda: sum(path.read_bytes().count(b"\n") for path in newest_first(directory)) > count)


async def recorded_in_files(service: Process) -> dict[str, Any]:
    """``why`` once files could be read in time, which a busy machine may be too slow for at first."""
    with anyio.fail_after(PATIENCE):
        while (answer := await why(service))["evaluations"][0]["recorded_in"] != "files":  # noqa: ASYNC110 - a process
            await anyio.sleep(0.1)
    return answer


async def test_without_files_a_process_says_that_it_was_before_its_start(world: LiveSystem, intentc: Intentc) -> None:
    first = intentc.start()
    await group_written(world, first)
    first.kill()
    second = intentc.start()
    await second.settled(world.revision)
    answer = await why(second)
    assert [one["recorded_in"] for one in answer["evaluations"]] == ["before this start"]
    assert answer["evaluations"][0]["path"] is None


async def test_the_journal_and_the_reactions_of_a_process_can_be_asked_for(world: LiveSystem, intentc: Intentc) -> None:
    service = intentc.start()
    group = await group_written(world, service)
    answer = (await service.get(f"/journal?kind=security-group&name={group}&sort=evaluation")).json()
    assert answer["lines"], answer
    assert answer["lines"][-1]["intent"] == {"kind": "security_group", "name": GROUP, "uuid": group}
    assert answer["last"] >= answer["lines"][-1]["sequence"]
    reactions = (await service.get("/reactions")).json()
    assert reactions["missing"] == []
    assert {finding["severity"] for finding in reactions["findings"]} <= {"note"}


async def test_a_directory_that_cannot_be_written_ends_the_start_with_one_clear_error(
    intentc: Intentc, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    keeping(intentc, tmp_path / "file" / "journal")
    ended = await intentc("run")
    assert ended.code == 3
    assert f"the journal can't be kept in {tmp_path}/file/journal: " in ended.err
    assert "set intentc.journal.directory to one that this user may write" in ended.err
    assert "Traceback" not in ended.err


async def test_journal_lines_name_the_object_its_revision_and_its_path(
    world: LiveSystem, intentc: Intentc, tmp_path: Path
) -> None:
    keeping(intentc, tmp_path / "journal")
    service = intentc.start()
    group = await group_written(world, service)
    assert await service.terminate() == 0
    lines = [msgspec.json.decode(line) for line in service.log.splitlines()]
    about = [line for line in lines if "reaction_path" in line]
    evaluated = next(line for line in about if line["key"] == f"security_group/{group}")
    assert evaluated["message"].startswith(f"evaluated security_group/{group}: ")
    assert evaluated["reaction_path"] == [f"security_group {GROUP}"]
    assert evaluated["revision"] <= world.revision + 10
    written = next(line for line in about if line["message"] == f"written: create access_control_list {RULES}")
    assert (written["resource"], written["reaction_path"]) == (
        f"access_control_list {RULES}",
        [f"security_group {GROUP}"],
    )
