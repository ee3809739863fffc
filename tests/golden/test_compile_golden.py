"""Every golden pair of every compiler, through the whole of ``intentc compile``, which is run once for all tests of it.

What it prints is compared with the pair; every object is asked why it is there; and the shipped reaction maps are
compared with what these compiles and the samples read: no reaction is missing, idle ones are known.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from intentc.inspection.why import why
from intentc.loading.yaml import load_documents
from intentc.logic.coverage import Coverage, coverage
from intentc.logic.dependencies.reactions import Edge
from intentc.model import Name
from intentc.model.claims import claimed_parts
from intentc.offline import offline
from intentc.offline.offline import Offline
from intentc.planning import Planner
from tests.golden.comparing import Golden
from tests.golden.projection import projected
from tests.mutation.listed import redundant
from tests.support.forking import Ended
from tests.support.golden.cases import COMPILERS, Case, cases
from tests.support.golden.compiling import compiled

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


COVERAGES: dict[Path, Coverage] = {}
"""How the reaction map covers what intents read, of each file that was compiled."""


class Compiled(NamedTuple):
    """``ended``: what the command printed; ``offline``: the engine that it ran."""

    case: Case
    ended: Ended
    offline: Offline


def watched(compiler: str, given: Path, *options: str) -> tuple[Ended, Offline]:
    """A compile and its engine; notes the coverage."""
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
    assert one.engine.evaluator.missing_reactions == {}
    COVERAGES[given] = coverage(one.engine.world)
    return ended, one


def options_of(case: Case) -> tuple[str, ...]:
    return ("--config-file", str(case.configuration)) if case.configuration else ()


@pytest.fixture(scope="module", params=ADMITTED, ids=lambda case: case.name)
def world(request: pytest.FixtureRequest) -> Compiled:
    """Of the module, so that the tests of a case follow each other."""
    case: Case = request.param
    return Compiled(case, *watched(case.compiler, case.given, *options_of(case)))


def test_a_compile_prints_the_expected_output(world: Compiled, golden: Golden) -> None:
    assert world.ended.err == ""
    golden.check(world.case, projected(world.ended.document), authority=True)


@pytest.mark.anyio
async def test_every_written_field_has_a_reason_whose_sources_all_exist(world: Compiled) -> None:
    engine = world.offline.engine
    planner = engine.planner
    asked = 0
    for name in sorted(planner.book.names()):
        answer = await why(engine, name.kind, ":".join(name.fq_name), limit=1000)
        asked += 1
        shown = {part["part"] for part in answer["parts"]}
        for wanted in parts_claimed(planner, name):
            ours = wanted or answer["ownership"] in ("ours", "shared")
            within = any(part.startswith((f"{wanted}.", f"{wanted}[")) for part in shown)
            assert wanted in shown or within or not ours, wanted
        reasons = [reason for part in answer["parts"] for reason in part["reasons"]]
        assert all(source["revision"] for reason in reasons for source in reason["sources"])
        assert all(part["reasons"] for part in answer["parts"])
        assert len(msgspec.json.encode(answer)) <= 200_000
    assert asked


def parts_claimed(planner: Planner, name: Name) -> set[str]:
    """Everything of an object that is claimed: itself, fields, references."""
    found: set[str] = set()
    for claims in planner.book.on(name).values():
        for claim in claims:
            found.update(claimed_parts(claim))
    return found


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
    for path, options in given:
        if path not in COVERAGES:
            watched(compiler, path, *options)
    return [(path.name, COVERAGES[path]) for path, _ in given]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_no_reaction_is_missing(compiler: str) -> None:
    assert [(name, missing) for name, found in coverages(compiler) for missing in found.missing] == []


def test_idle_reactions_of_contrails_map_are_entries_of_its_predecessors() -> None:
    assert {str(edge) for edge in {*idle("contrail"), *USED}} == {str(Edge(*edge)) for edge in redundant()}
    assert not {*idle("contrail")} & USED


def test_what_is_idle_in_ambassadors_map_no_golden_case_is_about() -> None:
    assert idle("ambassador") == UNTRIED


def idle(compiler: str) -> set[Edge]:
    """What is idle in every world."""
    worlds = [found for _, found in coverages(compiler)]
    times = Counter(use.edge for found in worlds for use in found.idle)
    return {edge for edge, count in times.items() if count == len(worlds)}
