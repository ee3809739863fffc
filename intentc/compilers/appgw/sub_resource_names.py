"""Names and ids of an Application Gateway's sub-resources (docs/appgw.md §5), and which of several Ingresses counts
(§8.1).

A name follows from what a sub-resource is made of, so that an update finds what the last one made, and a gateway that
AGIC filled keeps its names. ``sub_resources.py`` decides between two sources of one name.
"""

from __future__ import annotations

import hashlib

import msgspec

LONGEST = 80
"""Characters of a name, at most."""
_KEPT = 47
_SLOTS = 5
"""Host names of one listener, at most."""

PROBES = "probes"
SETTINGS = "backendHttpSettingsCollection"
POOLS = "backendAddressPools"
CERTIFICATES = "sslCertificates"
PORTS = "frontendPorts"
LISTENERS = "httpListeners"
REDIRECTS = "redirectConfigurations"
REWRITES = "rewriteRuleSets"
PATH_MAPS = "urlPathMaps"
RULES = "requestRoutingRules"
ROOTS = "trustedRootCertificates"
PROFILES = "sslProfiles"


class Names(msgspec.Struct, frozen=True):
    """The full names of one installation's sub-resources. ``prefix``: begins all of them but those of rewrite sets."""

    prefix: str = ""

    def probe(self, namespace: str, service: str, port: str, ingress: str) -> str:
        """The probe of a backend of an Ingress; ``port`` as the Ingress writes it."""
        return f"{self.prefix}pb-{namespace}-{service}-{port}-{ingress}"

    def default_probe(self, protocol: str) -> str:
        """``protocol``: Http or Https."""
        return f"{self.prefix}defaultprobe-{protocol}"

    def settings(self, namespace: str, service: str, port: str, resolved: int, ingress: str) -> str:
        """The settings of a backend of an Ingress; ``resolved``: the number of the backend's port."""
        return f"{self.prefix}bp-{namespace}-{service}-{port}-{resolved}-{ingress}"

    def default_settings(self) -> str:
        return f"{self.prefix}defaulthttpsetting"

    def pool(self, namespace: str, service: str, port: str, resolved: int) -> str:
        return f"{self.prefix}pool-{namespace}-{service}-{port}-bp-{resolved}"

    def default_pool(self) -> str:
        return f"{self.prefix}defaultaddresspool"

    def certificate(self, namespace: str, secret: str) -> str:
        return f"{self.prefix}cert-{namespace}-{secret}"

    def port(self, number: int) -> str:
        return f"{self.prefix}fp-{number}"

    def listener(self, mark: str) -> str:
        return f"{self.prefix}fl-{mark}"

    def path_map(self, mark: str) -> str:
        return f"{self.prefix}url-{mark}"

    def rule(self, mark: str) -> str:
        return f"{self.prefix}rr-{mark}"

    def redirect(self, listener: str) -> str:
        """``listener``: the full name of the HTTPS listener to which it redirects."""
        return f"{self.prefix}sslr-{listener}"

    def path_rule(self, namespace: str, ingress: str, rule: int, path: int) -> str:
        """``rule``, ``path``: positions in the Ingress, from 0."""
        return f"{self.prefix}pr-{namespace}-{ingress}-rule-{rule}-path-{path}"

    def rewrite_set(self, namespace: str, name: str) -> str:
        """Without the prefix, as AGIC names them."""
        return f"crd-{namespace}-{name}"


def limited(name: str) -> str:
    """``name``, cut to 80 characters with a digest of the whole if it is longer.

    >>> limited("pb-shop-cart-http-web")
    'pb-shop-cart-http-web'
    """
    return name if len(name) <= LONGEST else f"{name[:_KEPT]}-{_digest(name)}"


def distinct(name: str, source: tuple[str, ...]) -> str:
    """The name of a later source of ``name``: with a digest of ``source``, in which each text has its length before
    it, so that no two sources are equal."""
    return f"{name[:_KEPT]}-{_digest(''.join(f'{len(text)}:{text}' for text in source))}"


def listener_mark(frontend: str, port: int, hosts: tuple[str, ...]) -> str:
    """What distinguishes a listener in the names of it, its map and its rule. ``frontend``: Public or Private;
    ``hosts``: at most five.

    >>> listener_mark("Public", 443, ("shop.contoso.test",))
    'f059794b41f217d7663984c9f3e95cda'
    """
    slots = [*hosts, *[""] * (_SLOTS - len(hosts))]
    return _digest(msgspec.json.encode({"FrontendPort": port, "HostNames": slots, "FrontendType": frontend}).decode())


def gateway_id(subscription: str, group: str, name: str) -> str:
    return (
        f"/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network/applicationGateways/{name}"
    )


def sub_id(gateway: str, collection: str, name: str) -> str:
    """The id of a sub-resource of ``gateway`` (its id)."""
    return f"{gateway}/{collection}/{name}"


def path_rule_id(gateway: str, path_map: str, rule: str) -> str:
    return f"{gateway}/{PATH_MAPS}/{path_map}/pathRules/{rule}"


def _digest(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


class Owner(msgspec.Struct, frozen=True, order=True):
    """An Ingress, in its place among others: of two that contradict each other, the lesser one counts."""

    created: str
    """Its ``creationTimestamp``."""
    namespace: str
    name: str

    @property
    def shown(self) -> str:
        """namespace:name, as problems name it."""
        return f"{self.namespace}:{self.name}"
