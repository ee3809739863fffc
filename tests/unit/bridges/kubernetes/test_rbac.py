"""The rights that ship for a cluster are those that the bridge needs, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from intentc.bridges.kubernetes.rest_mapping import manifest_kind, mirrored_kinds
from intentc.loading.schemas import load_schema
from tests.support.app_system import LOADED
from tests.support.kube.rights import Right, rights, rules_of

FOLDER = Path(__file__).parents[4] / "config" / "kubernetes"

NAMES = {"kubernetes_node": "node"}


@pytest.mark.parametrize("compiler", ["ambassador", "appgw"])
def test_the_roles_allow_listing_watching_and_our_statuses_and_nothing_else(compiler: str) -> None:
    rules = yaml.safe_load_all((FOLDER / f"rbac-{compiler}.yml").read_text())
    (role,) = (one for one in rules if one["kind"] == "ClusterRole")
    granted = {
        Right(group, resource, tuple(rule["verbs"]), tuple(rule.get("resourceNames", ())))
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    kinds = mirrored_kinds(load_schema(compiler))
    assert granted == rights(kinds)
    names = {kind.name: manifest_kind(kind).name.lower() for kind in kinds}
    assert names == {name: NAMES.get(name, name.replace("_", "")) for name in names}


def test_a_compiler_that_makes_objects_and_holds_owners_needs_these_rights() -> None:
    found = rights(mirrored_kinds(LOADED.schema), ["apps/v1/Deployment", "v1/Service"], LOADED.kinds_in_order)
    make = ("create", "delete", "get", "list", "patch", "watch")
    assert found == {
        Right("", "events", ("create",)),
        Right("", "namespaces", ("get",), ("kube-system",)),
        Right("", "services", make),
        Right("apps", "deployments", make),
        Right("events.k8s.io", "events", ("create",)),
        Right("example.com", "apps", ("get", "patch")),
        Right("example.com", "apps", ("list", "watch")),
        Right("example.com", "apps/status", ("patch",)),
    }
    assert rules_of(found)[1] == {
        "apiGroups": [""],
        "resources": ["namespaces"],
        "verbs": ["get"],
        "resourceNames": ["kube-system"],
    }
