"""Small gRPC services that Envoy asks: external authorization, rate limits, access logs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import grpc.aio
from envoy.service.accesslog.v3 import als_pb2
from envoy.service.auth.v3 import external_auth_pb2
from envoy.service.ratelimit.v3 import rls_pb2

_LIMITED = rls_pb2.RateLimitResponse.OVER_LIMIT
_PASSED = rls_pb2.RateLimitResponse.OK
_CODE_OK, _CODE_DENIED = 0, 7
_ENDS_WITHIN_SECONDS = 0.1


class Asked:
    """``port``; the descriptors that were counted, as ``{key: value}``; the headers of the requests that were to be
    checked; the paths that were logged."""

    def __init__(self) -> None:
        self.port = 0
        self.counted: list[dict[str, str]] = []
        self.checked: list[dict[str, str]] = []
        self.logged: list[str] = []
        self.has_logged = anyio.Event()

    async def check(self, request: Any, _: Any) -> Any:
        headers = dict(request.attributes.request.http.headers)
        self.checked.append(headers)
        code = _CODE_OK if headers.get("x-who") == "friend" else _CODE_DENIED
        return external_auth_pb2.CheckResponse(status={"code": code})

    async def limit(self, request: Any, _: Any) -> Any:
        found = [{entry.key: entry.value for entry in one.entries} for one in request.descriptors]
        self.counted += found
        limited = any(one.get("tenant") == "greedy" for one in found)
        return rls_pb2.RateLimitResponse(overall_code=_LIMITED if limited else _PASSED)

    async def log(self, messages: Any, _: Any) -> Any:
        async for message in messages:
            self.logged += [entry.request.path for entry in message.http_logs.log_entry]
            self.has_logged.set()
        return als_pb2.StreamAccessLogsResponse()


@asynccontextmanager
async def grpc_services() -> AsyncIterator[Asked]:
    """All three on one free port of loopback."""
    asked = Asked()
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(
        (
            grpc.method_handlers_generic_handler(
                "envoy.service.auth.v3.Authorization",
                {
                    "Check": grpc.unary_unary_rpc_method_handler(
                        asked.check,
                        external_auth_pb2.CheckRequest.FromString,
                        external_auth_pb2.CheckResponse.SerializeToString,
                    )
                },
            ),
            grpc.method_handlers_generic_handler(
                "envoy.service.ratelimit.v3.RateLimitService",
                {
                    "ShouldRateLimit": grpc.unary_unary_rpc_method_handler(
                        asked.limit,
                        rls_pb2.RateLimitRequest.FromString,
                        rls_pb2.RateLimitResponse.SerializeToString,
                    )
                },
            ),
            grpc.method_handlers_generic_handler(
                "envoy.service.accesslog.v3.AccessLogService",
                {
                    "StreamAccessLogs": grpc.stream_unary_rpc_method_handler(
                        asked.log,
                        als_pb2.StreamAccessLogsMessage.FromString,
                        als_pb2.StreamAccessLogsResponse.SerializeToString,
                    )
                },
            ),
        )
    )
    asked.port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield asked
    finally:
        await server.stop(_ENDS_WITHIN_SECONDS)
