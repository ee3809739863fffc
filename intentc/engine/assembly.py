"""Builds the stages, and an engine over them, from the loaded compilers, the two services of ``writing``, and settings.

The service (HTTP), the audit, and the offline compile with the tests of intents (memory) differ only in what they pass
in here; ``engine.py`` is the same for all. Others read the configuration.

It makes an engine and its stages, and starts nothing; opening connections is the caller's business.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from ..evaluation import Runner
from ..evaluation.crash_marker import CrashMarker
from ..journal import Journal
from ..logic import Service
from ..model import Key
from ..planning import Assumed, ClaimBook, DeleteGuard, Planner
from ..plugins import Loaded
from ..writing import ReadService, WriteService
from .api_throttle import ApiThrottle
from .applier import LastGoodValues
from .drift import Drift
from .engine import Engine
from .permission import Permission
from .state_tables import StateTables
from .status_pace import StatusPace


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
    workers: int = 4,
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
    states = StateTables()
    book = ClaimBook()
    assumed = Assumed(schema, logic, clock)

    def held(origin: Key) -> bool:
        return states.is_held(origin) or (origin in logic.held and origin not in states.dropped)

    return Engine(
        installation=installation,
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
        book=book,
        assumed=assumed,
        planner=Planner(schema, installation, loaded.compiler_of_kind, book, assumed, held, guard, loaded.finalizers),
        writer=writer,
        reader=reader,
        journal=Journal(journal_size, journal_bytes, writer=f"{installation}/{process}"),
        states=states,
        permission=Permission(observe=observe),
        throttle=ApiThrottle(writes_per_second),
        drift=Drift(clock),
        status_pace=StatusPace(status_interval, clock),
        names=loaded.names,
        workers=workers,
        last_good=last_good,
    )
