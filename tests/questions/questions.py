"""The questions, each a function of a ``QuestionedSystem`` that asks one and demands the right answer.

They are asked in the order in which they stand here: the last ones change something.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from tests.questions.questioned_system import DATABASE, WEB, WEB_RULES, QuestionedSystem

INGRESS, EGRESS = "ingress-access-control-list", "egress-access-control-list"
ENTRIES = "access_control_list_entries"

Question = Callable[[QuestionedSystem], Awaitable[None]]


async def why_does_this_rule_exist(system: QuestionedSystem) -> None:
    answer = await system.ask("why does this rule exist?", "why", "access_control_list", f"web:{INGRESS}")
    stored = await system.resource("access_control_list", *WEB, INGRESS)
    place = [rule["rule_uuid"] for rule in stored[ENTRIES]["acl_rule"]].index(WEB_RULES[1])
    (reason,) = _part(answer, f"{ENTRIES}.acl_rule[{place}]")["reasons"]
    assert _named(reason) == {
        ("security_group", ":".join(WEB), "security_group_entries.policy_rule[1]"),
        ("security_group", ":".join(DATABASE), ""),
    }
    revisions = {source["uuid"]: source["revision"] for source in reason["sources"]}
    values = await system.world.values()
    assert revisions == {uuid: values[f"/{system.world.path}/security_group/{uuid}"][1] for uuid in revisions}
    assert answer["state"] == "as desired"
    assert answer["written"]["operation"] == "create"


async def why_has_this_instance_this_route_target(system: QuestionedSystem) -> None:
    """A network's own list, its own number, and a router over it."""
    name = sorted(system.tenants.networks)[0]
    answer = await system.ask("why has it this route target?", "why", "routing_instance", f"{name}:{name}")
    instance = await system.resource("routing_instance", *_project(name), name)
    stored = {f"route_target_refs[{reference['to'][0]}]" for reference in instance["route_target_refs"]}
    parts = {part["part"]: part for part in answer["parts"]}
    assert parts.keys() >= stored
    (own,) = parts["route_target_refs[target:1:1]"]["reasons"]
    assert _named(own) == {("virtual_network", ":".join(_project(name)), "route_target_list.route_target[0]")}
    kinds = {source["kind"] for part in stored for reason in parts[part]["reasons"] for source in reason["sources"]}
    assert {"virtual_network", "routing_instance", "logical_router", "virtual_machine_interface"} <= kinds


async def why_is_there_no_such_object(system: QuestionedSystem) -> None:
    answer = await system.ask("why is there no such list?", "why", "access_control_list", f"nobody:{INGRESS}", code=1)
    assert not answer["exists"]
    assert answer["state"] == "absent"
    assert answer["summary"]


async def what_follows_from_this_resource(system: QuestionedSystem) -> None:
    answer = await system.ask("what follows from it?", "why", "security_group", ":".join(WEB))
    assert {output["name"] for output in answer["outputs"]} == {":".join((*WEB, each)) for each in (INGRESS, EGRESS)}


async def is_it_converged_and_who_leads(system: QuestionedSystem) -> None:
    status = await system.ask("converged, healthy, who leads?", "status")
    assert status["converged"]
    assert status["healthy"]
    assert status["role"] == "leader"
    assert status["lag_revisions"] == 0
    assert status["pending_work"] == []


async def is_what_is_written_right(system: QuestionedSystem) -> None:
    report = await system.ask("is what is written right?", "audit")
    assert report["differences"] == []
    assert report["resources"] > len(system.tenants.groups)


async def is_the_map_right(system: QuestionedSystem) -> None:
    found = await system.ask("is the reaction map right?", "check", "--reads")
    assert {finding["reason"] for finding in found["findings"]} <= {"IdleReaction", "Unreachable"}


async def what_is_around_it(system: QuestionedSystem) -> None:
    graph = await system.ask("what is around it?", "graph", "security_group", ":".join(DATABASE))
    names = {node["name"] for node in graph["nodes"]}
    assert {":".join(WEB), ":".join((*DATABASE, INGRESS))} <= names


async def what_would_deleting_it_change(system: QuestionedSystem) -> None:
    """The plan, and then the change: what happened is what was planned."""
    plan = await system.ask(
        "what would deleting it change?", "plan", "--delete", "--kind", "security_group", ":".join(DATABASE)
    )
    before = await _shown(system)
    await system.tenants.sync(system.tenants.removed(["db"]))
    await system.settled()
    planned = _operations(plan["applied"]) | _operations(plan["follows"])
    done = _changed(before, await _shown(system))
    assert planned == done, f"planned and not done, or done and not planned: {planned ^ done}"
    assert ("delete", "access_control_list", ":".join((*DATABASE, INGRESS))) in _operations(plan["follows"])
    assert ("update", "access_control_list", ":".join((*WEB, INGRESS))) in _operations(plan["follows"])


async def what_changed_last(system: QuestionedSystem) -> None:
    """By the journal: the group that is gone led to the other one, and that to its list."""
    answer = await system.ask("what changed it last?", "why", "access_control_list", f"web:{INGRESS}")
    (evaluation,) = answer["evaluations"]
    assert [step["name"] for step in evaluation["path"]] == [":".join(DATABASE), ":".join(WEB)], evaluation
    assert answer["written"]["operation"] == "update"
    assert [problem["reason"] for problem in answer["problems"]] == ["UnknownSecurityGroup"]


async def what_is_held_and_why(system: QuestionedSystem) -> None:
    uuid = system.tenants.groups["web"]
    await system.world.put_raw("security_group", uuid, b'{"fq_name": 7}')
    await system.settled()
    (entry,) = (await system.ask("what is held, and why?", "quarantine", "list"))["quarantine"]
    assert (entry["kind"], entry["uuid"], entry["state"]) == ("security_group", uuid, "unreadable")
    status = await system.ask("is it healthy now?", "status", code=5)
    assert (status["converged"], status["healthy"]) == (True, False)
    answer = await system.ask("what of its list?", "why", "access_control_list", f"web:{INGRESS}")
    assert answer["exists"]


QUESTIONS: tuple[Question, ...] = (
    why_does_this_rule_exist,
    why_has_this_instance_this_route_target,
    why_is_there_no_such_object,
    what_follows_from_this_resource,
    is_it_converged_and_who_leads,
    is_what_is_written_right,
    is_the_map_right,
    what_is_around_it,
    what_would_deleting_it_change,
    what_changed_last,
    what_is_held_and_why,
)


def _project(*name: str) -> tuple[str, ...]:
    return (*WEB[:-1], *name)


def _part(answer: dict[str, Any], name: str) -> dict[str, Any]:
    return next(part for part in answer["parts"] if part["part"] == name)


def _named(reason: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {(source["kind"], source["name"], source["field"]) for source in reason["sources"]}


def _operations(changes: list[dict[str, Any]]) -> set[tuple[str, str, str]]:
    return {(change["action"], change["kind"], change["name"]) for change in changes}


_Shown = dict[tuple[str, str], dict[str, Any]]


async def _shown(system: QuestionedSystem) -> _Shown:
    """(kind, name) → the resource, without what the server notes of each write."""
    return {
        (kind, ":".join(resource["fq_name"])): {key: value for key, value in resource.items() if key != "id_perms"}
        for kind, found in (await system.world.stored()).items()
        for resource in found.values()
    }


def _changed(before: _Shown, after: _Shown) -> set[tuple[str, str, str]]:
    return (
        {("delete", *name) for name in before.keys() - after.keys()}
        | {("create", *name) for name in after.keys() - before.keys()}
        | {("update", *name) for name in before.keys() & after.keys() if before[name] != after[name]}
    )
