"""Another reaction map over the live world: its edges, its reach, and what it misses; and that nothing else is
written with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from intentc.offline.offline import PATH
from intentc.offline.preview import Trial, gather
from intentc.offline.preview.reacting import Comparison, compare
from intentc.plugins import Loaded, find_compilers, load_all
from tests.unit.offline.planned_system import PlannedSystem, texts

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[3]
TENANT = (ROOT / "sample" / "tenant.yml").read_text()
OWN = ROOT / "reactions" / "contrail.yml"
FEET = "self: [virtual_machine, port_tuple, virtual_network, bgp_as_a_service, logical_router]"


def with_map(folder: Path, old: str, new: str) -> Loaded:
    """The compiler with its own map in which one text was replaced."""
    text = OWN.read_text()
    assert old in text
    file = folder / "map.yml"
    file.write_text(text.replace(old, new, 1))
    return load_all(find_compilers(["contrail"]), [file])


async def compared(other: Loaded) -> Comparison:
    system = PlannedSystem("contrail")
    await system.offline.seed()
    await system.apply(texts(TENANT))
    gathered = await gather(
        system.offline.store, system.offline.local, system.loaded.schema, path=PATH, installation="default"
    )
    before, after = (Trial(loaded, gathered, installation="default") for loaded in (system.loaded, other))
    return await compare("contrail", before, after)


async def test_the_map_in_force_is_no_difference(tmp_path: Path) -> None:
    found = await compared(with_map(tmp_path, FEET, FEET))
    assert (found.edges, found.reach, found.missing, found.fixed, found.writes) == ((), (), (), (), ())


async def test_a_removed_edge_shows_lost_reach_and_missed_reads(tmp_path: Path) -> None:
    found = await compared(with_map(tmp_path, FEET, FEET.replace(", logical_router", "")))
    (edge,) = found.edges
    assert (edge.action, edge.kind, edge.cause, edge.to) == (
        "removed",
        "virtual_machine_interface",
        "self",
        "logical_router",
    )
    assert edge.source.startswith(f"{OWN}:")
    # Two of the four interfaces are a router's feet.
    assert edge.pairs == 2
    (reach,) = [reach for reach in found.reach if reach.kind == "virtual_machine_interface"]
    assert (reach.resources, reach.looked_at, reach.come, reach.go) == (4, 4, 0, 2)
    assert reach.mean_before - reach.mean_after == 0.5
    assert [(missing.reader, missing.read, missing.count) for missing in found.missing] == [
        ("logical_router", "virtual_machine_interface", 2)
    ]
    assert found.writes == ()


async def test_an_edge_that_is_put_in_shows_who_is_reached_besides(tmp_path: Path) -> None:
    other = with_map(tmp_path, FEET, FEET.replace("[virtual_machine", "[security_group, virtual_machine"))
    found = await compared(other)
    (edge,) = found.edges
    assert (edge.action, edge.to, edge.pairs) == ("added", "security_group", 2)
    assert edge.source.startswith(f"{tmp_path / 'map.yml'}:")
    assert sum(reach.come for reach in found.reach) == 2


async def test_an_invalid_map_is_not_tried(tmp_path: Path) -> None:
    found = await compared(with_map(tmp_path, FEET, FEET.replace("port_tuple", "port_tople")))
    assert found.invalid
    assert found.findings[0].reason == "UnknownKind"
    assert found.edges == ()
