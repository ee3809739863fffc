"""AuthService: who is asked whether a request may pass (docs/ambassador.md §4.3).

The first says how: one of the gateway's own namespace, else the first by name. Others that say the same but for their
service join it: they are asked while the first has nobody to answer. One that differs is refused; if none is of the
gateway's namespace, nobody knows which is meant, and nobody passes. Nor if what the first says can't be done (spec
4.5).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from intentc import Claim, Context, Fact, Intent, View

from .ambassador_id import ours
from .elements import element, origin
from .envoy.joined_cluster import joined_cluster, joined_name
from .gateway.auth_reading import Auth, read_auth
from .gateway.gateway import AUTH, Misconfigured
from .reasons.clusters import joined
from .upstreams.gateway_namespace import gateway_namespace, in_order
from .upstreams.upstream import ClusterUse, Unusable
from .variables import report_variables


class AuthServiceIntent(Intent):
    kind = "auth_service"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        if not ours(self, ctx):
            return
        report_variables(self, ctx)
        services = list(in_order(self.kind, ctx))
        first = services[0]
        counts = first.key == self.key
        ambiguous = first.fq_name[0] != gateway_namespace(ctx)
        try:
            read = read_auth(self, ctx, ctx.problem)
        except Unusable as unusable:
            result = "nobody is let in until it is put right" if counts or ambiguous else "it has no effect"
            ctx.problem(unusable.reason, f"{unusable.message}; {result}")
            if counts:
                yield Fact("http_filter", AUTH, Misconfigured(self.kind, ":".join(self.fq_name)))
            return
        if not counts:
            agreed = _readable(first, ctx)
            if agreed is None or agreed.shape != read.shape:
                self._tell_different(ctx, first, agreed, "nobody is let in" if ambiguous else "this one has no effect")
            return
        others = [(other, _readable(other, ctx)) for other in services[1:]]
        agreeing = [(other, found) for other, found in others if found is not None and found.shape == read.shape]
        if ambiguous and len(agreeing) < len(others):
            different = next((other, found) for other, found in others if found is None or found.shape != read.shape)
            self._tell_different(ctx, *different, "nobody is let in")
            yield Fact("http_filter", AUTH, Misconfigured(self.kind, ":".join(self.fq_name)))
            return
        yield from self._filter(ctx, read, agreeing)

    def _tell_different(self, ctx: Context, other: View, found: Auth | None, result: str) -> None:
        """``found``: what the other says, None if it can't be used."""
        name = f"the AuthService {':'.join(other.fq_name)}"
        differs = f"this one differs from {name} in more than auth_service and stats_name"
        ctx.problem(
            "DifferentAuthService",
            f"{differs if found is not None else f'{name} can not be used'}; {result}. Make them agree, or delete one; "
            "one of the gateway's own namespace counts before all others",
        )

    def _filter(self, ctx: Context, read: Auth, agreeing: list[tuple[View, Auth]]) -> Iterable[Claim | Fact]:
        members: list[tuple[View, Auth]] = [(self, read), *agreeing]
        names = tuple(dict.fromkeys(found.upstream.name for _, found in members))
        for name in names:
            sharing = [(service, found) for service, found in members if found.upstream.name == name]
            origins = [origin(service, "auth_service") for service, _ in sharing]
            yield Fact("cluster", name, ClusterUse(sharing[0][1].upstream, tuple(sorted(origins))))
        auth = read.filter
        linkerd = next((found.linkerd for _, found in members if found.linkerd), ())
        if linkerd and not read.linkerd:
            auth = msgspec.structs.replace(auth, add_headers=(*auth.add_headers, *linkerd))
        if len(names) > 1:
            auth = msgspec.structs.replace(auth, cluster=joined_name(names))
            origins = [origin(service, "auth_service") for service, _ in members]
            yield element(
                self,
                ctx,
                "envoy_cluster",
                (auth.cluster,),
                joined_cluster(auth.cluster, names),
                origins,
                why=lambda: joined(ctx, names),
            )
        yield Fact("http_filter", AUTH, auth)


def _readable(service: View, ctx: Context) -> Auth | None:
    """What ``service`` says, None if it can't be used. What is wrong with it, it tells itself."""
    try:
        return read_auth(service, ctx, lambda reason, message: None)
    except Unusable:
        return None
