"""Sends random requests to a real API server over a real etcd, one at a time, and judges what comes back.

A failure is a status of 500 or more that is not documented, an answer without words, a server that is gone, and a
callback that held the event loop for too long. What the client does itself counts as well, and takes microseconds.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple

import anyio
import httpx2
import msgspec

from intentc.apiserver.serving import running_api_server
from intentc.dev.etcd_server import Etcd, find_binary
from intentc.loading import load_schema
from intentc.watch.etcd import EtcdStore
from tests.fuzz.requests import NETWORK, POLICY, PROJECT, Request, made
from tests.support.loop_holds import LONGEST, Holds, measured_holds
from tests.support.waiting import PATIENCE

FUTURE = b"Too large resource version"
"""The one documented failure: a revision that etcd has not reached, as a kube-apiserver says it (504)."""


class Found(NamedTuple):
    """What is wrong with the answer to the request of this number."""

    number: int
    request: Request
    problem: str

    def __str__(self) -> str:
        return f"request {self.number}: {self.problem}\n  {self.request.raw()[:2_000]!r}"


class Ran(NamedTuple):
    """``statuses``: how often each came."""

    statuses: Counter[int]
    found: Sequence[Found]


def run(seed: int, count: int, progress: Callable[[int], None] = lambda done: None) -> Ran:
    """Send ``count`` requests of this seed."""
    etcd = Etcd(binary=find_binary())
    etcd.start()
    try:
        return anyio.run(_run, etcd.endpoint, seed, count, progress)
    finally:
        etcd.close()


async def _run(endpoint: str, seed: int, count: int, progress: Callable[[int], None]) -> Ran:
    store = EtcdStore([endpoint])
    statuses, found = Counter[int](), list[Found]()
    try:
        async with running_api_server(store, load_schema("ambassador", "contrail"), path="fuzzed") as running:
            await _fill(running.url)
            port = int(running.url.rpartition(":")[2])
            with _logged_crashes() as crashes, measured_holds() as holds:
                for number, request in enumerate(islice(made(seed), count)):
                    crashes.clear()
                    holds.forget()
                    with anyio.fail_after(PATIENCE):
                        answer = await _sent(port, request)
                    statuses[_status(answer)] += 1
                    found += [Found(number, request, problem) for problem in _problems(request, answer, crashes, holds)]
                    progress(number + 1)
    finally:
        await store.close()
    return Ran(statuses, found)


async def _fill(url: str) -> None:
    async with httpx2.AsyncClient(base_url=url, timeout=PATIENCE, trust_env=False) as client:
        for kind, uuid in (("virtual-network", NETWORK), ("network-policy", POLICY)):
            path = "/virtual-networks" if kind == "virtual-network" else "/network-policys"
            answer = await client.post(path, json={kind: {"fq_name": [*PROJECT, kind], "uuid": uuid}})
            assert answer.is_success, answer.text


async def _sent(port: int, request: Request) -> bytes:
    """The whole answer; of a watch its beginning."""
    parts = []
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        try:
            await stream.send(request.raw())
            if request.may_be_incomplete:
                await stream.send_eof()
            while True:
                parts.append(await stream.receive())
                if request.is_watch:
                    break
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            pass
    return b"".join(parts)


def _status(answer: bytes) -> int:
    words = answer[:20].split()
    return int(words[1]) if len(words) > 1 else 0


def _problems(request: Request, answer: bytes, crashes: list[str], holds: Holds) -> Iterator[str]:
    status = _status(answer)
    head, _, body = answer.partition(b"\r\n\r\n")
    if crashes:
        yield f"{status}, and the log says {crashes[0]}"
    elif status >= 500 and FUTURE not in body:
        yield f"{status} {body[:300]!r}"
    if status == 0 and not request.may_be_incomplete:
        yield "no answer"
    if 400 <= status < 500 and request.method != "HEAD" and b"json" in head.lower() and not _has_words(body):
        yield f"{status} without words: {body[:300]!r}"
    if holds.longest > LONGEST:
        yield f"held the loop for {holds.longest:.3f} s of CPU: {holds.by[:200]}"


def _has_words(body: bytes) -> bool:
    try:
        found = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return False
    return isinstance(found, dict) and bool(found.get("message")) and len(found["message"]) < 10_000


@contextmanager
def _logged_crashes() -> Iterator[list[str]]:
    """The errors that are logged, with their causes."""
    seen: list[str] = []

    class Listening(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            cause = record.exc_info[1] if record.exc_info else None
            where = cause.__traceback__ if cause is not None else None
            while where is not None and where.tb_next is not None:
                where = where.tb_next
            place = f" ({where.tb_frame.f_code.co_filename}:{where.tb_lineno})" if where is not None else ""
            seen.append(f"{record.getMessage()[:200]}: {cause!r:.300}{place}")

    handler = Listening(logging.ERROR)
    logging.getLogger().addHandler(handler)
    try:
        yield seen
    finally:
        logging.getLogger().removeHandler(handler)
