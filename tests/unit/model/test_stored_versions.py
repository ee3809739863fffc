"""Stored resources of older versions are read as those of the present one, at every depth; unknown versions are not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from intentc.model import Change, InvalidInput, Kind
from intentc.model.lost_fields import known_fields, lost_fields
from intentc.model.manifest import Conversion, flattened, manifest_of
from intentc.model.schema import KindSpec, build_kind
from intentc.model.types import TypeTable

UUID = "0f000000-0000-4000-8000-000000000001"
TYPES = TypeTable({"Fence": {"height": "integer", "posts": {"list": "Post"}}, "Post": {"wood": "string"}})


def farm(versions: dict[str, Any], *, shape: str = "contrail", conversions: Any = None, **properties: Any) -> Kind:
    given = properties or {"area": {"type": "integer", "default": 1}, "fence": "Fence"}
    declared = {"kind": "farm", "group": "f", "shape": shape, "versions": versions, "properties": given}
    return build_kind(msgspec.convert(declared, KindSpec), TYPES, "test", conversions)


def raw(**fields: Any) -> bytes:
    return msgspec.json.encode({"uuid": UUID, "fq_name": ["a"], **fields})


def values(kind: Kind, stored: bytes) -> Any:
    return kind.decode(Change("farm", UUID, stored, 1, 1)).values()


TWO = {"2": {}, "1": {"size": "area", "height": "fence.height"}}


@pytest.mark.parametrize(
    "stored",
    [raw(size=7, height=2), raw(size=7, height=2, stored_version="1"), raw(size=None) + b" "],
    ids=["unmarked", "marked", "null"],
)
def test_fields_of_an_older_version_stand_where_they_moved(stored: bytes) -> None:
    found = values(farm(TWO), stored)
    assert (found.area, found.fence.height) in ((7, 2), (1, 0))


def test_a_field_of_the_present_version_is_not_moved() -> None:
    swapped = {"2": {}, "1": {"area": "width", "width": "area"}}
    kind = farm(swapped, area="integer", width="integer")
    found = values(kind, raw(area=1, width=2, stored_version="2"))
    assert (found.area, found.width) == (1, 2)


def test_a_dropped_field_is_no_longer_there() -> None:
    kind = farm({"2": {}, "1": {"colour": None}})
    document = kind.stored_form(msgspec.json.decode(raw(colour="red", area=3)))
    assert "colour" not in document
    assert (document["area"], document["stored_version"]) == (3, "2")


def test_a_conversion_is_applied_once() -> None:
    def doubled(fields: dict[str, Any]) -> dict[str, Any]:
        return {**fields, "area": 2 * fields["area"]}

    kind = farm({"2": {}, "1": {}}, conversions={"1": Conversion(doubled, doubled)})
    assert values(kind, raw(area=3, stored_version="1")).area == 6
    assert values(kind, raw(area=6, stored_version="2")).area == 6


@pytest.mark.parametrize("versions", [{}, {"1": {}}])
def test_a_version_that_is_not_declared_is_an_error_with_its_name(versions: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=r"it is stored in version '2'.*declare that version again"):
        values(farm(versions), raw(area=3, stored_version="2"))


def test_a_manifest_without_a_version_is_of_the_present_one() -> None:
    kind = farm({"f/v2": {}, "f/v1": {"size": "area"}}, shape="kubernetes")
    assert not kind.versions.is_older(raw(area=3))
    assert values(kind, raw(size=3, stored_version="f/v1")).area == 3


def test_a_manifest_of_a_version_that_was_dropped_is_shown_in_the_present_one() -> None:
    two = farm({"f/v2": {}, "f/v1": {"size": "area"}}, shape="kubernetes")
    sent = {"apiVersion": "f/v1", "kind": "Farm", "metadata": {"name": "a"}, "spec": {"size": 3}}
    flat = {**flattened(sent, two.manifests), **two.versions.mark}
    assert manifest_of(flat, two.manifests)["spec"] == {"size": 3}
    shown = manifest_of(flat, farm({"f/v2": {}}, shape="kubernetes").manifests)
    assert (shown["apiVersion"], shown["spec"]) == ("f/v2", {"area": 3})


def test_lost_fields_are_found_at_every_depth_and_in_lists() -> None:
    before = farm({}, area="integer", fence="Fence", extra="map")
    recorded = known_fields(before) | {"size", "fence.posts.age", "extra.old", "gone", "gone.inner"}
    lost = lost_fields(before, recorded)
    assert lost is not None
    assert [".".join(path) for path in lost.paths] == ["fence.posts.age", "gone", "size"]
    assert lost.found_in(before, raw(size=1, fence={"posts": [{"wood": "oak"}, {"age": 4}]})) == [
        "fence.posts.age",
        "size",
    ]
    assert lost.found_in(before, raw(size=None, gone=[], area=1)) == []


def test_a_schema_that_declares_all_recorded_fields_has_lost_none() -> None:
    kind = farm(TWO)
    assert lost_fields(kind, known_fields(kind)) is None


def test_a_moved_field_is_not_lost() -> None:
    kind = farm(TWO)
    kind.lost = lost_fields(kind, {"size", "height"})
    assert values(kind, raw(size=7)).area == 7
    with pytest.raises(InvalidInput, match="size: an earlier schema of farm declared this"):
        values(kind, raw(size=7, stored_version="2"))
