"""``release``: our mark goes, everything else stays, and nothing is deleted."""

from __future__ import annotations

import json

import pytest

from intentc.cli.command_error import Exit
from intentc.watch.keys import claim_key, heartbeat_key, leader_key
from tests.unit.cli.marked_objects import OTHER, Objects, mark, objects, released
from tests.unit.cli.ordering_etcd import OrderingEtcd
from tests.unit.cli.running import Intentc

__all__ = ["objects"]

NEXT = "`intentc adopt` takes them back, before or while a compiler runs\n"


def test_the_mark_goes_and_other_annotations_stay(intentc: Intentc, objects: Objects) -> None:
    marked, plain = objects.put("target:1:1", mark(), OTHER), objects.put("target:1:2", OTHER)
    foreign = objects.put("target:1:3", mark("elsewhere"))
    ended = intentc("release", "route-target", "-o", "json")
    assert (ended.code, ended.err) == (0, f"1 objects released\n{NEXT}")
    assert json.loads(ended.out)["released"] == [{"kind": "route_target", "name": "target:1:1", "uuid": marked}]
    assert objects.annotations(marked) == [OTHER, released()], "for `intentc adopt`"
    assert objects.annotations(plain) == [OTHER]
    assert objects.annotations(foreign) == [mark("elsewhere")]
    assert [item["operation"] for item in objects.updates] == ["UPDATE"]


def test_a_second_run_finds_nothing_to_do(intentc: Intentc, objects: Objects) -> None:
    objects.put("target:1:1", mark())
    assert intentc("release", "--all").err == f"1 objects released\n{NEXT}"
    assert intentc("release", "--all").err == "0 objects released\n"
    assert len(objects.updates) == 1


def test_all_kinds_or_one_kind_or_one_object(intentc: Intentc, objects: Objects) -> None:
    first, second = objects.put("target:1:1", mark()), objects.put("target:1:2", mark())
    other = objects.put("list", mark(), kind="access_control_list")
    assert intentc("release", "route_target", "target:1:2").code == 0
    assert [mark() in objects.annotations(uuid) for uuid in (first, second, other)] == [True, False, True]
    assert intentc("release", "route_target").code == 0
    assert [mark() in objects.annotations(uuid) for uuid in (first, second, other)] == [False, False, True]
    assert intentc("release", "--all").code == 0
    assert objects.annotations(other) == [released()]


def test_a_dry_run_lists_and_writes_nothing_also_while_a_compiler_runs(
    intentc: Intentc, objects: Objects, etcd: OrderingEtcd
) -> None:
    etcd.put(leader_key("default"), b"{}")
    uuid = objects.put("target:1:1", mark())
    ended = intentc("release", "--all", "--dry-run")
    assert ended.out.splitlines()[1].split() == ["route_target", "target:1:1", uuid]
    assert ended.err == "1 objects would be released\n"
    assert objects.updates == []


@pytest.mark.parametrize("key", [leader_key("default"), heartbeat_key("default", "host-1")])
def test_nothing_is_released_while_a_compiler_runs_unless_forced(
    intentc: Intentc, objects: Objects, etcd: OrderingEtcd, key: str
) -> None:
    etcd.put(key, b"1")
    uuid = objects.put("target:1:1", mark())
    ended = intentc("release", "--all")
    assert ended.code == Exit.INVALID
    assert "a compiler of the installation default runs" in ended.err and key in ended.err
    assert objects.annotations(uuid) == [mark()]
    assert intentc("release", "--all", "--force").code == 0
    assert objects.annotations(uuid) == [released()]


def test_the_path_stays_claimed_while_a_compiler_runs_and_nothing_is_marked(
    intentc: Intentc, objects: Objects, etcd: OrderingEtcd
) -> None:
    etcd.put(leader_key("default"), b"{}")
    etcd.put(claim_key("contrail"), {"installation": "default"})
    ended = intentc("release", "--all")
    assert ended.code == Exit.INVALID
    assert "a compiler of the installation default runs" in ended.err and "is released" not in ended.err
    assert "the path contrail is released" in intentc("release", "--all", "--force").err


def test_many_objects_go_in_bounded_batches(intentc: Intentc, objects: Objects) -> None:
    uuids = [objects.put(f"target:1:{number}", mark()) for number in range(120)]
    assert intentc("release", "--all").err == f"120 objects released\n{NEXT}"
    assert all(objects.annotations(uuid) == [released()] for uuid in uuids)


def test_release_reads_concurrent_changes_again_and_loses_none(intentc: Intentc, objects: Objects) -> None:
    uuids = [objects.put(f"target:1:{number}", mark()) for number in range(5)]
    objects.conflicts = {uuids[2]}
    assert intentc("release", "--all").err == f"5 objects released\n{NEXT}"
    assert objects.annotations(uuids[2]) == [OTHER, released()]


def test_a_rejected_object_delays_no_other_and_is_reported_at_the_end(intentc: Intentc, objects: Objects) -> None:
    uuids = [objects.put(f"target:1:{number}", mark()) for number in range(5)]
    objects.rejected = {uuids[2]}
    ended = intentc("release", "--all")
    assert ended.code == Exit.INVALID
    assert "4 objects released before this" in ended.err
    assert "1 objects could not be released; target:1:2: " in ended.err
    assert [mark() in objects.annotations(uuid) for uuid in uuids] == [False, False, True, False, False]


def test_what_can_not_be_read_is_reported_and_stays(intentc: Intentc, objects: Objects, etcd: OrderingEtcd) -> None:
    etcd.resource("route_target", "u", b"{")
    assert intentc("release", "--all").err == "/contrail/route_target/u can't be read, and stays as it is\n" + (
        "0 objects released\n"
    )


def test_an_object_without_our_mark_can_not_be_released_by_its_name(intentc: Intentc, objects: Objects) -> None:
    objects.put("target:1:1", OTHER)
    ended = intentc("release", "route_target", "target:1:1")
    assert ended.code == Exit.INVALID
    assert "no route_target target:1:1 with the mark of the installation default" in ended.err


@pytest.mark.parametrize("arguments", [(), ("route_target", "--all")])
def test_kind_or_all_is_said(intentc: Intentc, objects: Objects, arguments: tuple[str, ...]) -> None:
    assert intentc("release", *arguments).code == Exit.USAGE
