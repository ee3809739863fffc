"""Lists and watches one kind of a cluster until cancelled, as its informer says.

Why it exists: the informer decides without a network; here are the requests, the pauses, and what a person may want to
know of them. A watch ends after some minutes by itself, is cut, or is silent: then it is resumed.
"""

from __future__ import annotations

import logging
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import NamedTuple

import anyio
import anyio.lowlevel

from intentc import crashpoints
from intentc.model import Kind
from intentc.model.bridge_keys import Mark
from intentc.reconcile.backoff import Backoff, Retries
from intentc.reconcile.failures import Denied, Expired, Failure, Unavailable

from .cluster import Cluster, NotServed, TooLarge
from .informer import Finding, Informer, ListPage, Probe, Watch
from .rest_mapping import ManifestKind, Served, find
from .wire import Lines, Unreadable, decode_event, decode_page

_LOG = logging.getLogger(__name__)
_WATCH_SECONDS = 300
"""A watch is asked to end after this time, or up to twice that: a connection that hangs is noticed at the latest then.
client-go asks for the same."""
SILENCE_SECONDS = 90.0
"""A server sends a bookmark each minute; a watch without a byte for this long is taken for dead, and resumed."""
_AT_ONCE = 20
"""Objects of a page that are applied in one turn of the loop."""
_MISSING = Backoff(1.0, 30.0)
"""Between attempts for a kind that is not served, that we may not read, or whose answers can't be read."""


class Phase(Enum):
    """What is done for a kind at the moment."""

    SEARCHING = "searching"
    LISTING = "listing"
    WATCHING = "watching"
    NOT_SERVED = "not served"
    DENIED = "denied"
    DISCONNECTED = "disconnected"


class KindState(NamedTuple):
    """``since``: Unix time in seconds; ``error``: the last one, empty while all is well."""

    phase: Phase
    since: float
    error: str = ""


class KindWatcher:
    """Watches one kind.

    ``apply`` is called with what each answer means, and must return at once; ``on_list`` when a list begins. ``doubt``:
    says why the cluster may be another one than before, or empty; it may raise ``Failure``. ``version``: up to
    which a former process saw it. ``selector``: the labels that objects must have, empty for all objects.
    """

    def __init__(
        self,
        cluster: Cluster,
        kind: ManifestKind,
        apply: Callable[[list[Finding]], None],
        doubt: Callable[[], Awaitable[str]],
        *,
        version: str = "",
        selector: str = "",
        on_list: Callable[[], None] = lambda: None,
        silence: float = SILENCE_SECONDS,
        retries: Retries | None = None,
    ) -> None:
        self.informer = Informer(version)
        self.counters: Counter[str] = Counter()
        self.served: Served | None = None
        self.state = KindState(Phase.SEARCHING, time.time())
        self._cluster = cluster
        self._kind = kind
        self._apply = apply
        self._doubt = doubt
        self._selection = {"labelSelector": selector} if selector else {}
        self._on_list = on_list
        self._silence = silence
        self._watching: anyio.CancelScope | None = None
        self._retries = retries or Retries()
        self._missing = Retries(_MISSING)

    async def run(self) -> None:
        """Watch until cancelled; every error is waited out, and shows in ``state``."""
        while True:
            pause = 0.0
            try:
                await self._step()
            except Expired as error:
                self.informer.expired()
                pause = self._failed("expired", Phase.LISTING, error, self._retries)
            except NotServed as error:
                self.served = None
                self.informer.list_again()
                pause = self._failed("not_served", Phase.NOT_SERVED, error, self._missing)
            except Denied as error:
                self.informer.cut()
                pause = self._failed("denied", Phase.DENIED, error, self._missing)
            except TooLarge as error:
                if self.informer.too_large():
                    pause = self._failed("too_large", Phase.LISTING, error, self._retries)
                else:
                    pause = self._failed("too_large", Phase.DISCONNECTED, error, self._missing)
            except Unreadable as error:
                # What was read for nothing may be large.
                self.informer.cut()
                pause = self._failed("cut", Phase.DISCONNECTED, error, self._missing)
            except Failure as error:
                self.informer.cut()
                pause = self._failed("cut", Phase.DISCONNECTED, error, self._retries)
                pause = max(pause, error.seconds if isinstance(error, Unavailable) else 0.0)
            await anyio.sleep(pause)

    def list_again(self) -> None:
        """End the watch, and list everything."""
        if self._watching is not None:
            self.informer.list_again()
            self._watching.cancel()

    async def _step(self) -> None:
        served = self.served
        if served is None:
            if self.state.phase is not Phase.NOT_SERVED:
                # Otherwise it is still the same answer: how long it has been so decides what it means.
                self._enter(Phase.SEARCHING)
            self.served = await find(self._cluster, self._kind)
            return
        request = self.informer.request()
        match request:
            case ListPage(limit, following):
                await self._list(served, limit, following)
            case Probe():
                self._note_doubt(await self._doubt())
                if not self.informer.listing:
                    self.informer.probed(decode_page(await self._cluster.get(served.path, {"limit": "1"})))
            case Watch(version):
                with anyio.CancelScope() as self._watching:
                    await self._watch(served, version)
                self._watching = None

    async def _list(self, served: Served, limit: int, following: str) -> None:
        self._enter(Phase.LISTING)
        if not following:
            self.counters["lists"] += 1
            self._on_list()
            self._note_doubt(await self._doubt())
        parameters = {**self._selection, **({"limit": str(limit)} if limit else {})}
        if following:
            parameters["continue"] = following
        page = decode_page(await self._cluster.get(served.path, parameters))
        self.counters["listed"] += len(page.objects)
        findings = self.informer.page(page)
        for start in range(0, len(findings), _AT_ONCE):
            self._apply(findings[start : start + _AT_ONCE])
            # A page may be large, and others use the loop as well.
            await anyio.lowlevel.checkpoint()
        crashpoints.reach("cluster.page")

    async def _watch(self, served: Served, version: str) -> None:
        parameters = {
            **self._selection,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(random.randint(_WATCH_SECONDS, 2 * _WATCH_SECONDS)),  # noqa: S311
        }
        lines = Lines()
        async with self._cluster.watching(served.path, parameters, self._silence) as pieces:
            self._retries.went_well()
            self._missing.went_well()
            self._enter(Phase.WATCHING)
            async for piece in pieces:
                findings: list[Finding] = []
                for line in lines.fed(piece):
                    event = decode_event(line)
                    self.counters["events"] += 1
                    if event.type == "ERROR":
                        self._apply(findings)
                        self.counters["watch_errors"] += 1
                        self.informer.event(event)
                        _LOG.info("the watch of %s ended with %d: %s", self._kind.name, event.code, event.message)
                        await anyio.sleep(self._retries.next_wait())
                        return
                    findings += self.informer.event(event)
                if findings:
                    self._apply(findings)
        self.informer.cut()
        await anyio.sleep(self._retries.next_wait())

    def _note_doubt(self, doubt: str) -> None:
        if doubt:
            self.informer.list_again(doubt)

    def _failed(self, reason: str, phase: Phase, error: Exception, retries: Retries) -> float:
        self.counters[reason] += 1
        # Once for each outage: attempts repeat.
        level = logging.DEBUG if phase is self.state.phase else logging.WARNING
        _LOG.log(level, "%s: %s", self._kind.name, error)
        self._enter(phase, str(error))
        return retries.next_wait()

    def _enter(self, phase: Phase, error: str = "") -> None:
        since = self.state.since if phase is self.state.phase else time.time()
        self.state = KindState(phase, since, error)


class KindTask:
    """``mark``: the one in etcd, None if there is none."""

    def __init__(self, kind: Kind, watcher: KindWatcher, mark: Mark | None) -> None:
        self.kind = kind
        self.watcher = watcher
        self.mark = mark
        self.marked_at = float("-inf")
        self.relisted_at = float("-inf")
        self.list_began_at = 0
        """Up to which revision etcd was known when the present list began."""

    @property
    def is_listed(self) -> bool:
        """Whether all that the cluster has of the kind is known, which may be that it lacks the kind."""
        return self.watcher.informer.complete or self.watcher.state.phase is Phase.NOT_SERVED
