"""The JSON of listeners, rules and redirects (docs/appgw.md §6.6, §6.8).

Pure functions of values.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .names import (
    CERTIFICATES,
    LISTENERS,
    PATH_MAPS,
    PROFILES,
    REDIRECTS,
    Names,
    limited,
    listener_mark,
    sub_id,
)
from .sites import HTTPS, Site


class Defaults(NamedTuple):
    """What happens to requests that no path rule takes: ids of a pool with its settings, or of a redirect, and of a
    rewrite set; empty ones are left out."""

    pool: str = ""
    settings: str = ""
    redirect: str = ""
    rewrite: str = ""

    def of_map(self) -> dict[str, Any]:
        return _references(
            defaultBackendAddressPool=self.pool,
            defaultBackendHttpSettings=self.settings,
            defaultRedirectConfiguration=self.redirect,
            defaultRewriteRuleSet=self.rewrite,
        )

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


def redirect_id(gateway: str, names: Names, target: Site) -> str:
    """The id of the redirect to the HTTPS site ``target``."""
    return sub_id(gateway, REDIRECTS, _redirect_name(names, target))


def redirect(gateway: str, names: Names, target: Site) -> tuple[str, dict[str, Any]]:
    """The name and the properties of the redirect to the HTTPS site ``target``."""
    return _redirect_name(names, target), {
        "redirectType": "Permanent",
        "targetListener": {"id": sub_id(gateway, LISTENERS, limited(_full_name(names, target)))},
        "includePath": True,
        "includeQueryString": True,
    }


def _redirect_name(names: Names, target: Site) -> str:
    return limited(names.redirect(_full_name(names, target)))


def _full_name(names: Names, target: Site) -> str:
    assert target.protocol == HTTPS
    hosts = (target.name,) if target.name else ()
    return names.listener(listener_mark(target.frontend, target.port, hosts))


def _references(**ids: str) -> dict[str, Any]:
    return {member: {"id": one} for member, one in ids.items() if one}
