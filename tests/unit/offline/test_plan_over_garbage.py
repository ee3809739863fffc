"""Garbage among the API server's own keys fails in a plan where it fails in the live system, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from intentc.apiserver.layout import Layout
from intentc.cli.command_error import CommandError
from intentc.model import Key
from intentc.offline.offline import PATH
from intentc.offline.preview.report import Input
from intentc.watch.protocol import Put
from tests.unit.offline.planned_system import PlannedSystem, changes_of, texts

pytestmark = pytest.mark.anyio

LAYOUT = Layout(PATH)
TENANT = (Path(__file__).parents[3] / "sample" / "tenant.yml").read_text()
ANOTHER_RULE = texts(TENANT.replace("start_port: 443", "start_port: 8443"))
NETWORK = texts("resources: [{kind: virtual_network, data: {fq_name: [default-domain, default-project, new]}}]")
GARBAGE = pytest.mark.parametrize("garbage", [b"{", b"\xff", b"[" * 100_000, b'{"kind": 1}'], ids=lambda raw: raw[:2])


async def put(system: PlannedSystem, key: str, value: bytes) -> None:
    await system.store.transaction((), [Put(key, value)])
    await system.settle()


async def nameless(system: PlannedSystem, garbage: bytes) -> str:
    """Make a project unreadable, and its name in the index. Its uuid."""
    await system.apply(texts("resources: [{kind: project, data: {fq_name: [default-domain, lost]}}]"))
    uuid = (await system.key("project", "default-domain", "lost")).uuid
    await put(system, LAYOUT.identity(uuid), garbage)
    await put(system, LAYOUT.value(Key("project", uuid)), b"{")
    return uuid


@GARBAGE
async def test_a_plan_beside_a_resource_without_a_readable_name_is_the_same(
    tenant: PlannedSystem, garbage: bytes
) -> None:
    expected = changes_of(await tenant.plan(ANOTHER_RULE))
    await nameless(tenant, garbage)
    assert changes_of(await tenant.plan(ANOTHER_RULE)) == expected
    assert len(expected) > 1


async def test_a_plan_to_delete_it_fails_as_deleting_it_does(tenant: PlannedSystem) -> None:
    delete = Input(delete=True, kind="project", names=(await nameless(tenant, b"{"),))
    errors = []
    for attempt in (tenant.plan, tenant.apply):
        with pytest.raises(CommandError) as caught:
            await attempt(delete)
        errors.append(str(caught.value))
    assert "can't be read" in errors[0]
    assert errors[0] == errors[1]


@GARBAGE
async def test_numbers_of_a_broken_pool_are_rejected_in_the_plan_as_well(tenant: PlannedSystem, garbage: bytes) -> None:
    await put(tenant, LAYOUT.pool("route_target_number"), garbage)
    planned = await tenant.plan(NETWORK)
    assert [problem.reason for problem in planned.problems] == ["AllocationRejected"]
    assert planned.problems[0].message.count(LAYOUT.pool("route_target_number")) == 1
    await tenant.apply(NETWORK)
    assert tenant.offline.problems() == planned.problems


async def test_what_needs_no_number_of_a_broken_pool_is_planned(tenant: PlannedSystem) -> None:
    await put(tenant, LAYOUT.pool("route_target_number"), b"{")
    before, numbers = await tenant.world(), await tenant.numbers()
    planned = await tenant.plan(ANOTHER_RULE)
    await tenant.apply(ANOTHER_RULE)
    assert planned.follows
    assert changes_of(planned) == await tenant.happened(before, numbers, planned)


async def test_a_network_that_gets_no_id_is_rejected_in_the_plan_as_well(tenant: PlannedSystem) -> None:
    await put(tenant, LAYOUT.pool("virtual_network_id"), b"{")
    for attempt in (tenant.plan, tenant.apply):
        with pytest.raises(CommandError, match="can't be read"):
            await attempt(NETWORK)
