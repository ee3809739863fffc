"""``adopt``: what ``release`` gave up is ours again, and nothing else."""

from __future__ import annotations

import json

from intentc.cli.command_error import Exit
from intentc.model import Name, object_uuid
from intentc.watch.keys import claim_key
from tests.unit.cli.marked_objects import OTHER, Objects, mark, objects, released
from tests.unit.cli.ordering_etcd import OrderingEtcd
from tests.unit.cli.running import Intentc

__all__ = ["objects"]


def ours(name: str, kind: str = "route_target") -> str:
    return object_uuid("default", Name(kind, (name,)), "shared")


def test_without_yes_it_shows_what_would_be_adopted_and_writes_nothing(intentc: Intentc, objects: Objects) -> None:
    uuid = objects.put("target:1:1", released(), uuid=ours("target:1:1"))
    ended = intentc("adopt", "--all", "-o", "json")
    assert (ended.code, ended.err) == (0, "1 objects would be adopted; to do it, give --yes\n")
    assert json.loads(ended.out)["adopted"] == [{"kind": "route_target", "name": "target:1:1", "uuid": uuid}]
    assert objects.updates == []


def test_the_mark_is_back_and_other_annotations_stay(intentc: Intentc, objects: Objects) -> None:
    uuid = objects.put("target:1:1", OTHER, released(), uuid=ours("target:1:1"))
    plain, foreign = objects.put("target:1:2", OTHER), objects.put("target:1:3", released("elsewhere"))
    ended = intentc("adopt", "--all", "--yes")
    assert (ended.code, ended.err) == (0, "1 objects adopted\n")
    assert objects.annotations(uuid) == [OTHER, mark()]
    assert (objects.annotations(plain), objects.annotations(foreign)) == ([OTHER], [released("elsewhere")])
    assert intentc("adopt", "--all", "--yes").err == "0 objects adopted\n"


def test_it_takes_back_all_that_release_gave_up(intentc: Intentc, objects: Objects) -> None:
    uuids = [objects.put(f"target:1:{number}", mark(), uuid=ours(f"target:1:{number}")) for number in range(60)]
    assert intentc("release", "--all").code == 0
    assert intentc("adopt", "--all", "--yes").err == "60 objects adopted\n"
    assert all(objects.annotations(uuid) == [mark()] for uuid in uuids)


def test_adopt_leaves_an_object_with_another_uuid_and_says_what_to_do(intentc: Intentc, objects: Objects) -> None:
    uuid = objects.put("target:1:1", released())
    ended = intentc("adopt", "route_target", "target:1:1", "--yes")
    assert ended.code == 0
    assert f"route_target target:1:1 has uuid {uuid}, which is not the one that we give" in ended.err
    assert f"`intentc delete --kind route_target {uuid}`" in ended.err
    assert objects.annotations(uuid) == [released()]


def test_an_object_that_was_never_released_is_an_error_with_the_way_out(intentc: Intentc, objects: Objects) -> None:
    objects.put("target:1:1", OTHER)
    ended = intentc("adopt", "route_target", "target:1:1")
    assert ended.code == Exit.INVALID
    assert "there is no route_target target:1:1 that the installation default released" in ended.err
    assert "`intentc delete --kind route_target target:1:1`" in ended.err


def test_nothing_is_adopted_below_a_path_that_another_installation_has_claimed(
    intentc: Intentc, objects: Objects, etcd: OrderingEtcd
) -> None:
    uuid = objects.put("target:1:1", released(), uuid=ours("target:1:1"))
    etcd.put(claim_key("contrail"), {"installation": "elsewhere"})
    for options in ((), ("--yes",)):
        ended = intentc("adopt", "--all", *options)
        assert ended.code == Exit.INVALID
        assert "the path contrail belongs to the installation elsewhere" in ended.err
    assert objects.annotations(uuid) == [released()]
