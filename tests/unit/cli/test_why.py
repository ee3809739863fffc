"""``intentc why``: the running compiler's answer as a tree, or as a document; and what is shown where there is none."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from anyio.from_thread import start_blocking_portal

from intentc.cli.command_error import Exit
from intentc.diagnostics.serving import running_diagnostics
from intentc.inspection import Reader
from intentc.loading.yaml import load_yaml
from tests.support.contrail_system import ContrailSystem, rule, rules
from tests.unit.cli.running import Intentc
from tests.unit.diagnostics.answered import ObservedCompiler

NOBODY = "127.0.0.1:1"
EGRESS = "default-domain:blue:web:egress-access-control-list"


async def world() -> Reader:
    """Group ``web`` has a rule to ``db``, one to a group that isn't there, and forty more."""
    system = await ContrailSystem().begin()
    await system.create("security_group", "blue:db")
    many = [rule("local", "db", dst_ports=[{"start_port": n, "end_port": n}]) for n in range(40)]
    entries = rules(rule("local", "gone"), rule("local", "db"), *many)
    await system.create("security_group", "blue:web", security_group_entries=entries)
    return Reader(system.offline.engine)


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A compiler that can be asked, where commands ask."""
    with start_blocking_portal() as portal:
        answers = portal.call(world)
        diagnostics = running_diagnostics(ObservedCompiler(), "127.0.0.1", 0, reader=answers)
        with portal.wrap_async_context_manager(diagnostics) as url:
            monkeypatch.setenv("INTENTC_INTENTC__DIAGNOSTICS__ADDRESS", url.removeprefix("http://"))
            yield


@pytest.mark.usefixtures("compiler")
def test_a_rule_is_shown_with_the_groups_rule_that_it_comes_from(intentc: Intentc) -> None:
    ended = intentc("why", "access-control-list", "web:egress-access-control-list")
    lines = ended.out.splitlines()
    assert ended.code == Exit.DONE
    assert lines[0].startswith(f"access_control_list {EGRESS}   as desired, ours, revision ")
    assert lines[2].startswith("├── because of security_group default-domain:blue:web  (revision ")
    assert lines[3] == "├── access_control_list_entries.acl_rule[0]"
    assert lines[4].startswith('│   ├── holds {"rule_uuid":')
    assert lines[5].startswith(
        "│   ├── security_group default-domain:blue:web  security_group_entries.policy_rule[1]  "
    )
    assert lines[6].startswith("│   └── security_group default-domain:blue:db  (revision ")
    assert "\033" not in ended.out


@pytest.mark.usefixtures("compiler")
def test_a_long_list_of_parts_is_cut_and_says_how_to_see_the_rest(intentc: Intentc) -> None:
    cut = intentc("why", "access_control_list", EGRESS).out
    assert "… 21 more parts: --all shows them, --part TEXT chooses" in cut
    whole = intentc("why", "access_control_list", EGRESS, "--all").out
    assert "acl_rule[40]" in whole
    assert "more parts" not in whole
    assert "history" in whole


@pytest.mark.usefixtures("compiler")
def test_parts_are_chosen_by_a_text(intentc: Intentc) -> None:
    chosen = intentc("why", "access_control_list", EGRESS, "--part", "acl_rule[7]", "-o", "json")
    assert [part["part"] for part in json.loads(chosen.out)["parts"]] == ["access_control_list_entries.acl_rule[7]"]


@pytest.mark.usefixtures("compiler")
def test_why_shows_outputs_missing_targets_and_problems_of_a_resource(intentc: Intentc) -> None:
    shown = intentc("why", "security_group", "web").out
    assert "├── what follows from it (2)" in shown
    assert f"access_control_list {EGRESS}   as desired" in shown
    assert "security_group: security_group default-domain:blue:gone" in shown
    assert "problem UnknownSecurityGroup: security_group default-domain:blue:web: rule 1 " in shown


@pytest.mark.usefixtures("compiler")
def test_programs_get_the_whole_answer(intentc: Intentc) -> None:
    as_json = json.loads(intentc("why", "security_group", "web", "-o", "json").out)
    assert (as_json["apiVersion"], as_json["kind"], as_json["exists"]) == ("intentc/v1", "security_group", True)
    as_yaml = load_yaml(intentc("why", "security_group", "web", "-o", "yaml").out).value
    assert as_yaml["outputs_total"] == 2


@pytest.mark.usefixtures("compiler")
def test_what_is_not_there_is_explained_and_ends_with_1(intentc: Intentc) -> None:
    ended = intentc("why", "access_control_list", "blue:wep:egress-access-control-list")
    assert ended.code == Exit.DIFFERENT
    assert ended.out.splitlines()[:2] == [
        "access_control_list blue:wep:egress-access-control-list   absent",
        "├── No intent claims it: there is neither a security_group nor a virtual_network blue:wep, which would be its "
        "parent.",
    ]
    assert "similar names" in ended.out


@pytest.mark.usefixtures("compiler")
def test_a_name_that_fits_several_is_rejected_with_them(intentc: Intentc) -> None:
    ended = intentc("why", "access_control_list", "egress-access-control-list")
    assert (ended.code, ended.out) == (Exit.USAGE, "")
    assert "egress-access-control-list fits 3 of access_control_list" in ended.err
    assert "next:" in ended.err


@pytest.mark.usefixtures("compiler")
def test_an_unknown_kind_is_rejected_with_the_nearest(intentc: Intentc) -> None:
    ended = intentc("why", "security_grup", "web")
    assert ended.code == Exit.USAGE
    assert "unknown kind 'security_grup'; did you mean security_group" in ended.err


def test_a_compiler_that_is_not_there_is_unreachable(intentc: Intentc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTENTC_INTENTC__DIAGNOSTICS__ADDRESS", NOBODY)
    ended = intentc("why", "security_group", "web")
    assert ended.code == Exit.UNREACHABLE
    assert "does not answer" in ended.err


@pytest.mark.usefixtures("compiler")
def test_parts_are_chosen_by_what_they_hold_and_none_ends_with_1(intentc: Intentc) -> None:
    ended = intentc("why", "access_control_list", "web:egress-access-control-list", "--part", '"start_port": 17,')
    assert ended.code == Exit.DONE
    assert '"dst_port":{"start_port":17,"end_port":17}' in ended.out
    ended = intentc("why", "access_control_list", "web:egress-access-control-list", "--part", "zzz")
    assert ended.code == Exit.DIFFERENT
    assert "no part has 'zzz' in its name or in what it holds" in ended.out


@pytest.mark.usefixtures("compiler")
def test_why_reports_who_needs_an_object_and_how_to_plan_its_deletion(intentc: Intentc) -> None:
    ended = intentc("why", "security_group", "db")
    assert "others that need it (41)" in ended.out
    assert f"access_control_list {EGRESS}  access_control_list_entries.acl_rule[0]" in ended.out
    command = "intentc plan --delete --kind security_group default-domain:blue:db"
    assert f"`{command}` shows what deleting it would change" in ended.out


def test_an_empty_name_is_rejected_in_the_words_of_the_command(intentc: Intentc) -> None:
    ended = intentc("why", "security_group", "")
    assert ended.code == Exit.USAGE
    assert "NAME is empty" in ended.err
    assert "`intentc why --help`" in ended.err


@pytest.mark.usefixtures("compiler")
def test_graph_of_a_missing_object_ends_like_why(intentc: Intentc) -> None:
    assert intentc("graph", "security_group", "absent").code == Exit.DIFFERENT
    assert intentc("graph", "security_grup", "absent").code == Exit.USAGE
