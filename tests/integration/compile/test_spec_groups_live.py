"""The cases of security groups (docs/contrail.md E.3), made again on a real etcd and a real API server."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.contrail_content import EVERYWHERE, EVERYWHERE_V6, LOCAL, acl_rule, anywhere, group, rule, rules
from tests.support.live_system import LiveSystem

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

R1 = "bdf042c0-0000-4000-8000-000000000001"
R2 = "1f77914a-0000-4000-8000-000000000002"
R3 = "b7c07625-0000-4000-8000-000000000003"
R4 = "6a5f3026-0000-4000-8000-000000000004"
FIRST_ID = "8000001"
"""The first number that the API server gives to a group."""


async def test_star_2_the_default_group_has_what_comes_from_itself_and_what_goes_anywhere(world: LiveSystem) -> None:
    own = group("default")
    given = rules(
        rule(R1, own, LOCAL),
        rule(R2, own, LOCAL, "IPv6"),
        rule(R3, LOCAL, EVERYWHERE),
        rule(R4, LOCAL, EVERYWHERE_V6, "IPv6"),
    )
    async with world.compiling() as service:
        uuid = await world.create("security_group", "default", **given)
        await world.settle(service)
        from_own = {"security_group": FIRST_ID}
        assert await world.rules("default", "ingress") == [
            acl_rule(R1, from_own, None),
            acl_rule(R2, from_own, None, "IPv6"),
        ]
        assert await world.rules("default", "egress") == [
            acl_rule(R3, None, anywhere("0.0.0.0/0")),
            acl_rule(R4, None, anywhere("::/0"), "IPv6"),
        ]
    lists = [acl for acl in (await world.stored())["access_control_list"].values() if acl["parent_uuid"] == uuid]
    assert len(lists) == 2
    assert not any(acl["access_control_list_entries"].get("dynamic") for acl in lists)


async def test_star_5_local_does_not_stick_to_the_pairs_after_it(world: LiveSystem) -> None:
    async with world.compiling() as service:
        await world.create("security_group", "a", **rules(rule(R1, LOCAL, [EVERYWHERE, LOCAL, EVERYWHERE])))
        await world.create("security_group", "b", **rules(rule(R2, [LOCAL, EVERYWHERE], EVERYWHERE)))
        await world.settle(service)
    out = anywhere("0.0.0.0/0")
    assert await world.rules("a", "ingress") == [acl_rule(R1, None, None)]
    assert await world.rules("a", "egress") == [acl_rule(R1, None, out), acl_rule(R1, None, out)]
    assert await world.rules("b", "ingress") == []
    assert await world.rules("b", "egress") == [acl_rule(R2, None, out)]


async def test_star_6_bad_parts_are_left_out_alone_and_reported(world: LiveSystem) -> None:
    """An unknown protocol is rejected by the API server itself (docs/contrail.md B.7), so the value comes past it."""
    async with world.compiling() as service:
        uuid = await world.create("security_group", "bad", **rules(rule(R2, LOCAL, [EVERYWHERE_V6, LOCAL], "IPv6")))
        stored = (await world.stored())["security_group"][uuid]
        unknown = rule(R1, LOCAL, EVERYWHERE, protocol="unknown protocol 1")
        stored["security_group_entries"]["policy_rule"].insert(0, unknown)
        await world.put_raw("security_group", uuid, msgspec.json.encode(stored))
        await world.create("security_group", "known")
        some = {"security_group": "some:unknown:security-group"}
        await world.create(
            "security_group",
            "names",
            **rules(rule(R3, LOCAL, [EVERYWHERE_V6, some], "IPv6"), rule(R4, LOCAL, group("known"))),
        )
        await world.settle(service)
        reported = {(problem["reason"], problem["name"]) for problem in service.status()["problems"]}
    everywhere = anywhere("::/0")
    assert await world.rules("bad", "ingress") == [acl_rule(R2, None, None, "IPv6")]
    assert await world.rules("bad", "egress") == [acl_rule(R2, None, everywhere, "IPv6")]
    assert await world.rules("names", "egress") == [
        acl_rule(R3, None, everywhere, "IPv6"),
        acl_rule(R4, None, {"security_group": "8000002"}),
    ]
    assert reported == {
        ("UnknownProtocol", "default-domain:default-project:bad"),
        ("UnknownSecurityGroup", "default-domain:default-project:names"),
    }


async def test_star_7_a_group_by_its_whole_way_and_back(world: LiveSystem) -> None:
    uuid = "9d0416ac-9caa-11e9-a635-079cc53fe7b5"
    project = ("default-domain", "admin")
    async with world.compiling() as service:
        await world.create("project", "admin", ("default-domain",), uuid="8e896740-9bf0-11e9-8a51-f332ca0f39d7")
        own = {"security_group": "default-domain:admin:sg_name"}
        await world.create("security_group", "sg_name", project, uuid=uuid, **rules(rule(R1, own, LOCAL)))
        await world.settle(service)
        assert await world.rules("sg_name", "ingress", project) == [acl_rule(R1, {"security_group": FIRST_ID}, None)]
        assert await world.rules("sg_name", "egress", project) == []

        await world.delete("security_group", uuid)
        await world.settle(service)
    below = await world.person.get(f"{world.url}/access-control-lists", params={"parent_id": uuid})
    assert below.json() == {"access-control-lists": []}
    assert await world.rules("sg_name", "ingress", project) is None
    assert await world.rules("sg_name", "egress", project) is None


async def test_star_8_a_deleted_group_disappears_from_the_rules_that_name_it(world: LiveSystem) -> None:
    async with world.compiling() as service:
        uuid = await world.create("security_group", "sg", **rules(rule(R1, LOCAL, LOCAL)))
        await world.create(
            "security_group", "sg_referring", **rules(rule(R2, group("sg"), LOCAL), rule(R3, LOCAL, EVERYWHERE))
        )
        await world.settle(service)
        egress = await world.rules("sg_referring", "egress")
        assert await world.rules("sg", "ingress") == [acl_rule(R1, None, None)]
        assert await world.rules("sg", "egress") == []
        assert await world.rules("sg_referring", "ingress") == [acl_rule(R2, {"security_group": FIRST_ID}, None)]
        assert egress == [acl_rule(R3, None, anywhere("0.0.0.0/0"))]

        await world.delete("security_group", uuid)
        await world.settle(service)
    assert await world.rules("sg", "ingress") is None
    assert await world.rules("sg", "egress") is None
    assert await world.rules("sg_referring", "ingress") == []
    assert await world.rules("sg_referring", "egress") == egress


async def test_star_18_rules_follow_the_groups_that_they_name_as_these_come_and_go(world: LiveSystem) -> None:
    async with world.compiling() as service:
        to_both = rules(rule(R1, LOCAL, group("sg-2")), rule(R2, LOCAL, group("sg-3")))
        one = await world.create("security_group", "sg-1", **to_both)
        await world.settle(service)
        assert await world.rules("sg-1", "egress") == []

        await world.create("security_group", "sg-2", **rules(rule(R3, group("sg-1"), LOCAL)))
        await world.settle(service)
        assert await world.rules("sg-2", "ingress") == [acl_rule(R3, {"security_group": "8000001"}, None)]
        assert await world.rules("sg-1", "egress") == [acl_rule(R1, None, {"security_group": "8000002"})]

        three = await world.create("security_group", "sg-3")
        await world.settle(service)
        assert await world.rules("sg-1", "egress") == [
            acl_rule(R1, None, {"security_group": "8000002"}),
            acl_rule(R2, None, {"security_group": "8000003"}),
        ]

        await world.update("security_group", one, **rules(rule(R2, LOCAL, group("sg-3"))))
        await world.settle(service)
        assert await world.rules("sg-1", "egress") == [acl_rule(R2, None, {"security_group": "8000003"})]

        await world.delete("security_group", three)
        await world.settle(service)
        assert await world.rules("sg-1", "egress") == []
        assert [link["target"] for link in service.pending()] == ["security_group default-domain:default-project:sg-3"]

        await world.update("security_group", one, **rules())
        await world.settle(service)
        assert service.pending() == []
    await world.assert_compiled()


async def test_star_19_rules_carry_the_numbers_of_their_groups_also_configured_ones(world: LiveSystem) -> None:
    async with world.compiling() as service:
        one = await world.create("security_group", "sg1", **rules(rule(R1, LOCAL, group("sg1"))))
        await world.settle(service)
        assert await world.rules("sg1", "egress") == [acl_rule(R1, None, {"security_group": FIRST_ID})]

        await world.update("security_group", one, configured_security_group_id=100)
        await world.settle(service)
        assert (await world.stored())["security_group"][one]["security_group_id"] == 100
        assert await world.rules("sg1", "egress") == [acl_rule(R1, None, {"security_group": "100"})]

        both = rules(rule(R2, group("sg2"), LOCAL), rule(R3, LOCAL, group("sg2")))
        two = await world.create("security_group", "sg2", **both)
        low, high = [{"start_port": 1, "end_port": 100}], [{"start_port": 101, "end_port": 200}]
        further = rules(
            *both["security_group_entries"]["policy_rule"],
            rule(R1, group("sg2"), LOCAL) | {"dst_ports": low},
            rule(R4, LOCAL, group("sg2")) | {"dst_ports": high},
        )
        await world.update("security_group", two, **further)
        await world.settle(service)
    number = str((await world.stored())["security_group"][two]["security_group_id"])
    found = {direction: await world.rules("sg2", direction) or [] for direction in ("ingress", "egress")}
    assert [len(acl) for acl in found.values()] == [2, 2]
    assert {r["match_condition"]["src_address"]["security_group"] for r in found["ingress"]} == {number}
    assert {r["match_condition"]["dst_address"]["security_group"] for r in found["egress"]} == {number}
    await world.assert_compiled()
