"""``check --reads`` and ``graph`` beside a running compiler on a real etcd and a real API server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.commands import Intentc
from tests.support.contrail_content import LOCAL, group, rule, rules
from tests.support.live_system import LiveSystem
from tests.support.shipped_map import to_groups

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

RULE = "11111111-0000-4000-8000-000000000000"


async def document_of(world: LiveSystem, intentc: Intentc, *command: str) -> dict[str, Any]:
    """What a command says of a compiler under whose eyes ``db``, which ``web`` mentions, gets another number."""
    service = intentc.start()
    db = await world.create("security_group", "db")
    await world.create("security_group", "web", **rules(rule(RULE, LOCAL, group("db"))))
    await service.settled(world.revision)
    await world.update("security_group", db, configured_security_group_id=77)
    await service.settled(world.revision)
    address = (await service.url()).removeprefix("http://")
    ended = await intentc(*command, environment={"INTENTC_INTENTC__DIAGNOSTICS__ADDRESS": address})
    assert ended.code == 0, ended.err
    return dict(ended.json)


async def test_the_shipped_map_misses_nothing(world: LiveSystem, intentc: Intentc) -> None:
    found = await document_of(world, intentc, "check", "--reads", "-o", "json")
    assert found["reads"]["missing"] == []
    assert {(edge["kind"], edge["cause"], edge["to"]) for edge in found["reads"]["edges"]} >= {
        ("security_group", "self", "security_group")
    }


async def test_a_reaction_that_is_missing_was_counted(world: LiveSystem, intentc: Intentc, tmp_path: Path) -> None:
    lacking = tmp_path / "map.yml"
    lacking.write_text(to_groups("[]"))
    configuration = json.loads(intentc.configuration.read_text())
    configuration["intentc"]["reactions"] = {"contrail": str(lacking)}
    intentc.write(configuration)
    found = await document_of(world, intentc, "check", "--reads", "-o", "json")
    (missing,) = found["reads"]["missing"]
    assert (missing["reader"], missing["read"]) == ("security_group", "security_group")
    (finding,) = [finding for finding in found["findings"] if finding["reason"] == "MissingReaction"]
    assert finding["source"].startswith(f"{lacking}:")


async def test_what_is_around_an_object_is_what_stands_in_etcd(world: LiveSystem, intentc: Intentc) -> None:
    found = await document_of(world, intentc, "graph", "security_group", "web", "-o", "json")
    names = {(node["kind"], node["name"].rpartition(":")[2]) for node in found["nodes"]}
    assert {("access_control_list", "ingress-access-control-list"), ("security_group", "db")} <= names
    assert msgspec.json.encode(found).count(b'"made":true') >= 2
