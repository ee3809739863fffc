"""What Contour, and the Job that makes its certificates, may do in a cluster: the rules of their roles (docs/gateway.md
§8, §8.1). ``rbac`` makes the roles.

Pure functions of values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

Rule = dict[str, Any]

_VERBS = {"c": "create", "g": "get", "l": "list", "w": "watch", "u": "update"}
_SERVICE_APIS = "networking.x-k8s.io"
_GATEWAY_API = "gateway.networking.k8s.io"
_CONTOUR = "projectcontour.io"
_INGRESS = "networking.k8s.io"


def rule(group: str, resources: str, verbs: str) -> Rule:
    """One rule. ``resources``: names with blanks between; ``verbs``: their first letters.

    >>> rule("", "secrets", "glw")
    {'apiGroups': [''], 'resources': ['secrets'], 'verbs': ['get', 'list', 'watch']}
    """
    return {"apiGroups": [group], "resources": resources.split(), "verbs": [_VERBS[letter] for letter in verbs]}


def operator_rules() -> list[Rule]:
    """The ClusterRole of layout O."""
    routes = "gatewayclasses gateways backendpolicies httproutes tlsroutes"
    return [
        rule("", "configmaps", "cgu"),
        rule("", "endpoints", "glw"),
        rule("", "secrets", "glw"),
        rule("", "services", "glw"),
        rule(_SERVICE_APIS, routes, "glwu"),
        rule(_SERVICE_APIS, _status(routes), "cgu"),
        rule(_INGRESS, "ingresses ingressclasses", "glw"),
        rule(_INGRESS, "ingresses/status", "cgu"),
        rule(_CONTOUR, "httpproxies tlscertificatedelegations extensionservices", "glw"),
        rule(_CONTOUR, "httpproxies/status extensionservices/status", "cgu"),
        rule("apiextensions.k8s.io", "customresourcedefinitions", "l"),
        rule("", "namespaces", "glw"),
        rule(_SERVICE_APIS, "tcproutes udproutes", "glw"),
        rule(_SERVICE_APIS, "tcproutes/status udproutes/status", "u"),
    ]


def cluster_rules() -> list[Rule]:
    """What Contour of layout P needs of the whole cluster."""
    return [
        rule(_GATEWAY_API, "gatewayclasses", "glw"),
        rule(_GATEWAY_API, "gatewayclasses/status", "u"),
        rule("", "namespaces", "glw"),
    ]


def namespaced_rules(disabled: Collection[str]) -> list[Rule]:
    """What Contour of layout P needs in each namespace that it watches. ``disabled``: resources that it doesn't
    serve."""
    routes = "gateways httproutes tlsroutes grpcroutes tcproutes referencegrants backendtlspolicies"
    own = "httpproxies tlscertificatedelegations extensionservices contourconfigurations"
    rules = [
        rule("", "secrets services configmaps", "glw"),
        rule("discovery.k8s.io", "endpointslices", "glw"),
        rule(_GATEWAY_API, routes, "glw"),
        rule(_GATEWAY_API, _status(routes, but="referencegrants"), "u"),
        rule(_INGRESS, "ingresses", "glw"),
        rule(_INGRESS, "ingresses/status", "cgu"),
        rule(_CONTOUR, own, "glw"),
        rule(_CONTOUR, _status(own, but="tlscertificatedelegations"), "cgu"),
    ]
    return list(_without(rules, disabled))


def leading_rules() -> list[Rule]:
    """What Contour of layout P needs in its own namespace, to elect a leader."""
    return [rule("", "events", "cgu"), rule("coordination.k8s.io", "leases", "cgu")]


def certgen_rules() -> list[Rule]:
    """What the Job needs that makes the certificates."""
    return [rule("", "secrets", "cu")]


def _status(resources: str, but: str = "") -> str:
    return " ".join(f"{resource}/status" for resource in resources.split() if resource != but)


def _without(rules: list[Rule], disabled: Collection[str]) -> Iterator[Rule]:
    for one in rules:
        resources = [resource for resource in one["resources"] if resource.partition("/")[0] not in disabled]
        if resources:
            yield {**one, "resources": resources}
