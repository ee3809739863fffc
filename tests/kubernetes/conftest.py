"""A real kube-apiserver for the tests of this directory; without one they are skipped (``make kubernetes``)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from intentc.bridges.kubernetes.mirrored_kinds import manifest_kind, mirrored_kinds
from intentc.loading.configuration import Configuration
from intentc.loading.configuration.sections import Intentc
from intentc.plugins import Loaded, installed
from tests.integration.conftest import etcd, etcd_store
from tests.support.kube.kube_apiserver import KubeApiserver, binary
from tests.support.waiting import pauses

__all__ = ["etcd", "etcd_store"]

BRIDGE = "bridge-token"
GROUP = "getambassador.io"


@pytest.fixture(scope="session")
def loaded() -> Loaded:
    """The Ambassador compiler."""
    return installed(Configuration(intentc=Intentc(compilers=("ambassador",))))


@pytest.fixture
def cluster(loaded: Loaded) -> Iterator[KubeApiserver]:
    """A cluster with Ambassador's kinds, and the rights of the bridge for a user of its own."""
    program = binary()
    if program is None:
        pytest.skip("no kube-apiserver in KUBEBUILDER_ASSETS: make kubernetes builds one")
    server = KubeApiserver(program, {BRIDGE: ("bridge", "bridges")})
    try:
        server.start()
        install(server, loaded)
        yield server
    finally:
        server.close()


def install(server: KubeApiserver, loaded: Loaded) -> None:
    """Install the CRDs of the compiler's kinds, and wait until they are served."""
    for kind in mirrored_kinds(loaded.schema):
        if kind.manifests.group != GROUP:
            continue
        name, plural = manifest_kind(kind).name, kind.plural.replace("_", "")
        version = {
            "name": "v3alpha1",
            "served": True,
            "storage": True,
            "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        }
        server.ask(
            "POST",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            {
                "metadata": {"name": f"{plural}.{GROUP}"},
                "spec": {
                    "group": GROUP,
                    "scope": "Namespaced",
                    "names": {"plural": plural, "kind": name, "listKind": f"{name}List"},
                    "versions": [version],
                },
            },
        )
        server.wait_for(f"/apis/{GROUP}/v3alpha1/{plural}", pauses())
