"""The JSON of path rules and of what happens by default, with the names of backends looked up (docs/appgw.md §6.8).

It reads through ``ctx``. State: which redirects and default objects one listener refers to.
"""

from __future__ import annotations

from typing import Any

from intentc import Context

from .listener_contents import Defaults, redirect_id
from .names import POOLS, REWRITES, SETTINGS, distinct, limited, path_rule_id, sub_id
from .path_maps import Route, RuleContent
from .settings import Settings
from .sites import HTTPS, Site
from .this_gateway import given_name, known


class Resolver:
    """What the routes of one listener refer to. ``site``: any of the listener's sites."""

    def __init__(self, ctx: Context, config: Settings, gateway: str, site: Site) -> None:
        self._ctx, self._config, self._gateway, self._site = ctx, config, gateway, site
        self.redirect_targets: list[Site] = []
        """The HTTPS sites to which it redirects, each once."""
        self.defaults_used: set[str] = set()
        """The names of facts ``appgw_default_use``."""

    def default(self, route: Route | None) -> Defaults:
        """What happens to requests that no path rule takes."""
        if route is None:
            self.defaults_used |= {"pool", "settings"}
            names = self._config.names
            return Defaults(
                pool=sub_id(self._gateway, POOLS, limited(names.default_pool())),
                settings=sub_id(self._gateway, SETTINGS, limited(names.default_settings())),
            )
        return self._target(route)

    def path_rules(self, path_map: str, routes: tuple[Route, ...]) -> list[tuple[dict[str, Any], Route]]:
        """The path rules of the map of this name, in its order."""
        found, taken = [], set()
        for route in routes:
            assert route.path is not None
            claim = route.claim
            source = (claim.owner.namespace, claim.owner.name, claim.rule, route.path.position)
            name = limited(self._config.names.path_rule(*source))
            if name in taken:
                name = distinct(name, tuple(map(str, source)))
            taken.add(name)
            content: dict[str, Any] = {"paths": list(route.patterns), **self._target(route).of_rule()}
            if route.content.policy:
                content["firewallPolicy"] = {"id": route.content.policy}
            entry = {"id": path_rule_id(self._gateway, path_map, name), "name": name, "properties": content}
            found.append((entry, route))
        return found

    def _target(self, route: Route) -> Defaults:
        if route.backend is None:
            target = Site(self._site.frontend, route.claim.target, HTTPS, self._site.name)
            if target not in self.redirect_targets:
                self.redirect_targets.append(target)
            return Defaults(redirect=redirect_id(self._gateway, self._config.names, target))
        state = known(self._ctx, "appgw_backend_state", route.backend)
        pool = state.pool
        if not pool:
            self.defaults_used.add("pool")
            pool = limited(self._config.names.default_pool())
        return Defaults(
            pool=sub_id(self._gateway, POOLS, pool),
            settings=sub_id(self._gateway, SETTINGS, state.settings),
            rewrite=self._rewrite(route.content, route),
        )

    def _rewrite(self, content: RuleContent, route: Route) -> str:
        namespace, is_resource, resource = content.rewrite.partition("|")
        if not is_resource:
            return sub_id(self._gateway, REWRITES, content.rewrite) if content.rewrite else ""
        full = self._config.names.rewrite_set(namespace, resource)
        name = given_name(self._ctx, REWRITES, full, (namespace, resource), route.claim.owner)
        return sub_id(self._gateway, REWRITES, name)
