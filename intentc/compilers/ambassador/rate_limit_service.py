"""RateLimitService: the service that limits request rates (docs/ambassador.md §4.3).

One takes effect: the gateway's own, otherwise the first by name. If it can't be asked, nothing is limited, unless it
sets ``failure_mode_deny``: then every request is rejected.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent, View

from .http_gateway import RATE_LIMIT, Misconfigured, RateLimitFilter, cluster_use, service_upstream, takes_effect
from .settings.module_settings import module_settings
from .this_gateway import Unusable, ours, report_variables
from .upstreams.upstream import Upstream


class RateLimitServiceIntent(Intent):
    kind = "rate_limit_service"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        if not ours(self, ctx) or not takes_effect(self, ctx, "RateLimitService"):
            return
        report_variables(self, ctx)
        try:
            if self.protocol_version != "v3":
                raise Unusable(
                    "UnsupportedProtocol", "protocol_version must be v3 (left out, it means v2); Envoy has no other"
                )
            used = upstream_of(self, ctx)
        except Unusable as unusable:
            closed = self.failure_mode_deny
            result = "all requests are rejected until it is fixed" if closed else "no request is limited"
            ctx.problem(unusable.reason, f"{unusable.message}; {result}")
            if closed:
                yield Fact("http_filter", RATE_LIMIT, Misconfigured(self.kind, ":".join(self.fq_name)))
            return
        yield cluster_use(self, "service", used)
        yield Fact(
            "http_filter",
            RATE_LIMIT,
            RateLimitFilter(
                cluster=used.name,
                domain=self.domain or module_settings(ctx).default_label_domain,
                timeout_ms=self.timeout_ms,
                failure_mode_deny=self.failure_mode_deny,
                resource_exhausted=self.grpc.use_resource_exhausted_code,
            ),
        )


def upstream_of(service: View, ctx: Context) -> Upstream:
    """The upstream of a RateLimitService. Raises ``Unusable``."""
    return service_upstream(service, ctx, "service", grpc=True, marker="", tls=service.tls)
