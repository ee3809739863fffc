"""Which sources each part of an object follows from, and what was read for it; and that asking leaves no trace."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from intentc import Claim, Context, Fact, ResourceClaim
from intentc.inspection.part_sources import in_order, parts_of, reads_of, stored_behind
from intentc.inspection.why import why
from intentc.model import Key, Name, Source
from intentc.testing import MemoryService, load, service_for
from tests.support.box_system import BoxIntent, BoxSystem, part
from tests.support.contrail_system import ContrailSystem, rule, rules
from tests.support.engine_status import engine_status
from tests.support.toy.compiler import GatewayIntent, compiler

pytestmark = pytest.mark.anyio

SHOP = load("""
resources:
  - {kind: toy_pod, data: {fq_name: [shop, one], metadata: {labels: {app: web}}, address: 10.0.0.1}}
  - {kind: toy_pod, data: {fq_name: [shop, other], metadata: {labels: {app: else}}, address: 10.0.0.2}}
  - {kind: toy_service, data: {fq_name: [shop, web], selector: {app: web}}}
  - {kind: toy_route, data: {fq_name: [shop, home], hostname: a.example, service: web}}
  - {kind: toy_gateway, data: {fq_name: [shop, front], hostname: "*.example", port: 8080}}
""")
LISTENER = Name("toy_listener", ("shop-front",))


@pytest.fixture
async def shop() -> MemoryService:
    service = service_for(compiler)
    await service.create(SHOP)
    return service


@pytest.fixture
async def system() -> ContrailSystem:
    system = await ContrailSystem().begin()
    await system.create("security_group", "blue:db")
    await system.create("security_group", "blue:web", security_group_entries=rules(rule("local", "db")))
    return system


def sources(answer: dict[str, Any]) -> dict[str, list[list[str]]]:
    """Part → the sources of each reason, as ``kind name field``."""
    return {
        part["part"]: [
            [f"{source['kind']} {source['name']} {source['field']}".strip() for source in reason["sources"]]
            for reason in part["reasons"]
        ]
        for part in answer["parts"]
    }


async def test_a_rule_names_the_groups_rule_and_the_group_whose_number_it_has(
    system: ContrailSystem,
) -> None:
    answer = await why(system.offline.engine, "access_control_list", "blue:web:egress-access-control-list")
    assert sources(answer) == {
        "": [["security_group default-domain:blue:web"]],
        "access_control_list_entries.acl_rule[0]": [
            [
                "security_group default-domain:blue:web security_group_entries.policy_rule[0]",
                "security_group default-domain:blue:db",
            ]
        ],
    }
    revisions = {source["name"]: source["revision"] for source in answer["parts"][1]["reasons"][0]["sources"]}
    web, db = (system.named("security_group", f"blue:{name}") for name in ("web", "db"))
    assert web is not None and db is not None
    assert revisions == {
        "default-domain:blue:web": await system.revision(web),
        "default-domain:blue:db": await system.revision(db),
    }


async def test_what_no_author_shows_follows_from_the_intents_own_resource(shop: MemoryService) -> None:
    """Every field that is written is a part."""
    answer = await why(shop.offline.engine, "toy_listener", "shop-front")
    gateway = [["toy_gateway shop:front"]]
    assert sources(answer) == {"": gateway, "port": gateway, "routes": gateway}


async def test_what_was_read_is_followed_over_facts_to_stored_resources(shop: MemoryService) -> None:
    view = shop.offline.engine
    assert {view.world.name_of(key) for key in reads_of(view, LISTENER)} == {
        "shop:front",
        "shop:home",
        "shop:web",
        "shop:one",
    }


async def test_behind_a_fact_stand_those_who_contribute_to_it(shop: MemoryService) -> None:
    logic = shop.offline.engine.world
    service = logic.named("toy_service", ("shop", "web"))
    assert stored_behind(logic, [Key("toy_cluster", "shop:web")]) == (service,)
    answer = await why(shop.offline.engine, "toy_cluster", "shop:web")
    assert (answer["role"], answer["exists"]) == ("fact", True)
    assert [owner["name"] for owner in answer["owners"]] == ["shop:web"]


async def test_parts_can_be_chosen_and_come_a_page_at_a_time(system: ContrailSystem) -> None:
    group = rules(*(rule("local", "db", dst_ports=[{"start_port": n, "end_port": n}]) for n in range(12)))
    await system.change("security_group", "blue:web", security_group_entries=group)
    engine, name = system.offline.engine, "blue:web:egress-access-control-list"
    chosen = await why(engine, "access_control_list", name, part="acl_rule", offset=1, limit=2)
    assert [part["part"] for part in chosen["parts"]] == [
        "access_control_list_entries.acl_rule[1]",
        "access_control_list_entries.acl_rule[2]",
    ]
    assert chosen["parts_total"] == 12


def test_parts_are_sorted_as_people_count() -> None:
    parts = ["a[10].b", "", "a[9].b", "a[9]"]
    assert sorted(parts, key=in_order) == ["", "a[9]", "a[9].b", "a[10].b"]


async def test_that_a_users_object_is_there_follows_from_nothing(system: ContrailSystem) -> None:
    """Compilers want it, too; but they did not make it, and would not take it away."""
    await system.create("route_target", "target:64512:7")
    targets = {"route_target": ["target:64512:7"]}
    await system.create("virtual_network", "blue:net", route_target_list=targets)
    answer = await why(system.offline.engine, "route_target", "target:64512:7")
    assert (answer["ownership"], answer["parts"], answer["state"]) == ("user's", [], "as desired")
    assert answer["summary"] == "It is not ours, and claimed by virtual_network default-domain:blue:net."


async def test_a_reason_that_needs_more_than_another_one_is_left_out(
    box_system: BoxSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it the part stands as well."""

    def evaluate(self: BoxIntent, ctx: Context) -> Iterable[Claim | Fact]:
        made = self.child("part", "one", content="x")
        ctx.because(made, Source.of(self), Source("box", "b"))
        ctx.because(made, Source("box", "b"))
        ctx.because(made, Source("box", "c"))
        yield made

    monkeypatch.setattr(BoxIntent, "evaluate", evaluate)
    await box_system.boxes("a")
    reported = parts_of(box_system.engine, part("a"))
    assert [reason.sources for reason in reported[""]] == [(Source("box", "b"),), (Source("box", "c"),)]
    assert reported["content"] == reported[""], "a field of which nothing is reported is there as the object is"


async def test_a_fact_named_as_source_stands_for_its_contributors(
    shop: MemoryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    otherwise = GatewayIntent.evaluate

    def evaluate(self: GatewayIntent, ctx: Context) -> Iterable[Claim | Fact]:
        for made in otherwise(self, ctx):
            assert isinstance(made, ResourceClaim)
            ctx.because(made, Source.of(self), Source("toy_cluster", "shop:web"), part="routes[0]")
            yield made

    monkeypatch.setattr(GatewayIntent, "evaluate", evaluate)
    answer = await why(shop.offline.engine, "toy_listener", "shop-front", part="routes[0]")
    assert sources(answer) == {"routes[0]": [["toy_gateway shop:front", "toy_service shop:web"]]}


async def test_what_a_held_intent_made_keeps_its_parts(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    await box_system.change("a", text="fail")
    reported = parts_of(box_system.engine, part("a"))
    assert list(reported) == ["", "content"]
    assert [reason.sources for reason in reported["content"]] == [(Source("box", "a"),)]


async def test_objects_of_a_held_intent_still_lead_to_it_after_a_restart(box_system: BoxSystem) -> None:
    """What it had claimed is unknown; the mark shows the object's owner."""
    await box_system.boxes("a")
    await box_system.change("a", text="fail")
    again = await BoxSystem(box_system.offline.store).begin()
    answer = await why(again.engine, "part", "a:one")
    assert (answer["state"], answer["summary"].partition(";")[0]) == ("held", "It exists because of box a")
    assert sources(answer) == {"": [["box a"]]}


async def test_asking_changes_nothing(system: ContrailSystem) -> None:
    engine = system.offline.engine
    world, book, journal = engine.world, engine.planner.book, engine.journal
    key = system.named("security_group", "blue:web")
    assert key is not None

    def everything() -> tuple[Any, ...]:
        reads = engine._logic.reads
        return (
            engine.evaluator.runs,
            len(journal),
            len(reads),
            world.reads.reads_of(key),
            engine.jobs.pending(),
            engine.objects.pending(),
            dict(book.on(Name("access_control_list", ("default-domain", "blue", "web")))),
            msgspec.json.encode(engine_status(engine)),
        )

    before = everything()
    await why(engine, "access_control_list", "blue:web:egress-access-control-list")
    await why(engine, "access_control_list", "blue:web:nothing")
    await why(engine, "security_group", "blue:web")
    assert everything() == before


async def test_a_resource_shows_what_follows_from_it_what_it_lacks_and_who_reads_it(system: ContrailSystem) -> None:
    entries = rules(rule("local", "db"), rule("local", "gone"))
    await system.change("security_group", "blue:web", security_group_entries=entries)
    web = await why(system.offline.engine, "security_group", "blue:web")
    assert [(output["name"].rpartition(":")[2], output["state"]) for output in web["outputs"]] == [
        ("egress-access-control-list", "as desired"),
        ("ingress-access-control-list", "as desired"),
    ]
    assert web["missing"] == [{"relation": "security_group", "target": "security_group default-domain:blue:gone"}]
    assert [problem["reason"] for problem in web["problems"]] == ["UnknownSecurityGroup"]
    db = await why(system.offline.engine, "security_group", "blue:db")
    assert [reader["name"] for reader in db["concerns"]] == ["default-domain:blue:web"]


async def test_the_evaluation_shows_which_change_led_to_it_and_by_which_way(system: ContrailSystem) -> None:
    await system.change("security_group", "blue:db", configured_security_group_id=9)
    answer = await why(system.offline.engine, "access_control_list", "blue:web:egress-access-control-list")
    (evaluation,) = answer["evaluations"]
    assert [step["name"] for step in evaluation["path"]] == ["default-domain:blue:db", "default-domain:blue:web"]
    assert (evaluation["recorded_in"], evaluation["status"]) == ("journal", "done")
    assert answer["written"]["operation"] == "update"


async def test_after_a_restart_only_the_path_and_the_operation_are_unknown(
    system: ContrailSystem,
) -> None:
    before = await why(system.offline.engine, "access_control_list", "blue:web:egress-access-control-list")
    again = await system.restart()
    after = await why(again.offline.engine, "access_control_list", "blue:web:egress-access-control-list")
    assert [(e["path"], e["recorded_in"]) for e in after["evaluations"]] == [(None, "before this start")]
    assert after["written"] == {
        "operation": None,
        "revision": before["revision"],
        "at": None,
        "by": "before this start",
    }
    for key in ("parts", "reads", "owners", "state", "summary", "problems"):
        assert after[key] == before[key], key


async def test_what_the_journal_has_dropped_is_reported_as_such(system: ContrailSystem) -> None:
    system.offline.engine.journal.clear()
    answer = await why(system.offline.engine, "access_control_list", "blue:web:egress-access-control-list")
    assert answer["written"]["by"] == "a line that the journal has dropped"
    assert [e["recorded_in"] for e in answer["evaluations"]] == ["a line that the journal has dropped"]


async def test_an_answer_about_very_much_stays_small(system: ContrailSystem) -> None:
    await system.create("security_group", "blue:" + 200 * "x")
    group = rules(*(rule("local", 200 * "x", dst_ports=[{"start_port": n, "end_port": n}]) for n in range(600)))
    await system.change("security_group", "blue:web", security_group_entries=group)
    name = "blue:web:egress-access-control-list"
    answer = await why(system.offline.engine, "access_control_list", name, limit=500)
    assert len(msgspec.json.encode(answer)) <= 200_000
    assert answer["parts_total"] == 601
    assert len(answer["parts"]) > 50
