"""``intentc plan``, and applying a saved plan, beside a real etcd and a real API server."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cli.plan_files import GROUP, changes_of, written
from tests.support.commands import SAMPLE, Intentc
from tests.support.contrail_content import tenant
from tests.support.live_system import POOL, PROJECT, LiveSystem

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]


async def test_what_was_planned_is_what_a_running_compiler_writes(world: LiveSystem, intentc: Intentc) -> None:
    await world.compile_once()
    before = await names(world)
    plan = (await intentc("plan", SAMPLE, "-o", "json")).json
    service = intentc.start()
    address = {"INTENTC_INTENTC__DIAGNOSTICS__ADDRESS": (await service.url()).removeprefix("http://")}
    assert (await intentc("apply", "--wait", SAMPLE, environment=address)).code == 0
    by_uuid = {uuid: name for kind in (await world.stored()).values() for uuid, name in _named(kind)}
    given = {
        f"<{POOL} for {by_uuid[owner.split('/')[1]]}>": number for owner, number in (await world.numbers()).items()
    }
    planned = set()
    for change in (*plan["applied"], *plan["follows"]):
        name = change["name"]
        for placeholder, number in given.items():
            name = name.replace(placeholder, str(number))
        planned.add((change["kind"], name))
    assert planned == await names(world) - before
    await world.assert_compiled()


async def names(world: LiveSystem) -> set[tuple[str, str]]:
    return {(kind, name) for kind, found in (await world.stored()).items() for _, name in _named(found)}


def _named(resources: dict[str, Any]) -> list[tuple[str, str]]:
    return [(uuid, ":".join(resource["fq_name"])) for uuid, resource in resources.items()]


async def test_writes_that_are_due_anyway_are_reported_separately(
    world: LiveSystem, intentc: Intentc, tmp_path: Path
) -> None:
    await tenant(world)
    plan = (await intentc("plan", written(tmp_path, {"fq_name": GROUP, "display_name": "third"}), "-o", "json")).json
    assert (plan["follows"], len(plan["due"]) > 20) == ([], True)
    assert any("<route_target_number for " in change["name"] for change in plan["due"])
    assert world.calls.mutations == {}


async def test_only_the_owner_can_read_a_saved_plan_and_it_does_what_it_said(
    compiled: LiveSystem, intentc: Intentc, tmp_path: Path
) -> None:
    file = tmp_path / "delete.plan"
    planned = await intentc(
        "plan", "--delete", "--kind", "security_group", "group-3", "group-4", "--out", file, "-o", "json"
    )
    assert planned.code == 0, planned.err
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = (await compiled.stored())["security_group"]
    applied = await intentc("apply", file, "-o", "json")
    assert applied.code == 0, applied.err
    assert {(result["fq_name"][-1], result["action"]) for result in applied.json["results"]} == {
        ("group-3", "deleted"),
        ("group-4", "deleted"),
    }
    assert len((await compiled.stored())["security_group"]) == len(before) - 2
    await compiled.compile_once()
    await compiled.assert_compiled()


async def test_a_stale_plan_is_rejected_with_what_differs_and_leaves_nothing_behind(
    compiled: LiveSystem, intentc: Intentc, tmp_path: Path
) -> None:
    file = tmp_path / "delete.plan"
    assert (await intentc("plan", "--delete", "--kind", "security_group", "group-3", "--out", file)).code == 0
    groups = (await compiled.stored())["security_group"]
    second = next(uuid for uuid, group in groups.items() if group["fq_name"][-1] == "group-2")
    await compiled.update("security_group", second, security_group_entries={"policy_rule": []})
    await compiled.compile_once()
    before = await compiled.values()
    stale = await intentc("apply", file)
    assert stale.code == 1
    assert "the plan is stale: no longer: update access_control_list" in stale.err
    assert await compiled.values() == before
    assert (await intentc("plan", "--delete", "--kind", "security_group", "group-3", "--out", file)).code == 0
    assert (await intentc("apply", file)).code == 0


async def test_an_applied_plan_is_stale_and_the_error_says_why(
    compiled: LiveSystem, intentc: Intentc, tmp_path: Path
) -> None:
    file = tmp_path / "saved.plan"
    assert (await intentc("plan", "--delete", "--kind", "security_group", "group-3", "--out", file)).code == 0
    assert (await intentc("apply", file)).code == 0
    again = await intentc("apply", file)
    assert again.code == 1
    assert "the plan is stale: it can't be carried out any more: there is no security_group named group-3" in again.err
    assert f"where: {file}" in again.err


async def test_a_plan_is_for_one_system(compiled: LiveSystem, intentc: Intentc, renamed: Path, tmp_path: Path) -> None:
    file = tmp_path / "rename.plan"
    assert (await intentc("plan", renamed, "--out", file)).code == 0
    other = {"INTENTC_INTENTC__INSTALLATION": "another"}
    rejected = await intentc("apply", file, environment=other)
    assert rejected.code == 1
    assert f"the installation was {compiled.path}, and is another" in rejected.err
    assert (await intentc("apply", file, renamed)).code == 2
    assert (await intentc("apply", file)).code == 0


async def test_what_holds_a_resource_is_named_and_can_let_go(
    compiled: LiveSystem, intentc: Intentc, tmp_path: Path
) -> None:
    held = ("--kind", "virtual_network", "network-3")
    rejected = await intentc("plan", "--delete", *held)
    assert rejected.code == 3
    assert f"held by virtual_machine_interface {':'.join((*PROJECT, 'foot-3'))} (reference)" in rejected.err
    assert "or give --remove-references" in rejected.err
    group = ("--kind", "virtual_machine_interface", "foot-3", "--remove-references")
    plan = (await intentc("plan", "--delete", *group, "-o", "json")).json
    assert changes_of(plan["applied"]) == {
        ("delete", "virtual_machine_interface", ":".join((*PROJECT, "foot-3"))),
        ("update", "logical_router", ":".join((*PROJECT, "router"))),
    }
    deleted = await intentc("delete", *group, "-o", "json")
    assert [result["action"] for result in deleted.json["results"]] == ["reference removed", "deleted"]
    before = {key: value for key, (value, _) in (await compiled.values()).items()}
    await compiled.compile_once()
    await compiled.assert_compiled()
    after = {key: value for key, (value, _) in (await compiled.values()).items()}
    written_to = {key.split("/")[3] for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    assert written_to == {change["uuid"] for change in plan["follows"]}
