"""Every golden pair of every compiler, through the whole of ``intentc compile``; and the shipped reaction maps,
compared with what those compiles and the samples read: no reaction is missing, idle ones are known."""

from __future__ import annotations

import functools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from intentc.loading.yaml import load_documents
from intentc.logic.coverage import Coverage
from intentc.logic.dependencies.edges import Edge
from intentc.offline import offline
from intentc.offline.offline import Offline
from tests.mutation.listed import redundant
from tests.support.forking import Ended
from tests.support.golden.cases import COMPILERS, Case, cases
from tests.support.golden.comparing import Golden
from tests.support.golden.compiling import compiled
from tests.support.golden.projection import projected

CASES = [case for compiler in COMPILERS for case in cases(compiler)]
ADMITTED = [case for case in CASES if not case.as_stored]
REJECTED = [case for case in CASES if case.as_stored]

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
def watched(compiler: str, given: Path, *options: str) -> tuple[Ended, Coverage]:
    """A compile, once for all tests; and how the reaction map covers what its intents read."""
    made: list[Offline] = []

    class Noted(Offline):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            made.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(offline, "Offline", Noted)
        ended = compiled(compiler, given, options=options)
    assert ended.code == 0, ended.err
    (one,) = made
    assert one.engine.progress.missing_reactions == {}
    return ended, one.engine.world.coverage()


def options_of(case: Case) -> tuple[str, ...]:
    return ("--config-file", str(case.configuration)) if case.configuration else ()


@pytest.mark.parametrize("case", ADMITTED, ids=lambda case: case.name)
def test_a_compile_prints_the_expected_output(case: Case, golden: Golden) -> None:
    ended, _ = watched(case.compiler, case.given, *options_of(case))
    assert ended.err == ""
    golden.check(case, projected(ended.document), authority=True)


@pytest.mark.parametrize("case", [case for case in ADMITTED if case.compiler != "contrail"], ids=lambda case: case.name)
def test_the_order_of_the_input_does_not_matter(case: Case, tmp_path: Path, golden: Golden) -> None:
    """Contrail's cases are turned round in ``test_intents_golden``."""
    documents = [document.value for document in load_documents(case.given) if document.value]
    entries = [entry for value in documents for entry in value.get("resources", value.get("items", [value]))]
    turned = tmp_path / "turned.json"
    turned.write_text(json.dumps(entries[::-1]))
    golden.check(case, projected(compiled(case.compiler, turned).document))


@pytest.mark.parametrize("case", REJECTED, ids=lambda case: case.name)
def test_what_the_server_rejects_a_compile_rejects_too(case: Case) -> None:
    ended = compiled(case.compiler, case.given)
    assert (ended.code, ended.out) == (3, "")
    assert "security_group default-domain:blue:g" in ended.err


@pytest.mark.parametrize("compiler", COMPILERS)
def test_every_input_has_its_output_and_every_output_its_input(compiler: str) -> None:
    folder = Path(__file__).parent / compiler
    given, expected = (
        {path.relative_to(folder).as_posix().removesuffix(end) for path in folder.rglob(f"*{end}")}
        for end in (".in.yaml", ".out.yaml")
    )
    assert given == expected


def coverages(compiler: str) -> list[tuple[str, Coverage]]:
    """Of every world of a compiler."""
    given = [(case.given, options_of(case)) for case in ADMITTED if case.compiler == compiler]
    given += [(sample, ()) for sample in SAMPLES[compiler]]
    return [(path.name, watched(compiler, path, *options)[1]) for path, options in given]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_no_reaction_is_missing(compiler: str) -> None:
    assert [(name, missing) for name, found in coverages(compiler) for missing in found.missing] == []


def test_what_is_idle_in_contrails_map_are_the_ancestors_own_entries() -> None:
    assert {str(edge) for edge in {*idle("contrail"), *USED}} == {str(Edge(*edge)) for edge in redundant()}
    assert not {*idle("contrail")} & USED


def test_what_is_idle_in_ambassadors_map_no_golden_case_is_about() -> None:
    assert idle("ambassador") == UNTRIED


def idle(compiler: str) -> set[Edge]:
    """What is idle in every world."""
    worlds = [found for _, found in coverages(compiler)]
    times = Counter(use.edge for found in worlds for use in found.idle)
    return {edge for edge, count in times.items() if count == len(worlds)}
