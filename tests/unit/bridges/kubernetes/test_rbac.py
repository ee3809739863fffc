"""The rights that ship for a cluster are those that the bridge needs, and no others."""

from __future__ import annotations

from pathlib import Path

import yaml

from intentc.bridges.kubernetes.mirrored_kinds import manifest_kind, mirrored_kinds
from intentc.loading.schemas import load_schema
from intentc.model.manifest import CORE

RULES = Path(__file__).parents[4] / "config" / "kubernetes" / "rbac-ambassador.yml"


def test_each_kind_may_be_listed_and_watched_its_status_of_ours_written_and_nothing_else() -> None:
    (role,) = (one for one in yaml.safe_load_all(RULES.read_text()) if one["kind"] == "ClusterRole")
    granted: set[tuple[object, ...]] = {
        (group, resource, tuple(rule["verbs"]), tuple(rule.get("resourceNames", ())))
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    needed: set[tuple[object, ...]] = {("", "namespaces", ("get",), ("kube-system",))}
    for kind in mirrored_kinds(load_schema("ambassador")):
        group = "" if kind.manifests.group == CORE else kind.manifests.group
        needed.add((group, kind.plural.replace("_", ""), ("list", "watch"), ()))
        if kind.status is not None and not kind.status.is_input:
            plural = kind.plural.replace("_", "")
            needed |= {(group, plural, ("get",), ()), (group, f"{plural}/status", ("patch",), ())}
        assert manifest_kind(kind).name.lower() == kind.name.replace("_", "")
    assert granted == needed
