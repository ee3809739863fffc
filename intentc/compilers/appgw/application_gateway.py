"""The gateway as the publisher read it: what Ingresses may name of it, what concerns its document as a whole (tags,
ownership, reserved paths), and a listener if there is no other.

``sub_resources.py`` looks up for others what is yielded here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from intentc import Claim, Context, Fact, Intent

from .listener_contents import Listener, Resolver
from .path_patterns import prohibited_targets
from .settings import MARKED, PROHIBITED, Settings, settings
from .sites import HTTP, PLAIN_PORT, PRIVATE, PUBLIC, Site
from .sub_resource_names import CERTIFICATES, LISTENERS, PROFILES, REWRITES, ROOTS, RULES, gateway_id
from .sub_resources import NOBODY, THIS, Present, port_id, sub_resource

_MANAGED_BY = "managed-by-k8s-ingress"
_CLUSTER = "ingress-for-aks-cluster-id"


class GatewayIntent(Intent):
    kind = "appgw_gateway"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        config = settings(ctx)
        if self.name != config.name:
            return
        here = Present(config.gateway or self.id or gateway_id(NOBODY, "unknown", config.name), self.sku_tier, config)
        yield Fact("appgw_present", THIS, here)
        yield from self._facts(config)
        targets = prohibited_targets(ctx) if config.ownership == PROHIBITED else ()
        is_closed = config.ownership == PROHIBITED and not targets
        yield self.owned(
            "appgw_document",
            (self.name,),
            gateway=here.id,
            ownership=config.ownership,
            prefix=config.names.prefix,
            tags=_tags(ctx),
            nothing="NoProhibitedTargets" if is_closed else "",
            targets=[{"hostname": one.hostname, "paths": list(one.paths)} for one in targets],
        )
        if not is_closed and not ctx.contributed("appgw_listener_use", "all"):
            yield from self._default_listener(ctx, here)

    def _facts(self, config: Settings) -> Iterator[Fact]:
        yield from (Fact("appgw_frontend", which, one) for which, one in self._frontends().items())
        installed = (
            (CERTIFICATES, self.ssl_certificate_names),
            (PROFILES, self.ssl_profile_names),
            (ROOTS, self.trusted_root_names),
            (REWRITES, self.rewrite_set_names),
        )
        for collection, names in installed:
            yield from (Fact("appgw_installed", f"{collection}/{name}", "") for name in sorted(set(names)))
        ports = {one.port: one.name for one in sorted(self.ports, key=lambda one: str(one.name), reverse=True)}
        yield from (Fact("appgw_port_name", str(port), name) for port, name in ports.items())
        if config.ownership == MARKED:
            yield from (Fact("appgw_foreign_site", port, sites) for port, sites in self._foreign_sites().items())

    def _frontends(self) -> dict[str, str]:
        """Private or Public → the id of the frontend; of several the first."""
        return {PRIVATE if one.private else PUBLIC: one.id for one in reversed(self.frontends)}

    def _foreign_sites(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """frontend|port → (host name, empty for all; listener) of all listeners of others there, sorted."""
        found: dict[str, set[tuple[str, str]]] = {}
        for listener in self.foreign_listeners:
            port = f"{PRIVATE if listener.private else PUBLIC}|{listener.port}"
            hosts = {(host.lower(), str(listener.name)) for host in listener.hosts or ("",)}
            found.setdefault(port, set()).update(hosts)
        return {port: tuple(sorted(sites)) for port, sites in found.items()}

    def _default_listener(self, ctx: Context, here: Present) -> Iterator[Claim | Fact]:
        """A gateway must have a listener: all names, HTTP, with the default pool."""
        frontends = self._frontends()
        if not frontends:
            return
        which = PUBLIC if PUBLIC in frontends else PRIVATE
        gateway, config, site = here.id, here.config, Site(which, PLAIN_PORT, HTTP, "")
        listener = Listener(gateway, config.names, (site,))
        policies = sorted(value for _, value in ctx.contributions("appgw_default_policy", "all"))
        policy = policies[0][1] if policies else ""
        port = port_id(ctx, gateway, config.names, PLAIN_PORT)
        content = listener.content(frontends[which], port, "", "", policy)
        yield sub_resource(self, "appgw_listener", gateway, LISTENERS, listener.name, content, (), default=True)
        resolver = Resolver(ctx, config, gateway, site)
        rule: dict[str, Any] = listener.rule_content(resolver.default(None), has_map=False)
        yield sub_resource(self, "appgw_rule", gateway, RULES, listener.rule, rule, ())
        yield Fact("appgw_port_use", str(PLAIN_PORT), "")
        yield from (Fact("appgw_default_use", used, "") for used in sorted(resolver.defaults_used))


def _tags(ctx: Context) -> dict[str, str]:
    """The tags that say who manages the gateway, and for which cluster."""
    tags = {_MANAGED_BY: "intentc"}
    nodes = ctx.all("kubernetes_node")
    parts = str(nodes[0].providerID).split("/") if nodes else []
    # azure:///subscriptions/<s>/resourceGroups/MC_<group>_<name>_<location>/providers/…
    lower = [part.lower() for part in parts]
    if "subscriptions" in lower and "resourcegroups" in lower:
        subscription, group = (
            parts[lower.index(one) + 1 : lower.index(one) + 2] for one in ("subscriptions", "resourcegroups")
        )
        segments = group[0].split("_") if group else []
        if subscription and len(segments) == 4:
            tags[_CLUSTER] = (
                f"/subscriptions/{subscription[0]}/resourcegroups/{segments[1]}/providers/"
                f"Microsoft.ContainerService/managedClusters/{segments[2]}"
            )
    return tags
