"""Unreadable values of each of Ambassador's kinds lie in etcd, put there past the API server.

Each is held alone: its outputs stay as they are and all others converge, also over a restart. Once it is repaired, the
outputs are as before.
"""

from __future__ import annotations

import json

import pytest

from intentc.model import Key
from tests.oracle.ambassador_manifests import Json
from tests.property.gateway_demands import Outcome, check_same, check_scratch, lived
from tests.property.gateway_steps import LOADED
from tests.property.gateway_world import manifest, world
from tests.property.gateways import KINDS, apply_manifest
from tests.simulation.simulated_clock import simulate
from tests.simulation.simulated_system import LAYOUT, SimulatedSystem

DEEP = b'{"fq_name": ["default", "deep"], "annotations": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
NAMELESS = [b"", b"not json", b"[]", DEEP]
"""Values without the name of what was here."""
LATER = manifest("Mapping", "later", {"prefix": "/later/", "hostname": "*", "service": "later"})


def misshapen(name: list[str]) -> list[bytes]:
    """Values that say at least their name."""
    named: Json = {"fq_name": name}
    huge = named | {"metadata": {str(number): "x" * 1000 for number in range(3000)}, "api_version": 7}
    return [
        json.dumps(value).encode()
        for value in (named | {"metadata": {"labels": [[7]]}}, named | {"annotations": 7}, huge)
    ]


USERS = sorted({KINDS[one["kind"]] for one in world()})


@pytest.mark.parametrize("kind", USERS)
def test_an_unreadable_resource_is_held_alone_until_it_is_repaired(kind: str) -> None:
    simulate(_held_and_repaired, kind)


@pytest.mark.parametrize("kind", USERS)
def test_outputs_of_a_held_resource_survive_a_restart(kind: str) -> None:
    simulate(_held_over_a_restart, kind)


async def _held_over_a_restart(kind: str) -> None:
    name = next(one["metadata"] for one in world() if KINDS[one["kind"]] == kind)
    system = SimulatedSystem(LOADED)
    for one in world():
        await apply_manifest(system, one)
    await system.settle()
    before = await lived(system)
    uuid = await system.uuid(kind, (name["namespace"], name["name"]))
    await system.spoil(LAYOUT.key(kind, str(uuid)), misshapen([name["namespace"], name["name"]])[0])
    await system.restart()
    await system.settle()
    assert held(system) == {uuid}
    assert (await lived(system)).elements == before.elements


def test_outputs_of_a_held_mapping_survive_a_restart_and_a_compacted_history() -> None:
    simulate(_held_and_compacted)


async def _held_and_compacted() -> None:
    """The value has no name; the former process has kept it."""
    system, before = await _converged()
    uuid = await system.uuid("mapping", ("default", "canary"))
    await system.spoil(LAYOUT.key("mapping", str(uuid)), b"not json")
    await system.settle()
    await system.store.compact((await system.store.range("/")).revision)
    await system.restart()
    await system.settle()
    assert held(system) == {uuid}
    assert (await lived(system)).elements == before.elements
    await system.repair()
    await system.settle()
    await check_scratch(system)
    assert not (await system.store.range("/intentc/lab/retained/", "/intentc/lab/retained0")).items


def test_what_a_paused_mapping_led_to_stays_over_a_restart() -> None:
    simulate(_paused_over_a_restart)


async def _paused_over_a_restart() -> None:
    system, before = await _converged()
    uuid = str(await system.uuid("mapping", ("default", "canary")))
    key, name = Key("mapping", uuid), ("default", "canary")
    system.engine.operator_actions.pause(key, name, "")
    await apply_manifest(
        system, manifest("Mapping", "canary", {"prefix": "/elsewhere/", "hostname": "*", "service": "x"})
    )
    await system.settle()
    assert (await lived(system)).elements == before.elements
    await system.restart()
    system.engine.operator_actions.pause(key, name, "")
    await system.settle()
    assert (await lived(system)).elements == before.elements
    system.engine.operator_actions.resume(key)
    await system.settle()
    await check_scratch(system)
    assert "/elsewhere/" in json.dumps([one for (kind, *_), one in (await lived(system)).elements.items()])


async def _converged() -> tuple[SimulatedSystem, Outcome]:
    system = SimulatedSystem(LOADED)
    for one in world():
        await apply_manifest(system, one)
    await system.settle()
    return system, await lived(system)


async def _held_and_repaired(kind: str) -> None:
    name = next(one["metadata"] for one in world() if KINDS[one["kind"]] == kind)
    fq_name = (name["namespace"], name["name"])
    system, before = await _converged()
    assert before.elements and await system.uuid(kind, fq_name) is not None
    await apply_manifest(system, LATER)
    await system.settle()
    await check_scratch(system)
    complete = await lived(system)
    await system.delete("mapping", ("default", "later"))
    await system.settle()
    check_same(await lived(system), before)

    for value in (*NAMELESS, *misshapen(list(fq_name))):
        key = LAYOUT.key(kind, str(await system.uuid(kind, fq_name)))
        await system.spoil(key, value)
        await system.settle()
        assert (await lived(system)).elements == before.elements
        assert held(system) == {key.rpartition("/")[2]}

        await apply_manifest(system, LATER)
        await system.settle()
        with_later = await lived(system)
        assert later_in(with_later) and before.elements.items() <= with_later.elements.items()

        await system.restart()
        await system.settle()
        assert held(system) == {key.rpartition("/")[2]}
        assert later_in(await lived(system))

        await system.repair()
        await system.settle()
        check_same(await lived(system), complete)
        await system.delete("mapping", ("default", "later"))
        await system.settle()
        check_same(await lived(system), before)


def test_a_gateway_whose_only_auth_service_is_held_asks_it_after_a_restart() -> None:
    simulate(_asked_after_a_restart)


async def _asked_after_a_restart() -> None:
    system = SimulatedSystem(LOADED)
    for one in world():
        if one["metadata"]["name"] != "later":
            await apply_manifest(system, one)
    await system.settle()
    uuid = await system.uuid("auth_service", ("default", "auth"))
    await system.spoil(LAYOUT.key("auth_service", str(uuid)), b"not json")
    await system.settle()
    assert asks(await lived(system))
    await system.restart()
    await system.settle()
    assert asks(await lived(system))


def test_a_gateway_whose_module_is_held_lets_in_nobody_else_after_a_restart() -> None:
    simulate(_closed_after_a_restart)


async def _closed_after_a_restart() -> None:
    system = SimulatedSystem(LOADED)
    for one in world():
        if one["kind"] != "Module":
            await apply_manifest(system, one)
    config = {"ip_allow": [{"peer": "10.0.0.0/8"}]}
    await apply_manifest(system, manifest("Module", "ambassador", {"config": config}))
    await system.settle()
    before = (await lived(system)).elements["envoy_listener", "default/front"]
    assert "rbac" in json.dumps(before)
    uuid = await system.uuid("module", ("default", "ambassador"))
    await system.spoil(LAYOUT.key("module", str(uuid)), b"not json")
    await system.restart()
    await system.settle()
    assert (await lived(system)).elements["envoy_listener", "default/front"] == before


def asks(found: Outcome) -> bool:
    """Whether the listener has every request authorized."""
    return "ext_authz.v3.ExtAuthz" in json.dumps(found.elements["envoy_listener", "default/front"])


def held(system: SimulatedSystem) -> set[str]:
    """The uuids of resources that can't be read."""
    return {key.uuid for key in system.engine.world.held}


def later_in(found: Outcome) -> bool:
    """Whether a Mapping that came later is routed."""
    return any(kind == "envoy_route" and "/later/" in json.dumps(one) for (kind, *_), one in found.elements.items())
