"""``plan``: which arguments go together, and how a plan reads on a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from intentc.cli.live_plan import lines_of_due
from intentc.cli.live_plan import plan_lines as lines
from intentc.inspection.differences import Field
from intentc.model import Problem
from intentc.offline.preview.report import Change, Owner, Plan, PlannedAllocation, Withheld, summary_of
from tests.unit.cli.running import Intentc

PLACEHOLDER = "<route_target_number for d:p:net:net>"


def plan(**fields: object) -> Plan:
    return Plan(revision=7, installation="default", versions={}, seconds=0.25, **fields)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give FILE..., or --delete --kind KIND NAME..., or --due"),
        (("--kind", "project", "p"), "--kind needs --delete"),
        (("--delete", "--remove-references", "a.yml"), "--remove-references needs --kind"),
        (("--due", "a.yml"), "--due excludes"),
        (("--due", "--out", "p"), "--due excludes"),
        (("--due", "-o", "appgw"), "-o appgw excludes --due"),
        (("--gateway", __file__, "a.yml"), "--gateway needs -o appgw"),
    ],
)
def test_arguments_that_don_t_go_together_are_rejected(
    intentc: Intentc, arguments: tuple[str, ...], message: str
) -> None:
    ended = intentc("plan", *arguments)
    assert ended.code == 2
    assert message in ended.err


def test_a_file_is_read_before_anybody_is_asked(intentc: Intentc, tmp_path: Path) -> None:
    ended = intentc("plan", tmp_path / "absent.yml")
    assert ended.code == 3
    assert f"where: {tmp_path / 'absent.yml'}" in ended.err


def test_each_change_has_its_sign_its_reason_and_its_fields() -> None:
    group = Change("update", "security_group", "d:p:web", "1", (Field("display_name", "web", "front"),))
    made = Change(
        "create",
        "route_target",
        f"target:64512:{PLACEHOLDER}",
        None,
        tuple(Field(f"field_{n}", None, n) for n in range(15)),
        (Owner("routing_instance", "d:p:net:net"),),
    )
    instance = Change(
        "update",
        "routing_instance",
        "d:p:net:net",
        "2",
        (
            Field("route_target_refs[target:1:1]", None, {}),
            Field("route_target_refs[target:1:2]", {"import_export": "import"}, None),
            Field("list[0]", None, "x" * 500),
        ),
    )
    gone = Change("delete", "access_control_list", "d:p:web:ingress", "3")
    changes = (group, made, instance, gone)
    shown = list(lines(plan(applied=(group,), follows=(made, instance, gone), summary=summary_of(list(changes)))))
    assert shown == [
        "You change:",
        "  ~ security_group d:p:web",
        "      display_name: web → front",
        "",
        "Follows from it:",
        f"  + route_target target:64512:{PLACEHOLDER}   because of routing_instance d:p:net:net",
        *(f"      field_{n}: {n}" for n in range(12)),
        "      … 3 more fields; -o json shows all",
        "  ~ routing_instance d:p:net:net",
        "      + route_target_refs[target:1:1]",
        '      - route_target_refs[target:1:2]: {"import_export":"import"}',
        f"      + list[0]: {'x' * 159}…",
        "  - access_control_list d:p:web:ingress",
        "",
        "Plan: 1 to create, 2 to change, 1 to delete (revision 7, 0.2 s).",
    ]


def test_what_changes_mean_stands_below_all_of_them() -> None:
    one = Change("update", "manifest", "shop:deployment.apps--web", "1", remarks=("restarts: deployment shop/web",))
    two = Change("update", "manifest", "shop:deployment.apps--mail", "2", remarks=("restarts: deployment shop/mail",))
    assert list(lines(plan(follows=(one,), due=(two,), summary=summary_of([one])))) == [
        "Follows from it:",
        "  ~ manifest shop:deployment.apps--web",
        "",
        "Remarks:",
        "  restarts: deployment shop/web",
        "",
        "The live system is not converged: 1 write is due anyway, and not part of this plan.",
        "  restarts: deployment shop/mail",
        "Plan: 0 to create, 1 to change, 0 to delete (revision 7, 0.2 s).",
    ]
    assert list(lines_of_due(plan(due=(two,)))) == [
        "Due with this configuration:",
        "  ~ manifest shop:deployment.apps--mail",
        "",
        "Remarks:",
        "  restarts: deployment shop/mail",
        "",
        "Plan: 0 to create, 1 to change, 0 to delete (revision 7, 0.2 s).",
    ]
    assert list(lines_of_due(plan())) == ["No difference: nothing would be written (revision 7, 0.2 s)."]


def test_what_stands_beside_the_changes_is_reported_too() -> None:
    problem = Problem("security_group", "d:p:web", "Missing", "there is no group d:p:x", "a.yml:3")
    shown = list(
        lines(
            plan(
                due=(Change("delete", "access_control_list", "d:p:x:ingress", "3"),),
                problems=(problem,),
                allocations=(
                    PlannedAllocation("given", "route_target_number", "d:p:net:net", PLACEHOLDER),
                    PlannedAllocation("freed", "security_group_id", "d:p:web", "8000004"),
                ),
                withheld=(Withheld("access_control_list", 60),),
            )
        )
    )
    assert shown == [
        "Allocations (the server chooses new values):",
        f"  + route_target_number: {PLACEHOLDER}",
        "  - security_group_id: 8000004 of d:p:web",
        "",
        "New problems:",
        "  a.yml:3: security_group d:p:web: there is no group d:p:x",
        "",
        "60 deletes of access_control_list wait for `intentc allow-deletes access_control_list`.",
        "The live system is not converged: 1 write is due anyway, and not part of this plan.",
        "No difference: nothing would be written (revision 7, 0.2 s).",
    ]


def test_creator_and_completer_of_an_object_count_once() -> None:
    one, other = Change("create", "project", "d:p", None), Change("update", "project", "d:p", None)
    again = Change("delete", "project", "d:p", "1")
    assert summary_of([one, other]) == summary_of([one])
    assert (summary_of([one, again]).create, summary_of([one, again]).delete) == (1, 1)
