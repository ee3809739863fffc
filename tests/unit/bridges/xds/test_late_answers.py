"""What gRPC reports of a test's streams after the test does not fail the next one."""

from __future__ import annotations

import pytest
from grpc._cython import cygrpc

from tests.unit.bridges.xds.late_answers import LoopWithStreams


def test_a_closed_loop_drops_callbacks_of_grpc_and_no_others() -> None:
    loop = LoopWithStreams()
    loop.close()
    loop.call_soon_threadsafe(cygrpc._handle_callback_wrapper, None, 1)
    with pytest.raises(RuntimeError, match="Event loop is closed"):
        loop.call_soon_threadsafe(print)
