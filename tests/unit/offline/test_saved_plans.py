"""A plan in a file: who may read it, which files are one, and what makes it stale."""

from __future__ import annotations

import stat
from pathlib import Path

import msgspec
import pytest

from intentc.model import InvalidInput
from intentc.offline.preview.report import (
    Change,
    Input,
    Plan,
    PlannedAllocation,
    Saved,
    Text,
    deviations,
    is_saved,
    read,
    write,
)

GROUP = Change("delete", "security_group", "d:p:web", "1")
LIST = Change("delete", "access_control_list", "d:p:web:ingress", "2")
NUMBER = PlannedAllocation("given", "route_target_number", "d:p:net:net", "<route_target_number for d:p:net:net>")


def plan(*applied: Change, follows: tuple[Change, ...] = (LIST,), **fields: object) -> Plan:
    return msgspec.structs.replace(
        Plan(revision=7, installation="default", versions={"contrail": "1"}, applied=applied, follows=follows),
        **fields,
    )


def saved(made: Plan | None = None, **fields: object) -> Saved:
    given = Input(texts=(Text("a.yml", "kind: x"),))
    return msgspec.structs.replace(
        Saved(cluster_id=1, path="contrail", input=given, plan=made or plan(GROUP)), **fields
    )


def test_it_is_read_back_as_it_was_and_only_its_owner_may(tmp_path: Path) -> None:
    file = tmp_path / "p.plan"
    file.write_text("what lay there before, for everybody")
    file.chmod(0o644)
    write(file, saved())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert read(file) == saved()
    assert [path.name for path in tmp_path.iterdir()] == ["p.plan"]


def test_it_is_known_by_its_beginning(tmp_path: Path) -> None:
    file, other = tmp_path / "p.plan", tmp_path / "resources.json"
    write(file, saved())
    other.write_text('{"apiVersion":"intentc/v1","resources":[]}')
    assert (is_saved(file), is_saved(other), is_saved(tmp_path / "absent"), is_saved(tmp_path)) == (True, *[False] * 3)


def test_it_is_known_in_another_form_of_the_same_json(tmp_path: Path) -> None:
    """Somebody let an editor lay it out, or `jq -S` sort it."""
    file = tmp_path / "p.plan"
    write(file, saved())
    for order in (None, "sorted"):
        document = msgspec.json.encode(msgspec.json.decode(file.read_bytes()), order=order)
        file.write_bytes(b"\n" + msgspec.json.format(document))
        assert is_saved(file)
        assert read(file) == saved()


def test_one_of_another_format_or_that_is_broken_is_rejected_with_its_name(tmp_path: Path) -> None:
    file = tmp_path / "p.plan"
    write(file, saved(saved_plan="2.0"))
    with pytest.raises(InvalidInput, match=r"p\.plan: the plan has format 2\.0, this version reads 1\.0"):
        read(file)
    write(file, saved())
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(InvalidInput, match=r"p\.plan: the saved plan can't be read"):
        read(file)


def test_the_same_at_a_later_revision_is_not_stale() -> None:
    assert deviations(saved(), saved(plan(GROUP, revision=9, seconds=3.0))) == []


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (saved(plan(GROUP, follows=())), "no longer: delete access_control_list d:p:web:ingress, which follows"),
        (saved(plan(GROUP, LIST)), "in addition: delete access_control_list d:p:web:ingress"),
        (
            saved(plan(msgspec.structs.replace(GROUP, uuid="3"))),
            "different: delete security_group d:p:web",
        ),
        (
            saved(plan(GROUP, allocations=(NUMBER,))),
            "in addition: route_target_number <route_target_number for d:p:net:net> given for d:p:net:net",
        ),
        (saved(plan(GROUP, installation="b")), "the installation was default, and is b"),
        (saved(plan(GROUP, versions={"contrail": "2"})), "the compilers' versions was contrail 1, and is contrail 2"),
        (saved(cluster_id=2), "the etcd cluster was 1, and is 2"),
        (saved(path="other"), "the path in etcd was contrail, and is other"),
    ],
)
def test_what_has_become_of_it_is_reported(now: Saved, expected: str) -> None:
    assert deviations(saved(), now) == [expected]
