"""A compiler that can't be imported is an error with the lines of its author; no help shows the environment."""

from __future__ import annotations

import pydoc
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from intentc import evaluation, plugins
from intentc.model import InvalidInput


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import nothing_of_this_name\n", "ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        ("compiler = undefined\n", "NameError: name 'undefined' is not defined"),
        ("def f():\n    raise TypeError('odd')\nf()\n", "TypeError: odd"),
        ("compiler = (\n", "SyntaxError: '(' was never closed"),
    ],
    ids=["missing module", "name", "raised", "syntax"],
)
def test_a_package_that_cannot_be_imported_is_an_error_with_the_authors_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, reason: str
) -> None:
    name = f"broken_{abs(hash(source))}"
    file = tmp_path / f"{name}.py"
    file.write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(
        plugins, "_offered", lambda: {"broken": EntryPoint("broken", f"{name}:compiler", plugins.GROUP)}
    )
    with pytest.raises(InvalidInput) as caught:
        plugins.find_compilers(["broken"])
    message = str(caught.value)
    assert f"compiler 'broken' can't be loaded: {reason}" in message
    assert f"{name}.py" in message and "line " in message
    assert "intentc/plugins.py" not in message


def test_the_help_of_a_package_shows_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "environ({" not in pydoc.plain(pydoc.render_doc(evaluation))


def test_no_function_has_the_environment_as_its_default() -> None:
    """Its help would print all variables, passwords included."""
    files = sorted(Path(evaluation.__file__).parents[1].rglob("*.py"))
    assert len(files) > 500
    assert [file for file in files if "= os.environ," in file.read_text() or "= os.environ)" in file.read_text()] == []
