"""LogService: a service that receives the access log by gRPC (docs/ambassador.md §4.3). There may be any number of them
(docs/ambassador.md §5.10).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from intentc import Claim, Context, Fact, Intent

from .http_gateway import LOG, LogSink, cluster_use, service_upstream
from .plain import mistake_in
from .settings.traffic import HeaderName
from .this_gateway import Unusable, ours, report_variables

_MOST_BYTES = 2**32 - 1


class LogServiceIntent(Intent):
    kind = "log_service"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        if not ours(self, ctx):
            return
        report_variables(self, ctx)
        try:
            if self.driver not in ("http", "tcp"):
                raise Unusable("InvalidDriver", f"driver {self.driver!r} is unknown; write http or tcp")
            if self.protocol_version != "v3":
                raise Unusable(
                    "UnsupportedProtocol", "protocol_version must be v3 (left out, it means v2); Envoy has no other"
                )
            used = service_upstream(self, ctx, "service", grpc=True, marker="logging")
        except Unusable as unusable:
            ctx.problem(unusable.reason, f"{unusable.message}; it gets no log")
            return
        headers = self._headers(ctx)
        yield cluster_use(self, "service", used)
        yield Fact(
            "http_filter",
            LOG,
            LogSink(
                log_name=self.name,
                cluster=used.name,
                driver=self.driver,
                flush_interval_ms=self._interval(ctx) * 1000,
                flush_bytes=self._flush_bytes(ctx),
                request_headers=tuple(one.header_name for one in headers if one.during_request),
                response_headers=tuple(one.header_name for one in headers if one.during_response),
                trailers=tuple(one.header_name for one in headers if one.during_trailer),
            ),
        )

    def _interval(self, ctx: Context) -> int:
        """Seconds; Envoy accepts only a positive number."""
        given: int = self.flush_interval_time
        if given < 1:
            ctx.problem("InvalidSetting", f"flush_interval_time {given} is less than a second; 1 is used")
        return max(given, 1)

    def _flush_bytes(self, ctx: Context) -> int:
        given: int = self.flush_interval_byte_size
        found = min(max(given, 0), _MOST_BYTES)
        if found != given:
            ctx.problem(
                "InvalidSetting", f"flush_interval_byte_size {given} is not from 0 to {_MOST_BYTES}; {found} is taken"
            )
        return found

    def _headers(self, ctx: Context) -> list[Any]:
        given = self.driver_config.additional_log_headers
        if given and self.driver == "tcp":
            ctx.problem("NoEffect", "driver_config.additional_log_headers has no effect for the driver tcp; remove it")
            return []
        found = []
        for position, one in enumerate(given):
            if mistake_in(one.header_name, HeaderName):
                message = f"driver_config.additional_log_headers[{position}]: {one.header_name!r} is not a header name"
                ctx.problem("InvalidHeader", f"{message}; it is left out")
            else:
                found.append(one)
        return found
