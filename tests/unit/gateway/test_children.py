"""Each pair in ``children/``: an instance, and the manifests that follow from it (docs/gateway.md §8, §8.1).

``….in.yaml`` has the fields of an ``Instance``; ``….out.yaml`` has ``objects``, all of them in the order of creation
(left out where the case is not about it), and ``manifests``, those that the case is about, whole.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from intentc.compilers.gateway.children import Child, children
from intentc.compilers.gateway.instance import Instance
from intentc.outgoing import Target, target_of

FOLDER = Path(__file__).parent / "children"
CASES = sorted(path.name.removesuffix(".in.yaml") for path in FOLDER.glob("*.in.yaml"))


def read(name: str) -> Any:
    return yaml.safe_load((FOLDER / name).read_text())


def nothing_observed(child: Child) -> None:
    """Before the bridge has looked."""


def made(case: str) -> dict[Target, Child]:
    instance = msgspec.convert(read(f"{case}.in.yaml"), Instance)
    made = list(children(instance, nothing_observed))
    found = {target_of(child.manifest): child for child in made}
    assert len(found) == len(made)
    return found


@pytest.mark.parametrize("case", CASES)
def test_the_objects_of_an_instance_are_those_of_the_rules(case: str) -> None:
    expected, found = read(f"{case}.out.yaml"), made(case)
    if "objects" in expected:
        assert [f"{target.kind} {target.name}" for target in found] == expected["objects"]
    for manifest in expected["manifests"]:
        assert plain(found[target_of(manifest)].manifest) == manifest


def plain(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


@pytest.mark.parametrize("case", CASES)
def test_objects_are_created_in_the_order_of_their_phases(case: str) -> None:
    phases = [child.phase for child in made(case).values()]
    assert phases == sorted(phases)


@pytest.mark.parametrize("case", CASES)
def test_what_a_cluster_can_not_change_is_declared_immutable(case: str) -> None:
    immutable: dict[str, tuple[str, ...]] = {
        "ClusterRoleBinding": ("roleRef",),
        "RoleBinding": ("roleRef",),
        "Job": ("spec.template",),
        "Deployment": ("spec.selector",),
        "DaemonSet": ("spec.selector",),
    }
    for target, child in made(case).items():
        expected = immutable.get(target.kind, ())
        if (target.kind, child.manifest.get("spec", {}).get("selector")) == ("Service", {"app": target.name}):
            expected = ("spec.clusterIP", "spec.clusterIPs") if target.name.startswith("envoy") else ()
        assert child.immutable == expected
        assert child.once is (target.kind == "Job")


@pytest.mark.parametrize("case", CASES)
def test_no_name_or_label_is_longer_than_a_cluster_accepts(case: str) -> None:
    for target, child in made(case).items():
        limit = 63 if target.kind in ("Service", "Job") else 253
        assert len(target.name) <= limit
        template = child.manifest.get("spec", {}).get("template", {})
        labels = [child.manifest["metadata"]["labels"], template.get("metadata", {}).get("labels", {})]
        assert all(len(value) <= 63 for value in itertools.chain(*(each.values() for each in labels)))


def test_deletion_follows_the_rules_order() -> None:
    """In reverse order of the phases (docs/gateway.md §10)."""
    kinds = list(dict.fromkeys(target.kind for target in reversed(made("contour"))))
    assert kinds == [
        "Service", "DaemonSet", "Deployment", "Job", "ConfigMap", "RoleBinding", "Role", "ServiceAccount",
        "ClusterRoleBinding", "ClusterRole", "Namespace",
    ]  # fmt: skip
