"""A real cluster accepts every object of an instance, and finds nothing to change in them afterwards.

The instances are those of the pairs in ``tests/unit/gateway/children``.
"""

from __future__ import annotations

import json
import urllib.error
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import yaml

from intentc.compilers.gateway.children import Child, Phase, children
from intentc.compilers.gateway.instance import Instance
from intentc.outgoing import differences, target_of
from tests.kubernetes.kube_apiserver import KubeApiserver, running_kube_apiserver
from tests.support.waiting import pauses

CASES = Path(__file__).parents[1] / "unit/gateway/children"
NAMES = sorted(path.name.removesuffix(".in.yaml") for path in CASES.glob("*.in.yaml"))
TWO_FAMILIES = ("--feature-gates=IPv6DualStack=true", "--service-cluster-ip-range=10.0.0.0/16,fd00::/108")
"""As every cluster has them since 1.23."""
CONTOUR_CONFIGURATION = {
    "metadata": {"name": "contourconfigurations.projectcontour.io"},
    "spec": {
        "group": "projectcontour.io",
        "scope": "Namespaced",
        "names": {"plural": "contourconfigurations", "kind": "ContourConfiguration"},
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[KubeApiserver]:
    """A cluster with the namespaces of the cases and the kind ContourConfiguration."""
    with running_kube_apiserver(arguments=TWO_FAMILIES) as server:
        server.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CONTOUR_CONFIGURATION)
        server.wait_for("/apis/projectcontour.io/v1alpha1/contourconfigurations", pauses())
        for namespace in ("edge", "shop", "shop-routes"):
            server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        yield server


def instance(case: str) -> Instance:
    found = msgspec.convert(yaml.safe_load((CASES / f"{case}.in.yaml").read_text()), Instance)
    # The addresses of the cases, in the range of this cluster.
    addresses = {"10.96.0.7": "10.0.96.7"}
    return msgspec.structs.replace(found, addresses=tuple(addresses.get(each, each) for each in found.addresses))


def path_of(manifest: Mapping[str, Any]) -> str:
    target = target_of(manifest)
    root = f"/apis/{target.api_version}" if target.group else f"/api/{target.api_version}"
    scope = f"/namespaces/{target.namespace}" if target.namespace else ""
    return f"{root}{scope}/{target.kind.lower()}s/{target.name}"


class Applied:
    """Applies objects, and deletes them at the end of the test."""

    def __init__(self, cluster: KubeApiserver) -> None:
        self.cluster = cluster
        self.paths: set[str] = set()

    def apply(self, child: Child) -> Any:
        path = path_of(child.manifest)
        try:
            return self.cluster.ask(
                "PATCH", f"{path}?fieldManager=intentc", child.manifest, content="application/apply-patch+yaml"
            )
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(f"{path}: {json.load(error)['message']:.500}") from None
        finally:
            self.paths.add(path)

    def stored(self, child: Child) -> Any:
        return self.cluster.ask("GET", path_of(child.manifest))

    def end(self) -> None:
        # Namespaces stay: without controllers they would never disappear.
        for path in self.paths:
            if not path.startswith("/api/v1/namespaces/") or path.count("/") > 4:
                try:
                    self.cluster.ask("DELETE", f"{path}?propagationPolicy=Background")
                except urllib.error.HTTPError as error:
                    error.close()


@pytest.fixture
def objects(cluster: KubeApiserver) -> Iterator[Applied]:
    made = Applied(cluster)
    yield made
    made.end()


@pytest.mark.parametrize("case", NAMES)
def test_a_cluster_accepts_the_objects_and_finds_no_difference(objects: Applied, case: str) -> None:
    made = list(children(instance(case), lambda child: None))
    assert len(made) >= 13
    for child in made:
        assert differences(child.manifest, objects.apply(child)) == ()
    for child in made:
        stored = objects.stored(child)
        assert differences(child.manifest, stored) == ()
        assert objects.apply(child)["metadata"]["resourceVersion"] == stored["metadata"]["resourceVersion"]


def test_both_workloads_of_envoy_stand_next_to_each_other(objects: Applied) -> None:
    def observed(child: Child) -> Any:
        return SimpleNamespace(gone=False, taken=False, available=None, done=False)

    made = list(children(instance("contour_deployment"), observed))
    assert {target_of(child.manifest).kind for child in made if child.phase is Phase.ENVOY} == {
        "Deployment",
        "DaemonSet",
    }
    for child in made:
        if not child.adopted_only:
            objects.apply(child)


def test_a_change_of_what_is_not_declared_immutable_is_accepted(objects: Applied) -> None:
    """A Gateway that gets other ports, parameters and labels changes its objects in place."""
    before, after = instance("gateway"), instance("contour_deployment")
    after = msgspec.structs.replace(
        after,
        envoy_pods=msgspec.structs.replace(after.envoy_pods, workload="DaemonSet", strategy=""),
        contour_pods=msgspec.structs.replace(after.contour_pods, watch_namespaces=()),
    )
    uids = {
        target_of(child.manifest): objects.apply(child)["metadata"]["uid"]
        for child in children(before, lambda child: None)
    }
    for child in children(after, lambda child: None):
        if not child.once:
            assert objects.apply(child)["metadata"]["uid"] == uids[target_of(child.manifest)]
            assert differences(child.manifest, objects.stored(child)) == ()
