"""ServiceAccounts, roles and their bindings: what Contour, and the Job that makes its certificates, may do in a cluster
(docs/gateway.md §8, §8.1).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from ..instance import Instance
from .child import Child, Phase, metadata, names_of, owner_labels, suffix_of

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
    served = (
        {**one, "resources": [resource for resource in one["resources"] if resource.partition("/")[0] not in disabled]}
        for one in rules
    )
    return [one for one in served if one["resources"]]


def leading_rules() -> list[Rule]:
    """What Contour of layout P needs in its own namespace, to elect a leader."""
    return [rule("", "events", "cgu"), rule("coordination.k8s.io", "leases", "cgu")]


def certgen_rules() -> list[Rule]:
    """What the Job needs that makes the certificates."""
    return [rule("", "secrets", "cu")]


def _status(resources: str, but: str = "") -> str:
    return " ".join(f"{resource}/status" for resource in resources.split() if resource != but)


_GROUP = "rbac.authorization.k8s.io"
_VERSION = f"{_GROUP}/v1"


def rbac(instance: Instance) -> Iterator[Child]:
    """All of an instance, cluster-scoped objects first."""
    names = names_of(instance)
    if instance.layout == "operator":
        yield from _cluster_role(instance, operator_rules())
    else:
        everywhere = [] if instance.contour_pods.watch_namespaces else _namespaced_rules(instance)
        yield from _cluster_role(instance, [*cluster_rules(), *everywhere])
    for name in (names.contour, names.envoy, names.certgen):
        account = metadata(instance, name, owner_labels(instance), instance.namespace)
        yield Child({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account}, Phase.SERVICE_ACCOUNT)
    if instance.layout == "provisioner":
        suffix = suffix_of(instance)
        for namespace in watched_namespaces(instance):
            name = f"contour-resources-{instance.namespace}-{suffix}"
            yield from _role(instance, namespace, name, name, names.contour, _namespaced_rules(instance))
        binding = f"contour-rolebinding-{suffix}"
        yield from _role(instance, instance.namespace, names.contour, binding, names.contour, leading_rules())
    yield from _role(instance, instance.namespace, names.certgen, names.certgen_binding, names.certgen, certgen_rules())


def watched_namespaces(instance: Instance) -> tuple[str, ...]:
    """The namespaces that Contour is limited to, with its own; empty: all of the cluster."""
    given = instance.contour_pods.watch_namespaces
    return tuple(dict.fromkeys((*given, instance.namespace))) if given else ()


def _namespaced_rules(instance: Instance) -> list[Rule]:
    return namespaced_rules(instance.contour_pods.disabled_features)


def _cluster_role(instance: Instance, rules: list[Rule]) -> Iterator[Child]:
    names = names_of(instance)
    own = metadata(instance, names.cluster_role, owner_labels(instance))
    yield Child({"apiVersion": _VERSION, "kind": "ClusterRole", "metadata": own, "rules": rules}, Phase.CLUSTER_ROLE)
    binding = {
        "apiVersion": _VERSION,
        "kind": "ClusterRoleBinding",
        "metadata": own,
        "roleRef": _reference("ClusterRole", names.cluster_role),
        "subjects": [_subject(instance, names.contour)],
    }
    yield Child(binding, Phase.CLUSTER_ROLE_BINDING, immutable=("roleRef",))


def _role(
    instance: Instance, namespace: str, name: str, binding_name: str, account: str, rules: list[Rule]
) -> Iterator[Child]:
    labels = owner_labels(instance)
    role = {
        "apiVersion": _VERSION,
        "kind": "Role",
        "metadata": metadata(instance, name, labels, namespace),
        "rules": rules,
    }
    yield Child(role, Phase.ROLE)
    binding = {
        "apiVersion": _VERSION,
        "kind": "RoleBinding",
        "metadata": metadata(instance, binding_name, labels, namespace),
        "roleRef": _reference("Role", name),
        "subjects": [_subject(instance, account)],
    }
    yield Child(binding, Phase.ROLE_BINDING, immutable=("roleRef",))


def _reference(kind: str, name: str) -> dict[str, Any]:
    return {"apiGroup": _GROUP, "kind": kind, "name": name}


def _subject(instance: Instance, account: str) -> dict[str, Any]:
    return {"kind": "ServiceAccount", "namespace": instance.namespace, "name": account}
