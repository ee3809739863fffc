"""Follows in etcd the problems that compilers store about mirrored resources.

Why it exists: problems are known to compilers, which are other processes; their leaders store them
(``model/bridge_keys.py``). ``watch.source`` misses nothing. ``problem_events`` reports them to the cluster.
"""

from __future__ import annotations

import logging
from contextlib import aclosing

import msgspec

from intentc.model import Key
from intentc.model.bridge_keys import ProblemReport, reported_key
from intentc.model.events import Batch, Change, Snapshot
from intentc.watch.source import Source

from .problem_events import Note

_LOG = logging.getLogger(__name__)
_ACTION = "Compile"


class CompiledProblems:
    """``source``: of the reports of all installations."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.notes: dict[Key, tuple[Note, ...]] = {}
        """Resources with problems."""
        self._reports: dict[Key, dict[str, tuple[Note, ...]]] = {}
        """Resource → installation → what its compilers report."""

    @property
    def is_known(self) -> bool:
        """Whether all that is stored was read, or may not be read."""
        return self.source.applied_revision > 0 or self.source.is_denied

    @property
    def failure(self) -> str:
        """Why the problems aren't watched now, and what to do; empty if they are, or nothing has failed yet."""
        state = self.source.state
        if self.source.ready or not state.last_error:
            return ""
        advice = "; run the script of `intentc etcd-roles` again" if self.source.is_denied else ""
        return f"{state.last_error}{advice}"

    async def run(self) -> None:
        """Apply what changes in etcd until cancelled."""
        async with aclosing(self.source.events()) as events:
            async for item in events:
                self.take(item)

    def take(self, item: Snapshot | Batch) -> None:
        """Take a delivery."""
        if isinstance(item, Snapshot):
            self._reports.clear()
            self.notes.clear()
        for change in item.changes:
            self._take(change)

    def _take(self, change: Change) -> None:
        key, installation = reported_key(change.uuid), change.kind
        if key is None:
            return
        found = self._reports.setdefault(key, {})
        found.pop(installation, None)
        if change.value is not None:
            try:
                report = msgspec.json.decode(change.value, type=ProblemReport)
                found[installation] = tuple(Note(one.reason, _ACTION, one.message) for one in report.problems)
            except msgspec.MsgspecError as error:
                _LOG.debug("the problems of %s can't be read: %s", key, error)
        if found:
            self.notes[key] = tuple(dict.fromkeys(note for name in sorted(found) for note in found[name]))
        else:
            del self._reports[key]
            self.notes.pop(key, None)
