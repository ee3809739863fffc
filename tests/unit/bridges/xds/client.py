"""An Envoy client for tests: it asks over real gRPC and answers as the test says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import grpc.aio
from envoy.service.discovery.v3 import discovery_pb2

from intentc.bridges.xds.elements import Type
from tests.support.waiting import PATIENCE

_SERVICE = "/envoy.service.discovery.v3.AggregatedDiscoveryService"


class Client:
    """One stream. ``incremental``: its dialect."""

    def __init__(self, call: Any, incremental: bool) -> None:
        self._call = call
        self._incremental = incremental

    async def ask(self, kind: Type, *names: str) -> None:
        """Subscribe."""
        if self._incremental:
            await self._call.write(discovery_pb2.DeltaDiscoveryRequest(type_url=kind, resource_names_subscribe=names))
        else:
            await self._call.write(discovery_pb2.DiscoveryRequest(type_url=kind, resource_names=names))

    async def send(self, request: Any) -> None:
        """Any request."""
        await self._call.write(request)

    async def received(self) -> Any:
        """The next response."""
        with anyio.fail_after(PATIENCE):
            return await self._call.read()

    async def answer(self, response: Any, *names: str, error: str = "") -> None:
        """Take ``response``, or reject it with ``error``."""
        kind = discovery_pb2.DeltaDiscoveryRequest if self._incremental else discovery_pb2.DiscoveryRequest
        request = kind(type_url=response.type_url, response_nonce=response.nonce)
        if error:
            request.error_detail.code = 13
            request.error_detail.message = error
        if not self._incremental:
            request.resource_names.extend(names)
        await self._call.write(request)


@asynccontextmanager
async def connected(port: int, *, incremental: bool) -> AsyncIterator[Client]:
    """A stream to the server at ``port`` of loopback, over a connection of its own as each Envoy has."""
    own = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=own) as channel:
        method = "DeltaAggregatedResources" if incremental else "StreamAggregatedResources"
        request, response = (
            (discovery_pb2.DeltaDiscoveryRequest, discovery_pb2.DeltaDiscoveryResponse)
            if incremental
            else (discovery_pb2.DiscoveryRequest, discovery_pb2.DiscoveryResponse)
        )
        call = channel.stream_stream(
            f"{_SERVICE}/{method}",
            request_serializer=request.SerializeToString,
            response_deserializer=response.FromString,
        )()
        try:
            yield Client(call, incremental)
        finally:
            call.cancel()


def names(response: Any) -> set[str]:
    """Which clusters or route configurations a response brings."""
    found = set()
    for one in response.resources:
        packed = one.resource if hasattr(one, "resource") else one
        found.add(packed.value[2 : 2 + packed.value[1]].decode())
    return found
