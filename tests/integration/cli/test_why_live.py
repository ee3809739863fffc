"""``intentc why`` beside a running compiler on a real etcd and a real API server: while it runs, after a restart, and
after one that keeps its journal in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from intentc.cli.command_error import Exit
from tests.support.commands import Intentc
from tests.support.contrail_content import LOCAL, group, rule, rules
from tests.support.live_system import LiveSystem
from tests.support.processes import Process

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

FIRST, SECOND = "11111111-0000-4000-8000-000000000000", "22222222-0000-4000-8000-000000000000"
EGRESS = "web:egress-access-control-list"


class Asking:
    """A compiler, started again as often as a test wants, and people who ask it."""

    def __init__(self, world: LiveSystem, intentc: Intentc) -> None:
        self.world = world
        self.intentc = intentc
        self.service: Process

    async def start(self) -> None:
        self.service = self.intentc.start()
        await self.settled()

    async def restart(self) -> None:
        await self.service.terminate()
        await self.start()

    async def settled(self) -> None:
        await self.service.settled(self.world.revision)

    async def why(self, kind: str, name: str, code: int = Exit.DONE) -> dict[str, Any]:
        address = (await self.service.url()).removeprefix("http://")
        environment = {"INTENTC_INTENTC__DIAGNOSTICS__ADDRESS": address}
        ended = await self.intentc("why", kind, name, "-o", "json", environment=environment)
        assert (ended.code, ended.err) == (code, "")
        return dict(ended.json)


@pytest.fixture
async def asking(world: LiveSystem, intentc: Intentc) -> Asking:
    asking = Asking(world, intentc)
    await asking.start()
    return asking


async def web_and_db(asking: Asking) -> str:
    """Group ``web`` may speak to ``db``, and to a group that isn't there; then ``db`` gets another number. Its uuid."""
    db = await asking.world.create("security_group", "db")
    entries = rules(rule(FIRST, LOCAL, group("gone")), rule(SECOND, LOCAL, group("db")))
    await asking.world.create("security_group", "web", **entries)
    await asking.settled()
    await asking.world.update("security_group", db, configured_security_group_id=4711)
    await asking.settled()
    return db


def named(*resources: dict[str, Any]) -> list[str]:
    return [resource["name"].rpartition(":")[2] for resource in resources]


async def test_why_names_the_sources_of_a_rule_and_its_last_change(asking: Asking) -> None:
    db = await web_and_db(asking)
    answer = await asking.why("access-control-list", EGRESS)
    _, made = answer["parts"]
    assert made["part"] == "access_control_list_entries.acl_rule[0]"
    assert [(s["kind"], s["name"].rpartition(":")[2], s["field"]) for s in made["reasons"][0]["sources"]] == [
        ("security_group", "web", "security_group_entries.policy_rule[1]"),
        ("security_group", "db", ""),
    ]
    (evaluation,) = answer["evaluations"]
    assert named(*evaluation["path"]) == ["db", "web"]
    assert evaluation["recorded_in"] == "journal"
    assert answer["written"]["operation"] == "update"
    assert answer["written"]["by"].startswith(f"{asking.world.path}/")
    assert [problem["reason"] for problem in answer["problems"]] == ["UnknownSecurityGroup"]
    assert (await asking.why("security_group", db))["concerns"][0]["name"].endswith(":web")


async def test_after_a_restart_only_time_and_path_are_unknown(asking: Asking) -> None:
    await web_and_db(asking)
    before = await asking.why("access_control_list", EGRESS)
    web = await asking.why("security_group", "web")
    await asking.restart()
    after = await asking.why("access_control_list", EGRESS)
    for key in ("parts", "reads", "owners", "problems", "state", "summary", "revision"):
        assert after[key] == before[key], key
    assert [(e["recorded_in"], e["path"]) for e in after["evaluations"]] == [("before this start", None)]
    assert after["written"]["by"] == "before this start"
    again = await asking.why("security_group", "web")
    for key in ("outputs", "missing", "concerns", "waiting_for"):
        assert again[key] == web[key], key
    assert again["missing"][0]["target"].endswith(":gone")


async def test_why_answers_from_journal_files_after_a_restart(
    world: LiveSystem, intentc: Intentc, tmp_path: Path
) -> None:
    configuration = msgspec.json.decode(intentc.configuration.read_bytes())
    configuration["intentc"]["journal"] = {"directory": str(tmp_path / "journal")}
    intentc.write(configuration)
    asking = Asking(world, intentc)
    await asking.start()
    await web_and_db(asking)
    before = await asking.why("access_control_list", EGRESS)
    await asking.restart()
    after = await asking.why("access_control_list", EGRESS)
    (restored,), (original,) = after["evaluations"], before["evaluations"]
    assert restored["recorded_in"] == "files"
    assert (restored["path"], restored["revision"]) == (original["path"], original["revision"])
    assert after["written"] == before["written"]


async def test_why_explains_an_absent_object_before_and_after_a_restart(asking: Asking) -> None:
    await asking.world.create("security_group", "web")
    await asking.settled()
    for _ in range(2):
        absent = await asking.why("access_control_list", "web:another", code=Exit.DIFFERENT)
        assert absent["exists"] is False
        assert absent["summary"].endswith(":web exists and is compiled, and needs no such object.")
        nobody = await asking.why("security_group", "wep", code=Exit.DIFFERENT)
        assert [name.rpartition(":")[2] for name in nobody["candidates"]] == ["web"]
        await asking.restart()


async def test_a_held_intent_shows_what_it_waits_for_after_a_restart_too(asking: Asking) -> None:
    uuid = await asking.world.create("security_group", "web")
    await asking.settled()
    await asking.world.put_raw("security_group", uuid, b'{"fq_name": 7')
    await asking.settled()
    for _ in range(2):
        held = await asking.why("security_group", uuid)
        assert (held["state"], held["role"]) == ("held", "input")
        assert "its stored value to be fixed" in held["waiting_for"][0]["what"]
        await asking.restart()
