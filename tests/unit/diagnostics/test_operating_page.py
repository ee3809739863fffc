"""``docs/operating.md`` documents exactly the metrics that exist, and its example alerts use only these.

Each metric has a value in the status of a running service.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from intentc.apiserver.health import SIZE, USED
from intentc.bridges.azure.serving import metrics as metrics_of_publisher
from intentc.bridges.kubernetes.bridge_status import metrics as metrics_of_bridge
from intentc.bridges.xds.metrics import Figures
from intentc.diagnostics.metrics import BUILD, COUNTERS, GAUGES, READY, RELOAD_REJECTED, ROLE, registry_of
from intentc.diagnostics.metrics import compiler_metrics as metrics_of_compiler
from intentc.loading.yaml import load_yaml
from intentc.service.audits import PeriodicAudit
from tests.support.box_system import BoxSystem
from tests.unit.engine.conftest import box_system
from tests.unit.service.compiler_service import service_of

__all__ = ["box_system"]

PAGE = (Path(__file__).parents[3] / "docs" / "operating.md").read_text()
DOCUMENTED = {(name, kind) for name, kind in re.findall(r"^\| `(intentc_\w+)`[^|]*\| (\w+) \|", PAGE, re.MULTILINE)}
NEEDS_FILES = {"journal.files.failures", "journal.files.lost"}
"""Reported only with ``intentc.journal.directory``."""


def compiler_metrics() -> set[tuple[str, str]]:
    gauges = {figure.name for figure in GAUGES} | {READY, ROLE, RELOAD_REJECTED, BUILD}
    return {(name, "gauge") for name in gauges} | {(f"{figure.name}_total", "counter") for figure in COUNTERS}


def xds_metrics() -> set[tuple[str, str]]:
    figures = Figures(lambda: {"streams": 0, "silent_streams": 0, "elements": {"all": 0, "rejected": 0, "held": 0}})
    return {
        (f"{family.name}_total" if family.type == "counter" else family.name, family.type)
        for family in figures.registry.collect()
        if family.name.startswith("intentc_")
    }


def bridge_metrics() -> set[tuple[str, str]]:
    problems = {"watch": "watching", "error": "", "present": 0, "reported": 0}
    kubernetes = metrics_of_bridge({"leading": True, "kinds": {}, "counters": {}, "problems": problems})
    publisher = metrics_of_publisher(
        {"leading": True, "converged": True, "documents": 0, "contended": [], "counters": {}}
    )
    return {
        (f"{family.name}_total" if family.type == "counter" else family.name, family.type)
        for family in (*kubernetes, *publisher)
    }


def api_server_metrics() -> set[tuple[str, str]]:
    return {(name, "gauge") for name in (SIZE, USED)}


def known_metrics() -> set[tuple[str, str]]:
    return compiler_metrics() | xds_metrics() | bridge_metrics() | api_server_metrics()


def test_every_metric_is_reported_and_no_other() -> None:
    assert known_metrics() == DOCUMENTED


def test_metrics_have_their_exposed_names_in_every_document() -> None:
    root = Path(__file__).parents[3]
    known = {name for name, _ in known_metrics()} | {"intentc_audit_"}
    for page in (root / "README.md", *(root / "docs").rglob("*.md")):
        named = set(re.findall(r"\bintentc_\w+", page.read_text()))
        assert named <= known, f"{page}: {named - known}"


def alerts() -> list[dict[str, Any]]:
    (text,) = re.findall(r"^```yaml\n(groups:.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    groups: list[dict[str, Any]] = load_yaml(text).value["groups"]
    return [rule for group in groups for rule in group["rules"]]


def test_alerts_that_wait_for_a_small_value_show_also_when_nobody_is_there() -> None:
    now = [rule["expr"] for rule in alerts()[: [rule["alert"] for rule in alerts()].index("IntentcBehind")]]
    assert 'up{job="intentc"} == 0 or absent(up{job="intentc"})' in now
    for expression in now:
        (name,) = set(re.findall(r"intentc_\w+|up\{[^}]*\}", expression))
        assert f"or absent({name})" in expression, "an expression over no series is no alert"


def test_an_audit_is_overdue_only_where_there_are_to_be_any() -> None:
    (expression,) = [rule["expr"] for rule in alerts() if rule["alert"] == "IntentcAuditOverdue"]
    assert "intentc_audit_period_seconds > 0" in expression
    assert "> 4 * intentc_audit_period_seconds" in expression


def test_the_alerts_are_rules_over_metrics_that_exist() -> None:
    rules = alerts()
    assert len({rule["alert"] for rule in rules}) == len(rules) >= 10
    names = {name for name, _ in DOCUMENTED}
    for rule in rules:
        used = set(re.findall(r"intentc_\w+", rule["expr"]))
        assert used or rule["expr"].startswith("up{"), rule
        assert used <= names, rule
        assert rule["annotations"]["summary"]
        counters = {name for name in used if name.endswith("_total")}
        assert all(f"increase({name}[" in rule["expr"] for name in counters), "a counter alone says nothing"
        born_at_1 = counters & {f"{figure.name}_total" for figure in COUNTERS if figure.label}
        assert all(f"({name} unless {name} offset " in rule["expr"] for name in born_at_1), "the first is no increase"


@pytest.mark.anyio
async def test_each_metric_stands_for_what_a_service_reports(box_system: BoxSystem) -> None:
    async def spawn() -> Any:
        raise AssertionError("nobody audits here")

    service = service_of(box_system, elected=True, auditing=PeriodicAudit(box_system.engine, spawn))
    missing = [figure.place for figure in (*GAUGES, *COUNTERS) if _at(service.status(), figure.place) is None]
    # Before it has listed, the lag and both verdicts are unknown; fences, before the server has answered.
    assert set(missing) - NEEDS_FILES == {"lag_revisions", "api_server.fences", "converged", "healthy"}
    registry = registry_of(lambda: metrics_of_compiler(service))
    assert registry.get_sample_value("intentc_role", {"role": "standby"}) == 1.0
    assert registry.get_sample_value("intentc_reload_rejected") == 0.0


def _at(status: Any, place: str) -> Any:
    for key in place.split("."):
        status = status.get(key) if isinstance(status, dict) else None
    return status


def test_the_ten_questions_are_ten() -> None:
    questions = re.findall(r"^\*\*(\d+)\. .*\?\*\*", PAGE, re.MULTILINE)
    assert questions == [str(number) for number in range(1, 11)]


def test_every_command_that_is_named_exists() -> None:
    from intentc.cli.entry import COMMANDS

    named = set(re.findall(r"(?:`|\$ )intentc ([a-z][a-z-]*)", PAGE))
    assert named <= COMMANDS.keys()
    assert {"why", "status", "audit", "check", "quarantine", "plan"} <= named
