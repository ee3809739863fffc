"""AuthService: decides which service authorizes requests (docs/ambassador.md §4.3).

The first AuthService sets the rules: the first in the gateway's own namespace, otherwise the first by name. Others join
it if they differ only in their service, its ``stats_name`` and Linkerd's header: they are asked while the first has no
endpoint, by a joined cluster. One that differs otherwise is rejected; if none is in the gateway's namespace, it is
ambiguous which one is meant, and every request is rejected. The same happens if the first one asks for something
impossible (docs/ambassador.md §4.5).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from intentc import Claim, Context, Fact, Intent, Source, View

from .auth_reading import Auth, read_auth
from .envoy.clusters import joined_cluster, joined_name
from .envoy_elements import element
from .http_gateway import AUTH, Misconfigured
from .reasons.used_clusters import joined
from .this_gateway import Unusable, gateway_namespace, in_order, ours, report_variables
from .upstreams.upstream import ClusterUse


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
            result = "all requests are rejected until it is fixed" if counts or ambiguous else "it has no effect"
            ctx.problem(unusable.reason, f"{unusable.message}; {result}")
            if counts:
                yield Fact("http_filter", AUTH, Misconfigured(self.kind, ":".join(self.fq_name)))
            return
        if not counts:
            agreed = _readable(first, ctx)
            if agreed is None or agreed.shape != read.shape:
                self._report_different(
                    ctx, first, agreed, "all requests are rejected" if ambiguous else "this one has no effect"
                )
            return
        others = [(other, _readable(other, ctx)) for other in services[1:]]
        agreeing = [(other, found) for other, found in others if found is not None and found.shape == read.shape]
        if ambiguous and len(agreeing) < len(others):
            different = next((other, found) for other, found in others if found is None or found.shape != read.shape)
            self._report_different(ctx, *different, "all requests are rejected")
            yield Fact("http_filter", AUTH, Misconfigured(self.kind, ":".join(self.fq_name)))
            return
        yield from self._filter(ctx, read, agreeing)

    def _report_different(self, ctx: Context, other: View, found: Auth | None, result: str) -> None:
        """Reports that ``other`` differs; ``found`` is what it asks for, None if it can't be used."""
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
            origins = [Source.of(service, "auth_service") for service, _ in sharing]
            yield Fact("cluster", name, ClusterUse(sharing[0][1].upstream, tuple(sorted(origins))))
        auth = read.filter
        linkerd = next((found.linkerd for _, found in members if found.linkerd), ())
        if linkerd and not read.linkerd:
            auth = msgspec.structs.replace(auth, add_headers=(*auth.add_headers, *linkerd))
        if len(names) > 1:
            auth = msgspec.structs.replace(auth, cluster=joined_name(names))
            origins = [Source.of(service, "auth_service") for service, _ in members]
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
    """What ``service`` asks for, None if it can't be used. Its own intent reports its mistakes."""
    try:
        return read_auth(service, ctx, lambda reason, message: None)
    except Unusable:
        return None
