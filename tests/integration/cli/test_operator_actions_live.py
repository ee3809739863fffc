"""What an operator can do on live parts: real processes, a real etcd, the real API server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from intentc.directives import hold_suspects
from intentc.model import Key
from intentc.watch.protocol import prefix_end
from tests.oracle.contrail import mark
from tests.support.commands import Ended, Intentc
from tests.support.contrail_content import LOCAL, group, rule, rules, tenant
from tests.support.live_system import LiveSystem
from tests.support.processes import Process
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

FIRST, SECOND = "11111111-0000-4000-8000-000000000000", "22222222-0000-4000-8000-000000000000"


class OperatorActions:
    """Commands of an operator beside a running compiler."""

    def __init__(self, world: LiveSystem, intentc: Intentc, state: Path) -> None:
        self.world = world
        self.intentc = intentc
        self._environment = {"STATE_DIRECTORY": str(state)}
        self.service: Process

    async def start(self) -> dict[str, Any]:
        """Start a compiler; its status once it has done all there is to do."""
        self.service = self.intentc.start(environment=self._environment)
        return await self.settled()

    async def settled(self) -> dict[str, Any]:
        return await self.service.settled(self.world.revision)

    async def __call__(self, *arguments: object) -> Ended:
        address = (await self.service.url()).removeprefix("http://")
        return await self.intentc(*arguments, environment={"INTENTC_INTENTC__DIAGNOSTICS__ADDRESS": address})

    async def orders(self) -> list[str]:
        """``<sort>/<about>`` of every order that lies in etcd."""
        prefix = f"/intentc/{self.world.path}/directives/"
        return [
            item.key.removeprefix(prefix) for item in (await self.world.store.range(prefix, prefix_end(prefix))).items
        ]

    async def no_orders(self) -> None:
        """Wait until the leader has withdrawn all."""
        with anyio.fail_after(PATIENCE):
            while await self.orders():  # noqa: ASYNC110 - another process withdraws them
                await anyio.sleep(0.02)

    async def states(self) -> dict[str, str]:
        """uuid → state, of what is in quarantine."""
        listed = await self("quarantine", "list", "-o", "json")
        assert listed.code == 0, listed.err
        return {entry["uuid"]: entry["state"] for entry in listed.json["quarantine"]}

    async def ingress(self, name: str) -> list[str]:
        """The rules of a group's ingress list."""
        return [found["rule_uuid"] for found in await self.world.rules(name, "ingress") or []]

    async def list_uuid(self, name: str) -> str:
        """The uuid of a group's ingress list."""
        lists = (await self.world.stored())["access_control_list"].values()
        (found,) = [one for one in lists if one["fq_name"][-2:] == [name, "ingress-access-control-list"]]
        return str(found["uuid"])


@pytest.fixture
def actions(world: LiveSystem, intentc: Intentc, tmp_path: Path) -> OperatorActions:
    """An installation in which any two deletes of a kind at once need leave."""
    configuration = msgspec.json.decode(intentc.configuration.read_bytes())
    configuration["intentc"]["limits"] |= {"max_deletes": 1, "max_deletes_percent": 0}
    intentc.write(configuration)
    return OperatorActions(world, intentc, tmp_path / "state")


async def a_group(world: LiveSystem, name: str, rule_uuid: str = FIRST) -> str:
    return await world.create("security_group", name, **rules(rule(rule_uuid, group(name), LOCAL)))


async def test_a_paused_intent_keeps_what_it_made_over_restarts_until_it_is_resumed(
    world: LiveSystem, actions: OperatorActions
) -> None:
    await actions.start()
    uuid = await a_group(world, "web")
    await actions.settled()
    paused = await actions("pause", "security-group", "web", "--reason", "maintenance")
    assert (paused.code, paused.out) == (0, "paused security_group default-domain:default-project:web\n"), paused.err
    await world.update("security_group", uuid, **rules(rule(SECOND, group("web"), LOCAL)))
    await actions.settled()
    assert await actions.ingress("web") == [FIRST]

    actions.service.kill()
    await actions.start()
    assert await actions.ingress("web") == [FIRST]
    listed = await actions("quarantine", "list")
    assert "maintenance" in listed.out and await actions.states() == {uuid: "paused"}

    resumed = await actions("resume", "security-group", "web")
    assert resumed.code == 0, resumed.err
    await actions.settled()
    assert await actions.ingress("web") == [SECOND]
    assert (await actions.orders(), await actions.states()) == ([], {})
    await world.assert_compiled()


async def test_a_paused_object_is_left_alone_until_it_is_resumed(world: LiveSystem, actions: OperatorActions) -> None:
    await actions.start()
    await a_group(world, "web")
    await actions.settled()
    uuid = await actions.list_uuid("web")
    assert (await actions("pause", "access-control-list", uuid)).code == 0
    await world.update("access_control_list", uuid, access_control_list_entries={"acl_rule": []})
    await actions.settled()
    assert await actions.ingress("web") == []
    assert (await actions("resume", "access-control-list", uuid)).code == 0
    await actions.settled()
    assert await actions.ingress("web") == [FIRST]
    await world.assert_compiled()


async def test_withheld_deletes_need_approval(world: LiveSystem, actions: OperatorActions) -> None:
    await actions.start()
    uuids = [await a_group(world, f"group-{number}") for number in range(3)]
    await actions.settled()
    actions.service.kill()
    for uuid in uuids:
        await world.delete_raw("security_group", uuid)
    status = await actions.start()
    assert status["counts"]["withheld_deletes"] == 6
    assert (await actions("allow-deletes", "route-target")).code == 3
    allowed = await actions("allow-deletes", "access-control-list")
    assert allowed.code == 0, allowed.err
    status = await actions.settled()
    assert status["counts"]["withheld_deletes"] == 0
    names = [one["fq_name"] for one in (await world.stored())["access_control_list"].values()]
    assert not [name for name in names if name[-2].startswith("group-")]
    await actions.no_orders()


async def test_a_dropped_intent_is_compiled_again_when_its_resource_changes(
    world: LiveSystem, actions: OperatorActions
) -> None:
    await actions.start()
    uuid = await a_group(world, "web")
    await actions.settled()
    good = (await world.values())[f"/{world.path}/security_group/{uuid}"][0]
    await world.put_raw("security_group", uuid, b"{")
    await actions.settled()
    assert (await actions.states(), await actions.ingress("web")) == ({uuid: "unreadable"}, [FIRST])

    retried = await actions("quarantine", "retry", "security-group", uuid)
    assert retried.code == 5, retried.err
    await actions.no_orders()
    dropped = await actions("quarantine", "drop", "security-group", uuid)
    assert dropped.code == 0, dropped.err
    await actions.settled()
    assert await world.rules("web", "ingress") is None
    actions.service.kill()
    await actions.start()
    assert await world.rules("web", "ingress") is None
    assert await actions.states() == {uuid: "dropped"}

    await world.put_raw("security_group", uuid, good)
    await actions.settled()
    assert await actions.ingress("web") == [FIRST]
    await actions.no_orders()
    assert await actions.states() == {}


async def test_a_retry_takes_it_back_that_an_intent_was_given_up(world: LiveSystem, actions: OperatorActions) -> None:
    await actions.start()
    uuid = await a_group(world, "web")
    await actions.settled()
    good = (await world.values())[f"/{world.path}/security_group/{uuid}"][0]
    await world.put_raw("security_group", uuid, b"{")
    await actions.settled()
    assert (await actions("quarantine", "drop", "--all", "--yes")).code == 0
    await actions.settled()
    assert await world.rules("web", "ingress") is None
    retried = await actions("quarantine", "retry", "security-group", uuid)
    assert retried.code == 5, retried.err
    assert await actions.states() == {uuid: "unreadable"}
    await actions.no_orders()
    await world.put_raw("security_group", uuid, good)
    await actions.settled()
    assert await actions.ingress("web") == [FIRST]


async def test_a_suspect_is_held_at_the_start_and_tried_again_by_a_retry(
    world: LiveSystem, actions: OperatorActions
) -> None:
    suspect = await a_group(world, "web")
    await a_group(world, "other")
    keys = [Key("security_group", suspect)]
    assert await hold_suspects(world.store, world.path, world.path, keys, by="a process that died before") == 0
    assert await hold_suspects(world.store, world.path, world.path, keys, by="the next one") == 1
    await actions.start()
    assert await actions.states() == {suspect: "suspect"}
    assert (await world.rules("web", "ingress"), await actions.ingress("other")) == (None, [FIRST])
    retried = await actions("quarantine", "retry", "security-group", "web")
    assert (retried.code, retried.out) == (0, "retried security_group default-domain:default-project:web\n"), (
        retried.err
    )
    assert await actions.ingress("web") == [FIRST]
    await actions.no_orders()
    await world.assert_compiled()


async def test_a_directive_stored_while_no_process_ran_is_obeyed_at_the_start(
    world: LiveSystem, actions: OperatorActions, intentc: Intentc
) -> None:
    uuid = await a_group(world, "web")
    nobody = {"INTENTC_INTENTC__DIAGNOSTICS__ADDRESS": "127.0.0.1:1"}
    ended = await intentc("pause", "security_group", "web", environment=nobody)
    assert (ended.code, "takes effect when one runs" in ended.err) == (0, True)
    await actions.start()
    assert await world.rules("web", "ingress") is None
    assert await actions.states() == {uuid: "paused"}


async def test_released_objects_stay_as_they_are_and_are_nobodys(
    world: LiveSystem, actions: OperatorActions, intentc: Intentc
) -> None:
    made = await tenant(world)
    await actions.start()
    owned = await world.owned()
    assert len(owned) >= 20
    rejected = await intentc("release", "--all")
    assert (rejected.code, len(await world.owned())) == (3, len(owned))
    assert "runs, and would take the objects back" in rejected.err

    assert await actions.service.terminate() == 0
    before = await world.stored()
    shown = await intentc("release", "--all", "--dry-run", "-o", "json")
    assert {found["uuid"] for found in shown.json["released"]} == {found["uuid"] for found in owned}
    released = await intentc("release", "--all")
    assert (released.code, f"{len(owned)} objects released" in released.err) == (0, True), released.err
    assert await world.owned() == []
    after = await world.stored()
    assert {kind: _without_marks(found) for kind, found in after.items()} == {
        kind: _without_marks(found) for kind, found in before.items()
    }
    again = await intentc("release", "--all")
    assert (again.code, again.err) == (0, "0 objects released\n")

    await world.delete_raw("security_group", made["security_group"][0])
    await actions.start()
    assert {uuid for found in (await world.stored()).values() for uuid in found} >= {one["uuid"] for one in owned}
    assert not [one for one in await world.owned() if mark(one) and one["uuid"] in {old["uuid"] for old in owned}]


async def test_released_objects_are_adopted_by_a_running_compiler_which_then_has_nothing_to_write(
    world: LiveSystem, actions: OperatorActions, intentc: Intentc
) -> None:
    await tenant(world)
    await actions.start()
    owned = {one["uuid"] for one in await world.owned()}
    assert len(owned) >= 20
    assert await actions.service.terminate() == 0
    assert (await intentc("release", "--all")).code == 0

    await actions.start()
    problems = (await actions.settled())["problems"]
    assert {problem["reason"] for problem in problems} == {"NameTaken"}
    assert all("`intentc adopt " in problem["message"] for problem in problems)
    shown = await intentc("adopt", "--all", "-o", "json")
    assert {found["uuid"] for found in shown.json["adopted"]} == owned
    adopted = await intentc("adopt", "--all", "--yes")
    assert (adopted.code, adopted.err) == (0, f"{len(owned)} objects adopted\n")
    with anyio.fail_after(PATIENCE):
        while (status := await actions.settled())["problems"]:  # noqa: ASYNC110 - another process
            await anyio.sleep(0.05)
    assert status["healthy"]
    assert {one["uuid"] for one in await world.owned()} == owned
    await world.assert_compiled()
    assert await actions.service.terminate() == 0

    before = await world.values()
    await actions.start()
    assert await world.values() == before


def _without_marks(resources: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """What a resource holds beside its annotations and the server's stamps of when it was written."""
    left_out = ("annotations", "id_perms", "configuration_version")
    return {
        uuid: {field: value for field, value in resource.items() if field not in left_out}
        for uuid, resource in resources.items()
    }
