"""Explains what a listener demands of clients: each of its ``guards``.

They follow from an AuthService, a RateLimitService that denies when it fails, the Module's address lists, and Hosts
that require certificates.

It reads through ``ctx`` alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from intentc import Context, Source

from ..elements import PartReasons, Sources
from ..hosts.host_binding import HostBinding
from ..plain import plain
from ..settings.module_settings import MODULE_NAME
from ..this_gateway import ours
from .tls import of_host


def guard_parts(ctx: Context, guards: list[str]) -> PartReasons:
    """The reasons for each of a listener's ``guards``, by its index."""
    for position, guard in enumerate(guards):
        sort, _, hostname = guard.partition(" ")
        for sources in _sources(ctx, sort, hostname):
            yield f"guards[{position}]", sources


def _sources(ctx: Context, sort: str, hostname: str) -> Iterator[Sources]:
    match sort:
        case "auth":
            yield from ((Source.of(one),) for one in ctx.all("auth_service") if ours(one, ctx))
        case "rate-limit-deny":
            for one in ctx.all("rate_limit_service"):
                if one.failure_mode_deny and ours(one, ctx):
                    yield (Source.of(one, "failure_mode_deny"),)
        case "ip":
            for module in ctx.all("module"):
                given = plain(module.config)
                if module.name == MODULE_NAME and isinstance(given, dict) and ours(module, ctx):
                    for key in ("ip_allow", "ip_deny"):
                        if key in given:
                            yield (Source.of(module, f"config.{key}"),)
        case _:
            bindings: set[HostBinding] = {binding for _, binding in ctx.contributions("hostname", hostname)}
            for binding in sorted(bindings, key=lambda one: one.name):
                if binding.tls is not None and binding.tls.required:
                    yield (Source(binding.kind, binding.name), *of_host(ctx, binding))
