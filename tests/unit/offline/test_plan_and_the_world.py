"""What a plan takes from the live world beside its resources: the server's index, orders, limits; and what it keeps
from people's eyes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from intentc.apiserver.app import create_app
from intentc.cli.api_client import ApiClient
from intentc.cli.live_plan import carry_out, resources_of
from intentc.cli.transfer import Stale
from intentc.directives import Book, Pause
from intentc.model import Key
from intentc.offline.offline import PATH
from intentc.offline.preview import Trial, gather
from intentc.offline.preview.report import Input
from intentc.planning import DeleteGuard
from intentc.reconcile.failures import Denied
from intentc.watch.protocol import Delete, RangeResult
from intentc.writing.connection import in_process
from tests.unit.offline.planned_system import PlannedSystem, changes_of, texts

pytestmark = pytest.mark.anyio

SAMPLES = Path(__file__).parents[3] / "sample"
TENANT = (SAMPLES / "tenant.yml").read_text()
GATEWAY = [file.read_text() for file in sorted((SAMPLES / "ambassador").iterdir())]
NO_ROUTER_FEET = Input(delete=True, kind="logical_router", names=("shop-router",))
WEB = "5b0f0000-0000-4000-8000-000000000021"

SECRET = """
apiVersion: v1
kind: Secret
metadata: {name: certificate, namespace: sample}
type: kubernetes.io/tls
data: {tls.crt: Y2FuYXJ5LWNlcnRpZmljYXRl, tls.key: VALUE}
"""
FIRST, SECOND = "Y2FuYXJ5LW9uZS1rZXk=", "Y2FuYXJ5LWFub3RoZXIta2V5"


async def test_a_server_that_keeps_no_index_is_no_obstacle(
    tenant: PlannedSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another server's names and holders are not where ours are; and ours may be closed to a compiler's user."""
    with_index = await tenant.plan(NO_ROUTER_FEET)
    range_of = tenant.offline.store.range

    async def closed(key: str, range_end: str = "", **options: Any) -> RangeResult:
        if key.startswith(f"/intentc/apiserver/{PATH}/") and options.get("revision"):
            raise Denied("etcd Range: permission denied")
        return await range_of(key, range_end, **options)

    monkeypatch.setattr(tenant.offline.store, "range", closed)
    gathered = await gather(
        tenant.offline.store, tenant.offline.local, tenant.loaded.schema, path=PATH, installation="default"
    )
    assert (gathered.links, gathered.pools) == (None, {})
    without = await tenant.plan(NO_ROUTER_FEET)
    assert changes_of(without) == changes_of(with_index)
    assert ("delete", "route_target", "target:65000:7") in {(c.action, c.kind, c.name) for c in without.follows}


async def test_what_operators_paused_stays_as_it_is(tenant: PlannedSystem) -> None:
    given = texts(TENANT.replace("start_port: 443", "start_port: 8443"))
    assert (await tenant.plan(given)).follows
    await Book(tenant.offline.store, "default").put(Pause(kind="security_group", uuid=WEB))
    paused = await tenant.plan(given)
    assert [change.name for change in paused.applied] == ["default-domain:shop:web"]
    assert paused.follows == ()


async def test_deletes_that_need_approval_are_no_part_of_the_plan_and_are_counted(tenant: PlannedSystem) -> None:
    await tenant.offline.store.transaction([], [Delete(f"/{PATH}/security_group/{WEB}")])
    gathered = await gather(
        tenant.offline.store, tenant.offline.local, tenant.loaded.schema, path=PATH, installation="default"
    )
    trial = Trial(tenant.loaded, gathered, installation="default", guard=DeleteGuard(1, 0.0))
    moment = await trial.rest()
    assert moment.withheld == {"access_control_list": 2}
    unguarded = await tenant.plan(texts(TENANT))
    assert {change.action for change in unguarded.due if change.kind == "access_control_list"} == {"delete"} | {
        "update"
    }


async def test_what_follows_over_facts_names_the_resource_that_was_changed() -> None:
    """A group of Mappings is a fact; whoever reads the plan knows his Mappings."""
    system = PlannedSystem("ambassador")
    await system.offline.seed()
    await system.apply(texts(*GATEWAY))
    planned = await system.plan(texts(*(text.replace("weight: 10", "weight: 40") for text in GATEWAY)))
    (route,) = planned.follows
    assert route.kind == "envoy_route"
    assert [(owner.kind, owner.name) for owner in route.because] == [("mapping", "sample:greeting-canary")]


async def test_a_changed_part_is_due_to_the_sources_of_its_reasons(
    tenant: PlannedSystem,
) -> None:
    planned = await tenant.plan(Input(delete=True, kind="security_group", names=("web",), remove_references=True))
    owed = {change.name: [owner.name for owner in change.because] for change in planned.follows}
    assert owed["default-domain:shop:database:ingress-access-control-list"] == ["default-domain:shop:web"]
    assert set(map(tuple, owed.values())) == {("default-domain:shop:web",)}


async def test_secrets_never_come_out_and_that_they_change_does() -> None:
    system = PlannedSystem("ambassador")
    await system.offline.seed()
    first, second = (SECRET.replace("VALUE", value) for value in (FIRST, SECOND))
    created = await system.plan(texts(first))
    await system.apply(texts(first))
    changed = await system.plan(texts(second))
    for plan in (created, changed):
        shown = json.dumps(plan.document())
        assert FIRST not in shown
        assert SECOND not in shown
        assert "canary" not in shown
    (change,) = changed.applied
    assert [(field.field, field.before, field.after) for field in change.fields] == [
        ("data", "<secret>", "<secret, another>")
    ]


async def test_a_plan_is_carried_out_only_if_everything_stands_where_it_was_seen(tenant: PlannedSystem) -> None:
    """Somebody else may be faster even after the plan was made anew."""
    given = texts(TENANT.replace("start_port: 443", "start_port: 8443"))
    resources = resources_of(given, tenant.loaded.schema)
    seen: dict[Key, int] = {}
    before = await tenant.everything()
    async with ApiClient(in_process(create_app(tenant.offline.server))) as client:
        with pytest.raises(Stale, match=r"the plan is stale: .*stands at revision"):
            await carry_out(client, given, resources, tenant.loaded.schema, seen)
        assert await tenant.everything() == before
        seen = {key: await revision_of(tenant, key) for key in tenant.offline.engine.world.cache}
        done = await carry_out(client, given, resources, tenant.loaded.schema, seen)
    assert {action for kind, _, action in done if kind == "security_group"} == {"updated", "unchanged"}


async def revision_of(system: PlannedSystem, key: Key) -> int:
    return (await system.offline.store.range(f"/{PATH}/{key.kind}/{key.uuid}")).items[0].mod_revision


async def test_a_plan_counts_dropped_references_as_changes_by_people(tenant: PlannedSystem) -> None:
    remove_references = Input(delete=True, kind="security_group", names=("web",), remove_references=True)
    before, numbers = await tenant.world(), await tenant.numbers()
    planned = await tenant.plan(remove_references)
    assert {(change.action, change.kind, change.name.rsplit(":", 1)[1]) for change in planned.applied} == {
        ("delete", "security_group", "web"),
        ("update", "virtual_machine_interface", "web-1"),
    }
    await tenant.apply(remove_references)
    assert changes_of(planned) == await tenant.happened(before, numbers, planned)
    assert Key("security_group", WEB) not in tenant.offline.engine.world.cache
