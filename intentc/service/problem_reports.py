"""Has the leader store the problems of mirrored resources in etcd, where the Kubernetes bridge reads them.

Why it exists: only the compiler knows the problems, but people look at the objects in their cluster. The bridge reads
these reports (``model/bridge_keys.py``) and shows them as Events. Only resources that a bridge mirrored get a report.

A resource's problems are reported once they have been the same for two seconds, or after ten seconds: resources that
are applied together arrive one after the other, and most problems in between end soon. Only changed resources are
checked; every ten seconds all are, since another resource may have got the name of one. The reports in etcd are listed
again every five minutes, since somebody may have removed some.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

import anyio
import anyio.lowlevel
import msgspec

from intentc.engine.engine import Engine
from intentc.engine.state_tables import StateTables
from intentc.logic import LiveWorld
from intentc.model import Key
from intentc.model.bridge_keys import ProblemReport, problem_reports_prefix
from intentc.reconcile.failures import Denied, Failure
from intentc.watch.keys import Layout, leader_key
from intentc.watch.listing import list_all
from intentc.watch.protocol import Compare, Delete, Put, Relation, Store, Target

_LOG = logging.getLogger(__name__)
_PERIOD = 1.0
"""Seconds between checks of due resources."""
_SETTLE_SECONDS = 2.0
_LONGEST_SETTLE_SECONDS = 10.0
_ALL_SECONDS = 10.0
"""Seconds between checks of all resources."""
_LIST_SECONDS = 300.0
_DENIED_SECONDS = 60.0
_IN_ONE_TURN = 500
"""Reports that are checked before other tasks get a turn."""

_Subject = tuple[str, str]
"""Kind and name (fq_name joined by ``:``) of a resource."""


class ProblemReports:
    """Writes reports. ``fence``: that of the present leadership, None while there is none; None in place of the
    callable if the compiler leads alone. ``clock``: seconds."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        states: StateTables,
        world: LiveWorld,
        *,
        path: str,
        installation: str,
        fence: Callable[[], str | None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._engine = engine
        self._states = states
        self._world = world
        self._layout = Layout.of(problem_reports_prefix(path, installation))
        self._installation = installation
        self._fence = fence
        self._clock = clock
        self._stored: dict[Key, ProblemReport] | None = None
        """What etcd has; None: not known, since another process may have written."""
        self._keys: dict[_Subject, Key] = {}
        """Resources with a report."""
        self._subjects: dict[Key, _Subject] = {}
        """The resource of each report. A resource that was deleted has its uuid as its name until it exists again."""
        self._due: dict[_Subject, float] = {}
        """The resources to check, and when."""
        self._since: dict[_Subject, float] = {}
        """When the problems of the resources to check began to change."""
        self._all_at = 0.0
        self._list_at = 0.0
        self._paused_until = 0.0
        self._is_denied = False

    async def run(self) -> None:
        """Write reports until cancelled."""
        while True:
            await anyio.sleep(_PERIOD)
            await self.tend()

    async def tend(self) -> None:
        """Write once what is due, if this process leads. An error is logged, and the next call tries again."""
        # Also while nothing is written, since they are kept until they are taken.
        changed = self._states.problem_counts.take_changed()
        if not (self._engine.may_write and self._engine.first_pass_complete):
            self._stored = None
            return
        now = self._clock()
        if now < self._paused_until:
            return
        try:
            if self._stored is None or now >= self._list_at:
                await self._begin()
            for subject in changed:
                latest = self._since.setdefault(subject, now) + _LONGEST_SETTLE_SECONDS
                self._due[subject] = min(now + _SETTLE_SECONDS, latest)
            if now >= self._all_at:
                self._all_at = now + _ALL_SECONDS
                await self._find_replaced(now)
            await self._look(now)
        except Denied as error:
            level = logging.DEBUG if self._is_denied else logging.WARNING
            message = "problems are not stored for the cluster's Events: %s; run the script of `intentc etcd-roles`"
            _LOG.log(level, message, error)
            self._is_denied, self._stored = True, None
            self._paused_until = now + _DENIED_SECONDS
        except Failure as error:
            _LOG.debug("problems are not stored for the cluster's Events yet: %s", error)
            self._stored = None

    async def _begin(self) -> None:
        """Read what former processes stored. Nothing is removed before the problems of this one have settled."""
        listing = await list_all(self._store, self._layout)
        self._stored, self._keys, self._subjects, now = {}, {}, {}, self._clock()
        self._since = {subject: since for subject, since in self._since.items() if subject in self._due}
        self._due = dict.fromkeys(self._states.problem_counts.subjects, now + _SETTLE_SECONDS)
        for change in listing.snapshot.changes:
            key = Key(change.kind, change.uuid)
            try:
                self._stored[key] = msgspec.json.decode(change.value or b"", type=ProblemReport)
            except msgspec.MsgspecError:
                self._stored[key] = ProblemReport(())
            subject = (key.kind, self._name_of(key))
            self._keys[subject], self._subjects[key] = key, subject
            self._due[subject] = now + _SETTLE_SECONDS
        self._all_at, self._list_at = now + _ALL_SECONDS, now + _LIST_SECONDS

    def _name_of(self, key: Key) -> str:
        """The name of a resource, or the uuid of one that no longer exists, under which nothing is found."""
        return self._world.name_of(key) if self._world.exists(key) else key.uuid

    async def _find_replaced(self, now: float) -> None:
        """Check resources whose name now belongs to another resource than the one with the report."""
        for count, subject in enumerate([*self._states.problem_counts.subjects], 1):
            if subject not in self._due and self._keys.get(subject) != self._mirrored(subject):
                self._due[subject] = now
            if count % _IN_ONE_TURN == 0:
                await anyio.lowlevel.checkpoint()

    async def _look(self, now: float) -> None:
        due = sorted(subject for subject, at in self._due.items() if at <= now)
        for count, subject in enumerate(due, 1):
            del self._due[subject]
            self._since.pop(subject, None)
            await self._report(subject)
            if count % _IN_ONE_TURN == 0:
                await anyio.lowlevel.checkpoint()

    async def _report(self, subject: _Subject) -> None:
        """Bring the report of one resource up to date."""
        if self._stored is None:
            return
        found = self._mirrored(subject)
        report = (
            ProblemReport.of(self._states.problem_counts.about(*subject)) if found is not None else ProblemReport(())
        )
        former = self._keys.get(subject)
        if former is not None and (former != found or not report.problems):
            del self._keys[subject]
            if self._subjects.get(former) == subject:
                await self._write(former, None)
                del self._subjects[former], self._stored[former]
        if found is not None and report.problems:
            if self._stored.get(found) != report:
                await self._write(found, report)
            self._stored[found] = report
            self._keys[subject], self._subjects[found] = found, subject

    def _mirrored(self, subject: _Subject) -> Key | None:
        """The mirrored resource that has this name now."""
        kind, name = subject
        if kind not in self._world.schema or not self._world.schema.kind(kind).written_as_manifests:
            return None
        uuid = self._world.cache.names.in_force(kind, name)
        if uuid is None:
            return None
        # For one that can't be read, its last good value says it.
        resource = self._world.cache.shown(Key(kind, uuid))
        return Key(kind, uuid) if resource is not None and resource.values().metadata.mirrored else None

    async def _write(self, key: Key, report: ProblemReport | None) -> None:
        """Write or remove a report. Raises ``Failure``, also if another process leads meanwhile."""
        name = self._layout.key(*key)
        operation = Delete(name) if report is None else Put(name, msgspec.json.encode(report))
        written = await self._store.transaction(self._conditions(), [operation])
        if not written.succeeded:
            raise Failure("another process leads by now")
        self._is_denied = False

    def _conditions(self) -> list[Compare]:
        if self._fence is None:
            return []
        fence = self._fence()
        if fence is None:
            raise Failure("no process leads")
        revision = int(fence.rpartition("/")[2])
        return [Compare(leader_key(self._installation), Target.CREATE_REVISION, Relation.EQUAL, revision)]
