"""An event loop that drops what gRPC reports of a test's streams after the test.

gRPC has one poller for all loops of a process. What it reports of a cancelled stream may come when the stream's loop is
closed; then ``call_soon_threadsafe`` raises in the loop of the next test, which fails although it did nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import TypeVarTuple

Arguments = TypeVarTuple("Arguments")


class LoopWithStreams(asyncio.SelectorEventLoop):
    """Once it is closed, callbacks of gRPC are dropped. All others raise, as in any loop."""

    def call_soon_threadsafe(
        self,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.Handle:
        if self.is_closed() and (getattr(callback, "__module__", None) or "").startswith("grpc."):
            return asyncio.Handle(callback, args, self, context)
        return super().call_soon_threadsafe(callback, *args, context=context)
