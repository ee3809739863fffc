"""A site: it settles what the rules that claim it want together, and joins others in a listener.

Claims that can't be met are left out. A name that any Ingress has in ``tls`` is served in the clear to nobody but
solvers of ACME challenges. ``site_claims.py`` makes the claims, ``listener.py`` the listeners.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from intentc import Claim, Context, Fact, Intent

from .listener_certificates import covering_owner
from .sites import HTTP, HTTPS, REDIRECT, SERVE, Site, settled, without_certificate
from .sites import Claim as SiteClaim
from .this_gateway import foreign_listener, protocol_holder


class SiteIntent(Intent):
    kind = "appgw_site"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        site = Site.of(self.uuid)
        claims: list[SiteClaim] = sorted(
            claim for _, found in ctx.contributions(self.kind, self.uuid) for claim in found
        )
        # A closed site is not there: it contends for no port.
        claims = list(self._closed(ctx, site, claims))
        claims = [claim for claim in claims if self._is_possible(ctx, site, claim)]
        if not claims:
            return
        share, conflicts = settled(site, claims)
        for conflict in conflicts:
            message = f"{_shown(site)}: Ingress {conflict.winner.owner.shown} has another one, which counts"
            ctx.problem_on("ingress", conflict.loser.owner.shown, conflict.reason, message)
        yield Fact("appgw_listener_group", share.group, share)

    def _closed(self, ctx: Context, site: Site, claims: list[SiteClaim]) -> Iterator[SiteClaim]:
        """The claims without what must not be served in the clear; reports what is left out (docs/appgw.md §6.5)."""
        covering = covering_owner(ctx, site.name) if site.protocol == HTTP else None
        for claim in claims:
            if covering is None or claim.mode != SERVE:
                yield claim
                continue
            left = without_certificate(site, claim)
            if left is None or set(claim.paths) != set(left.paths):
                message = (
                    f"{_shown(site)} is not served, since Ingress {covering.shown} has the name in tls; add it to tls"
                    " here, too, or remove it there"
                )
                ctx.problem_on("ingress", claim.owner.shown, "CoveredByTLS", message)
            if left is not None:
                yield left

    def _is_possible(self, ctx: Context, site: Site, claim: SiteClaim) -> bool:
        """Whether a claim can be met; reports why it can't."""
        if foreign := foreign_listener(ctx, site):
            message = (
                f"{_shown(site)} is the gateway's listener {foreign}'s, which others made; use another name or port"
            )
            ctx.problem_on("ingress", claim.owner.shown, "ForeignListener", message)
            return False
        if holder := protocol_holder(ctx, site):
            message = f"{_shown(site)}: Ingress {holder.shown} uses another protocol on this port; use another port"
            ctx.problem_on("ingress", claim.owner.shown, "PortProtocolConflict", message)
            return False
        if claim.mode != REDIRECT:
            return True
        # Without its target a redirect has no effect, and its paths must not be served in the clear.
        target = msgspec.structs.replace(site, port=claim.target, protocol=HTTPS)
        return not foreign_listener(ctx, target) and protocol_holder(ctx, target) is None


def _shown(site: Site) -> str:
    return f"{site.name or 'all names'} on {site.frontend.lower()} port {site.port} ({site.protocol})"
