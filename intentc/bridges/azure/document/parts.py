"""The compiler's objects as the document needs them: sub-resources by collection, and the Ingresses that own them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

COLLECTIONS: Mapping[str, str] = {
    "appgw_probe": "probes",
    "appgw_backend_settings": "backendHttpSettingsCollection",
    "appgw_pool": "backendAddressPools",
    "appgw_certificate": "sslCertificates",
    "appgw_port": "frontendPorts",
    "appgw_listener": "httpListeners",
    "appgw_redirect": "redirectConfigurations",
    "appgw_rewrite_set": "rewriteRuleSets",
    "appgw_path_map": "urlPathMaps",
    "appgw_rule": "requestRoutingRules",
}
"""Kind → collection of the document."""


class Owner(NamedTuple):
    """An Ingress in its place among others: of two that don't both fit, the lesser one counts. ``name``:
    namespace:name."""

    created: str
    namespace: str
    ingress: str

    @property
    def name(self) -> str:
        return f"{self.namespace}:{self.ingress}"


class Part(NamedTuple):
    """A sub-resource. ``fields``: the object's other properties."""

    name: str
    config: dict[str, Any]
    owners: tuple[str, ...]
    fields: dict[str, Any]

    @property
    def content(self) -> dict[str, Any]:
        found: dict[str, Any] = self.config.get("properties") or {}
        return found


class Parts(NamedTuple):
    """All objects. ``parts``: collection → name → part; ``owners``: the Ingresses that have a part in the gateway;
    ``whole``: what concerns the document as a whole, None while the compiler has made nothing; ``rejected``: Ingresses
    that have no part, though what is behind them is compiled."""

    parts: dict[str, dict[str, Part]]
    owners: dict[str, Owner]
    whole: dict[str, Any] | None
    rejected: frozenset[str] = frozenset()

    def of(self, collection: str) -> dict[str, Part]:
        return self.parts.get(collection, {})


def parts_of(objects: Iterable[Mapping[str, Any]]) -> Parts:
    """The parts in ``objects``, as they are stored; other kinds are skipped."""
    found = Parts({collection: {} for collection in COLLECTIONS.values()}, {}, None)
    whole: dict[str, Any] | None = None
    rejected: set[str] = set()
    for one in objects:
        kind, name = str(one["kind"]), [str(step) for step in one["fq_name"]]
        if kind in COLLECTIONS:
            config = {"properties": {}, **one["config"]}
            part = Part(name[-1], config, tuple(one.get("owners") or ()), dict(one))
            found.parts[COLLECTIONS[kind]][part.name] = part
        elif kind == "appgw_owner":
            owner = Owner(str(one.get("created") or ""), name[0], name[1])
            if one.get("rejected"):
                rejected.add(owner.name)
            else:
                found.owners[owner.name] = owner
        elif kind == "appgw_document":
            whole = dict(one)
    return found._replace(whole=whole, rejected=frozenset(rejected))


def named_in(reference: Any) -> str:
    """The name of what ``{"id": …}`` refers to; empty if it is absent."""
    return str(reference["id"]).rpartition("/")[2] if reference else ""


def entry(gateway: str, collection: str, name: str, content: dict[str, Any]) -> dict[str, Any]:
    """A sub-resource as Azure Resource Manager has it."""
    return {"id": f"{gateway}/{collection}/{name}", "name": name, "properties": content}
