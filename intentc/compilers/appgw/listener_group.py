"""Sites that have everything in common become listeners, each with its rule, a path map if it has path rules, and the
redirects to which they lead.

``path_maps.py`` decides which paths count, ``listener_contents.py`` makes the JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from intentc import Claim, Context, Fact, Intent, Source

from .listener_contents import Listener, Resolver, redirect
from .path_maps import PathMap, RuleContent, path_map
from .settings import Settings
from .sites import HTTPS, Share, listeners
from .sites import Claim as SiteClaim
from .sub_resource_names import CERTIFICATES, LISTENERS, PATH_MAPS, REDIRECTS, RULES, Owner
from .sub_resources import Present, given_name, known, of_ingress, port_id, sub_resource, this_gateway


class ListenerGroupIntent(Intent):
    kind = "appgw_listener_group"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        here = this_gateway(ctx)
        shares: list[Share] = [value for _, value in ctx.contributions(self.kind, self.uuid)]
        claims = shares[0].claims
        contents: list[tuple[SiteClaim, RuleContent]] = [
            (claim, known(ctx, "appgw_rule_content", claim.content)) for claim in claims
        ]
        found = path_map(contents)
        self._report(ctx, shares[0], found)
        sort, _, secret = shares[0].certificate.partition("|")
        if sort == "secret":
            yield Fact("appgw_certificate_use", secret, min(claim.owner for claim in claims))
        for together in listeners(shares):
            yield from self._listener(ctx, here, together, found)

    def _listener(
        self, ctx: Context, here: Present, shares: tuple[Share, ...], found: PathMap
    ) -> Iterator[Claim | Fact]:
        share, gateway, config = shares[0], here.id, here.config
        listener = Listener(gateway, config.names, tuple(one.site for one in shares))
        site, owners = share.site, sorted({claim.owner for claim in share.claims})
        shown = [owner.shown for owner in owners]
        ports = port_id(ctx, gateway, config.names, site.port)
        frontend = str(known(ctx, "appgw_frontend", site.frontend))
        certificate = self._certificate_name(ctx, config, share)
        content = listener.content(frontend, ports, certificate, share.profile, share.policy)
        places = [of_ingress(claim.owner, _field(claim)) for claim in share.claims]
        claim = sub_resource(self, "appgw_listener", gateway, LISTENERS, listener.name, content, places, owners=shown)
        self._explain(ctx, claim, share)
        yield claim
        yield Fact("appgw_port_use", str(site.port), "")
        yield Fact("appgw_listener_use", "all", "")

        resolver = Resolver(ctx, config, gateway, site)
        entries = resolver.path_rules(listener.path_map, found.rules)
        defaults = resolver.default(found.default)
        default_owner = found.default.claim.owner.shown if found.default else ""
        if entries:
            members = {**defaults.of_map(), "pathRules": [entry for entry, _ in entries]}
            mapped = sub_resource(
                self,
                "appgw_path_map",
                gateway,
                PATH_MAPS,
                listener.path_map,
                members,
                [*places, *(of_ingress(route.claim.owner, _path_field(route)) for _, route in entries)],
                owners=shown,
                default_owner=default_owner,
                rule_owners=[route.claim.owner.shown for _, route in entries],
            )
            self._explain(ctx, mapped, share)
            for number, (_, route) in enumerate(entries):
                source = Source("ingress", route.claim.owner.shown, _path_field(route))
                ctx.because(mapped, source, part=f"config.properties.pathRules[{number}]")
            yield mapped
        rule = listener.rule_content(defaults, has_map=bool(entries))
        first = next((one for one in share.claims if one.priority), None)
        ruled = sub_resource(
            self,
            "appgw_rule",
            gateway,
            RULES,
            listener.rule,
            rule,
            places,
            owners=shown,
            default_owner=default_owner,
            requested=first.priority if first else 0,
            by=first.owner.shown if first else "",
            order=[first.rule + 1, 0 if site.protocol == HTTPS else 1] if first else [],
        )
        self._explain(ctx, ruled, share)
        yield ruled
        for target in resolver.redirect_targets:
            name, members = redirect(gateway, config.names, target)
            yield sub_resource(self, "appgw_redirect", gateway, REDIRECTS, name, members, places, owners=shown)
        yield from (Fact("appgw_default_use", used, "") for used in sorted(resolver.defaults_used))

    @staticmethod
    def _explain(ctx: Context, claim: Claim, share: Share) -> None:
        """Each rule that claims the sites is a reason of its own."""
        for one in share.claims if ctx.explaining else ():
            ctx.because(claim, Source("ingress", one.owner.shown, _field(one)))

    def _certificate_name(self, ctx: Context, config: Settings, share: Share) -> str:
        sort, _, rest = share.certificate.partition("|")
        if sort != "secret":
            return rest
        namespace, _, secret = rest.partition("|")
        name = config.names.certificate(namespace, secret)
        owner = min(claim.owner for claim in share.claims)
        return given_name(ctx, CERTIFICATES, name, (namespace, secret), owner)

    def _report(self, ctx: Context, share: Share, found: PathMap) -> None:
        site = share.site
        where = f"{site.name or 'all names'} on {site.frontend.lower()} port {site.port}"
        for loss in found.losses:
            winner: Owner = loss.winner.owner
            message = f"{loss.field} on {where} is Ingress {winner.shown}'s, which has precedence; change one of them"
            ctx.problem_on("ingress", loss.loser.owner.shown, loss.reason, message)


def _field(claim: SiteClaim) -> str:
    return f"rules[{claim.rule}]" if claim.rule >= 0 else "defaultBackend"


def _path_field(route: Any) -> str:
    return f"{route.content.field}.paths[{route.path.position}]"
