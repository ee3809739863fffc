"""What a watch on etcd raises if its stream ends while it is opened."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import grpc.aio
import pytest
from pytest_mock import MockerFixture

from intentc.reconcile.failures import Unavailable
from intentc.watch.etcd import EtcdWatch

pytestmark = pytest.mark.anyio


async def test_a_stream_that_ends_between_two_writes_says_what_ended_it(mocker: MockerFixture) -> None:
    reset: Any = grpc.aio.AioRpcError(
        grpc.StatusCode.UNAVAILABLE, grpc.aio.Metadata(), grpc.aio.Metadata(), details="Connection reset by peer"
    )
    call = mocker.Mock()
    call.write = mocker.AsyncMock(side_effect=[None, asyncio.InvalidStateError("RPC already finished.")])
    call.read = mocker.AsyncMock(side_effect=reset)
    channel = mocker.Mock()
    channel.stream_stream.return_value.return_value = call
    connections = mocker.Mock(timeout=5.0)
    connections.metadata = mocker.AsyncMock(return_value=())

    with pytest.raises(Unavailable, match="Connection reset by peer"):
        await EtcdWatch(connections, channel, ("/a/", "/b/")).open(1)
