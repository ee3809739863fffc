"""A Mapping contributes to the group of all Mappings with the same match; the group makes the route.

``routing/mapping_match.py`` reads what it matches, ``routing/mapping_action.py`` what it does. This intent decides
which route tables it belongs to (docs/ambassador.md §4.5, Host ↔ Mapping), and reports why a Mapping takes no part, and
which of its fields have no effect.

It reads and reports problems through ``ctx``, and yields facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from intentc import Claim, Context, Fact, Intent

from .faults import Faults
from .gateway.gateway import RATE_LIMIT, RateLimitFilter
from .hosts.crossing_wildcards import crossing_members
from .routing.hostnames import ANY
from .routing.mapping_action import MappingReader
from .routing.mapping_match import Authority, authority, match_of
from .routing.route_action import Forward, GroupMember, Redirect
from .routing.route_match import group_name
from .settings.module_settings import ModuleSettings, module_settings
from .this_gateway import ours
from .upstreams.upstream import Unusable
from .variables import report_variables

_UNSUPPORTED = ("error_response_overrides", "bypass_error_response_overrides", "outlier_detection", "envoy_override")
_OLD_VERSION = "getambassador.io/v1"


class MappingIntent(Intent):
    kind = "mapping"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        if not ours(self, ctx):
            return
        report_variables(self, ctx)
        self._report_unsupported(ctx)
        faults = Faults(ctx)
        yield from self._member(ctx, faults)
        yield from faults.facts()

    def _member(self, ctx: Context, faults: Faults) -> Iterator[Fact]:
        """Its share in the group of its match; nothing if it is not routed."""
        module = module_settings(ctx)
        try:
            host = authority(self)
            for ignored in host.fields[1:]:
                ctx.problem(
                    "IgnoredField", f"{ignored} has no effect together with {host.fields[0]}; remove one of them"
                )
            tables = self._tables(host)
            if not tables:
                message = "it names no hostname, and no Host selects it by labels; write hostname: '*' for all"
                faults.report(self, "NotAttached", message)
                return
            match = match_of(self, host, tables, module.regex_max_size)
        except Unusable as unusable:
            faults.report(self, unusable.reason, f"{unusable.message}; until then this Mapping is not routed")
            return
        reader = MappingReader(self, module, self._rate_limit_domain(ctx, module), ctx.problem)
        action: Forward | Redirect | None = None
        trouble = None
        try:
            action = reader.action()
        except Unusable as unusable:
            trouble = (unusable.reason, unusable.message)
        member = GroupMember(
            kind=self.kind,
            name=":".join(self.fq_name),
            match=match,
            action=action,
            trouble=trouble,
            weight=self.weight if self.weight >= 0 else None,
            shadow=self.shadow,
            stats_name=reader.stats_name,
        )
        yield Fact("mapping_group", group_name(match), member)
        yield from crossing_members(ctx, member)

    def _tables(self, host: Authority) -> tuple[str, ...]:
        """Its route tables: those of each Host that selects it, and, with a hostname, that of all other Hosts."""
        scopes = [":".join(selecting.fq_name) for selecting in self.mentioned_by("host", "selected")]
        if host.pattern is not None:
            scopes.append("")
        return tuple(sorted(f"{scope}|{host.pattern or ANY}" for scope in scopes))

    def _rate_limit_domain(self, ctx: Context, module: ModuleSettings) -> str:
        """Empty while no RateLimitService is in effect. It is read only if there is something to count."""
        if not self.rate_limit_labels and not module.default_labels:
            return ""
        service = ctx.fact("http_filter", RATE_LIMIT)
        return service.domain if isinstance(service, RateLimitFilter) else ""

    def _report_unsupported(self, ctx: Context) -> None:
        for field in _UNSUPPORTED:
            if self.field(field):
                ctx.problem("Unsupported", f"{field} has no effect; all else of this Mapping has (remove it)")
        if self.api_version == _OLD_VERSION:
            ctx.problem("OldVersion", f"{_OLD_VERSION} is read as v2; write getambassador.io/v3alpha1")
