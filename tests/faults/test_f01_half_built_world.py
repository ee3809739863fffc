"""F01, cold start on a half-built world: half of the outputs are missing, some have drifted, and there are orphans."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.model import MARK_KEY, Mark, Name, object_uuid
from tests.faults.load import Change, Tenants
from tests.faults.oracles import changed, check, everything, listed
from tests.faults.process_system import ProcessSystem
from tests.faults.scale import BASE, HALF_BUILT_DRIFTED, HALF_BUILT_ORPHANS
from tests.faults.scale_writing import seeded
from tests.oracle.contrail import mark

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]


async def test_f01_a_cold_start_on_a_half_built_world_writes_only_the_differences(
    bench: ProcessSystem,
) -> None:
    world, chance = bench.world, seeded()
    bench.settings["intentc"]["limits"] |= {"max_deletes": HALF_BUILT_ORPHANS}
    tenants = Tenants(world, chance)
    await tenants.populate(BASE.groups, BASE.networks)
    builder = bench.start()
    await builder.quiet(world.revision, BASE.patience)
    assert await builder.terminate() == 0

    lists = (await world.stored())["access_control_list"]
    ours = sorted(uuid for uuid, found in lists.items() if mark(found))
    missing = chance.sample(ours, len(ours) // 2)
    drifted = chance.sample(sorted(set(ours) - set(missing)), HALF_BUILT_DRIFTED)
    orphans = [_orphan(bench, name, uuid) for name, uuid in sorted(tenants.groups.items())[:HALF_BUILT_ORPHANS]]
    await tenants.sync(("DELETE", "access_control_list", {"uuid": uuid}) for uuid in missing)
    await tenants.sync(_drift(uuid) for uuid in drifted)
    await tenants.sync(orphans)
    before = await everything(world)

    compiler = bench.start()
    status = await compiler.quiet(world.revision, BASE.patience)
    strays = {data["uuid"] for _, _, data in orphans}
    written = {key.rpartition("/")[2] for key in changed(before, await everything(world)) if _is_resource(bench, key)}
    assert written == {*missing, *drifted, *strays}
    assert status["counters"]["writes"] == len(missing) + len(drifted) + len(strays)
    assert listed(status) == {"first": 1}
    await check(bench, compiler, BASE.patience)


def _is_resource(bench: ProcessSystem, key: str) -> bool:
    return key.startswith(f"/{bench.world.path}/")


def _drift(uuid: str) -> Change:
    rule = {"match_condition": {"protocol": "any"}, "action_list": {"simple_action": "deny"}, "rule_uuid": uuid}
    data: dict[str, Any] = {"uuid": uuid, "access_control_list_entries": {"acl_rule": [rule]}}
    return "UPDATE", "access_control_list", data


def _orphan(bench: ProcessSystem, group: str, owner: str) -> Change:
    """A list that a former version of the compiler made for a group, and that nobody claims."""
    installation = bench.world.path
    name = ("default-domain", "default-project", group, "former-access-control-list")
    given = Mark(installation, "contrail", owner)
    data = {
        "uuid": object_uuid(installation, Name("access_control_list", name), owner),
        "fq_name": list(name),
        "parent_type": "security-group",
        "parent_uuid": owner,
        "annotations": {"key_value_pair": [{"key": MARK_KEY, "value": str(given)}]},
    }
    return "CREATE", "access_control_list", data
