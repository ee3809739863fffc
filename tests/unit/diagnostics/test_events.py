"""Server-sent events, over a real socket: lines as they come, the status when it changes, and an end in any case."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest

from intentc.diagnostics import event_streams as events
from intentc.diagnostics.event_streams import MOST_BACK, MOST_FOLLOWERS, short_status
from intentc.diagnostics.questions import JournalQuery, Unanswerable
from intentc.diagnostics.serving import running_diagnostics
from tests.support.waiting import PATIENCE
from tests.unit.diagnostics.answered import Answered, ObservedCompiler, line

pytestmark = pytest.mark.anyio

Event = tuple[str, Any, str]
"""Name, data, id."""


class Growing(Answered):
    """Its journal grows while somebody follows."""

    def __init__(self) -> None:
        super().__init__()
        self.grown = anyio.Event()
        self.followers = 0

    def add(self, *lines: dict[str, Any]) -> None:
        self.lines += lines
        self.grown.set()
        self.grown = anyio.Event()

    async def follow(self, after: int) -> AsyncIterator[dict[str, Any]]:
        self.followers += 1
        try:
            while True:
                for one in [one for one in self.lines if one["sequence"] > after]:
                    after = one["sequence"]
                    yield one
                await self.grown.wait()
        finally:
            self.followers -= 1


class Stream:
    """What one follower receives."""

    def __init__(self, answer: httpx2.Response) -> None:
        self.answer = answer
        self._lines = answer.aiter_lines()

    async def next(self, name: str = "") -> Event:
        """The next event, of this name if one is given."""
        with anyio.fail_after(PATIENCE):
            found: dict[str, str] = {}
            async for text in self._lines:
                if text:
                    key, _, value = text.partition(": ")
                    found[key] = value
                elif name in ("", found.get("event")) and "event" in found:
                    return found["event"], json.loads(found["data"]), found.get("id", "")
                else:
                    found = {}
        raise EOFError

    async def rest(self) -> None:
        """Return when the stream has ended."""
        with anyio.fail_after(PATIENCE):
            async for _ in self._lines:
                pass


@asynccontextmanager
async def served(answered: Answered, compiler: ObservedCompiler | None = None) -> AsyncIterator[httpx2.AsyncClient]:
    async with (
        running_diagnostics(compiler or ObservedCompiler(), "127.0.0.1", 0, reader=answered) as url,
        httpx2.AsyncClient(trust_env=False, base_url=url, timeout=PATIENCE, limits=httpx2.Limits()) as http,
    ):
        yield http


@asynccontextmanager
async def following(
    http: httpx2.AsyncClient, path: str = "/events", headers: dict[str, str] | None = None
) -> AsyncIterator[Stream]:
    async with http.stream("GET", path, headers=headers or {}) as answer:
        yield Stream(answer)


async def test_it_is_a_stream_of_events_that_nobody_keeps() -> None:
    async with served(Growing()) as http, following(http) as stream:
        assert stream.answer.headers["content-type"].startswith("text/event-stream")
        assert stream.answer.headers["cache-control"] == "no-store"
        assert "content-length" not in stream.answer.headers


async def test_the_status_comes_at_once_and_without_its_lists() -> None:
    async with served(Growing()) as http, following(http) as stream:
        _, status, _ = await stream.next("status")
    assert (status["converged"], status["applied_revision"], status["ready"]) == (True, 42, True)
    assert status["counters"] == {"evaluations": 5, "writes": 2}


async def test_a_status_comes_again_only_when_it_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "STATUS_PERIOD", 0.01)
    compiler = ObservedCompiler()
    async with served(Growing(), compiler) as http, following(http, "/events?only=status") as stream:
        assert (await stream.next())[1]["ready"] is True
        compiler.reasons = ("etcd is away",)
        assert (await stream.next())[1]["not_ready"] == ["etcd is away"]


async def test_lines_come_as_they_are_written_with_their_sequence_as_id() -> None:
    answered = Growing()
    async with served(answered) as http, following(http, "/events?only=line") as stream:
        answered.add(line(4), line(5))
        assert [(await stream.next())[2] for _ in range(2)] == ["4", "5"]


async def test_a_follower_with_a_position_gets_the_later_lines() -> None:
    async with served(Growing()) as http, following(http, "/events?only=line&after=1") as stream:
        assert [(await stream.next())[1]["sequence"] for _ in range(2)] == [2, 3]


async def test_a_browser_that_reconnects_resumes_where_it_was() -> None:
    async with (
        served(Growing()) as http,
        following(http, "/events?only=line&after=0", {"Last-Event-ID": "2"}) as stream,
    ):
        assert (await stream.next())[1]["sequence"] == 3


async def test_a_follower_ahead_of_the_journal_begins_anew() -> None:
    async with served(Growing()) as http, following(http, "/events?only=line", {"Last-Event-ID": "900"}) as stream:
        assert (await stream.next())[1]["sequence"] == 1


async def test_a_follower_after_a_long_absence_gets_only_the_last_lines() -> None:
    answered = Growing()
    answered.add(*(line(number) for number in range(4, MOST_BACK + 100)))
    async with served(answered) as http, following(http, "/events?only=line&after=1") as stream:
        assert (await stream.next())[1]["sequence"] == 100


@pytest.mark.parametrize("path", ["/events?after=x", "/events?only=all", "/events?since=1"])
async def test_wrong_parameters_are_rejected(path: str) -> None:
    async with served(Growing()) as http:
        assert (await http.get(path)).status_code == 400


async def test_followers_beyond_the_limit_are_rejected_until_one_leaves() -> None:
    answered = Growing()
    async with served(answered) as http, anyio.create_task_group() as group:
        release = anyio.Event()
        begun = anyio.Semaphore(0)

        async def follow() -> None:
            async with following(http) as stream:
                await stream.next()
                begun.release()
                await release.wait()

        for _ in range(MOST_FOLLOWERS):
            group.start_soon(follow)
        for _ in range(MOST_FOLLOWERS):
            await begun.acquire()
        rejected = await http.get("/events")
        assert (rejected.status_code, rejected.headers["retry-after"]) == (503, "5")
        assert str(MOST_FOLLOWERS) in rejected.json()["error"]
        release.set()
        with anyio.fail_after(PATIENCE):
            while not await _is_served(http):  # noqa: ASYNC110 - the server notices by itself
                await anyio.sleep(0.01)


async def _is_served(http: httpx2.AsyncClient) -> bool:
    """Whether a new follower receives anything."""
    async with following(http) as stream:
        try:
            await stream.next()
        except EOFError:
            return False
        return True


async def test_the_end_of_the_server_ends_every_stream_in_order() -> None:
    answered = Growing()
    followed = anyio.Event()

    async def follow(url: str) -> None:
        async with (
            httpx2.AsyncClient(timeout=PATIENCE, trust_env=False) as http,
            following(http, f"{url}/events") as stream,
        ):
            await stream.next()
            followed.set()
            await stream.rest()

    async with (
        anyio.create_task_group() as group,
        running_diagnostics(ObservedCompiler(), "127.0.0.1", 0, reader=answered) as url,
    ):
        group.start_soon(follow, url)
        await followed.wait()
    assert answered.followers == 0


async def test_one_who_reads_nothing_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_PATIENCE", 0.05)
    monkeypatch.setattr(events, "_GATHERED", 0.0)
    answered = Growing()
    async with running_diagnostics(ObservedCompiler(), "127.0.0.1", 0, reader=answered) as url:
        host, _, port = url.partition("://")[2].rpartition(":")
        async with await anyio.connect_tcp(host, int(port)) as deaf:
            await deaf.send(b"GET /events?only=line HTTP/1.1\r\nHost: localhost\r\n\r\n")
            with anyio.fail_after(PATIENCE):
                while not answered.followers:  # noqa: ASYNC110 - the server has begun to follow
                    await anyio.sleep(0.01)
                answered.add(*(line(number, status="x" * 100_000) for number in range(4, 404)))
                while answered.followers:  # noqa: ASYNC110 - and noticed
                    await anyio.sleep(0.01)


@pytest.mark.parametrize("only", ["line", "status"])
async def test_where_nothing_moves_a_page_hears_that_somebody_is_there(
    monkeypatch: pytest.MonkeyPatch, only: str
) -> None:
    monkeypatch.setattr(events, "_HEARTBEAT", 0.02)
    monkeypatch.setattr(events, "_GATHERED", 0.0)
    async with served(Growing()) as http, following(http, f"/events?only={only}") as stream:
        assert await stream.next("alive") == ("alive", {}, "")


async def test_a_storm_of_lines_is_a_handful_of_sends() -> None:
    answered = Growing()
    async with served(answered) as http, following(http, "/events?only=line") as stream:
        answered.add(*(line(number) for number in range(4, 604)))
        assert [(await stream.next())[1]["sequence"] for _ in range(600)] == list(range(4, 604))


async def test_a_journal_that_can_not_be_followed_says_so_and_the_status_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def nobody(after: int) -> AsyncIterator[dict[str, Any]]:
        for one in answered.lines:
            if one["sequence"] > after:
                yield one
        raise Unanswerable(503, "too many follow", "ask /journal")

    answered = Growing()
    monkeypatch.setattr(answered, "follow", nobody)
    async with served(answered) as http, following(http) as stream:
        assert (await stream.next("unanswerable"))[1] == {"error": "too many follow", "next_step": "ask /journal"}


async def test_one_without_a_journal_shows_its_status() -> None:
    async with (
        running_diagnostics(ObservedCompiler(), "127.0.0.1", 0) as url,
        httpx2.AsyncClient(timeout=PATIENCE, trust_env=False) as http,
        following(http, f"{url}/events") as stream,
    ):
        assert (await stream.next())[0] == "status"


def test_the_short_status_is_short_whatever_is_waited_for() -> None:
    status = {"pending_work": ["x"] * 1000, "held": ["k"] * 1000, "counts": {"held": 1000}}
    short = short_status(status, (False, ("the first pass is not complete",)))
    assert (len(short["pending_work"]), short["counts"]) == (20, {"held": 1000})
    assert "held" not in short


async def test_the_end_of_the_journal_is_asked_for_and_not_the_whole() -> None:
    answered = Growing()
    async with served(answered) as http, following(http) as stream:
        await stream.next()
    assert answered.queries == [JournalQuery(limit=1)]
