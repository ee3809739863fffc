"""Runs a long-running command with a garbage collector tuned for a large cache, and a watchdog for evaluations.

Why apart: collector, timers and signals belong to the process, not to the engine. The collector's defaults suit small
programs: over a hundred thousand resources it runs often and finds nothing, since hardly anything here is a cycle. That
was a fifth of a compile's CPU (docs/benchmarks.md).
"""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable
from typing import TypeVar, TypeVarTuple

import anyio

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")

_NEW_OBJECTS = 20_000
_OLDER_GENERATIONS = (20, 50)


def run_service(main: Callable[[*Arguments], Awaitable[Result]], *arguments: *Arguments) -> Result:
    """Run ``main`` to its end, like ``anyio.run``. An evaluation over its budget is cut off; if it holds the
    interpreter and can't be cut off, the process ends."""
    from intentc.evaluation import PROCESS, Watchdog

    gc.set_threshold(_NEW_OBJECTS, *_OLDER_GENERATIONS)
    with PROCESS.enforced(watchdog=Watchdog()):
        return anyio.run(main, *arguments)
