"""The rights that ship for a cluster are those that the bridge needs, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from intentc.bridges.kubernetes.mirrored_kinds import manifest_kind, mirrored_kinds
from intentc.loading.schemas import load_schema
from intentc.model.manifest import CORE

FOLDER = Path(__file__).parents[4] / "config" / "kubernetes"

NAMES = {"kubernetes_node": "node"}


@pytest.mark.parametrize("compiler", ["ambassador", "appgw"])
def test_each_kind_may_be_listed_and_watched_its_status_of_ours_written_and_nothing_else(compiler: str) -> None:
    rules = yaml.safe_load_all((FOLDER / f"rbac-{compiler}.yml").read_text())
    (role,) = (one for one in rules if one["kind"] == "ClusterRole")
    granted: set[tuple[object, ...]] = {
        (group, resource, tuple(rule["verbs"]), tuple(rule.get("resourceNames", ())))
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    needed: set[tuple[object, ...]] = {("", "namespaces", ("get",), ("kube-system",))}
    for kind in mirrored_kinds(load_schema(compiler)):
        group = "" if kind.manifests.group == CORE else kind.manifests.group
        plural = kind.manifests.plural
        needed.add((group, plural, ("list", "watch"), ()))
        if kind.status is not None and not kind.status.is_input:
            needed |= {(group, plural, ("get",), ()), (group, f"{plural}/status", ("patch",), ())}
        assert manifest_kind(kind).name.lower() == NAMES.get(kind.name, kind.name.replace("_", ""))
    assert granted == needed
