"""A setting that no compiler reads is an error with its place, and each compiler declares what it reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import intentc.compilers
from intentc.loading.configuration import load
from intentc.model import InvalidInput
from intentc.plugins import check_settings, find_compilers, installed

_READ = re.compile(r"\bsetting\(")


@pytest.mark.parametrize("name", ["contrail", "ambassador"])
def test_a_compiler_declares_every_setting_that_it_reads(name: str) -> None:
    (compiler,) = find_compilers([name])
    folder = Path(intentc.compilers.__path__[0]) / name
    named = re.compile(rf'"({name}\.[a-z_]+)"')
    sources = [path.read_text() for path in folder.rglob("*.py")]
    read = {found for source in sources if _READ.search(source) for found in named.findall(source)}
    assert set(compiler.settings or ()) == read


@pytest.mark.parametrize(
    ("compilers", "setting", "said"),
    [
        ("ambassador", "ambassador.ids", "did you mean ambassador.id"),
        ("contrail, ambassador", "allowed_targets", "unknown setting intentc.settings.allowed_targets"),
        ("contrail", "contrail.x", "no compiler in use (contrail) reads it"),
        ("contrail", "appgateway.x", "no compiler in use"),
    ],
)
def test_an_unknown_setting_is_rejected_with_its_line(tmp_path: Path, compilers: str, setting: str, said: str) -> None:
    path = tmp_path / "contrail.yml"
    path.write_text(f"intentc:\n  compilers: [{compilers}]\n  settings:\n    {setting}: x\n")
    with pytest.raises(InvalidInput) as error:
        installed(load(path, {}).configuration)
    assert str(error.value).startswith(f"{path}:4: ")
    assert said in str(error.value)


def test_settings_of_an_unused_compiler_are_accepted() -> None:
    (contrail,) = find_compilers(["contrail"])
    check_settings({"ambassador.id": "x"}, [contrail])
    (undeclared,) = find_compilers(["ambassador"])
    names, undeclared.settings = undeclared.settings, None
    try:
        check_settings({"ambassador.whatever": "x", "other": 1}, [undeclared])
    finally:
        undeclared.settings = names


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("intentc: {compilers: []}", "intentc.compilers: no compiler"),
        ("intentc: {schemas: [/nope]}", "intentc.schemas: "),
    ],
)
def test_no_compiler_and_no_folder_are_rejected(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "contrail.yml"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=f"^{said}"):
        installed(load(path, {}).configuration)
