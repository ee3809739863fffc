"""The Python client of Kubernetes on our API server, over HTTP and a real etcd: informer, patches, server-side apply,
leader election."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
import httpx2
import pytest

from intentc.loading import load_schema
from intentc.model import Schema
from tests.support.waiting import until

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import kubernetes
    from kubernetes.dynamic import DynamicClient
    from kubernetes.informer import SharedInformer
    from kubernetes.leaderelection.electionconfig import Config
    from kubernetes.leaderelection.leaderelection import LeaderElection
    from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

VERSION = "getambassador.io/v3alpha1"
Api = Any


@pytest.fixture(scope="module")
def schema() -> Schema:
    return load_schema("ambassador")


@pytest.fixture
def api(client: httpx2.AsyncClient) -> Iterator[Api]:
    """The client's connections to the server."""
    configuration = kubernetes.client.Configuration(host=str(client.base_url).rstrip("/"))
    kubernetes.client.Configuration.set_default(configuration)
    with kubernetes.client.ApiClient(configuration) as opened:
        yield opened
        opened.rest_client.pool_manager.clear()
    kubernetes.client.Configuration.set_default(None)


async def blocking(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    return await anyio.to_thread.run_sync(partial(call, *arguments, **options))


def service(name: str, port: int = 80) -> Any:
    spec = kubernetes.client.V1ServiceSpec(ports=[kubernetes.client.V1ServicePort(port=port)])
    return kubernetes.client.V1Service(metadata={"name": name}, spec=spec)


@pytest.fixture
async def informer(api: Api) -> AsyncIterator[Any]:
    core = kubernetes.client.CoreV1Api(api)
    await blocking(core.create_namespaced_service, "shop", service("old"))
    found = SharedInformer(core.list_namespaced_service, namespace="shop")
    found.start()
    try:
        yield found
    finally:
        # It ends with the next event.
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(blocking, found.stop)
            await until(found._stop_event.is_set)
            await blocking(core.create_namespaced_service, "shop", service("last"))


async def test_an_informer_follows_typed_patches_updates_and_deletions(informer: Any, api: Api) -> None:
    core = kubernetes.client.CoreV1Api(api)
    await until(lambda: informer.cache.list_keys() == ["shop/old"])
    await blocking(core.create_namespaced_service, "shop", service("new"))
    patched = await blocking(core.patch_namespaced_service, "old", "shop", {"metadata": {"labels": {"a": "b"}}})
    assert patched.metadata.labels == {"a": "b"}
    changed = await blocking(core.read_namespaced_service, "new", "shop")
    changed.spec.ports[0].port = 90
    await blocking(core.replace_namespaced_service, "new", "shop", changed)
    await until(
        lambda: (
            {one.metadata.name: (one.metadata.labels, one.spec.ports[0].port) for one in informer.cache.list()}
            == {"old": ({"a": "b"}, 80), "new": (None, 90)}
        )
    )
    await blocking(core.delete_namespaced_service, "old", "shop")
    await until(lambda: informer.cache.list_keys() == ["shop/new"])


async def test_the_dynamic_client_applies_and_reads_custom_resources(api: Api, tmp_path: Path) -> None:
    dynamic = await blocking(DynamicClient, api, cache_file=str(tmp_path / "discovered"))
    mappings = await blocking(dynamic.resources.get, api_version=VERSION, kind="Mapping")
    body = {
        "apiVersion": VERSION,
        "kind": "Mapping",
        "metadata": {"name": "m"},
        "spec": {"prefix": "/m/", "service": "web"},
    }
    apply = partial(mappings.server_side_apply, namespace="shop", name="m")
    await blocking(apply, body=body, field_manager="one")
    with pytest.raises(kubernetes.dynamic.exceptions.ConflictError, match=r"\.spec\.service"):
        await blocking(apply, body={**body, "spec": {"service": "db"}}, field_manager="two")
    forced = {**body, "spec": {"service": "db"}}
    await blocking(apply, body=forced, field_manager="two", force_conflicts=True)
    status = {**body, "spec": None, "status": {"state": "Running"}}
    del status["spec"]
    await blocking(mappings.status.server_side_apply, namespace="shop", name="m", body=status, field_manager="three")
    found = await blocking(mappings.get, namespace="shop", name="m")
    assert (found.spec.to_dict(), found.status.state) == ({"prefix": "/m/", "service": "db"}, "Running")
    assert {one.manager for one in found.metadata.managedFields} == {"one", "two", "three"}
    merge = {"metadata": {"annotations": {"note": "x"}}}
    patch = partial(mappings.patch, content_type="application/merge-patch+json")
    await blocking(patch, namespace="shop", name="m", body=merge)
    listed = await blocking(mappings.get, namespace="shop", label_selector="!missing")
    assert [one.metadata.annotations.note for one in listed.items] == ["x"]
    await blocking(mappings.delete, namespace="shop", name="m")


async def test_one_of_two_candidates_leads_until_its_lease_is_over(api: Api) -> None:
    def candidate(name: str) -> Any:
        lock = LeaseLock("leader", "shop", name)
        lock.api_instance = kubernetes.client.CoordinationV1Api(api)
        return LeaderElection(Config(lock, 3600, 1800, 10, lambda: None, lambda: None))

    first, second = candidate("first"), candidate("second")
    assert await blocking(first.try_acquire_or_renew)
    assert not await blocking(second.try_acquire_or_renew)
    assert await blocking(first.try_acquire_or_renew)
    assert not await blocking(second.try_acquire_or_renew)
    second.observed_time_milliseconds = 0  # more than an hour ago
    assert await blocking(second.try_acquire_or_renew)
    assert not await blocking(first.try_acquire_or_renew)
    leases = await blocking(kubernetes.client.CoordinationV1Api(api).list_namespaced_lease, "shop")
    assert [(one.metadata.name, one.spec.holder_identity) for one in leases.items] == [("leader", "second")]
    stale = leases.items[0]
    await blocking(second.try_acquire_or_renew)
    with pytest.raises(kubernetes.client.ApiException, match="Conflict"):
        await blocking(kubernetes.client.CoordinationV1Api(api).replace_namespaced_lease, "leader", "shop", stale)
