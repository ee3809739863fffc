"""Runs the publisher of one gateway: one pass after another, while this process leads.

Changes collect for a moment (``collect_seconds``), before a gateway's first document until a moment brings none, ten at
most; while Azure works on a document, the newest world waits and goes next. The gateway is the one key of a ``Loop``:
it is looked at at least once a period, sooner after a change, a write or a first failure; later if failures repeat, or
Azure asks for it. A leader begins once it knows all that a former one recorded, and after etcd was restored nothing is
published until the objects have stayed the same for a while (docs/appgw.md §11). ``publisher`` does one pass.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import anyio
from anyio.abc import TaskGroup
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from intentc.diagnostics.metrics import registry_of
from intentc.leading import KeeperFactory, Leadership, caught_up
from intentc.model.events import Batch, Snapshot
from intentc.reconcile import Loop, Pause, RequeueAfter
from intentc.reconcile.backoff import Backoff
from intentc.reconcile.failures import Failure
from intentc.watch.protocol import Store
from intentc.writing.http import MirrorService

from ..process import LeadingProcess, ProcessSettings
from .compiled_world import RECORDS, StoredWorld
from .publisher import Gateway, Manager, Pass, Publisher
from .record_writer import GatewayRecords

_LOG = logging.getLogger(__name__)
_AGAIN = Backoff(5.0, 300.0)
_MOMENTS = 10
_LOOK = 0.05
"""Seconds between checks whether all records of a former leader are known."""


__all__ = ["RECORDS", "Bridge", "Gateway", "Settings"]


@dataclass(frozen=True, kw_only=True)
class Settings(ProcessSettings):
    """``gateway``: which one, and how. ``name``: of its records; ``prefix``: of our names; ``plurals``: of their kinds.
    ``collect_seconds``: changes wait for each other; ``period_seconds``: between comparisons; ``again``: the waits
    after failures; ``shown_seconds``: the longest wait for etcd to show a record; ``quiet_seconds``: after etcd was
    restored, nothing is published before the objects have stayed the same so long."""

    gateway: Gateway
    name: str
    prefix: str
    plurals: Mapping[str, str]
    collect_seconds: float = 1.0
    period_seconds: float = 60.0
    again: Backoff = _AGAIN
    shown_seconds: float = 60.0
    quiet_seconds: float = 30.0


class NotShown(Exception):
    """etcd has not delivered what was written: it is silent, or was restored to an older state."""


class _FailedPass(Failure):
    """A pass failed. A change ends its back-off, but not a pause that Azure asks for."""

    def __init__(self, found: Pass) -> None:
        super().__init__(found.message)
        self.concerns_all = found.is_firm
        self.seconds = found.after or 0.0


class CollectedChanges:
    """Until when changes collect before a pass. ``seconds``: how long a moment is."""

    def __init__(self, seconds: float) -> None:
        self.until = 0.0
        self._seconds = seconds
        self._latest: float | None = None
        """The end of the last moment; None if no change waits for a pass."""

    def add(self, now: float, *, is_first: bool) -> None:
        """There was a change. Before the first document of a gateway (``is_first``) the compiler may be in the middle
        of its first writes, and each document costs Azure minutes: then until a moment brought none, some moments at
        most."""
        if self._latest is None:
            self._latest = now + _MOMENTS * self._seconds
            self.until = now + self._seconds
        elif is_first:
            self.until = min(now + self._seconds, self._latest)

    def taken(self) -> None:
        """A pass begins: the next change is the first of others."""
        self._latest = None


class Bridge(LeadingProcess):
    """The process that publishes to one gateway."""

    def __init__(
        self,
        manager: Manager,
        store: Store,
        writer: MirrorService,
        settings: Settings,
        *,
        keepers: KeeperFactory | None = None,
    ) -> None:
        super().__init__(store, settings, f"{settings.installation}/appgw/{settings.name}", keepers)
        self._settings = settings
        self._manager = manager
        self.stored = StoredWorld()
        self._store = store
        self._path = f"/{settings.path.strip('/')}/"
        self._records = GatewayRecords(
            writer,
            self.stored,
            settings.name,
            settings.prefix,
            settings.plurals,
            self._until_shown,
        )
        self._publisher: Publisher | None = None
        self._won_at = 0
        """The revision at which the leadership began."""
        self._delivered = anyio.Event()
        self.loop: Loop[str] = Loop(
            self._reconcile,
            name="publisher",
            gate=self._seconds_to_wait,
            backoff=settings.again,
            pause=Pause(settings.again),
            on_failure=self._on_failure,
        )
        self._collected = CollectedChanges(settings.collect_seconds)
        self._not_before = 0.0
        """No pass begins before it, whatever changes."""
        self._quiet_at = 0.0
        """Until then nothing is published, since etcd was restored."""
        self._under_way = anyio.CancelScope()
        """Of the present pass, which ends with the leadership."""
        self.last = Pass("Waiting", "not begun yet")
        self.passes: Counter[str] = Counter()
        self.registry = registry_of(lambda: metrics(self.status()))

    async def work(self, group: TaskGroup) -> None:
        await self.loop.run()

    @property
    def is_quiet(self) -> bool:
        """Whether all changes were looked at, and the last pass says what stays so until the next."""
        return self.loop.idle and self.last.state not in _PASSING

    def status(self) -> dict[str, Any]:
        """The status as JSON: ``state`` and ``message`` of the last pass, ``problems`` that only the whole document
        shows (``ingress``, ``reason``, ``message`` each), parts that another writer reverts in
        ``contended``, and what a person must do in ``attention``."""
        applied = self.last.state == "Applied"
        shown = f"{self.last.state}: {self.last.message}" if self.last.message else self.last.state
        return {
            # While etcd is away, nobody knows whether this is still what is compiled.
            "converged": (True if self.source.state.ready else None) if applied else False,
            "leading": self.election.fence() is not None,
            "leader": self.election.leader() or "",
            "gateway": self._settings.gateway.gateway,
            "applied_revision": self.stored.revision,
            "state": self.last.state,
            "message": self.last.message,
            "documents": self._publisher.sent if self._publisher is not None else 0,
            "counters": dict(self.passes),
            "contended": list(self._publisher.contended) if self._publisher is not None else [],
            "problems": [
                {"ingress": owner, "reason": reason, "message": message}
                for owner, reason, message in self.last.problems
            ],
            "attention": [
                *([] if applied or self.last.state in _PASSING else [shown]),
                *(f"{kind} {name} can't be written: {words}" for (kind, name), words in self._records.rejected.items()),
            ],
        }

    def take(self, item: Snapshot | Batch) -> None:
        restores = self.stored.restores
        has_changed = self.stored.take(item)
        if self.stored.restores > restores or (has_changed and self._quiet_at > anyio.current_time()):
            self._quiet_at = anyio.current_time() + self._settings.quiet_seconds
        if has_changed:
            has_published = bool(self.stored.published(self._settings.name).made)
            self._collected.add(anyio.current_time(), is_first=not has_published)
            self.loop.add(self._settings.gateway.gateway)
        self._delivered.set()
        self._delivered = anyio.Event()

    async def _until_shown(self, revision: int) -> None:
        """Wait until etcd has delivered ``revision``. Raises ``NotShown``."""
        restores = self.stored.restores
        with anyio.move_on_after(self._settings.shown_seconds):
            while self.stored.revision < revision and self.stored.restores == restores:
                await self._delivered.wait()
        if self.stored.revision < revision:
            raise NotShown(f"etcd has not shown revision {revision}, at which a record was written")

    def on_won(self, leadership: Leadership) -> None:
        self._won_at = leadership.revision
        self._not_before = 0.0
        self._collected.add(anyio.current_time(), is_first=True)
        self.loop.add(self._settings.gateway.gateway)
        self.loop.wake()

    async def _begun(self) -> Publisher:
        """A publisher that begins with all that a former leader recorded. Raises ``NotShown``."""
        reason = ""
        with anyio.move_on_after(self._settings.shown_seconds) as scope:
            while True:
                try:
                    applied = self.source.applied_revision
                    # A busy store always has newer keys, but those are no former leader's.
                    if applied >= self._won_at or not await caught_up(self._store, self._path, applied):
                        break
                except Failure as error:
                    reason = f": {error}"
                await anyio.sleep(_LOOK)
        if scope.cancelled_caught:
            raise NotShown(f"etcd has not shown all that a former leader recorded{reason}")
        gateway = self._settings.gateway
        published = self.stored.published(self._settings.name)
        return Publisher(self._manager, self._records, self.stored.world, gateway, published, self.stored.suspected())

    def on_lost(self, reason: str) -> None:
        self._publisher = None
        self._under_way.cancel()
        self.last = Pass("Standby", reason)

    def _seconds_to_wait(self) -> float:
        """The gate of the loop."""
        if self.election.fence() is None:
            return self._settings.period_seconds
        return max(0.0, self._not_before - anyio.current_time(), self._collected.until - anyio.current_time())

    async def _reconcile(self, gateway: str) -> RequeueAfter | None:
        found: Pass | None = None
        if (fence := self.election.fence()) is not None:
            self._records.fence = fence
            self._collected.taken()
            with anyio.CancelScope() as self._under_way:
                found = await self._pass(fence)
        if found is None:
            # The next leadership begins anew.
            return None
        return self._noted(found)

    async def _look(self, fence: str) -> Pass:
        publisher = self._publisher or await self._begun()
        if self.election.fence() != fence:
            return Pass("Standby", "the leadership ended")
        self._publisher = publisher
        return await publisher.publish()

    def _withheld(self) -> Pass | None:
        """Why nothing is published now: after a restore of etcd the compiler's objects are former ones at first."""
        seconds = self._quiet_at - anyio.current_time()
        if seconds <= 0:
            return None
        message = f"etcd was restored to an older state; the objects must stay the same for {seconds:.0f} s more"
        return Pass("Restored", message, after=seconds)

    async def _pass(self, fence: str) -> Pass:
        try:
            return self._withheld() or await self._look(fence)
        except NotShown as error:
            return Pass("FailedWriting", str(error), failed=True)
        except Failure as error:
            return Pass("FailedWriting", f"the API server: {error}", failed=True)

    def _noted(self, found: Pass) -> RequeueAfter:
        """Show what a pass found, and return when the next one is due. Raises ``_FailedPass``."""
        self._show(found)
        settings = self._settings
        wait = settings.period_seconds if found.after is None else found.after
        if not found.is_firm:
            # A part may wait for an hour; the gateway is looked at each period all the same.
            wait = min(wait, settings.period_seconds)
        floor = wait if found.is_firm and not found.failed else min(wait, settings.again.first)
        if found.failed or found.after is not None:
            self._not_before = anyio.current_time() + max(floor, settings.collect_seconds)
        if found.failed:
            raise _FailedPass(found)
        return RequeueAfter(wait)

    def _show(self, found: Pass) -> None:
        if (found.state, found.message) != (self.last.state, self.last.message):
            _LOG.log(logging.WARNING if found.failed else logging.INFO, "%s: %s", found.state, found.message)
        self.last = found
        self.passes[found.state] += 1

    def _on_failure(self, gateway: str, error: Exception) -> None:
        if not isinstance(error, _FailedPass):
            # Perhaps at what Azure answers or somebody wrote: the next pass looks again.
            _LOG.exception("a pass failed unexpectedly")
            self._show(Pass("InternalError", f"{type(error).__name__}, see the log", failed=True))
            self._not_before = anyio.current_time() + self._settings.again.first


_PASSING = frozenset(
    {"Written", "Updating", "Changed", "Waiting", "Searching", "Doubted", "Standby", "Rejected", "Restored"}
)
"""States that end by themselves."""


LEADING = "intentc_appgw_leading"
APPLIED = "intentc_appgw_applied"
DOCUMENTS = "intentc_appgw_documents"
PASSES = "intentc_appgw_passes"
CONTENDED = "intentc_appgw_contended_parts"


def metrics(status: Mapping[str, Any]) -> Iterator[Metric]:
    """The metrics of one scrape, from ``Bridge.status`` (docs/operating.md)."""
    yield GaugeMetricFamily(LEADING, "1 if this process publishes.", value=int(status["leading"]))
    yield GaugeMetricFamily(APPLIED, "1 if the gateway has what was compiled.", value=int(bool(status["converged"])))
    yield CounterMetricFamily(DOCUMENTS, "Documents that Azure accepted.", value=status["documents"])
    contended = len(status["contended"])
    yield GaugeMetricFamily(CONTENDED, "Parts of the gateway that another writer reverts, and that wait.", contended)
    passes = CounterMetricFamily(PASSES, "Checks of the gateway, by result.", labels=["state"])
    for state, count in sorted(status["counters"].items()):
        passes.add_metric([state], count)
    yield passes
