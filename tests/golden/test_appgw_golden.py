"""The golden pairs of the Application Gateway compiler: what a user applies, and the document that follows.

``tests/golden/appgw/<topic>/<case>.in.yaml`` has manifests, ``….out.yaml`` what the compiler adds to the document of a
gateway (tests/support/appgw/random_worlds.py has it), with ids shortened to ``collection/name``, and the problems. Rows
of docs/appgw.md §5 to §9 have a case each. The naive compile of tests/oracle/appgw.py is the second witness of each.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from intentc.loading.yaml import load_documents
from tests.golden.comparing import Golden
from tests.oracle.appgw import COLLECTIONS, Naive
from tests.support.appgw.random_worlds import ID, gateway
from tests.support.appgw.system import DocumentSystem
from tests.support.golden.cases import Case

pytestmark = pytest.mark.anyio
HERE = Path(__file__).parent / "appgw"
CASES = [
    Case(
        path.relative_to(HERE.parent).as_posix().removesuffix(".in.yaml"),
        path,
        path.with_name(path.name.replace(".in.", ".out.")),
    )
    for path in sorted(HERE.rglob("*.in.yaml"))
]


def manifests(case: Case) -> list[dict[str, Any]]:
    return [document.value for document in load_documents(case.given)]


def reduced(document: dict[str, Any], problems: set[tuple[str, str]]) -> dict[str, Any]:
    """What differs from the gateway, in a form that can be written by hand."""
    before = gateway()["properties"]
    found: dict[str, Any] = {}
    for collection in COLLECTIONS:
        old = [one for one in before.get(collection, ()) if collection != "frontendPorts"]
        entries = {
            one["name"]: _short(one["properties"]) for one in document["properties"][collection] if one not in old
        }
        if entries:
            found[collection] = dict(sorted(entries.items()))
    tags = {key: value for key, value in document["tags"].items() if key not in ("team", "managed-by-k8s-ingress")}
    return {
        **found,
        **({"tags": tags} if tags else {}),
        "problems": [f"{name} {why}" for name, why in sorted(problems)],
    }


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"id"}:
            return value["id"].removeprefix(f"{ID}/")
        return {key: _short(value[key]) for key in sorted(value) if key != "id"}
    return [_short(one) for one in value] if isinstance(value, list) else value


async def compiled(given: list[dict[str, Any]]) -> dict[str, Any]:
    system = DocumentSystem(gateway())
    await system.start()
    await system.put(*given)
    found = system.assembled()
    return reduced(found.document, system.problems(found))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_a_compile_gives_the_expected_document(case: Case, golden: Golden) -> None:
    golden.check(case, await compiled(manifests(case)), authority=True)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_the_order_of_the_input_does_not_matter(case: Case, golden: Golden) -> None:
    golden.check(case, await compiled(manifests(case)[::-1]))


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.name != "appgw/names/equal"], ids=lambda case: case.name
)
def test_the_naive_compile_gives_the_expected_document(case: Case, golden: Golden) -> None:
    """Except where two sources have one name, which it does not know."""
    naive = Naive(manifests(case), gateway())
    document = naive.compile()
    golden.check(case, reduced(document, naive.problems))


def test_every_topic_has_cases() -> None:
    topics = {case.topic for case in CASES}
    assert topics == {path.name for path in HERE.iterdir()}
    assert len(CASES) >= 50
    assert {path.name.replace(".out.", ".in.") for path in HERE.rglob("*.out.yaml")} == {
        case.given.name for case in CASES
    }
