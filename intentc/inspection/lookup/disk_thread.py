"""Reading that may hang (a disk that is gone, a network's file system) beside the loop, so that nothing waits for it.

Why not the worker threads of asyncio or anyio: the interpreter joins them at its end, and a process that was asked to
end would hang with them. These are daemons: who asked goes on without them, and so does the process.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import anyio

Result = TypeVar("Result")

_MOST = 8
"""Threads at once, those that hang included."""
_FREE = threading.BoundedSemaphore(_MOST)


async def aside(call: Callable[[], Result], *, name: str, within: float) -> Result:
    """What ``call`` returns or raises, in a thread called ``name``. Raises ``TimeoutError`` after ``within`` seconds,
    and at once if no thread can be had, or too many hang already. A ``call`` that is given up goes on: it must change
    nothing that others see."""
    if not _FREE.acquire(blocking=False):
        raise TimeoutError(f"{_MOST} others have not ended")
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Result] = loop.create_future()

    def settle(result: Result | None, error: Exception | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, failure = None, None
        try:
            result = call()
        except Exception as error:
            failure = error  # told to who asked
        finally:
            _FREE.release()
        with suppress(RuntimeError):  # the loop is closed: nobody is left to be told
            loop.call_soon_threadsafe(settle, result, failure)

    try:
        threading.Thread(target=run, name=name, daemon=True).start()
    except RuntimeError as error:
        _FREE.release()
        raise TimeoutError(str(error)) from None
    with anyio.fail_after(within):
        return await done
