"""ServiceAccounts, roles and their bindings (docs/gateway.md §8, §8.1).

Pure functions of an ``Instance``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..instance import Instance
from .child import Child, Phase, metadata
from .labels import owner_labels
from .names import names_of, suffix_of
from .rules import Rule, certgen_rules, cluster_rules, leading_rules, namespaced_rules, operator_rules

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
