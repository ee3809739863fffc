"""TracingService: the collector of request spans (docs/ambassador.md §4.3).

One takes effect: the gateway's own, otherwise the first by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from intentc import Claim, Context, Fact, Intent, View

from .http_gateway import TRACING, CustomTag, Tracing, cluster_use, service_upstream, takes_effect
from .plain import mistake_in
from .settings.module_settings import Path
from .settings.traffic import HeaderName
from .this_gateway import Unusable, ours, report_variables
from .upstreams.upstream import Upstream

_DRIVERS = ("zipkin", "datadog", "opentelemetry")
_ALL = 100
_COLLECTOR = "/api/v2/spans"
_SERVICE = "ambassador"
_ALLOWED_ENVIRONMENT = "ambassador.allowed_environment"
"""The setting with the variables of the gateway's environment that spans may show."""
_SOURCES = ("literal", "environment", "request_header")
_KNOWN = {
    "zipkin": {
        "collector_endpoint",
        "collector_endpoint_version",
        "collector_hostname",
        "trace_id_128bit",
        "shared_span_context",
    },
    "datadog": {"service_name", "collector_hostname"},
    "opentelemetry": {"service_name"},
}
"""The fields of ``config`` that each driver knows."""


class TracingServiceIntent(Intent):
    kind = "tracing_service"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        if not ours(self, ctx) or not takes_effect(self, ctx, "TracingService"):
            return
        report_variables(self, ctx)
        try:
            if self.driver not in _DRIVERS:
                raise Unusable(
                    "UnsupportedDriver",
                    f"Envoy has no driver {self.driver!r} any more; use one of {', '.join(_DRIVERS)}",
                )
            used = upstream_of(self, ctx)
        except Unusable as unusable:
            ctx.problem(unusable.reason, f"{unusable.message}; nothing is traced")
            return
        yield cluster_use(self, "service", used)
        yield Fact("http_filter", TRACING, self._tracing(ctx, used))

    def _tracing(self, ctx: Context, used: Upstream) -> Tracing:
        config, sampling = self.config, self.sampling
        for field in sorted(set(msgspec.to_builtins(config)) - _KNOWN[self.driver]):
            ctx.problem("NoEffect", f"config.{field} has no effect for the driver {self.driver}; remove it")
        return Tracing(
            driver=self.driver,
            cluster=used.name,
            service_name=self._text(ctx, "service_name") or _SERVICE,
            collector_endpoint=self._endpoint(ctx),
            collector_endpoint_version=self._version(ctx),
            collector_hostname=self._text(ctx, "collector_hostname"),
            trace_id_128bit=config.trace_id_128bit,
            shared_span_context=config.shared_span_context,
            client_sampling=_percent(sampling.client),
            random_sampling=_percent(sampling.random),
            overall_sampling=_percent(sampling.overall),
            custom_tags=tuple(self._tags(ctx)),
        )

    def _endpoint(self, ctx: Context) -> str:
        given: str = self.config.collector_endpoint or _COLLECTOR
        if not mistake_in(given, Path):
            return given
        ctx.problem("InvalidPath", f"config.collector_endpoint {given!r} is not a path; {_COLLECTOR} is used")
        return _COLLECTOR

    def _text(self, ctx: Context, field: str) -> str:
        given: str = getattr(self.config, field)
        if given.isprintable():
            return given
        ctx.problem("InvalidText", f"config.{field} {given!r} has characters that no name has; it is left out")
        return ""

    def _version(self, ctx: Context) -> str:
        given: str = self.config.collector_endpoint_version or "HTTP_JSON"
        if given not in ("HTTP_JSON", "HTTP_PROTO"):
            ctx.problem(
                "Unsupported",
                f"config.collector_endpoint_version {given!r}: Envoy has HTTP_JSON and HTTP_PROTO; HTTP_JSON is used",
            )
            return "HTTP_JSON"
        return given

    def _tags(self, ctx: Context) -> Iterator[CustomTag]:
        """``tag_headers`` come from older versions, and take effect while there are no ``custom_tags``."""
        if self.custom_tags and self.tag_headers:
            ctx.problem("IgnoredField", "tag_headers has no effect together with custom_tags; remove it")
        for position, given in enumerate(self.custom_tags):
            sources = [source for source in _SOURCES if getattr(given, source)]
            if not given.tag or len(sources) != 1:
                ctx.problem(
                    "InvalidTag",
                    f"custom_tags[{position}] needs tag, and exactly one of {', '.join(_SOURCES)}; it is left out",
                )
                continue
            source = getattr(given, sources[0])
            found = (
                CustomTag(given.tag, "literal", source.value)
                if sources[0] == "literal"
                else CustomTag(given.tag, sources[0], source.name, source.default_value)  # type: ignore[arg-type]
            )
            if self._usable(ctx, found, f"custom_tags[{position}]"):
                yield found
        if not self.custom_tags:
            for header in self.tag_headers:
                found = CustomTag(header, "request_header", header)
                if self._usable(ctx, found, "tag_headers"):
                    yield found

    def _usable(self, ctx: Context, found: CustomTag, where: str) -> bool:
        if found.source == "request_header" and mistake_in(found.value, HeaderName):
            ctx.problem("InvalidTag", f"{where}: {found.value!r} is not a header name; it is left out")
            return False
        if not all(text.isprintable() for text in (found.tag, found.value, found.default)):
            ctx.problem("InvalidTag", f"{where} has characters that can't stand in a tag; it is left out")
            return False
        if not found.value:
            ctx.problem("InvalidTag", f"{where} names nothing to take the tag from; it is left out")
            return False
        if found.source == "environment" and found.value not in map(str, ctx.setting(_ALLOWED_ENVIRONMENT, ()) or ()):
            message = f"{where}: {found.value!r} is a variable of the gateway's own process; it is left out"
            ctx.problem("ForbiddenTag", f"{message}. Write literal, or allow it in the setting {_ALLOWED_ENVIRONMENT}")
            return False
        return True


def upstream_of(service: View, ctx: Context) -> Upstream:
    """The upstream of a TracingService. Raises ``Unusable``."""
    return service_upstream(service, ctx, "service", grpc=service.driver == "opentelemetry", marker="tracing")


def _percent(given: int) -> int | None:
    """None if it is not set; a number above 100 means all."""
    return None if given < 0 else min(given, _ALL)
