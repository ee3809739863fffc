"""Discovery: which groups, versions and resources there are, in the forms that clients of any age ask for.

Why it exists: kubectl asks ``/api``, ``/apis`` and each version before anything else; since 1.26 it prefers one
aggregated answer.
"""

from __future__ import annotations

from typing import Any

from .catalog import VERBS, Catalog, Offered

AGGREGATED = "apidiscovery.k8s.io"
_STATUS_VERBS = ("get", "patch", "update")


def aggregated_version(accept: str) -> str:
    """The version of the aggregated form that a client prefers; empty if it wants the older forms."""
    for media in accept.split(","):
        parts = dict(part.strip().partition("=")[::2] for part in media.split(";")[1:])
        if parts.get("g") == AGGREGATED and parts.get("v") in ("v2", "v2beta1"):
            return parts["v"]
        if not parts.get("as"):
            return ""
    return ""


def aggregated(catalog: Catalog, groups: list[str], version: str) -> dict[str, Any]:
    """Everything about these groups in one answer."""
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"{AGGREGATED}/{version}",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": group} if group else {},
                "versions": [
                    {
                        "version": one,
                        "resources": [_aggregated_resource(offered) for offered in catalog.resources(group, one)],
                        "freshness": "Current",
                    }
                    for one in catalog.versions(group)
                ],
            }
            for group in groups
        ],
    }


def groups(catalog: Catalog) -> dict[str, Any]:
    """``/apis``."""
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(catalog, one) for one in catalog.groups()]}


def group(catalog: Catalog, name: str) -> dict[str, Any]:
    """``/apis/GROUP``."""
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(catalog, name)}


def resources(catalog: Catalog, group: str, version: str) -> dict[str, Any]:
    """``/apis/GROUP/VERSION``, and ``/api/v1``."""
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": [entry for offered in catalog.resources(group, version) for entry in _resource(offered)],
    }


def _group(catalog: Catalog, name: str) -> dict[str, Any]:
    versions = [{"groupVersion": f"{name}/{version}", "version": version} for version in catalog.versions(name)]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def _resource(offered: Offered) -> list[dict[str, Any]]:
    entry = {
        "name": offered.resource,
        "singularName": offered.name.lower(),
        "namespaced": offered.is_namespaced,
        "kind": offered.name,
    }
    found = [{**entry, "verbs": list(VERBS), **_short_names(offered)}]
    if offered.has_status:
        found.append({**entry, "name": f"{offered.resource}/status", "singularName": "", "verbs": list(_STATUS_VERBS)})
    return found


def _aggregated_resource(offered: Offered) -> dict[str, Any]:
    kind = {"group": offered.group, "version": offered.version, "kind": offered.name}
    entry: dict[str, Any] = {
        "resource": offered.resource,
        "responseKind": kind,
        "scope": "Namespaced" if offered.is_namespaced else "Cluster",
        "singularResource": offered.name.lower(),
        "verbs": list(VERBS),
        **_short_names(offered),
    }
    if offered.has_status:
        entry["subresources"] = [{"subresource": "status", "responseKind": kind, "verbs": list(_STATUS_VERBS)}]
    return entry


def _short_names(offered: Offered) -> dict[str, Any]:
    names = offered.kind.short_names
    return {"shortNames": list(names)} if names else {}
