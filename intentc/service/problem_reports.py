"""Has the leader store the problems of mirrored resources in etcd, where the Kubernetes bridge reads them.

Why it exists: only the compiler knows the problems, but people look at the objects in their cluster. The bridge reads
these reports (``model/bridge_keys.py``) and shows them as Events. Only resources that a bridge mirrored get a report.

A resource's problems are reported once they have been the same for two seconds, or after ten seconds: resources that
are applied together arrive one after the other, and most problems in between end soon. Only changed resources are
checked; every ten seconds all are, since another resource may have got the name of one. The reports in etcd are listed
again every five minutes, since somebody may have removed some.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import anyio.lowlevel
import msgspec

from intentc.engine.engine import Engine
from intentc.engine.state_tables import StateTables
from intentc.logic import LiveWorld
from intentc.model import Key
from intentc.model.bridge_keys import ProblemReport, problem_reports_prefix
from intentc.reconcile import Loop, Pause, RequeueAfter, Result
from intentc.reconcile.backoff import RECONNECT
from intentc.reconcile.failures import Denied, Unavailable
from intentc.watch.keys import Layout, leader_key
from intentc.watch.listing import list_all
from intentc.watch.protocol import Compare, Delete, Put, Relation, Store, Target

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
_ALL = ("", "")
"""Queued in order to find what changed."""


class ProblemReports:
    """Writes reports. ``fence``: that of the present leadership, None while there is none; None in place of the
    callable if the compiler leads alone."""

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
    ) -> None:
        self._store = store
        self._engine = engine
        self._states = states
        self._world = world
        self._layout = Layout.of(problem_reports_prefix(path, installation))
        self._installation = installation
        self._fence = fence
        self._stored: dict[Key, ProblemReport] | None = None
        """What etcd has; None: not known, since another process may have written."""
        self._keys: dict[_Subject, Key] = {}
        """Resources with a report."""
        self._subjects: dict[Key, _Subject] = {}
        """The resource of each report. A resource that was deleted has its uuid as its name until it exists again."""
        self._since: dict[_Subject, float] = {}
        """When the problems of the resources to check began to change."""
        self._all_at = 0.0
        self._list_at = 0.0
        self.loop: Loop[_Subject] = Loop(
            self._reconcile, name="problems are not stored for the cluster's Events yet", pause=Pause(RECONNECT)
        )
        self.loop.add(_ALL)

    async def _reconcile(self, subject: _Subject) -> Result:
        try:
            return await (self._look() if subject == _ALL else self._report(subject))
        except Denied as error:
            raise Unavailable(f"{error}; run the script of `intentc etcd-roles`", _DENIED_SECONDS) from None

    async def _look(self) -> RequeueAfter:
        """Find what is to be reported, if this process leads."""
        # Also while nothing is written, since they are kept until they are taken.
        changed = self._states.problem_counts.take_changed()
        if not (self._engine.may_write and self._engine.first_pass_complete):
            self._stored = None
        else:
            now = asyncio.get_running_loop().time()
            if self._stored is None or now >= self._list_at:
                await self._begin(now)
            for subject in changed:
                latest = self._since.setdefault(subject, now) + _LONGEST_SETTLE_SECONDS
                self.loop.add(subject, after=min(_SETTLE_SECONDS, latest - now))
            if now >= self._all_at:
                self._all_at = now + _ALL_SECONDS
                await self._find_replaced()
        # That reports may be read says nothing of whether they may be written.
        return RequeueAfter(_PERIOD, keeps_failures=True)

    async def _begin(self, now: float) -> None:
        """Read what former processes stored. Nothing is removed before the problems of this one have settled."""
        listing = await list_all(self._store, self._layout)
        self._stored, self._keys, self._subjects = {}, {}, {}
        for change in listing.snapshot.changes:
            key = Key(change.kind, change.uuid)
            try:
                self._stored[key] = msgspec.json.decode(change.value or b"", type=ProblemReport)
            except msgspec.MsgspecError:
                self._stored[key] = ProblemReport(())
            subject = (key.kind, self._name_of(key))
            self._keys[subject], self._subjects[key] = key, subject
        for subject in self._keys.keys() | set(self._states.problem_counts.subjects):
            self.loop.add(subject, after=_SETTLE_SECONDS)
        self._all_at, self._list_at = now + _ALL_SECONDS, now + _LIST_SECONDS

    def _name_of(self, key: Key) -> str:
        """The name of a resource, or the uuid of one that no longer exists, under which nothing is found."""
        return self._world.name_of(key) if self._world.exists(key) else key.uuid

    async def _find_replaced(self) -> None:
        """Queue resources whose name now belongs to another resource than the one with the report."""
        for count, subject in enumerate([*self._states.problem_counts.subjects], 1):
            if self._keys.get(subject) != self._mirrored(subject):
                self.loop.add(subject, resync=True)
            if count % _IN_ONE_TURN == 0:
                await anyio.lowlevel.checkpoint()

    async def _report(self, subject: _Subject) -> None:
        """Bring the report of one resource up to date."""
        self._since.pop(subject, None)
        if self._stored is None:
            return
        found = self._mirrored(subject)
        report = (
            ProblemReport.of(self._states.problem_counts.about(*subject)) if found is not None else ProblemReport(())
        )
        former = self._keys.get(subject)
        if former is not None and (former != found or not report.problems):
            if self._subjects.get(former) == subject:
                await self._write(former, None)
                del self._subjects[former], self._stored[former]
            del self._keys[subject]
        if found is not None and report.problems:
            self._keys[subject], self._subjects[found] = found, subject
            if self._stored.get(found) != report:
                # What etcd has is not known if this fails.
                self._stored[found] = ProblemReport(())
                await self._write(found, report)
                self._stored[found] = report

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
            raise Unavailable("another process leads by now")

    def _conditions(self) -> list[Compare]:
        if self._fence is None:
            return []
        fence = self._fence()
        if fence is None:
            raise Unavailable("no process leads")
        revision = int(fence.rpartition("/")[2])
        return [Compare(leader_key(self._installation), Target.CREATE_REVISION, Relation.EQUAL, revision)]
