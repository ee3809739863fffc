"""How a long-running command runs: the event loop, and a garbage collector that suits a large cache.

Why apart: both are the process's, not the engine's, which runs under any loop. uvloop halves what sending and waking
cost, and comes with uvicorn wherever it can be had. The collector's own figures are for small programs: with a world
of a hundred thousand resources it would go over all of them again and again and find nothing, since next to nothing
here is a cycle; that cost a fifth of a compile.
"""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import TypeVar, TypeVarTuple

import anyio

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")

_NEW_OBJECTS = 20_000
_OLDER = (20, 50)


def run_service(main: Callable[[*Arguments], Awaitable[Result]], *arguments: *Arguments) -> Result:
    """Run ``main`` to its end, as ``anyio.run`` does; what it returns or raises."""
    gc.set_threshold(_NEW_OBJECTS, *_OLDER)
    return anyio.run(main, *arguments, backend_options={"use_uvloop": not __import__("os").environ.get("NOUV")})
