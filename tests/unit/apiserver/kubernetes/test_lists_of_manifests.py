"""Lists and watches through the Kubernetes-compatible API, whatever stands among the resources."""

from __future__ import annotations

import anyio
import httpx2
import msgspec
import pytest

from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Put
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

SERVICES = "/api/v1/namespaces/{}/services"


def service(name: str, **metadata: object) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, **metadata},
        "spec": {"ports": [{"port": 80}]},
    }


@pytest.mark.parametrize("namespace", ["other", "shop"])
async def test_a_list_ends_also_if_nothing_of_a_page_is_shown(
    kube: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch, namespace: str
) -> None:
    monkeypatch.setattr("intentc.apiserver.draft._PAGE", 2)
    for name in "abcdefg":
        await kube.post(SERVICES.format("shop"), json=service(name))
    with anyio.fail_after(PATIENCE):
        items = (await kube.get(SERVICES.format(namespace))).json()["items"]
    assert [one["metadata"]["name"] for one in items] == (list("abcdefg") if namespace == "shop" else [])


async def test_a_watch_leaves_out_what_a_list_leaves_out(kube: httpx2.AsyncClient, store: MemoryStore) -> None:
    """A value that somebody put into etcd under a key that is no uuid."""
    path = SERVICES.format("shop")
    await kube.post(path, json=service("a"))
    revision = (await kube.get(path)).json()["metadata"]["resourceVersion"]
    found = (await store.range("/t/service/", "/t/service0")).items[0]
    value = found.value.replace(b'"uuid":', b'"former":')
    await store.transaction([], [Put("/t/service/no uuid", value)])
    assert [one["metadata"]["name"] for one in (await kube.get(path)).json()["items"]] == ["a"]
    watched = await kube.get(path, params={"watch": "true", "resourceVersion": revision, "timeoutSeconds": "1"})
    assert [msgspec.json.decode(line) for line in watched.text.splitlines()] == []


async def test_a_finalizer_without_a_prefix_is_named_by_its_place(kube: httpx2.AsyncClient) -> None:
    answer = await kube.post(SERVICES.format("shop"), json=service("a", finalizers=["x.io/y", "plain"]))
    (cause,) = answer.json()["details"]["causes"]
    assert (answer.status_code, cause["field"]) == (422, "metadata.finalizers[1]")
