"""The golden pairs of the compiler ``gateway``: steps of users and of a cluster, and what is said and made afterwards.

``<case>.in.yaml`` is a list of steps: ``create``, ``update``, ``delete`` (manifests), ``put`` (an object of somebody
else in the cluster), ``hold_back``, ``let_go`` (objects that the cluster's controllers leave alone), ``reject``,
``status`` (of an object in the cluster), and ``reload`` (other settings). ``<case>.out.yaml`` has only what the case is
about: ``status`` (a resource → parts of it, None: no status), ``objects`` and ``no_objects`` of the cluster, ``ports``
of Services, ``fields`` of objects, ``problems`` (all of them), ``log`` (of the cluster during the last step),
``finalizers``, and ``gone``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from intentc.logic.coverage import coverage
from tests.unit.gateway.worlds import World

pytestmark = pytest.mark.anyio

FOLDER = Path(__file__).parent / "gateway"
CASES = sorted(str(path.relative_to(FOLDER)).removesuffix(".in.yaml") for path in FOLDER.rglob("*.in.yaml"))


@pytest.mark.parametrize("case", CASES)
async def test_what_follows_is_as_the_rules_say(case: str) -> None:
    steps = yaml.safe_load((FOLDER / f"{case}.in.yaml").read_text())
    expected = yaml.safe_load((FOLDER / f"{case}.out.yaml").read_text())
    settings: dict[str, Any] = next((step["settings"] for step in steps if "settings" in step), {})
    world = World(settings)
    for step in steps:
        world.cluster.log.clear()
        await take(world, step)
    check(world, expected)
    engine = world.service.offline.engine
    assert engine.evaluator.missing_reactions == {}
    assert coverage(engine.world).missing == ()


async def take(world: World, step: Mapping[str, Any]) -> None:
    for verb, given in step.items():
        match verb:
            case "create":
                await world.create(*given)
            case "update":
                await world.update(*given)
            case "delete":
                await world.delete(*given)
            case "put":
                for body in given:
                    world.cluster.put(body)
                await world.settle()
            case "hold_back" | "let_go":
                for place in given:
                    getattr(world.cluster, verb)(*_place(place))
                await world.settle()
            case "reject":
                for place, words in given.items():
                    world.cluster.reject(*_place(place), words=words)
            case "status":
                for place, status in given.items():
                    world.cluster.set_status(*_place(place), **status)
                await world.settle()
            case "reload":
                await world.reload(given)
            case "settings":
                pass
            case _:
                raise ValueError(f"unknown step {verb}")


def check(world: World, expected: Mapping[str, Any]) -> None:
    for title, wanted in expected.get("status", {}).items():
        found = world.said(title)
        assert found == {} if wanted is None else part_of(wanted, found) == wanted, f"{title}: {found}"
    for place in expected.get("objects", ()):
        assert place in world.objects, world.objects
    for place in expected.get("no_objects", ()):
        assert not [one for one in world.objects if one.startswith(place)], world.objects
    for service, ports in expected.get("ports", {}).items():
        assert world.ports(service) == ports
    for place, wanted in expected.get("fields", {}).items():
        body = world.cluster.get(*_place(place))
        assert part_of(wanted, body) == wanted, body
    if "problems" in expected:
        assert world.problems == sorted(expected["problems"])
    if "log" in expected:
        assert world.cluster.log == expected["log"]
    for title, wanted in expected.get("finalizers", {}).items():
        kind, _, name = title.partition(" ")
        assert list(world.finalizers(kind, *name.split(":"))) == wanted
    for title in expected.get("gone", ()):
        kind, _, name = title.partition(" ")
        assert not world.exists(kind, *name.split(":"))


def part_of(wanted: Any, found: Any) -> Any:
    """The part of ``found`` that ``wanted`` is about; a field that is None must be absent."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return {key: part_of(value, found.get(key)) for key, value in wanted.items()}
    return found


def _place(place: str) -> tuple[str, str, str]:
    """``Kind namespace/name`` or ``Kind name``."""
    kind, _, rest = place.partition(" ")
    namespace, _, name = rest.rpartition("/")
    return kind, name, namespace
