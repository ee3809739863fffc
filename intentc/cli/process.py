"""How a long-running command runs: with a garbage collector that suits a large cache, and with evaluations that end.

Why apart: collector, timers and signals are the process's, not the engine's. The collector's own figures are for small
programs: over a world of a hundred thousand resources it goes again and again and finds nothing, since next to nothing
here is a cycle. That was a fifth of a compile's CPU (docs/benchmarks.md).
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
    """Run ``main`` to its end, as ``anyio.run`` does; what it returns or raises. An evaluation that doesn't end is cut
    off; one that can't be, since it holds the interpreter, ends the process."""
    from intentc.evaluation import PROCESS, Watchdog

    gc.set_threshold(_NEW_OBJECTS, *_OLDER_GENERATIONS)
    with PROCESS.enforced(watchdog=Watchdog()):
        return anyio.run(main, *arguments)
