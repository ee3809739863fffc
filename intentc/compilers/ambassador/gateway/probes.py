"""The gateway's own paths: liveness, readiness and diagnostics (docs/ambassador.md §4.5, §4.6).

Without a service, Envoy answers the probes itself, for every host and every client: a filter does it, so that no route
and no guard interferes. Envoy has no answer for diagnostics: they are served next to the gateway, locally, and a Module
must name a service to publish them.

It reads and reports problems through ``ctx``, and returns facts.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Context, Fact, Intent

from ..routing.route_action import Forward, GroupMember, Share, Treatment
from ..routing.route_match import RouteMatch, group_name
from ..settings.module_settings import ModuleSettings, Probe
from ..upstreams.upstream import Unusable
from .gateway_service import service_target

_PATHS = {
    "liveness_probe": "/ambassador/v0/check_alive",
    "readiness_probe": "/ambassador/v0/check_ready",
    "diagnostics": "/ambassador/v0/",
}
_EVERY_HOST = "|*"
_TIMEOUT_MS = 10_000


def own_paths(settings: ModuleSettings) -> dict[str, Probe]:
    """The Module's key → the path that it opens, for those that are enabled, with defaults filled in."""
    found: dict[str, Probe] = {}
    for name, path in _PATHS.items():
        probe: Probe = getattr(settings, name)
        if probe.enabled:
            found[name] = Probe(True, probe.prefix or path, probe.rewrite or path, probe.service)
    return found


def answered(settings: ModuleSettings) -> dict[str, str]:
    """The Module's key → the path that Envoy answers itself."""
    return {
        name: probe.prefix for name, probe in own_paths(settings).items() if not probe.service and name != "diagnostics"
    }


def asked_elsewhere(settings: ModuleSettings) -> dict[str, Probe]:
    """The Module's key → the path that a service answers."""
    return {name: probe for name, probe in own_paths(settings).items() if probe.service}


def probe_routes(module: Intent, ctx: Context, settings: ModuleSettings) -> Iterable[Fact]:
    """Yields the routes of the paths that services answer, as Mappings would. A path with a problem, which is reported
    on the ``module``, is omitted."""
    for name, probe in asked_elsewhere(settings).items():
        match = RouteMatch(tables=(_EVERY_HOST,), path=probe.prefix, authority="*")
        try:
            target = service_target(module, probe.service, settings)
        except Unusable as unusable:
            ctx.problem(unusable.reason, f"config.{name}.service: {unusable.message}; {probe.prefix} is not answered")
            continue
        member = GroupMember(
            kind=module.kind,
            name=":".join(module.fq_name),
            match=match,
            action=Forward(Share(target), treatment=Treatment(prefix_rewrite=probe.rewrite, timeout_ms=_TIMEOUT_MS)),
            fields=(f"config.{name}.prefix", f"config.{name}.service"),
        )
        yield Fact("mapping_group", group_name(match), member)
