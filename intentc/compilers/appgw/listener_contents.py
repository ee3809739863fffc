"""The JSON of listeners, rules, redirects and path maps, with the names of backends looked up (docs/appgw.md §6.6,
§6.8).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from intentc import Context

from .path_maps import Route
from .settings import Settings
from .sites import HTTPS, Site
from .sub_resource_names import (
    CERTIFICATES,
    LISTENERS,
    PATH_MAPS,
    POOLS,
    PROFILES,
    REDIRECTS,
    REWRITES,
    SETTINGS,
    Names,
    distinct,
    limited,
    listener_mark,
    path_rule_id,
    sub_id,
)
from .sub_resources import given_name, known


class Defaults(NamedTuple):
    """What happens to requests that no path rule takes: ids of a pool with its settings, or of a redirect, and of a
    rewrite set; empty ones are left out."""

    pool: str = ""
    settings: str = ""
    redirect: str = ""
    rewrite: str = ""

    def of_map(self) -> dict[str, Any]:
        return {f"default{member[0].upper()}{member[1:]}": one for member, one in self.of_rule().items()}

    def of_rule(self) -> dict[str, Any]:
        return _references(
            backendAddressPool=self.pool,
            backendHttpSettings=self.settings,
            redirectConfiguration=self.redirect,
            rewriteRuleSet=self.rewrite,
        )


class Listener:
    """A listener of up to five sites on one port, and the names of what belongs to it."""

    def __init__(self, gateway: str, names: Names, sites: tuple[Site, ...]) -> None:
        self._gateway = gateway
        self._site = sites[0]
        self.hosts = tuple(site.name for site in sites if site.name)
        mark = listener_mark(self._site.frontend, self._site.port, self.hosts)
        self.name = limited(names.listener(mark))
        self.path_map = limited(names.path_map(mark))
        self.rule = limited(names.rule(mark))

    def content(self, frontend: str, port: str, certificate: str, profile: str, policy: str) -> dict[str, Any]:
        """``frontend``, ``port``, ``policy``: ids; ``certificate``, ``profile``: names; empty ones are left out."""
        return {
            "frontendIPConfiguration": {"id": frontend},
            "frontendPort": {"id": port},
            "protocol": self._site.protocol,
            "hostNames": list(self.hosts),
            "requireServerNameIndication": False,
            **_references(
                sslCertificate=certificate and sub_id(self._gateway, CERTIFICATES, certificate),
                sslProfile=profile and sub_id(self._gateway, PROFILES, profile),
                firewallPolicy=policy,
            ),
        }

    def rule_content(self, defaults: Defaults, *, has_map: bool) -> dict[str, Any]:
        """Without its priority."""
        listener = {"httpListener": {"id": sub_id(self._gateway, LISTENERS, self.name)}}
        if has_map:
            path_map = {"urlPathMap": {"id": sub_id(self._gateway, PATH_MAPS, self.path_map)}}
            return {**listener, "ruleType": "PathBasedRouting", **path_map}
        return {**listener, "ruleType": "Basic", **defaults.of_rule()}


def redirect(gateway: str, names: Names, target: Site) -> tuple[str, dict[str, Any]]:
    """The name and the properties of the redirect to the HTTPS site ``target``."""
    assert target.protocol == HTTPS
    hosts = (target.name,) if target.name else ()
    full = names.listener(listener_mark(target.frontend, target.port, hosts))
    return limited(names.redirect(full)), {
        "redirectType": "Permanent",
        "targetListener": {"id": sub_id(gateway, LISTENERS, limited(full))},
        "includePath": True,
        "includeQueryString": True,
    }


def _references(**ids: str) -> dict[str, Any]:
    return {member: {"id": one} for member, one in ids.items() if one}


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
            name, _ = redirect(self._gateway, self._config.names, target)
            return Defaults(redirect=sub_id(self._gateway, REDIRECTS, name))
        state = known(self._ctx, "appgw_backend_state", route.backend)
        pool = state.pool
        if not pool:
            self.defaults_used.add("pool")
            pool = limited(self._config.names.default_pool())
        return Defaults(
            pool=sub_id(self._gateway, POOLS, pool),
            settings=sub_id(self._gateway, SETTINGS, state.settings),
            rewrite=self._rewrite(route),
        )

    def _rewrite(self, route: Route) -> str:
        rewrite = route.content.rewrite
        namespace, is_resource, resource = rewrite.partition("|")
        if not is_resource:
            return sub_id(self._gateway, REWRITES, rewrite) if rewrite else ""
        full = self._config.names.rewrite_set(namespace, resource)
        name = given_name(self._ctx, REWRITES, full, (namespace, resource), route.claim.owner)
        return sub_id(self._gateway, REWRITES, name)
