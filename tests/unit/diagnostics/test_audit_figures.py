"""The metrics of a service's own audits."""

from __future__ import annotations

from typing import Any

from prometheus_client import generate_latest

from intentc.diagnostics.metrics import compiler_metrics, registry_of


class Compiler:
    """A ``Process`` with a status of the test's making."""

    def __init__(self, **status: Any) -> None:
        self._status = status

    def healthy(self) -> bool:
        return True

    def ready(self) -> tuple[bool, tuple[str, ...]]:
        return True, ()

    def status(self) -> dict[str, Any]:
        return self._status

    def pending(self) -> list[dict[str, str]]:
        return []


def scraped(compiler: Compiler) -> str:
    return generate_latest(registry_of(lambda: compiler_metrics(compiler))).decode()


def test_runs_mismatches_and_the_last_success_are_shown() -> None:
    text = scraped(Compiler(audit={"runs": 3, "mismatches": 2, "last_success": 17.5, "last_result": "equal"}))
    for line in (
        "intentc_audit_runs_total 3.0",
        "intentc_audit_mismatches_total 2.0",
        "intentc_audit_last_success_timestamp_seconds 17.5",
    ):
        assert f"\n{line}\n" in text


def test_a_compiler_that_makes_no_audits_has_no_such_figures() -> None:
    assert "intentc_audit" not in scraped(Compiler())
