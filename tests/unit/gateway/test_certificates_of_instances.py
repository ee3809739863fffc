"""The certificates of a running Contour: the Secrets that its Job makes last, are restored, and end with it."""

from __future__ import annotations

import pytest

from intentc.testing import FakeCluster, MemoryService, load, service_for

pytestmark = pytest.mark.anyio

CONTOUR = load(
    """
apiVersion: operator.projectcontour.io/v1alpha1
kind: Contour
metadata: {name: main, namespace: operators}
spec: {namespace: {name: edge}}
"""
)
JOB = "Job edge/contour-certgen-v1.17.0"
SECRETS = {"Secret edge/contourcert", "Secret edge/envoycert"}


async def running(cluster: FakeCluster) -> MemoryService:
    service = service_for("gateway", cluster=cluster)
    await service.create(CONTOUR)
    return service


async def test_the_secrets_are_the_instances_once_the_job_is_done() -> None:
    cluster = FakeCluster()
    cluster.hold_back("Job", "contour-certgen-v1.17.0", "edge")
    service = await running(cluster)
    assert not SECRETS & set(cluster.objects)
    cluster.let_go("Job", "contour-certgen-v1.17.0", "edge")
    await service.settle()
    assert set(cluster.objects) >= SECRETS
    secret = cluster.get("Secret", "contourcert", "edge")
    assert secret is not None
    assert secret["metadata"]["labels"]["contour.operator.projectcontour.io/owning-contour-name"] == "main"
    assert cluster.log.count(f"create {JOB}") == 1


async def test_a_missing_secret_makes_the_job_run_again() -> None:
    cluster = FakeCluster()
    service = await running(cluster)
    cluster.remove("Secret", "envoycert", "edge")
    await service.settle()
    assert set(cluster.objects) >= SECRETS
    assert cluster.log.count(f"create {JOB}") == 2
    kept = [line for line in cluster.log if line.startswith("delete") and "Secret" not in line and "Job" not in line]
    assert kept == [], "nothing else of the instance ended"


async def test_the_secrets_end_with_the_instance() -> None:
    cluster = FakeCluster()
    service = await running(cluster)
    before = len(cluster.objects)
    assert before == 16
    await service.delete(CONTOUR)
    # The Namespace stays: the Contour does not ask for its removal.
    assert cluster.objects == ("Namespace edge",)
    ended = [line.removeprefix("gone ").split()[0] for line in cluster.log if line.startswith("gone")]
    assert list(dict.fromkeys(ended)) == [
        "Service", "DaemonSet", "Deployment", "Job", "ConfigMap", "Secret", "RoleBinding", "Role", "ServiceAccount",
        "ClusterRoleBinding", "ClusterRole",
    ]  # fmt: skip


async def test_what_the_operator_made_is_taken_over_without_a_restart() -> None:
    former = FakeCluster()
    await running(former)
    cluster = FakeCluster()
    for place in former.objects:
        kind, _, name = place.rpartition(" ")
        namespace, _, name = name.rpartition("/")
        found = former.get(kind, name, namespace)
        assert found is not None
        del found["metadata"]["labels"]["intentc.io/installation"]
        cluster.put(found)
    envoy = cluster.get("DaemonSet", "envoy", "edge")
    await running(cluster)
    after = cluster.get("DaemonSet", "envoy", "edge")
    assert envoy is not None and after is not None
    assert after["metadata"]["uid"] == envoy["metadata"]["uid"]
    assert after["spec"] == envoy["spec"]
    assert after["metadata"]["labels"]["intentc.io/installation"]
    assert [line for line in cluster.log if not line.startswith("update")] == []
