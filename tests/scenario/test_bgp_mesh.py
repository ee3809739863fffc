"""The mesh of BGP routers follows cluster ids, fabrics, sub-clusters and autonomous systems (docs/contrail.md D.12)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.inspection.shown_resources import lower_level
from intentc.inspection.why import why
from intentc.model import Key
from intentc.reconcile.backoff import CONTENTION_REVERTS
from tests.support.contrail_system import ContrailSystem

pytestmark = pytest.mark.anyio

FABRIC_INSTANCE = "default-project:ip-fabric:__default__"
SETTINGS = "default-global-system-config"


class Mesh:
    """The routers of a system, by the last element of their names."""

    def __init__(self, system: ContrailSystem) -> None:
        self.system = system

    async def add(self, name: str, *, refs: Any = None, **parameters: Any) -> None:
        await self.system.create(
            "bgp_router",
            f"{FABRIC_INSTANCE}:{name}",
            parent_type="routing-instance",
            bgp_router_parameters={"router_type": "router", **parameters},
            **(refs or {}),
        )

    async def set(self, name: str, **parameters: Any) -> None:
        """Replace single parameters, as a user does who reads and writes the property."""
        stored = await self.parameters(name)
        await self.change(name, bgp_router_parameters={**stored, **parameters})

    async def change(self, name: str, **fields: Any) -> None:
        await self.system.change("bgp_router", f"{FABRIC_INSTANCE}:{name}", **fields)

    async def remove(self, name: str) -> None:
        await self.system.remove("bgp_router", f"{FABRIC_INSTANCE}:{name}")

    async def settings(self, **fields: Any) -> None:
        uuid = await self.system.offline.server.identify("global_system_config", [SETTINGS])
        await self.system.offline.server.update(Key("global_system_config", uuid), fields)
        await self.system.settle()

    async def parameters(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = (await self._stored(name)).get("bgp_router_parameters") or {}
        return found

    async def peers(self, name: str) -> str:
        """The last elements of the names of its peers, in order."""
        return " ".join(sorted(entry["to"][-1] for entry in (await self._stored(name)).get("bgp_router_refs") or ()))

    async def check(self, **peers: str) -> None:
        """Each router has these peers, before and after a restart, which writes nothing; the oracle agrees."""
        assert {name: await self.peers(name) for name in peers} == peers
        await self.system.check()
        restarted = await self.system.restart()
        assert restarted.write.written == []

    async def _stored(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = (await self.system.stored("bgp_router"))[f"default-domain:{FABRIC_INSTANCE}:{name}"]
        return found


@pytest.fixture
def mesh(system: ContrailSystem) -> Mesh:
    return Mesh(system)


async def test_a_full_mesh_becomes_a_star_and_a_full_mesh_again(mesh: Mesh) -> None:
    """docs/contrail.md ★24"""
    for name in ("r1", "r2", "r3"):
        await mesh.add(name)
    await mesh.check(r1="r2 r3", r2="r1 r3", r3="r1 r2")
    await mesh.set("r1", cluster_id=100)
    await mesh.check(r1="r2 r3", r2="r1", r3="r1")
    await mesh.set("r2", router_type="control-node")
    await mesh.set("r3", router_type="control-node")
    await mesh.check(r1="r2 r3", r2="r1 r3", r3="r1 r2")
    await mesh.set("r1", cluster_id=0)
    await mesh.check(r1="r2 r3", r2="r1 r3", r3="r1 r2")


async def test_another_reflector_is_the_centre_of_another_star(mesh: Mesh) -> None:
    """full_mesh_with_rr_change (docs/contrail.md E.3)"""
    for name in ("r1", "r2", "r3"):
        await mesh.add(name)
    await mesh.set("r1", cluster_id=1)
    await mesh.check(r1="r2 r3", r2="r1", r3="r1")
    await mesh.set("r1", cluster_id=0)
    await mesh.set("r2", cluster_id=1)
    await mesh.check(r1="r2", r2="r1 r3", r3="r2")
    await mesh.remove("r2")
    await mesh.check(r1="r3", r3="r1")


@pytest.mark.also_live
async def test_routers_join_and_leave_with_their_autonomous_system(mesh: Mesh) -> None:
    """ibgp_auto_mesh (docs/contrail.md E.3): both routers of a link are members, in whatever order they come."""
    await mesh.add("r3", vendor="juniper", autonomous_system=1)
    await mesh.add("r1")
    await mesh.add("r2", autonomous_system=5)
    await mesh.check(r1="r2", r2="r1", r3="")
    assert (await mesh.parameters("r2"))["autonomous_system"] == 64512
    await mesh.set("r3", autonomous_system=64512)
    await mesh.add("r4", vendor="juniper", autonomous_system=1)
    await mesh.check(r1="r2 r3", r3="r1 r2", r4="")
    await mesh.settings(autonomous_system=1)
    assert (await mesh.parameters("r1"))["autonomous_system"] == 1
    await mesh.check(r1="r2 r4", r2="r1 r4", r3="", r4="r1 r2")


async def test_the_autonomous_system_is_written_again_and_other_parameters_stay(mesh: Mesh) -> None:
    await mesh.add("r1", hold_time=30, address="10.0.0.1")
    await mesh.set("r1", autonomous_system=7, hold_time=40)
    assert await mesh.parameters("r1") == {
        "router_type": "router",
        "autonomous_system": 64512,
        "address": "10.0.0.1",
        "hold_time": 40,
    }
    await mesh.set("r1", vendor="juniper", autonomous_system=7)
    assert (await mesh.parameters("r1"))["autonomous_system"] == 7


async def test_another_vendors_router_keeps_the_autonomous_system_that_its_user_wrote(
    mesh: Mesh,
) -> None:
    """Parameters are written as a whole: what stands there is the user's from then on (docs/engine.md §5.1)."""
    await mesh.add("r1", autonomous_system=7)
    await mesh.set("r1", vendor="juniper")
    assert (await mesh.parameters("r1"))["autonomous_system"] == 64512
    await mesh.set("r1", vendor="contrail")
    await mesh.change("r1", bgp_router_parameters={"router_type": "router", "vendor": "juniper"})
    assert "autonomous_system" not in await mesh.parameters("r1")
    await mesh.check(r1="")


async def test_while_the_mesh_is_switched_off_links_stay_as_they_are(mesh: Mesh) -> None:
    """ibgp fab_with_control_node (docs/contrail.md E.3)"""
    await mesh.add("r1")
    await mesh.add("r2")
    await mesh.settings(ibgp_auto_mesh=False)
    await mesh.add("r3")
    await mesh.set("r1", vendor="juniper", autonomous_system=9)
    await mesh.check(r1="r2", r2="r1", r3="")
    await mesh.change("r2", bgp_router_refs=[])
    await mesh.check(r1="r2", r2="")
    await mesh.settings(ibgp_auto_mesh=True)
    await mesh.check(r1="", r2="r3", r3="r2")


async def test_sessions_that_users_made_with_others_are_theirs(mesh: Mesh) -> None:
    session = {"session": [{"attributes": [{"hold_time": 90, "address_families": {"family": ["inet"]}}]}]}
    await mesh.add("mx", vendor="juniper", autonomous_system=65000)
    other = {"to": ["default-domain", *FABRIC_INSTANCE.split(":"), "mx"], "attr": session}
    await mesh.add("r1", refs={"bgp_router_refs": [other]})
    await mesh.add("r2")
    await mesh.check(r1="mx r2", r2="r1", mx="")
    await mesh.set("r1", cluster_id=1)
    await mesh.settings(autonomous_system=65001)
    await mesh.check(r1="mx r2", r2="r1", mx="")
    # Once it is a member, its links belong to the mesh; the session keeps its settings.
    await mesh.set("mx", autonomous_system=65001)
    await mesh.check(r1="mx r2", r2="r1", mx="r1")
    refs = (await mesh.system.stored("bgp_router"))[f"default-domain:{FABRIC_INSTANCE}:r1"]["bgp_router_refs"]
    assert session in [entry["attr"] for entry in refs]
    await mesh.set("r2", cluster_id=1)
    await mesh.set("r1", cluster_id=0)
    await mesh.check(r1="r2", r2="mx r1", mx="r2")


@pytest.mark.parametrize(
    ("attribute", "peers"),
    [
        pytest.param({"session": [{"attributes": [{"address_families": {"family": ["inet"]}}]}]}, "mx", id="families"),
        pytest.param(None, "mx", id="nothing"),
        pytest.param({"session": [{"attributes": [{"address_families": {"family": []}}]}]}, "", id="the mesh's own"),
        pytest.param({"session": [{"attributes": [{}]}]}, "", id="the same, shorter"),
    ],
)
async def test_a_session_with_another_system_stays_unless_it_looks_like_an_old_link(
    mesh: Mesh, attribute: Any, peers: str
) -> None:
    await mesh.add("mx", vendor="juniper", autonomous_system=65000)
    session = {"to": ["default-domain", *FABRIC_INSTANCE.split(":"), "mx"]} | ({"attr": attribute} if attribute else {})
    await mesh.add("r1", refs={"bgp_router_refs": [session]})
    await mesh.check(r1=peers, mx="")


async def test_a_repeatedly_created_link_that_the_mesh_does_not_want_is_contended(mesh: Mesh) -> None:
    session = {"session": [{"attributes": [{"hold_time": 90}]}]}
    link = {"to": ["default-domain", *FABRIC_INSTANCE.split(":"), "r2"], "attr": session}
    star = {"to": ["default-domain", *FABRIC_INSTANCE.split(":"), "r3"], "attr": session}
    for name in ("r1", "r2"):
        await mesh.add(name)
    await mesh.add("r3", cluster_id=1)
    for _ in range(CONTENTION_REVERTS):
        assert await mesh.peers("r1") == "r3"
        await mesh.change("r1", bgp_router_refs=[link, star])
    assert await mesh.peers("r1") == "r2 r3"
    (problem,) = [problem for problem in mesh.system.offline.problems() if problem.reason == "Contended"]
    assert problem.name.endswith(":r1") and "r2]" in problem.message and "r3]" not in problem.message


@pytest.mark.also_live
async def test_a_fabric_makes_its_routers_members_and_keeps_reflectors_to_itself(mesh: Mesh) -> None:
    """ibgp fabric: phy_rtr_to_bgp_rtr_dependency (docs/contrail.md E.3)"""
    for number in (1, 2):
        await mesh.add(f"spine{number}", vendor="juniper", autonomous_system=64000, cluster_id=1000 * number)
        await mesh.add(f"leaf{number}", vendor="juniper", autonomous_system=64000)
    server = mesh.system.offline.server
    for fabric in ("f1", "f2"):
        await server.create("fabric", {"fq_name": [SETTINGS, fabric]})
    for router in ("spine1", "leaf1", "spine2", "leaf2"):
        body = {
            "fq_name": [SETTINGS, router],
            "bgp_router_refs": [{"to": ["default-domain", *FABRIC_INSTANCE.split(":"), router]}],
            "fabric_refs": [{"to": [SETTINGS, f"f{router[-1]}"]}],
        }
        if router == "leaf2":
            await mesh.system.settle()
            await mesh.check(leaf1="spine1", spine1="leaf1", spine2="", leaf2="")
        await server.create("physical_router", body)
    await mesh.system.settle()
    await mesh.check(leaf1="spine1", spine1="leaf1", spine2="leaf2", leaf2="spine2")
    device = Key("physical_router", await server.identify("physical_router", [SETTINGS, "leaf1"]))
    await server.update(device, {"bgp_router_refs": []})
    await mesh.system.settle()
    await mesh.check(leaf1="", spine1="")


async def test_each_sub_cluster_has_a_mesh_of_its_own(mesh: Mesh) -> None:
    """ibgp_auto_mesh_sub (docs/contrail.md E.3)"""
    server = mesh.system.offline.server
    await server.create("sub_cluster", {"fq_name": ["s"], "sub_cluster_asn": 64513})
    member = {"sub_cluster_refs": [{"to": ["s"]}]}
    for name in ("r1", "r2"):
        await mesh.add(name, refs=member, autonomous_system=64513)
    for name in ("r3", "r4"):
        await mesh.add(name)
    await mesh.check(r1="r2", r2="r1", r3="r4", r4="r3")
    assert (await mesh.parameters("r1"))["autonomous_system"] == 64513
    await mesh.change("r1", sub_cluster_refs=[])
    await mesh.check(r1="r3 r4", r2="", r3="r1 r4", r4="r1 r3")
    assert (await mesh.parameters("r1"))["autonomous_system"] == 64512


async def test_why_says_which_links_stay_and_which_must_not_be_there(mesh: Mesh) -> None:
    view = mesh.system.offline.engine

    async def parts(name: str) -> dict[str, tuple[str, list[str]]]:
        """Part → what is claimed of it, and the sources of its first reason."""
        answer = await why(view, "bgp_router", f"default-domain:{FABRIC_INSTANCE}:{name}")
        found = {}
        for part in answer["parts"]:
            sources = [f"{s['name'].split(':')[-1]} {s['field']}".strip() for s in part["reasons"][0]["sources"]]
            found[part["part"].replace(f"default-domain:{FABRIC_INSTANCE}:", "")] = (part["claim"], sources)
        return found

    for name in ("r1", "r2"):
        await mesh.add(name, vendor="juniper", autonomous_system=64512)
    await mesh.add("r3", vendor="juniper", autonomous_system=64512, cluster_id=1)
    assert await parts("r1") == {
        "bgp_router_refs[r2]": ("dropped", ["r1"]),
        "bgp_router_refs[r3]": ("value", ["r1", "r3"]),
    }
    await mesh.settings(ibgp_auto_mesh=False)
    assert await parts("r1") == {"bgp_router_refs": ("kept", ["r1", f"{SETTINGS} ibgp_auto_mesh"])}
    answer = await why(view, "bgp_router", f"default-domain:{FABRIC_INSTANCE}:r1")
    assert (answer["role"], "compilers write" in answer["summary"]) == ("input", False)
    named = {resource.name for resource in lower_level(view.world, view.planner)}
    assert "bgp_router" not in {name.kind for name in named}
