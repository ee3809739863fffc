"""Notices parts of the gateway that another writer reverts again and again, and lets them wait (docs/appgw.md §11).

Two controllers of one gateway would send a document a second, each over the other's. The policy is that of the engine
(``backoff``): five reverts in ten minutes, then pauses of 1 minute to 1 hour. A writer that is faster than we are
counts as a revert of the gateway as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from intentc.reconcile.backoff import CONTENTION_SECONDS, PartRepairs

_GATEWAY = ""
"""Stands for the gateway as a whole, which others write while we do."""
_SHOWN = 5


class ContendedParts:
    """``clock``: seconds. A part is named as by ``normalize.differing_parts``; digests say what is wanted of it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._repairs: dict[str, PartRepairs] = {}
        self._written: dict[str, tuple[str, float]] = {}

    def seconds(self, wanted: Mapping[str, str]) -> float:
        """How long to wait before the parts that differ are written; 0 if any of them may be written now. ``wanted``:
        part → digest."""
        whole = self._waits(_GATEWAY)
        if whole > 0 or not wanted:
            return whole
        return min(self._waits(part) if self._is_same(part, digest) else 0.0 for part, digest in wanted.items())

    def on_written(self, wanted: Mapping[str, str]) -> None:
        """Azure has taken these parts. One that was written with the same digest before has been reverted since."""
        now = self._clock()
        for part, digest in wanted.items():
            if self._is_same(part, digest):
                self._repairs.setdefault(part, PartRepairs()).repaired(now)
            else:
                self._repairs.pop(part, None)
            self._written[part] = (digest, now)
        self._tidy(now)

    def on_overtaken(self) -> None:
        """Another writer changed the gateway between our look and our write."""
        self._repairs.setdefault(_GATEWAY, PartRepairs()).repaired(self._clock())

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts that wait, sorted; ``gateway`` is the gateway as a whole."""
        return tuple(sorted(part or "gateway" for part in self._repairs if self._waits(part) > 0))

    def shown(self, parts: Iterable[str]) -> str:
        """Some of the parts as text; the others are counted."""
        named = sorted(parts)
        more = [f"{len(named) - _SHOWN} more"] if len(named) > _SHOWN else []
        return ", ".join([*named[:_SHOWN], *more])

    def _is_same(self, part: str, digest: str) -> bool:
        return part in self._written and self._written[part][0] == digest

    def _waits(self, part: str) -> float:
        found = self._repairs.get(part)
        return max(0.0, found.until - self._clock()) if found is not None else 0.0

    def _tidy(self, now: float) -> None:
        """Forget what is older than the window of contention."""
        for part, (_, then) in list(self._written.items()):
            found = self._repairs.get(part)
            latest = max(then + CONTENTION_SECONDS, found.until + found.rest if found is not None else 0.0)
            if latest < now:
                del self._written[part]
                self._repairs.pop(part, None)
