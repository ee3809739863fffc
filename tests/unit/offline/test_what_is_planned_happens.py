"""A plan is what happens: planned, then really done, for both compilers; and planning itself leaves no trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from intentc.offline.preview.report import Input
from tests.unit.offline.planned_system import PlannedSystem, changes_of, texts, uuids_in

pytestmark = pytest.mark.anyio

SAMPLES = Path(__file__).parents[3] / "sample"
TENANT = (SAMPLES / "tenant.yml").read_text()
GATEWAY = [file.read_text() for file in sorted((SAMPLES / "ambassador").iterdir())]
WITHOUT_UUIDS = "\n".join(line for line in TENANT.splitlines() if not line.strip().startswith("uuid:"))

CONTRAIL = {
    "a tenant comes": (None, texts(TENANT)),
    "a tenant comes without uuids": (None, texts(WITHOUT_UUIDS)),
    "a router comes with its internal network": (
        None,
        texts(
            "resources: [{kind: logical_router, data: {fq_name: [default-domain, default-project, r], "
            "logical_router_type: vxlan-routing}}]"
        ),
    ),
    "a number of a list changes": (texts(TENANT), texts(TENANT.replace("target:64512:200", "target:64512:300"))),
    "a rule changes": (texts(TENANT), texts(TENANT.replace("start_port: 443", "start_port: 8443"))),
    "a group goes": (texts(TENANT), Input(delete=True, kind="floating-ip", names=("web-1",))),
    "everything goes": (texts(TENANT), texts(TENANT, delete=True)),
    "nothing changes": (texts(TENANT), texts(TENANT)),
}
FOUR_BYTES = (
    "resources: [{kind: global_system_config, data: {fq_name: [default-global-system-config], "
    "autonomous_system: 4200000000, enable_4byte_as: true}}]"
)
CONTRAIL["a tenant comes under a four-byte autonomous system"] = (texts(FOUR_BYTES), texts(TENANT))
AMBASSADOR = {
    "a gateway comes": (None, texts(*GATEWAY)),
    "a weight changes": (texts(*GATEWAY), texts(*(text.replace("weight: 10", "weight: 40") for text in GATEWAY))),
    "a prefix changes": (texts(*GATEWAY), texts(*(text.replace("/greeting/", "/hello/") for text in GATEWAY))),
    "a mapping goes": (texts(*GATEWAY), Input(delete=True, kind="Mapping", names=("sample:greeting-canary",))),
    "everything goes": (texts(*GATEWAY), texts(*GATEWAY, delete=True)),
}
CASES = [("contrail", name) for name in CONTRAIL] + [("ambassador", name) for name in AMBASSADOR]


@pytest.mark.parametrize(("compiler", "name"), CASES)
async def test_what_is_planned_is_what_happens(compiler: str, name: str) -> None:
    system = PlannedSystem(compiler)
    await system.offline.seed()
    first, given = {"contrail": CONTRAIL, "ambassador": AMBASSADOR}[compiler][name]
    if first is not None:
        await system.apply(first)
    before, numbers, everything = await system.world(), await system.numbers(), await system.everything()

    planned = await system.plan(given)
    assert planned.due == ()
    assert await system.everything() == everything, "planning wrote something"

    await system.apply(given)
    assert changes_of(planned) == await system.happened(before, numbers, planned)
    after = await system.world()
    assert uuids_in([planned.document()]) <= uuids_in([text.decode() for text in (*before.values(), *after.values())])
    assert planned.summary.nothing is (name == "nothing changes")


async def test_a_second_plan_after_applying_finds_nothing_to_do() -> None:
    system = PlannedSystem("contrail")
    await system.offline.seed()
    await system.apply(texts(TENANT))
    again = await system.plan(texts(TENANT))
    assert (again.applied, again.follows, again.due, again.allocations) == ((), (), (), ())


async def test_the_numbers_of_a_plan_are_those_that_are_given_then() -> None:
    system = PlannedSystem("contrail")
    await system.offline.seed()
    before = await system.numbers()
    planned = await system.plan(texts(TENANT))
    await system.apply(texts(TENANT))
    given = [place.partition("/")[0] for place in (await system.numbers()).keys() - before.keys()]
    assert sorted(number.pool for number in planned.allocations) == sorted(given)
    assert {number.action for number in planned.allocations} == {"given"}


ADDRESSED = """
resources:
  - kind: virtual_network
    data:
      fq_name: [default-domain, default-project, n]
      network_ipam_refs:
        - to: [default-domain, default-project, default-network-ipam]
          attr: {ipam_subnets: [{subnet: {ip_prefix: 10.0.0.0, ip_prefix_len: 24}}]}
  - {kind: instance_ip, data: {fq_name: [free], virtual_network_refs: [{to: [default-domain, default-project, n]}]}}
  - kind: instance_ip
    data:
      fq_name: [requested]
      virtual_network_refs: [{to: [default-domain, default-project, n]}]
      instance_ip_address: 10.0.0.77
"""


async def test_a_plan_shows_no_address_that_only_the_server_can_choose() -> None:
    living = PlannedSystem("contrail")
    await living.offline.seed()
    planned = await living.plan(texts(ADDRESSED))
    created = {change["name"]: change["fields"] for change in planned.document()["applied"]}
    assert "<address for free>" in str(created["free"])
    assert "10.0.0.77" in str(created["requested"])
    assert "10.0.0.252" not in str(planned.document())
