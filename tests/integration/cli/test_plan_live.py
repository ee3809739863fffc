"""``intentc plan``, and applying a saved plan, beside a real etcd and a real API server."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from intentc.dependencies import ReactionMap
from intentc.diagnostics.serving import running_diagnostics
from intentc.explaining import Answers
from intentc.loading.paths import reactions_file
from tests.integration.cli.processes import ROOT, SAMPLE, Intentc
from tests.integration.compile.contents import tenant
from tests.integration.compile.world import POOL, PROJECT, World
from tests.scenario.scene import Scene
from tests.unit.diagnostics.test_diagnostics_app import Compiler

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

GROUP = (*PROJECT, "group-3")
LISTS = {f"{direction}-access-control-list" for direction in ("ingress", "egress")}


@pytest.fixture
async def compiled(world: World) -> World:
    """A world of more than twenty objects that a compiler has made, and no compiler at work."""
    await tenant(world)
    await world.compile_once()
    world.calls.seen.clear()
    return world


@pytest.fixture
def renamed(tmp_path: Path) -> Path:
    """A file that gives the third group another display name, which no compiler reads."""
    return written(tmp_path, {"fq_name": GROUP, "display_name": "the third"})


def written(folder: Path, group: dict[str, Any], name: str = "group.yml") -> Path:
    file = folder / name
    data = ", ".join(f"{field}: {_yaml(value)}" for field, value in group.items())
    file.write_text(f"kind: security_group\ndata: {{{data}}}\n")
    return file


def _yaml(value: Any) -> str:
    return f"[{', '.join(value)}]" if isinstance(value, tuple) else str(value)


def told(changes: list[dict[str, Any]]) -> set[tuple[str, str, str]]:
    return {(change["action"], change["kind"], change["name"]) for change in changes}


async def test_what_deleting_a_group_would_do_is_told_and_nothing_is_written(compiled: World, intentc: Intentc) -> None:
    before, numbers = await compiled.values(), await compiled.numbers()
    ended = await intentc("plan", "--delete", "--kind", "security-group", "group-3", "-o", "json")
    assert ended.code == 0, ended.err
    plan = ended.json
    assert (plan["apiVersion"], plan["formatVersion"]) == ("intentc/v1", "1.0")
    name = ":".join(GROUP)
    assert told(plan["applied"]) == {("delete", "security_group", name)}
    assert told(plan["follows"]) == {("delete", "access_control_list", f"{name}:{each}") for each in LISTS} | {
        ("update", "access_control_list", ":".join((*PROJECT, "group-2", "ingress-access-control-list")))
    }
    (update,) = (change for change in plan["follows"] if change["action"] == "update")
    assert update["because"] == [{"kind": "security_group", "name": name}]
    assert [field["field"] for field in update["fields"]] == ["access_control_list_entries.acl_rule[0]"]
    assert [problem["name"] for problem in plan["problems"]] == [":".join((*PROJECT, "group-2"))]
    assert plan["summary"] == {"create": 0, "update": 1, "delete": 3}
    assert await compiled.values() == before
    assert await compiled.numbers() == numbers
    assert compiled.calls.mutations == {}


async def test_numbers_that_nobody_has_yet_are_told_by_pool_and_owner(compiled: World, intentc: Intentc) -> None:
    numbers = await compiled.numbers()
    ended = await intentc("plan", SAMPLE)
    assert ended.code == 0, ended.err
    assert "+ route_target target:64512:<route_target_number for default-domain:shop:shop-router>" in ended.out
    assert "security_group_id: <security_group_id for default-domain:shop:web>" in ended.out
    assert ended.out.splitlines()[-1].startswith("Plan: 26 to create, 0 to change, 0 to delete (revision ")
    assert await compiled.numbers() == numbers


async def test_what_was_planned_is_what_a_running_compiler_writes(world: World, intentc: Intentc) -> None:
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


async def names(world: World) -> set[tuple[str, str]]:
    return {(kind, name) for kind, found in (await world.stored()).items() for _, name in _named(found)}


def _named(resources: dict[str, Any]) -> list[tuple[str, str]]:
    return [(uuid, ":".join(resource["fq_name"])) for uuid, resource in resources.items()]


async def test_nothing_to_do_is_said_and_the_exit_code_tells_on_demand(
    compiled: World, intentc: Intentc, renamed: Path, tmp_path: Path
) -> None:
    same = written(tmp_path, {"fq_name": GROUP}, "same.yml")
    nothing = await intentc("plan", same, "--exit-code")
    assert (nothing.code, nothing.out.startswith("No difference: nothing would be written")) == (0, True)
    assert (await intentc("plan", renamed)).code == 0
    different = await intentc("plan", renamed, "--exit-code")
    assert different.code == 1
    assert "display_name: group-3 → the third" in different.out or "+ display_name: the third" in different.out


async def test_writes_that_are_due_anyway_are_told_apart(world: World, intentc: Intentc, tmp_path: Path) -> None:
    await tenant(world)
    plan = (await intentc("plan", written(tmp_path, {"fq_name": GROUP, "display_name": "third"}), "-o", "json")).json
    assert (plan["follows"], len(plan["due"]) > 20) == ([], True)
    assert any("<route_target_number for " in change["name"] for change in plan["due"])
    assert world.calls.mutations == {}


async def test_bad_input_is_told_with_its_line_as_apply_would(
    compiled: World, intentc: Intentc, tmp_path: Path
) -> None:
    bad = written(tmp_path, {"fq_name": (*PROJECT, "new"), "security_group_entries": "none"})
    planned, applied = await intentc("plan", bad), await intentc("apply", bad)
    assert planned.code == applied.code == 3
    assert planned.err == applied.err
    assert f"  where: {bad}:2" in planned.err
    misspelt = await intentc("plan", "--delete", "--kind", "security_group", "group-77")
    assert misspelt.code == 3
    assert "there is no security_group named group-77" in misspelt.err


@pytest.mark.parametrize("away", ["etcd", "client"])
async def test_without_etcd_or_without_the_api_server_it_says_who_is_away(
    compiled: World, intentc: Intentc, renamed: Path, away: str
) -> None:
    variable = {
        "etcd": ("INTENTC_ETCD__ENDPOINTS", "127.0.0.1:1"),
        "client": ("INTENTC_CLIENT__ENDPOINT", "http://127.0.0.1:1"),
    }
    ended = await intentc("plan", renamed, environment=dict([variable[away]]))
    assert ended.code == 4, ended.err
    assert {"etcd": "etcd", "client": "http://127.0.0.1:1"}[away] in ended.err


async def test_a_saved_plan_is_for_its_owner_alone_and_does_what_it_said(
    compiled: World, intentc: Intentc, tmp_path: Path
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


async def test_a_stale_plan_is_refused_with_what_differs_and_leaves_nothing_behind(
    compiled: World, intentc: Intentc, tmp_path: Path
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


async def test_a_plan_that_was_carried_out_is_stale_and_says_what_is_missing(
    compiled: World, intentc: Intentc, tmp_path: Path
) -> None:
    file = tmp_path / "saved.plan"
    assert (await intentc("plan", "--delete", "--kind", "security_group", "group-3", "--out", file)).code == 0
    assert (await intentc("apply", file)).code == 0
    again = await intentc("apply", file)
    assert again.code == 1
    assert "the plan is stale: it can't be carried out any more: there is no security_group named group-3" in again.err
    assert f"where: {file}" in again.err


async def test_a_plan_is_for_one_system(compiled: World, intentc: Intentc, renamed: Path, tmp_path: Path) -> None:
    file = tmp_path / "rename.plan"
    assert (await intentc("plan", renamed, "--out", file)).code == 0
    other = {"INTENTC_INTENTC__INSTALLATION": "another"}
    refused = await intentc("apply", file, environment=other)
    assert refused.code == 1
    assert f"the installation was {compiled.path}, and is another" in refused.err
    assert (await intentc("apply", file, renamed)).code == 2
    assert (await intentc("apply", file)).code == 0


async def test_what_holds_a_resource_is_named_and_can_let_go(compiled: World, intentc: Intentc, tmp_path: Path) -> None:
    held = ("--kind", "virtual_network", "network-3")
    refused = await intentc("plan", "--delete", *held)
    assert refused.code == 3
    assert f"held by virtual_machine_interface {':'.join((*PROJECT, 'foot-3'))} (reference)" in refused.err
    assert "or give --let-go" in refused.err
    group = ("--kind", "virtual_machine_interface", "foot-3", "--let-go")
    plan = (await intentc("plan", "--delete", *group, "-o", "json")).json
    assert told(plan["applied"]) == {
        ("delete", "virtual_machine_interface", ":".join((*PROJECT, "foot-3"))),
        ("update", "logical_router", ":".join((*PROJECT, "router"))),
    }
    deleted = await intentc("delete", *group, "-o", "json")
    assert [result["action"] for result in deleted.json["results"]] == ["let go", "deleted"]
    before = {key: value for key, (value, _) in (await compiled.values()).items()}
    await compiled.compile_once()
    await compiled.assert_compiled()
    after = {key: value for key, (value, _) in (await compiled.values()).items()}
    written_to = {key.split("/")[3] for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    assert written_to == {change["uuid"] for change in plan["follows"]}


async def test_another_map_is_compared_over_the_live_world(compiled: World, intentc: Intentc, tmp_path: Path) -> None:
    own = (ROOT / "reactions" / "contrail.yml").read_text()
    file = tmp_path / "map.yml"
    file.write_text(own.replace("bgp_as_a_service, logical_router]", "bgp_as_a_service]", 1))
    before = await compiled.values()
    ended = await intentc("plan", "--reactions", file, "-o", "json")
    assert ended.code == 0, ended.err
    assert [(edge["action"], edge["to"], edge["pairs"]) for edge in ended.json["edges"]] == [
        ("removed", "logical_router", 6)
    ]
    assert [(one["reader"], one["read"]) for one in ended.json["missing"]] == [
        ("logical_router", "virtual_machine_interface")
    ]
    assert ended.json["writes"] == []
    assert ended.json["against"].startswith("compared with the configured map, ")
    assert (await intentc("plan", "--reactions", file, "--exit-code")).code == 1
    itself = await intentc("plan", "--reactions", reactions_file("contrail"))
    assert "is the configured map; it was compared with itself, since the compiler does not answer" in itself.out
    assert await compiled.values() == before


async def test_the_map_that_a_running_compiler_has_in_force_is_what_another_is_compared_with(
    compiled: World, intentc: Intentc
) -> None:
    """Its file says something else by now."""
    scene = await Scene().begin()
    lacking = ReactionMap([r for r in scene.offline.engine.parts.logic.reactions if r.kind != "security_group"])
    scene.offline.engine.parts.logic.set_reactions(lacking)
    async with running_diagnostics(Compiler(), "127.0.0.1", 0, asked=Answers(scene.offline.engine)) as url:
        where = {"INTENTC_INTENTC__DIAGNOSTICS__ADDRESS": url.removeprefix("http://")}
        ended = await intentc("plan", "--reactions", reactions_file("contrail"), "-o", "json", environment=where)
    assert ended.code == 0, ended.err
    assert ended.json["against"] == f"compared with the map in force at {url}"
    assert {(edge["action"], edge["kind"]) for edge in ended.json["edges"]} == {("added", "security_group")}


async def test_an_invalid_map_ends_with_3_and_says_where(compiled: World, intentc: Intentc, tmp_path: Path) -> None:
    file = tmp_path / "map.yml"
    file.write_text("intent-compiler:\n  virtual_network:\n    self: [routing_instance, bogus]\n")
    unknown = await intentc("plan", "--reactions", file)
    assert unknown.code == 3
    assert f"{file}:3: error UnknownKind: unknown kind 'bogus'" in unknown.out
    file.write_text("intent-compiler:\n  virtual_network:\n    self: routing_instance\n")
    broken = await intentc("plan", "--reactions", file)
    assert broken.code == 3
    assert f"where: {file}:3" in broken.err
    file.write_text("intent-compiler: {}\n")
    nobodys = await intentc("plan", "--reactions", file)
    assert nobodys.code == 2
    assert "give --compiler contrail" in nobodys.err
