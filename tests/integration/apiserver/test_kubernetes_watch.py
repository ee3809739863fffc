"""Watches of the Kubernetes-compatible API over real HTTP and a real etcd."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import msgspec
import pytest

from intentc.apiserver.kubernetes import watches
from intentc.loading import load_schema
from intentc.model import Schema
from intentc.watch.etcd import EtcdStore
from tests.support.api_server import served
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

MAPPINGS = "/apis/getambassador.io/v3alpha1/namespaces/shop/mappings"
MERGE = {"content-type": "application/merge-patch+json"}


@pytest.fixture(scope="module")
def schema() -> Schema:
    return load_schema("ambassador")


def mapping(name: str, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **metadata}, "spec": {"prefix": f"/{name}/", "service": "web"}}


@asynccontextmanager
async def watched(client: httpx2.AsyncClient, **query: Any) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
    """The events of a watch as they come."""
    with anyio.fail_after(PATIENCE):
        async with client.stream("GET", MAPPINGS, params={"watch": "true", **query}) as answer:
            assert answer.status_code == 200

            async def events() -> AsyncIterator[dict[str, Any]]:
                async for line in answer.aiter_lines():
                    yield msgspec.json.decode(line)

            yield events()


def shown(event: dict[str, Any]) -> tuple[str, str]:
    return event["type"], event["object"]["metadata"].get("name", "")


async def taken(events: AsyncIterator[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    return [await anext(events) for _ in range(count)]


async def test_a_watch_follows_a_list(client: httpx2.AsyncClient) -> None:
    await client.post(MAPPINGS, json=mapping("old"))
    listed = (await client.get(MAPPINGS)).json()["metadata"]["resourceVersion"]
    async with watched(client, resourceVersion=listed) as events:
        await client.post(MAPPINGS, json=mapping("new"))
        await client.patch(f"{MAPPINGS}/old", json={"spec": {"weight": 5}}, headers=MERGE)
        await client.delete(f"{MAPPINGS}/new")
        found = await taken(events, 3)
    assert list(map(shown, found)) == [("ADDED", "new"), ("MODIFIED", "old"), ("DELETED", "new")]
    assert found[2]["object"]["spec"]["prefix"] == "/new/"
    versions = [int(one["object"]["metadata"]["resourceVersion"]) for one in found]
    assert versions == sorted(set(versions))


async def test_a_watch_from_nothing_begins_with_what_is_there(client: httpx2.AsyncClient) -> None:
    for name in ("b", "a"):
        await client.post(MAPPINGS, json=mapping(name))
    async with watched(client) as events:
        assert list(map(shown, await taken(events, 2))) == [("ADDED", "a"), ("ADDED", "b")]
    query = {"sendInitialEvents": "true", "allowWatchBookmarks": "true", "resourceVersionMatch": "NotOlderThan"}
    async with watched(client, **query) as events:
        found = await taken(events, 3)
        assert [one["type"] for one in found] == ["ADDED", "ADDED", "BOOKMARK"]
        assert found[2]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        await client.delete(f"{MAPPINGS}/a")
        assert shown(await anext(events)) == ("DELETED", "a")


async def test_a_selector_turns_changes_into_additions_and_deletions(client: httpx2.AsyncClient) -> None:
    await client.post(MAPPINGS, json=mapping("m", labels={"on": "no"}))
    version = (await client.get(MAPPINGS)).json()["metadata"]["resourceVersion"]
    async with watched(client, resourceVersion=version, labelSelector="on=yes") as events:
        for value in ("yes", "yes2", "no"):
            labels = {"on": value[:3], "n": value}
            await client.patch(f"{MAPPINGS}/m", json={"metadata": {"labels": labels}}, headers=MERGE)
        await client.post(MAPPINGS, json=mapping("other"))
        await client.post(MAPPINGS, json=mapping("last", labels={"on": "yes"}))
        found = await taken(events, 4)
    assert list(map(shown, found)) == [("ADDED", "m"), ("MODIFIED", "m"), ("DELETED", "m"), ("ADDED", "last")]


async def test_a_compacted_version_has_expired(client: httpx2.AsyncClient, etcd_store: EtcdStore) -> None:
    created = (await client.post(MAPPINGS, json=mapping("m"))).json()
    await client.patch(f"{MAPPINGS}/m", json={"spec": {"weight": 5}}, headers=MERGE)
    await etcd_store.compact((await etcd_store.range("/")).revision)
    async with watched(client, resourceVersion=created["metadata"]["resourceVersion"]) as events:
        error = await anext(events)
        assert (error["type"], error["object"]["code"], error["object"]["reason"]) == ("ERROR", 410, "Expired")
        assert [one async for one in events] == []


async def test_a_cut_between_events_of_one_transaction_loses_none(client: httpx2.AsyncClient) -> None:
    items = [
        {"kind": "mapping", "data": {"fq_name": ["shop", name], "prefix": "/", "service": "web"}} for name in "abc"
    ]
    before = (await client.get(MAPPINGS)).json()["metadata"]["resourceVersion"]
    assert (await client.post("/sync", json={"resources": items})).status_code == 200
    async with watched(client, resourceVersion=before) as events:
        first = await anext(events)
    async with watched(client, resourceVersion=first["object"]["metadata"]["resourceVersion"]) as events:
        assert sorted(map(shown, await taken(events, 3))) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]


async def test_a_single_write_is_not_repeated(client: httpx2.AsyncClient) -> None:
    created = (await client.post(MAPPINGS, json=mapping("a"))).json()["metadata"]["resourceVersion"]
    async with watched(client, resourceVersion=created) as events:
        await client.post(MAPPINGS, json=mapping("b"))
        assert shown(await anext(events)) == ("ADDED", "b")


async def test_a_quiet_watch_gets_bookmarks_of_what_it_has_seen(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watches, "BETWEEN_BOOKMARKS", 0.02)
    created = (await client.post(MAPPINGS, json=mapping("a"))).json()["metadata"]["resourceVersion"]
    async with watched(client, resourceVersion=created, allowWatchBookmarks="true") as events:
        assert (await anext(events))["object"]["metadata"]["resourceVersion"] == created
        changed = (await client.post(MAPPINGS, json=mapping("b"))).json()["metadata"]["resourceVersion"]
        seen = [one async for one in until_bookmark(events, changed)]
    assert [shown(one) for one in seen if one["type"] != "BOOKMARK"] == [("ADDED", "b")]


async def until_bookmark(events: AsyncIterator[dict[str, Any]], version: str) -> AsyncIterator[dict[str, Any]]:
    async for event in events:
        yield event
        if (event["type"], event["object"]["metadata"]["resourceVersion"]) == ("BOOKMARK", version):
            return


async def test_a_watch_ends_when_the_client_said(client: httpx2.AsyncClient) -> None:
    await client.post(MAPPINGS, json=mapping("a"))
    async with watched(client, timeoutSeconds=1) as events:
        assert [shown(one) async for one in events] == [("ADDED", "a")]


async def test_events_as_tables_name_the_columns_once(client: httpx2.AsyncClient) -> None:
    for name in ("a", "b"):
        await client.post(MAPPINGS, json=mapping(name))
    accept = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}
    query = {"watch": "true", "timeoutSeconds": "1"}
    with anyio.fail_after(PATIENCE):
        lines = (await client.get(MAPPINGS, params=query, headers=accept)).text.splitlines()
    tables = [msgspec.json.decode(line)["object"] for line in lines]
    assert [bool(one["columnDefinitions"]) for one in tables] == [True, False]
    assert [one["rows"][0]["cells"][0] for one in tables] == ["a", "b"]


async def test_a_watch_ends_cleanly_when_the_server_drains(
    etcd_store: EtcdStore, schema: Schema, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    # Cut off by uvicorn's limit instead, the client would see an incomplete answer.
    rest: list[bytes] = []
    async with anyio.create_task_group() as tasks, served(etcd_store, schema, path) as client:
        await client.post(MAPPINGS, json=mapping("m"))
        has_begun = anyio.Event()

        async def watch() -> None:
            async with (
                httpx2.AsyncClient(base_url=client.base_url, timeout=PATIENCE, trust_env=False) as watcher,
                watcher.stream("GET", MAPPINGS, params={"watch": "true"}) as answer,
            ):
                async for line in answer.aiter_bytes():
                    rest.append(line)
                    has_begun.set()

        tasks.start_soon(watch)
        with anyio.fail_after(PATIENCE):
            await has_begun.wait()
    assert len(rest) == 1
    assert "exceeded" not in caplog.text
