"""``release``: our mark goes, everything else stays, and nothing is deleted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from intentc.cli.errors import Exit
from intentc.watch.keys import claim_key, heartbeat_key, leader_key
from tests.unit.cli.ordering_etcd import OrderingEtcd
from tests.unit.cli.running import Intentc
from tests.unit.cli.toy_api_server import ToyApiServer

OTHER = {"key": "team", "value": "net"}


def mark(installation: str = "default") -> dict[str, str]:
    return {"key": "intentc", "value": f"{installation}/contrail/shared"}


class Objects:
    """Objects in etcd and at the API server, which takes an update only if ``if_match`` fits."""

    def __init__(self, server: ToyApiServer, etcd: OrderingEtcd) -> None:
        self._server = server
        self._etcd = etcd
        self.updates: list[dict[str, Any]] = []
        self.conflicts: set[str] = set()
        """uuids that somebody else writes once, just before us."""
        self.rejected: set[str] = set()
        self._revisions: dict[str, int] = {}
        server._sync = self._sync  # type: ignore[method-assign]

    def put(self, name: str, *annotations: dict[str, str], kind: str = "route_target") -> str:
        uuid = self._server.put(kind.replace("_", "-"), name)
        self._store(kind, uuid, [name], list(annotations))
        return uuid

    def annotations(self, uuid: str) -> list[dict[str, str]]:
        (found,) = [data for (_, known), data in self._server.stored.items() if known == uuid]
        return list(found["annotations"]["key_value_pair"])

    def _store(self, kind: str, uuid: str, fq_name: list[str], pairs: list[dict[str, str]]) -> None:
        value = {"uuid": uuid, "fq_name": fq_name, "annotations": {"key_value_pair": pairs}}
        self._server.stored[kind.replace("_", "-"), uuid] = value
        self._revisions[uuid] = self._etcd.resource(kind, uuid, value)

    def _sync(self, entries: list[Any]) -> tuple[int, Any]:
        for place, item in enumerate(entries):
            uuid = item["data"]["uuid"]
            if uuid in self.conflicts:
                self.conflicts.remove(uuid)
                self._store(item["kind"], uuid, item["data"]["fq_name"], [mark(), OTHER])
            if self._revisions[uuid] != item["if_match"]:
                return 412, {"message": f"item {place}: it was changed", "item": place, "detail": "it was changed"}
            if uuid in self.rejected:
                return 403, {"message": f"item {place}: no", "item": place, "detail": "no"}
        for item in entries:
            data = item["data"]
            self._store(item["kind"], data["uuid"], data["fq_name"], data["annotations"]["key_value_pair"])
            self.updates.append(item)
        return 200, []


@pytest.fixture
def objects(connected: ToyApiServer, etcd: OrderingEtcd) -> Objects:
    return Objects(connected, etcd)


def test_the_mark_goes_and_other_annotations_stay(intentc: Intentc, objects: Objects) -> None:
    marked, plain = objects.put("target:1:1", mark(), OTHER), objects.put("target:1:2", OTHER)
    foreign = objects.put("target:1:3", mark("elsewhere"))
    ended = intentc("release", "route-target", "-o", "json")
    assert (ended.code, ended.err) == (0, "1 objects released\n")
    assert json.loads(ended.out)["released"] == [{"kind": "route_target", "name": "target:1:1", "uuid": marked}]
    assert objects.annotations(marked) == objects.annotations(plain) == [OTHER]
    assert objects.annotations(foreign) == [mark("elsewhere")]
    assert [item["operation"] for item in objects.updates] == ["UPDATE"]


def test_a_second_run_finds_nothing_to_do(intentc: Intentc, objects: Objects) -> None:
    objects.put("target:1:1", mark())
    assert intentc("release", "--all").err == "1 objects released\n"
    assert intentc("release", "--all").err == "0 objects released\n"
    assert len(objects.updates) == 1


def test_all_kinds_or_one_kind_or_one_object(intentc: Intentc, objects: Objects) -> None:
    first, second = objects.put("target:1:1", mark()), objects.put("target:1:2", mark())
    other = objects.put("list", mark(), kind="access_control_list")
    assert intentc("release", "route_target", "target:1:2").code == 0
    assert [bool(objects.annotations(uuid)) for uuid in (first, second, other)] == [True, False, True]
    assert intentc("release", "route_target").code == 0
    assert [bool(objects.annotations(uuid)) for uuid in (first, second, other)] == [False, False, True]
    assert intentc("release", "--all").code == 0
    assert objects.annotations(other) == []


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
    assert objects.annotations(uuid) == []


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
    assert intentc("release", "--all").err == "120 objects released\n"
    assert not any(objects.annotations(uuid) for uuid in uuids)


def test_what_somebody_else_wrote_meanwhile_is_read_again_and_nothing_of_theirs_is_lost(
    intentc: Intentc, objects: Objects
) -> None:
    uuids = [objects.put(f"target:1:{number}", mark()) for number in range(5)]
    objects.conflicts = {uuids[2]}
    assert intentc("release", "--all").err == "5 objects released\n"
    assert objects.annotations(uuids[2]) == [OTHER]


def test_a_rejected_object_holds_up_no_other_and_is_reported_in_the_end(intentc: Intentc, objects: Objects) -> None:
    uuids = [objects.put(f"target:1:{number}", mark()) for number in range(5)]
    objects.rejected = {uuids[2]}
    ended = intentc("release", "--all")
    assert ended.code == Exit.INVALID
    assert "4 objects released before this" in ended.err
    assert "1 objects could not be released; target:1:2: " in ended.err
    assert [bool(objects.annotations(uuid)) for uuid in uuids] == [False, False, True, False, False]


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
