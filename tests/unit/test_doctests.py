"""The examples in docstrings run, everything that authors call has one, and the README's intent is one that ships."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import intentc
from intentc.compilers.contrail.security_group import EGRESS, INGRESS, SecurityGroupIntent

ROOT = Path(__file__).parents[2]
FILES = sorted(path for path in (ROOT / "intentc").rglob("*.py") if ">>> " in path.read_text())
WITHOUT = {
    "Claim": "the union of the claims",
    "Compiled": "a protocol that the engine implements; Overview and Naming show it",
    "Row": "a dict",
    "View": "made by a Context, which shows it",
    "Waiting": "raised by a Context",
    "drop_references": "takes views, which only an evaluation has",
    "keep_references": "takes a view, which only an evaluation has",
}
"""What authors import and why it has no example of its own."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_in_docstrings_are_true(path: Path) -> None:
    module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    done = doctest.testmod(module)
    assert done.attempted > 0
    assert done.failed == 0, f"python -m doctest -v {path.relative_to(ROOT)} shows what differs"


@pytest.mark.parametrize("name", sorted(set(intentc.__all__) - WITHOUT.keys()))
def test_what_authors_call_has_an_example(name: str) -> None:
    assert ">>> " in (inspect.getdoc(getattr(intentc, name)) or "")


def test_what_has_no_example_is_part_of_the_api() -> None:
    assert WITHOUT.keys() <= set(intentc.__all__)


def test_the_intent_in_the_readme_is_the_one_that_ships() -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    rules = SimpleNamespace(ingress=[], egress=[])
    scope: dict[str, Any] = {"Intent": intentc.Intent, "acl_rules": lambda intent, ctx: rules}
    exec(block, scope)
    shown = scope["SecurityGroupIntent"]
    resource = SimpleNamespace(child=lambda kind, name, **properties: (kind, name, *properties))
    field = "access_control_list_entries"
    assert shown.kind == SecurityGroupIntent.kind
    assert list(shown.evaluate(resource, None)) == [
        ("access_control_list", INGRESS, field),
        ("access_control_list", EGRESS, field),
    ]
