"""Every golden pair of every compiler, through the whole of ``intentc compile``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from intentc.loading.yaml import load_documents
from tests.support.golden.cases import COMPILERS, Case, cases
from tests.support.golden.comparing import Golden
from tests.support.golden.compiling import compiled
from tests.support.golden.projection import projected

CASES = [case for compiler in COMPILERS for case in cases(compiler)]
ADMITTED = [case for case in CASES if not case.as_stored]
REJECTED = [case for case in CASES if case.as_stored]


@pytest.mark.parametrize("case", ADMITTED, ids=lambda case: case.name)
def test_a_compile_prints_the_expected_output(case: Case, golden: Golden) -> None:
    options = ("--config-file", str(case.configuration)) if case.configuration else ()
    ended = compiled(case.compiler, case.given, options=options)
    assert (ended.code, ended.err) == (0, "")
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
