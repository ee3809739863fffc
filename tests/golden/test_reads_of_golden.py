"""Compares the shipped reaction maps with the reads of the golden cases and samples: none is missing, idle ones are
known."""

from __future__ import annotations

import functools
from collections import Counter
from pathlib import Path

import anyio
import pytest

from intentc.cli.offline_inputs import apply_inputs
from intentc.cli.ordering import targets_first
from intentc.loading.resources import load_resources
from intentc.logic.coverage import Coverage
from intentc.logic.dependencies.edges import Edge
from intentc.offline.offline import Offline
from intentc.plugins import find_compilers, load_all
from tests.mutation.listed import redundant
from tests.support.golden.cases import COMPILERS, cases

SAMPLE = Path(__file__).resolve().parents[2] / "sample"
SAMPLES = {"contrail": (SAMPLE / "tenant.yml", SAMPLE / "chain.yml"), "ambassador": (SAMPLE / "ambassador",)}

UNTRIED = {
    Edge("tls_context", "self", "auth_service"),
    Edge("kubernetes_service_resolver", "self", "auth_service"),
    Edge("kubernetes_endpoint_resolver", "self", "auth_service"),
    Edge("consul_resolver", "self", "auth_service"),
    Edge("envoy_rejection", "self", "auth_service"),
    Edge("tracing_service", "self", "tracing_service"),
}
"""Edges that no golden case is about; tests/mutation has a story that needs each."""

USED = {Edge("virtual_machine_interface", "virtual_network", "virtual_machine")}
"""Edges by which readers are reached that other edges reach as well (tests/mutation/redundant.yml)."""


@functools.cache
def looked_at(compiler: str) -> list[tuple[str, Coverage]]:
    """Every world of a compiler, compiled offline."""
    given = [case.given for case in cases(compiler) if not case.as_stored]
    return [(path.name, anyio.run(_coverage, compiler, path)) for path in (*given, *SAMPLES[compiler])]


async def _coverage(compiler: str, path: Path) -> Coverage:
    loaded = load_all(find_compilers([compiler]))
    offline = Offline(loaded)
    await offline.seed()
    await apply_inputs(offline, targets_first(load_resources([str(path)], loaded.schema), loaded.schema))
    assert offline.engine.progress.missing_reactions == {}
    return offline.engine.world.coverage()


@pytest.mark.parametrize("compiler", COMPILERS)
def test_no_reaction_is_missing(compiler: str) -> None:
    assert [(name, missing) for name, found in looked_at(compiler) for missing in found.missing] == []


def test_what_is_idle_in_contrails_map_are_the_ancestors_own_entries() -> None:
    assert {str(edge) for edge in {*idle("contrail"), *USED}} == {str(Edge(*edge)) for edge in redundant()}
    assert not {*idle("contrail")} & USED


def test_what_is_idle_in_ambassadors_map_no_golden_case_is_about() -> None:
    assert idle("ambassador") == UNTRIED


def idle(compiler: str) -> set[Edge]:
    """What is idle in every world."""
    worlds = [found for _, found in looked_at(compiler)]
    times = Counter(use.edge for found in worlds for use in found.idle)
    return {edge for edge, count in times.items() if count == len(worlds)}
