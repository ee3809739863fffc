"""What ``/status`` shows of an engine, for tests that run one without a service."""

from __future__ import annotations

from typing import Any

from intentc.engine.engine import Engine
from intentc.inspection.status_tables import report


def engine_status(engine: Engine) -> dict[str, Any]:
    return report(engine, converged=engine.converged)
