"""The document of a gateway after any history equals one that a second program computes at once (docs/appgw.md).

The second program is tests/oracle/appgw.py. Random histories change resources of all kinds that are read.
"""

from __future__ import annotations

import copy
import json
from random import Random

import pytest

from tests.oracle.appgw import Naive
from tests.support.appgw.random_worlds import gateway, random_manifest, usual
from tests.support.appgw.system import DocumentSystem, Manifest, manifests

pytestmark = pytest.mark.anyio
STEPS = 25


async def compare(system: DocumentSystem) -> None:
    naive = Naive(copy.deepcopy(list(manifests(system.world))), copy.deepcopy(system.gateway))
    expected = naive.compile()
    found = system.assembled()
    assert found.document == expected
    assert system.problems(found) == naive.problems
    engine = system.offline.engine
    assert not engine.states.held
    assert engine.evaluator.missing_reactions == {}


# 2005: a name in another's tls, of a rule that has a default backend and no paths that count.
@pytest.mark.parametrize("seed", [*range(12), 2005])
async def test_a_history_leads_where_a_compile_at_once_does(seed: int) -> None:
    random, system = Random(seed), DocumentSystem(gateway())
    await system.start()
    await system.put(*usual(random))
    await system.put(*_distinct(random, 12))
    await compare(system)
    for _ in range(STEPS):
        if random.random() < 0.3 and system.world:
            await system.delete(random.choice(sorted(system.world)))
        else:
            await system.put(random_manifest(random))
        await compare(system)


@pytest.mark.parametrize("seed", range(100, 104))
async def test_the_order_of_arrival_does_not_matter(seed: int) -> None:
    random = Random(seed)
    given = _distinct(random, 40)
    documents = set()
    for _ in range(2):
        random.shuffle(given)
        system = DocumentSystem(gateway())
        await system.start()
        for manifest in given:
            await system.put(manifest)
        documents.add(json.dumps(system.assembled().document))
    assert len(documents) == 1


def _distinct(random: Random, count: int) -> list[Manifest]:
    """Random resources, each name once."""
    found = {}
    for _ in range(count):
        manifest = random_manifest(random)
        found[manifest["kind"], manifest["metadata"].get("namespace"), manifest["metadata"]["name"]] = manifest
    return list(found.values())
