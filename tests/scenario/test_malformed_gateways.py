"""Values of each of Ambassador's kinds that nobody can read lie in etcd, put there past the API server.

Each is held alone: what it led to stays as it is, everybody else goes on, over a restart, too; and once it is mended,
everything is as if nothing had been.
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
from tests.support.simulated_clock import simulate
from tests.support.simulated_system import LAYOUT, SimulatedSystem

DEEP = b'{"fq_name": ["default", "deep"], "annotations": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
NAMELESS = [b"", b"not json", b"[]", DEEP]
"""Nobody can tell the name of what lay here."""
LATER = manifest("Mapping", "later", {"prefix": "/later/", "hostname": "*", "service": "later"})


def misshapen(name: list[str]) -> list[bytes]:
    """Values that say at least their name."""
    named: Json = {"fq_name": name}
    huge = named | {"labels": {str(number): "x" * 1000 for number in range(3000)}, "api_version": 7}
    return [json.dumps(value).encode() for value in (named | {"labels": [[7]]}, named | {"annotations": 7}, huge)]


USERS = sorted({KINDS[one["kind"]] for one in world()})


@pytest.mark.parametrize("kind", USERS)
def test_what_can_not_be_read_is_held_alone_and_all_is_as_before_when_it_is_repaired(kind: str) -> None:
    simulate(_held_and_mended, kind)


@pytest.mark.parametrize("kind", USERS)
def test_what_a_held_resource_led_to_stays_as_it_is_over_a_restart(kind: str) -> None:
    simulate(_held_over_a_restart, kind, True)


@pytest.mark.parametrize("kind", USERS)
def test_nothing_that_a_held_resource_led_to_goes_over_a_restart(kind: str) -> None:
    simulate(_held_over_a_restart, kind, False)


async def _held_over_a_restart(kind: str, exactly: bool) -> None:
    name = next(one["metadata"] for one in world() if KINDS[one["kind"]] == kind)
    lab = SimulatedSystem(LOADED)
    for one in world():
        await apply_manifest(lab, one)
    await lab.settle()
    before = await lived(lab)
    uuid = await lab.uuid(kind, (name["namespace"], name["name"]))
    await lab.spoil(LAYOUT.key(kind, str(uuid)), misshapen([name["namespace"], name["name"]])[0])
    await lab.restart()
    await lab.settle()
    assert held(lab) == {uuid}
    after = (await lived(lab)).elements
    assert set(before.elements) <= set(after)
    if exactly:
        assert after == before.elements


def test_what_a_held_mapping_led_to_stays_over_a_restart_although_the_history_is_compacted() -> None:
    simulate(_held_and_compacted)


async def _held_and_compacted() -> None:
    """Nobody can tell its name from what lies there now; what the former process kept says it."""
    lab, before = await _converged()
    uuid = await lab.uuid("mapping", ("default", "canary"))
    await lab.spoil(LAYOUT.key("mapping", str(uuid)), b"not json")
    await lab.settle()
    await lab.store.compact((await lab.store.range("/")).revision)
    await lab.restart()
    await lab.settle()
    assert held(lab) == {uuid}
    assert (await lived(lab)).elements == before.elements
    await lab.mend()
    await lab.settle()
    await check_scratch(lab)
    assert not (await lab.store.range("/intentc/lab/retained/", "/intentc/lab/retained0")).items


def test_what_a_paused_mapping_led_to_stays_over_a_restart() -> None:
    simulate(_paused_over_a_restart)


async def _paused_over_a_restart() -> None:
    lab, before = await _converged()
    uuid = str(await lab.uuid("mapping", ("default", "canary")))
    key, name = Key("mapping", uuid), ("default", "canary")
    lab.engine.operator_actions.pause(key, name, "")
    await apply_manifest(lab, manifest("Mapping", "canary", {"prefix": "/elsewhere/", "hostname": "*", "service": "x"}))
    await lab.settle()
    assert (await lived(lab)).elements == before.elements
    await lab.restart()
    lab.engine.operator_actions.pause(key, name, "")
    await lab.settle()
    assert (await lived(lab)).elements == before.elements
    lab.engine.operator_actions.resume(key)
    await lab.settle()
    await check_scratch(lab)
    assert "/elsewhere/" in json.dumps([one for (kind, *_), one in (await lived(lab)).elements.items()])


async def _converged() -> tuple[SimulatedSystem, Outcome]:
    lab = SimulatedSystem(LOADED)
    for one in world():
        await apply_manifest(lab, one)
    await lab.settle()
    return lab, await lived(lab)


async def _held_and_mended(kind: str) -> None:
    name = next(one["metadata"] for one in world() if KINDS[one["kind"]] == kind)
    fq_name = (name["namespace"], name["name"])
    lab, before = await _converged()
    assert before.elements and await lab.uuid(kind, fq_name) is not None
    await apply_manifest(lab, LATER)
    await lab.settle()
    await check_scratch(lab)
    complete = await lived(lab)
    await lab.delete("mapping", ("default", "later"))
    await lab.settle()
    check_same(await lived(lab), before)

    for value in (*NAMELESS, *misshapen(list(fq_name))):
        key = LAYOUT.key(kind, str(await lab.uuid(kind, fq_name)))
        await lab.spoil(key, value)
        await lab.settle()
        assert (await lived(lab)).elements == before.elements
        assert held(lab) == {key.rpartition("/")[2]}

        await apply_manifest(lab, LATER)
        await lab.settle()
        with_later = await lived(lab)
        assert later_in(with_later) and before.elements.items() <= with_later.elements.items()

        await lab.restart()
        await lab.settle()
        assert held(lab) == {key.rpartition("/")[2]}
        assert later_in(await lived(lab))

        await lab.mend()
        await lab.settle()
        check_same(await lived(lab), complete)
        await lab.delete("mapping", ("default", "later"))
        await lab.settle()
        check_same(await lived(lab), before)


def test_a_gateway_whose_only_auth_service_is_held_asks_it_after_a_restart() -> None:
    simulate(_asked_after_a_restart)


async def _asked_after_a_restart() -> None:
    lab = SimulatedSystem(LOADED)
    for one in world():
        if one["metadata"]["name"] != "later":
            await apply_manifest(lab, one)
    await lab.settle()
    uuid = await lab.uuid("auth_service", ("default", "auth"))
    await lab.spoil(LAYOUT.key("auth_service", str(uuid)), b"not json")
    await lab.settle()
    assert asks(await lived(lab))
    await lab.restart()
    await lab.settle()
    assert asks(await lived(lab))


def test_a_gateway_whose_module_is_held_lets_in_nobody_else_after_a_restart() -> None:
    simulate(_closed_after_a_restart)


async def _closed_after_a_restart() -> None:
    lab = SimulatedSystem(LOADED)
    for one in world():
        if one["kind"] != "Module":
            await apply_manifest(lab, one)
    config = {"ip_allow": [{"peer": "10.0.0.0/8"}]}
    await apply_manifest(lab, manifest("Module", "ambassador", {"config": config}))
    await lab.settle()
    before = (await lived(lab)).elements["envoy_listener", "default/front"]
    assert "rbac" in json.dumps(before)
    uuid = await lab.uuid("module", ("default", "ambassador"))
    await lab.spoil(LAYOUT.key("module", str(uuid)), b"not json")
    await lab.restart()
    await lab.settle()
    assert (await lived(lab)).elements["envoy_listener", "default/front"] == before


def asks(found: Outcome) -> bool:
    """Whether the listener has every request authorized."""
    return "ext_authz.v3.ExtAuthz" in json.dumps(found.elements["envoy_listener", "default/front"])


def held(lab: SimulatedSystem) -> set[str]:
    """The uuids of resources that can't be read."""
    return {key.uuid for key in lab.engine.parts.logic.held}


def later_in(found: Outcome) -> bool:
    """Whether a Mapping that came later is routed."""
    return any(kind == "envoy_route" and "/later/" in json.dumps(one) for (kind, *_), one in found.elements.items())
