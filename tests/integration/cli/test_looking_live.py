"""``intentc plan`` and ``intentc audit`` only look: one world is asked all of it, and no test may change it."""

from __future__ import annotations

from pathlib import Path

import pytest

from intentc.service.audits import AuditFailed, AuditProcess
from tests.integration.cli.plan_files import GROUP, changes_of, written
from tests.support.commands import SAMPLE, Intentc
from tests.support.live_system import PROJECT, LiveSystem
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

LISTS = {f"{direction}-access-control-list" for direction in ("ingress", "egress")}


@pytest.fixture
def world(looked_at: LiveSystem) -> LiveSystem:
    """The one of this module, for the commands' configuration."""
    return looked_at


@pytest.fixture
def compiled(looked_at: LiveSystem) -> LiveSystem:
    return looked_at


async def test_a_plan_reports_what_deleting_a_group_would_do_and_writes_nothing(
    compiled: LiveSystem, intentc: Intentc
) -> None:
    before, numbers = await compiled.values(), await compiled.numbers()
    ended = await intentc("plan", "--delete", "--kind", "security-group", "group-3", "-o", "json")
    assert ended.code == 0, ended.err
    plan = ended.json
    assert (plan["apiVersion"], plan["formatVersion"]) == ("intentc/v1", "1.1")
    name = ":".join(GROUP)
    assert changes_of(plan["applied"]) == {("delete", "security_group", name)}
    assert changes_of(plan["follows"]) == {("delete", "access_control_list", f"{name}:{each}") for each in LISTS} | {
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


async def test_numbers_that_nobody_has_yet_are_reported_by_pool_and_owner(
    compiled: LiveSystem, intentc: Intentc
) -> None:
    numbers = await compiled.numbers()
    ended = await intentc("plan", SAMPLE)
    assert ended.code == 0, ended.err
    assert "+ route_target target:64512:<route_target_number for default-domain:shop:shop-router>" in ended.out
    assert "security_group_id: <security_group_id for default-domain:shop:web>" in ended.out
    assert ended.out.splitlines()[-1].startswith("Plan: 27 to create, 0 to change, 0 to delete (revision ")
    assert await compiled.numbers() == numbers


async def test_plan_reports_no_difference_and_returns_differences_as_exit_code_on_demand(
    compiled: LiveSystem, intentc: Intentc, renamed: Path, tmp_path: Path
) -> None:
    same = written(tmp_path, {"fq_name": GROUP}, "same.yml")
    nothing = await intentc("plan", same, "--exit-code")
    assert (nothing.code, nothing.out.startswith("No difference: nothing would be written")) == (0, True)
    assert (await intentc("plan", renamed)).code == 0
    different = await intentc("plan", renamed, "--exit-code")
    assert different.code == 1
    assert "display_name: group-3 → the third" in different.out or "+ display_name: the third" in different.out


async def test_bad_input_is_reported_with_its_line_as_apply_would(
    compiled: LiveSystem, intentc: Intentc, tmp_path: Path
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
    compiled: LiveSystem, intentc: Intentc, renamed: Path, away: str
) -> None:
    variable = {
        "etcd": ("INTENTC_ETCD__ENDPOINTS", "127.0.0.1:1"),
        "client": ("INTENTC_CLIENT__ENDPOINT", "http://127.0.0.1:1"),
    }
    ended = await intentc("plan", renamed, environment=dict([variable[away]]))
    assert ended.code == 4, ended.err
    assert {"etcd": "etcd", "client": "http://127.0.0.1:1"}[away] in ended.err


async def test_a_saved_plan_is_nothing_to_plan_for(
    compiled: LiveSystem, intentc: Intentc, renamed: Path, tmp_path: Path
) -> None:
    file = tmp_path / "rename.plan"
    assert (await intentc("plan", renamed, "--out", file)).code == 0
    rejected = await intentc("plan", file)
    assert rejected.code == 2
    assert "this is a saved plan" in rejected.err
    assert f"`intentc apply {file}` carries it out" in rejected.err


async def test_who_cannot_let_go_is_named(compiled: LiveSystem, intentc: Intentc) -> None:
    rejected = await intentc("plan", "--delete", "--kind", "virtual_network", "network-3", "--remove-references")
    assert rejected.code == 3
    name = ":".join((*PROJECT, "foot-3"))
    assert (
        f"virtual_machine_interface {name} keeps its reference: a virtual machine interface needs a network"
        in rejected.err
    )
    assert "delete it first" in rejected.err


async def test_a_converged_world_does_not_differ(compiled: LiveSystem, intentc: Intentc) -> None:
    before = await compiled.values()
    ended = await intentc("audit")
    assert (ended.code, ended.out) == (0, ""), ended.err
    assert "no difference at revision " in ended.err
    report = (await intentc("audit", "-o", "json")).json
    assert report["apiVersion"] == "intentc/v1"
    assert (report["differences"], report["held"], report["withheld"]) == ([], 0, 0)
    assert report["owned"] == len(await compiled.owned()) >= 20
    assert report["resources"] == len(before)
    assert await compiled.values() == before
    assert compiled.calls.mutations == {}


async def test_an_audit_of_a_future_revision_says_that_it_cannot_be_read(
    compiled: LiveSystem, intentc: Intentc
) -> None:
    ended = await intentc("audit", "--revision", 10**12)
    assert ended.code == 3
    assert f"revision {10**12} can't be read" in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("away", ["etcd", "client"])
async def test_an_audit_without_etcd_or_without_the_allocator_says_who_is_away(
    compiled: LiveSystem, intentc: Intentc, away: str
) -> None:
    variable = {
        "etcd": ("INTENTC_ETCD__ENDPOINTS", "127.0.0.1:1"),
        "client": ("INTENTC_CLIENT__ENDPOINT", "http://127.0.0.1:1"),
    }
    ended = await intentc("audit", environment=dict([variable[away]]))
    assert ended.code == 4, ended.err
    assert {"etcd": "etcd", "client": "http://127.0.0.1:1"}[away] in ended.err


async def test_the_service_is_reported_why_there_is_no_report(
    compiled: LiveSystem, intentc: Intentc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTENTC_CLIENT__ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(AuditFailed, match="ended with code 4"):
        await AuditProcess(str(intentc.configuration), time_limit=PATIENCE)()
