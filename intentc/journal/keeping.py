"""Writes the journal's lines to files without holding up the event loop: encoded in slices, written by a thread.

The hot path does not know of it. A slow or full disk costs lines, never a stop: lines that the ring drops before they
could be written are counted, and logged once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio

from intentc.journal.journal import Journal, Void
from intentc.journal.records import Voided, encoded, record
from intentc.model import Key
from intentc.reconcile.backoff import Retries

if TYPE_CHECKING:
    from intentc.journal.ring import JournalFiles

_LOG = logging.getLogger(__name__)
_PERIOD = 0.5
"""Seconds for which lines are collected, unless there are ``_ENOUGH`` before."""
_ENOUGH = 2_000
_ENOUGH_OF_RING = 4
"""Divisor of the ring's size: nothing should be dropped while other work holds the loop."""
_SLICE = 100
"""Lines encoded as JSON before the loop gets its turn: half a millisecond."""
_MOST_AT_ONCE = 1_000_000
"""Bytes per write."""


class Keeping:
    """Keeps ``journal`` in ``files``. ``name_of``: the name of a resource, its uuid if none is known; ``at_start``: as
    in ``records``. ``written`` and ``lost`` count lines; lost ones were dropped before they could be written.
    ``failures``: failed tries; ``failure``: why the last try failed, None if it didn't."""

    def __init__(
        self,
        journal: Journal,
        files: JournalFiles,
        name_of: Callable[[Key], str],
        at_start: Callable[[int], bool],
    ) -> None:
        self.files = files
        self.lost = 0
        self.written = 0
        self.failures = 0
        self.failure: str | None = None
        self._journal = journal
        self._name_of = name_of
        self._at_start = at_start
        self._enough = max(1, min(_ENOUGH, journal.size // _ENOUGH_OF_RING))
        self._sequence = journal.first - 1
        """The sequence of the last line that was written, lost, or dropped by a restore."""
        self._void = journal.void
        self._retries = Retries()
        if files.lack is not None:
            self._failed(files.lack)

    async def run(self) -> None:
        """Keep lines until cancelled; then call ``end`` for the rest."""
        while True:
            with anyio.move_on_after(_PERIOD):
                await self._journal.reached(self._sequence + self._enough)
            while self._behind and await self._keep_some():
                pass
            if self.failure is not None:
                await asyncio.sleep(self._retries.next_wait())

    def end(self) -> None:
        """Write the rest, and close the files. Call once, after ``run``."""
        while self._behind and self._keep_now():
            pass
        self.files.close()

    @property
    def _behind(self) -> bool:
        return self._journal.last > self._sequence or self._journal.void is not self._void

    def figures(self) -> dict[str, Any]:
        """The figures for ``/status``."""
        return {
            "directory": str(self.files.directory),
            "written": self.written,
            "lost": self.lost,
            "failures": self.failures,
            "last_error": self.failure,
        }

    async def _keep_some(self) -> bool:
        """Write what fits into one turn; return whether that succeeded."""
        if (void := self._journal.void) is not self._void:
            return await anyio.to_thread.run_sync(self._write, _voided(void)) and self._note_void(void)
        gathered: list[bytes] = []
        sequence, size, lost = self._sequence, 0, 0
        # Lines after a restore are written after the mark that makes earlier ones void.
        while size < _MOST_AT_ONCE and self._journal.void is void and (lines := self._journal.after(sequence, _SLICE)):
            lost += lines[0].sequence - sequence - 1
            sequence = lines[-1].sequence
            text = b"".join(encoded(record(one.line, self._name_of, self._at_start)) for one in lines)
            gathered.append(text)
            size += len(text)
            await asyncio.sleep(0)
        return await anyio.to_thread.run_sync(self._write, b"".join(gathered)) and self._note(sequence, lost)

    def _keep_now(self) -> bool:
        if (void := self._journal.void) is not self._void:
            return self._write(_voided(void)) and self._note_void(void)
        lines = self._journal.after(self._sequence)
        text = b"".join(encoded(record(one.line, self._name_of, self._at_start)) for one in lines)
        lost = lines[0].sequence - self._sequence - 1
        return self._write(text) and self._note(lines[-1].sequence, lost)

    def _note_void(self, void: Void | None) -> bool:
        self._void = void
        if void is not None:
            self._sequence = max(self._sequence, void.last)
        return True

    def _note(self, sequence: int, lost: int) -> bool:
        if lost and not self.lost:
            _LOG.warning("%d lines of the journal were dropped before they could be written to its files", lost)
        self.lost += lost
        self.written += sequence - self._sequence - lost
        self._sequence = sequence
        return True

    def _write(self, text: bytes) -> bool:
        try:
            self.files.append(text)
        except OSError as error:
            self._failed(error)
            return False
        self._retries.went_well()
        if self.failure is not None:
            _LOG.info("the journal is written to %s again", self.files.directory)
            self.failure = None
        return True

    def _failed(self, error: OSError) -> None:
        self.failures += 1
        if self.failure is None:
            _LOG.error(
                "the journal can't be written to %s: %s; it is tried again, and nothing waits for it",
                self.files.directory,
                error.strerror or error,
            )
        self.failure = error.strerror or str(error)


def _voided(void: Void | None) -> bytes:
    return encoded(Voided(void.at, void.revision)) if void is not None else b""
