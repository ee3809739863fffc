"""A cluster that is broken, or another server than expected: each answer of it is a failed request, and the bridge goes
on."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import msgspec
import pytest

from intentc.bridges.kubernetes import cluster as cluster_module
from intentc.bridges.kubernetes.cluster import Cluster, TooLarge
from intentc.bridges.kubernetes.informer import Finding, Informer, ListPage
from intentc.bridges.kubernetes.kind_watcher import KindWatcher, Phase
from intentc.bridges.kubernetes.rest_mapping import ManifestKind
from intentc.bridges.kubernetes.wire import Lines, Unreadable, decode_page, newer
from intentc.loading.kubeconfig import ClusterAccess
from intentc.reconcile.failures import Failure, Unavailable
from tests.support.raw_server import Answer, answer, endless, raw_server
from tests.support.waiting import until

pytestmark = pytest.mark.anyio
APPS = ManifestKind("App", ("example.com/v1",))
PATH = "/apis/example.com/v1/apps"


@asynccontextmanager
async def connected(given: Answer) -> AsyncIterator[Cluster]:
    async with raw_server(given) as server:
        cluster = Cluster(lambda: ClusterAccess(server.url))
        try:
            yield cluster
        finally:
            await cluster.aclose()


def app(number: int, **metadata: str) -> dict[str, object]:
    given = {"name": f"a{number}", "uid": f"u{number}", "resourceVersion": "1", **metadata}
    return {"metadata": given, "spec": {"text": "x" * 1000}}


def page(*items: object, version: str = "5", following: str = "") -> bytes:
    return msgspec.json.encode({"metadata": {"resourceVersion": version, "continue": following}, "items": items})


async def no_doubt() -> str:
    return ""


async def test_an_endless_answer_is_read_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "LARGEST_ANSWER", 1_000_000)
    async with connected(lambda head: endless()) as cluster:
        with pytest.raises(TooLarge, match="more than 1,000,000 bytes"):
            await cluster.get(PATH)


async def test_a_compressed_answer_is_not_read() -> None:
    bomb = gzip.compress(bytes(10_000_000))
    async with connected(lambda head: answer(bomb, Content_Encoding="gzip")) as cluster:
        with pytest.raises(Unavailable, match=r"compressed \('gzip'\)"):
            await cluster.get(PATH)
        with pytest.raises(Unavailable, match=r"compressed \('gzip'\)"):
            async with cluster.watching(PATH, {}, 60.0):
                raise AssertionError


@pytest.mark.parametrize("status", [301, 307, 400, 429, 500, 599])
@pytest.mark.parametrize("body", [b"", b"[" * 100_000, b"\xff", b'{"message": 7}', b'{"code": ' + b"9" * 5000 + b"}"])
async def test_an_error_that_can_t_be_read_is_an_error(status: int, body: bytes) -> None:
    async with connected(lambda head: answer(body, status, Location="http://127.0.0.1:1/")) as cluster:
        with pytest.raises(Failure):
            await cluster.get(PATH)


@pytest.mark.parametrize(
    ("text", "seconds"), [("7", 7), ("-7", 0), ("inf", 60), ("nan", 0), ("9" * 5000, 60), ("soon", 0)]
)
async def test_a_pause_has_an_end(text: str, seconds: float) -> None:
    async with connected(lambda head: answer(b"{}", 429, Retry_After=text)) as cluster:
        with pytest.raises(Unavailable) as caught:
            await cluster.get(PATH)
    assert caught.value.seconds == seconds


HOSTILE = {
    "a version of 5,000 digits": page(app(1), version="9" * 5000),
    "an object's version of 5,000 digits": page(app(1, resourceVersion="9" * 5000)),
    "a token of a megabyte": page(app(1), following="x" * 1_000_000),
    "nested": b'{"items": ' + b"[" * 100_000,
    "no list": b'{"items": 7}',
    "no text": b"\xff" * 100,
}


@pytest.mark.parametrize("listed", HOSTILE.values(), ids=HOSTILE)
async def test_a_list_that_can_t_be_read_is_asked_for_again(listed: bytes) -> None:
    lists = 0

    def given(head: str) -> bytes | AsyncIterator[bytes]:
        nonlocal lists
        if head.startswith("GET /apis/example.com/v1 "):
            return answer(b'{"resources": [{"name": "apps", "kind": "App"}]}')
        if "watch=true" in head:
            return endless(b'{"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "%b"}}}\n' % (b"9" * 5000))
        lists += 1
        return answer(listed if lists < 3 else page(app(2)))

    found: list[Finding] = []
    async with connected(given) as cluster, anyio.create_task_group() as group:
        watcher = KindWatcher(cluster, APPS, found.extend, no_doubt)
        group.start_soon(watcher.run)
        await until(lambda: watcher.informer.complete and watcher.counters["cut"] > 2)
        assert "5000" not in watcher.state.error and len(watcher.state.error) < 500
        group.cancel_scope.cancel()


async def test_a_page_that_is_too_large_is_asked_for_with_fewer_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "LARGEST_ANSWER", 50_000)
    limits: list[int] = []

    def given(head: str) -> bytes:
        if head.startswith("GET /apis/example.com/v1 "):
            return answer(b'{"resources": [{"name": "apps", "kind": "App"}]}')
        if "watch=true" in head:
            return answer(b"")
        query = dict(pair.split("=") for pair in head.split(" ")[1].partition("?")[2].split("&"))
        start, limit = int(query.get("continue", "0")), int(query["limit"])
        limits.append(limit)
        end = min(start + limit, 200)
        return answer(page(*map(app, range(start, end)), following=str(end) if end < 200 else ""))

    found: list[Finding] = []
    async with connected(given) as cluster, anyio.create_task_group() as group:
        watcher = KindWatcher(cluster, APPS, found.extend, no_doubt)
        group.start_soon(watcher.run)
        await until(lambda: watcher.informer.complete)
        group.cancel_scope.cancel()
    assert limits[:4] == [500, 125, 31, 31]
    assert len(found) == 200 + 1
    assert watcher.state.phase is not Phase.DENIED


async def test_a_list_without_an_end_is_logged_and_shown(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(cluster_module, "LARGEST_ANSWER", 100_000)

    def given(head: str) -> bytes | AsyncIterator[bytes]:
        if head.startswith("GET /apis/example.com/v1 "):
            return answer(b'{"resources": [{"name": "apps", "kind": "App"}]}')
        return endless()

    async with connected(given) as cluster, anyio.create_task_group() as group:
        watcher = KindWatcher(cluster, APPS, lambda findings: None, no_doubt)
        group.start_soon(watcher.run)
        await until(lambda: watcher.state.phase is Phase.DISCONNECTED)
        group.cancel_scope.cancel()
    assert "more than 100,000 bytes" in watcher.state.error
    assert "more than 100,000 bytes" in caplog.text


def test_a_page_becomes_smaller_until_it_has_one_object() -> None:
    informer = Informer()
    assert [informer.too_large() for _ in range(6)] == [True, True, True, True, False, False]
    assert informer.request() == ListPage(1, "")


def test_versions_of_any_length_are_compared() -> None:
    assert newer("9" * 5000, "9" * 4999)
    assert not newer("9" * 4999, "9" * 5000)
    assert newer("10", "9") and not newer("9", "10") and not newer("007", "7") and newer("abc", "1") is None


def test_a_version_that_is_too_long_is_unreadable() -> None:
    with pytest.raises(Unreadable, match="more than 256 characters"):
        decode_page(page(version="9" * 5000))


def test_lines_of_one_piece_take_linear_time() -> None:
    assert sum(1 for _ in Lines().fed(b"a\n" * 1_000_000)) == 1_000_000
