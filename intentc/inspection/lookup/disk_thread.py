"""Runs reads that may hang, on a lost disk or a network file system, in daemon threads with a time limit.

Why not the worker threads of asyncio or anyio: the interpreter joins them at exit, so a hung read would also hang a
process that was asked to end. After the time limit the caller goes on without the result.

State: how many threads run, 8 at most.
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
"""Threads at once, including those that hang."""
_FREE = threading.BoundedSemaphore(_MOST)


async def run_on_disk_thread(call: Callable[[], Result], *, name: str, within: float) -> Result:
    """Run ``call`` in a thread called ``name`` and return its result. Raises what ``call`` raises; ``TimeoutError``
    after ``within`` seconds, and at once if no thread can be started or too many hang already. An abandoned ``call``
    goes on: it must not change anything that others see."""
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
            failure = error  # raised in the caller's task
        finally:
            _FREE.release()
        with suppress(RuntimeError):  # the loop is closed: no caller is left
            loop.call_soon_threadsafe(settle, result, failure)

    try:
        threading.Thread(target=run, name=name, daemon=True).start()
    except RuntimeError as error:
        _FREE.release()
        raise TimeoutError(str(error)) from None
    with anyio.fail_after(within):
        return await done
