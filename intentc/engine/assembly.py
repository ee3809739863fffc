"""Builds the stages, and an engine over them, from the loaded compilers, the two services of ``writing``, and settings.

The service (HTTP), the audit, and the offline compile with the tests of intents (memory) differ only in what they pass
in here; ``engine.py`` is the same for all. Others read the configuration.

It starts nothing; the caller opens the connections.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from ..evaluation import Runner
from ..evaluation.crash_marker import CrashMarker
from ..journal import Journal
from ..logic import Service
from ..planning import Assumed, ClaimBook, DeleteGuard, Planner
from ..plugins import Loaded
from ..writing import ReadService, WriteService
from .api_throttle import ApiThrottle
from .applier import LastGoodValues
from .drift import Drift
from .engine import Engine
from .marked_objects import Marks
from .object_planner import StatusPace
from .objects import Objects
from .permission import Permission
from .state_tables import StateTables


def assemble(
    loaded: Loaded,
    writer: WriteService,
    reader: ReadService,
    *,
    installation: str,
    settings: Mapping[str, Any] | None = None,
    observe: bool = False,
    healing: bool = True,
    clock: Callable[[], float] = time.monotonic,
    writes_per_second: float = 0.0,
    status_interval: float = 0.0,
    crash_marker: CrashMarker | None = None,
    journal_size: int = 10_000,
    journal_bytes: int = 32_000_000,
    process: str = "",
    guard: DeleteGuard | None = None,
    last_good: LastGoodValues | None = None,
) -> Engine:
    """An engine over these stages, not yet running. ``clock``: seconds, monotonic. ``writes_per_second``: 0 for no
    limit. ``status_interval``: seconds between two writes of one object's status, 0 for no limit. ``crash_marker``:
    where the key under evaluation is noted. ``journal_size`` and ``journal_bytes``: the number of lines, and the
    approximate memory, that the journal keeps. ``process``: the name that distinguishes this process from others of
    the installation. ``last_good``: what was known of held resources before the start."""
    schema, intents = loaded.schema, loaded.intents
    logic = Service(
        schema,
        loaded.reactions,
        intent_kinds={kind: intent.trust == "reactions" for kind, intent in intents.items()},
        settings=settings or {},
        healing=healing,
        installation=installation,
    )
    states = StateTables(logic.held)
    objects = Objects()
    assumed = Assumed(schema, logic, clock)
    marks = Marks(assumed, objects)
    return Engine(
        logic=logic,
        runner=Runner(
            schema,
            intents,
            logic,
            installation=installation,
            crash_marker=crash_marker,
            finalizers=loaded.finalizers,
            kinds_in_order=loaded.kinds_in_order,
        ),
        planner=Planner(
            schema,
            installation,
            loaded.compiler_of_kind,
            ClaimBook(),
            assumed,
            states.must_stay,
            guard,
            loaded.finalizers,
            marks.of,
        ),
        writer=writer,
        reader=reader,
        journal=Journal(journal_size, journal_bytes, writer=f"{installation}/{process}"),
        states=states,
        objects=objects,
        marks=marks,
        permission=Permission(observe=observe),
        throttle=ApiThrottle(writes_per_second),
        drift=Drift(clock),
        status_pace=StatusPace(status_interval, clock),
        names=loaded.names,
        last_good=last_good,
    )
