"""What contributors' tools read is right: hooks run ``make check``, CI runs ``.ci/run``, and no page leads nowhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGES = [str(page.relative_to(ROOT)) for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))]
EXAMPLES = {"test_farming.py", "farming/__init__.py", "intentc/v1"}
"""What looks like a file of this repository and is none: files that docs/authoring.md makes, and an ``apiVersion``."""
WORKFLOWS = ROOT / ".github" / "workflows"
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def test_hooks_run_what_make_check_runs() -> None:
    target = re.search(r"^check: .*\n((?:\t.+\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert target is not None
    commands = [line.strip().replace("$(BIN)", ".venv/bin") for line in target[1].splitlines()]
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repository["repo"] == "local"
    assert [hook["entry"] for hook in repository["hooks"]] == commands


def test_the_workflow_tests_every_supported_python() -> None:
    test = yaml.safe_load((WORKFLOWS / "ci.yml").read_text())["jobs"]["test"]
    assert [step["run"] for step in test["steps"] if "run" in step] == [".ci/run"]
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert (needed, test["strategy"]["matrix"]["python"]) == (">=3.11", ["3.11", "3.12", "3.13", "3.14"])


@pytest.mark.parametrize("path", sorted(WORKFLOWS.glob("*.yml")), ids=lambda path: path.name)
def test_workflows_name_actions_by_commit(path: Path) -> None:
    used = re.findall(r"uses: (\S+)", path.read_text())
    assert used
    assert [action for action in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action)] == []


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_forms_for_issues_can_be_read(path: Path) -> None:
    form = yaml.safe_load(path.read_text())
    if path.name == "config.yml":
        assert form == {"blank_issues_enabled": True}
        return
    assert {"name", "description", "body"} <= form.keys()
    for element in form["body"]:
        assert element["attributes"].keys() & {"label", "value"}


@pytest.mark.parametrize("name", PAGES)
def test_pages_lead_to_files_and_targets_that_exist(name: str) -> None:
    page = ROOT / name
    text = page.read_text()
    links = {link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link} - {""}
    assert [link for link in sorted(links) if not (page.parent / link).exists()] == []
    named = set(re.findall(r"`((?:tests|intentc|config|reactions|sample|docs)/[\w./-]+?)/?`", text)) - EXAMPLES
    assert [path for path in sorted(named) if "thing" not in path and not (ROOT / path).exists()] == []
    modules = set(re.findall(r"`((?:\w+/)+\w+\.py)`", text)) - EXAMPLES
    roots = (ROOT, ROOT / "intentc", page.parent)
    assert [
        path for path in sorted(modules) if "thing" not in path and not any((r / path).exists() for r in roots)
    ] == []
    tests = set(re.findall(r"`(test_\w+\.py)`", text)) - EXAMPLES
    assert tests <= {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make (\w+)`", text)) <= targets
