"""``intentc audit`` beside a real etcd and a real API server, and as the service has it made."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from typing import Any

import anyio
import msgspec
import pytest

from intentc.service.audits import AuditProcess
from tests.support.commands import ROOT, Intentc
from tests.support.contrail_content import network, tenant
from tests.support.live_system import PROJECT, LiveSystem
from tests.support.waiting import PATIENCE, until

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

GROUP = "group-0"
LIST = (*PROJECT, GROUP, "ingress-access-control-list")


async def list_of(world: LiveSystem) -> dict[str, Any]:
    """The ingress list of the first group."""
    lists = (await world.stored())["access_control_list"].values()
    return next(stored for stored in lists if tuple(stored["fq_name"]) == LIST)


async def test_an_edited_object_is_named_and_the_next_compiler_repairs_it(
    compiled: LiveSystem, intentc: Intentc
) -> None:
    edited = await list_of(compiled)
    before = compiled.revision = max(revision for _, revision in (await compiled.values()).values())
    await compiled.update("access_control_list", edited["uuid"], access_control_list_entries={"acl_rule": []})
    ended = await intentc("audit")
    assert ended.code == 1
    header, row = ended.out.splitlines()
    assert header.split() == ["KIND", "NAME", "DIFFERS", "ORIGINS"]
    assert row.split()[:4] == ["access_control_list", ":".join(LIST), "update", "access_control_list_entries"]
    assert row.split()[4] == f"security_group/{edited['parent_uuid']}"
    assert "1 object differs at revision " in ended.err
    # An older revision is audited as it stood.
    assert (await intentc("audit", "--revision", before)).code == 0
    assert (await intentc("audit", "--revision", compiled.revision)).code == 1
    await compiled.compile_once()
    assert (await intentc("audit")).code == 0
    await compiled.assert_compiled()


async def test_a_missing_object_and_one_that_was_left_behind_are_reported_without_any_value(
    compiled: LiveSystem, intentc: Intentc
) -> None:
    lost = await list_of(compiled)
    await compiled.delete_raw("access_control_list", lost["uuid"])
    other = next(
        uuid for uuid, group in (await compiled.stored())["security_group"].items() if group["fq_name"][-1] == "group-5"
    )
    await compiled.delete_raw("security_group", other)
    ended = await intentc("audit", "-o", "json")
    assert ended.code == 1
    found = {difference["name"]: difference["operations"] for difference in ended.json["differences"]}
    assert found[":".join(LIST)] == [{"operation": "create", "fields": ["access_control_list_entries"]}]
    for direction in ("ingress", "egress"):
        orphan = ":".join((*PROJECT, "group-5", f"{direction}-access-control-list"))
        assert found[orphan] == [{"operation": "delete", "fields": []}]
    assert "acl_rule" not in ended.out
    assert compiled.calls.mutations == {}


async def test_held_intents_have_an_exit_code_and_differences_take_precedence(
    compiled: LiveSystem, intentc: Intentc
) -> None:
    """The group itself, and the one whose rules name it."""
    uuid = (await list_of(compiled))["parent_uuid"]
    group = (await compiled.stored())["security_group"][uuid]
    await compiled.put_raw("security_group", uuid, msgspec.json.encode(group | {"security_group_entries": 7}))
    ended = await intentc("audit")
    assert (ended.code, ended.out) == (5, "")
    assert "; 2 held; " in ended.err
    await network(compiled, "new")
    assert (await intentc("audit")).code == 1


async def test_the_service_has_it_made_with_its_own_configuration(compiled: LiveSystem, intentc: Intentc) -> None:
    await network(compiled, "new")
    report = await AuditProcess(str(intentc.configuration), time_limit=PATIENCE)()
    assert any(difference.name.endswith(":new:new") for difference in report.differences)


async def test_a_running_service_audits_itself_every_period_and_reports_it(world: LiveSystem, intentc: Intentc) -> None:
    service = intentc.start(environment={"INTENTC_INTENTC__AUDIT__PERIOD": "1s"})
    await tenant(world)
    await service.settled(world.revision)
    first = (await service.status())["audit"]["runs"]
    with anyio.fail_after(PATIENCE):
        while (await service.status())["audit"]["runs"] < first + 2:  # noqa: ASYNC110 - another process has no event
            await anyio.sleep(0.1)
    figures = (await service.status())["audit"]
    assert (figures["mismatches"], figures["failures"], figures["last_result"]) == (0, 0, "equal")
    assert figures["last_revision"] >= world.revision
    assert "\nintentc_audit_mismatches_total 0.0\n" in (await service.get("/metrics")).text
    assert await service.terminate() == 0
    assert "Traceback" not in service.log


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A server that takes connections and never says anything."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


async def test_beside_a_service_it_gives_way_and_ends_with_it(intentc: Intentc, silent: socket.socket) -> None:
    """The service's end closes the pipe, whatever ended it."""
    environment = {
        **os.environ,
        "INTENTC_ETCD__ENDPOINTS": f"127.0.0.1:{silent.getsockname()[1]}",
        "INTENTC_ETCD__DIAL_TIMEOUT": "1h",
    }
    command = [
        sys.executable,
        "-m",
        "intentc.cli",
        "--config-file",
        str(intentc.configuration),
        "audit",
        "--beside-service",
    ]
    async with await anyio.open_process(command, cwd=ROOT, env=environment) as process:
        try:
            await until(lambda: process.returncode is not None or _niceness(process.pid) == min(19, _niceness(0) + 10))
            assert process.returncode is None
            assert process.stdin is not None
            await process.stdin.aclose()
            with anyio.fail_after(PATIENCE):
                assert await process.wait() == 130
        finally:
            if process.returncode is None:
                process.kill()


def _niceness(pid: int) -> int:
    return os.getpriority(os.PRIO_PROCESS, pid)
