"""Tracks what Envoys may still use although it is no longer in force: until they have answered, and connections end.

``StreamProgress``: an element that Envoys may still use is removed only once every Envoy has answered the change. A
stream that is behind and makes no progress for ``SILENCE_SECONDS`` counts as silent, and is not waited for until it
makes progress again; its configuration stays consistent, since ``session`` sends removed clusters last.

``Draining``: Envoy serves an open connection with the filter chain that accepted it until its drain time is over. Such
a chain still uses the clusters and the route configuration that its listener named. They are kept until every Envoy
has answered the change, and from then on for the drain time.

``Addresses``, ``StreamAddresses``: one listener at a time can have an address. When a listener is deleted or moves,
another may take its address. Envoy applies the listeners of a response one by one, and a changed listener keeps its old
address until the new version is warm, which is after the answer. So a listener that releases an address to another is
removed first, and added again once Envoy has answered that (docs/adr/0014).

State: ``ads`` adds and removes streams; ``snapshot_cache`` keeps names; ``snapshot_cache`` and ``rejections`` change
``Addresses``, ``session`` its ``StreamAddresses``.
"""

from __future__ import annotations

import logging
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, Protocol

from .elements import Key, Type

_LOG = logging.getLogger(__name__)

ENVOYS_DEFAULT_SECONDS = 600.0
"""Envoy's default for ``--drain-time-s``."""

Named = tuple[Type, str]
SILENCE_SECONDS = 60.0
"""An Envoy answers a round of changes within a second; one that is connected and needs a minute is stuck."""


class Stream(Protocol):
    """One Envoy's stream. Everything up to ``serial`` was sent and answered; ``peer``: its address, for logs."""

    @property
    def serial(self) -> int: ...

    @property
    def peer(self) -> str: ...


class _Progress:
    """The progress of one stream: it has been behind at the same ``serial`` since ``since``."""

    def __init__(self, serial: int, since: float) -> None:
        self.serial = serial
        self.since = since
        self.silent = False


class StreamProgress:
    """The progress of all ``streams``. ``clock`` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.streams: set[Stream] = set()
        self._clock = clock
        self._progress: dict[Stream, _Progress] = {}

    def answered(self, published: int) -> float:
        """The serial up to which every stream that is not silent has answered; infinite without such a stream.

        ``published``: the last serial that there is to answer.
        """
        self._look(published)
        return min((one.serial for one in self._progress.values() if not one.silent), default=math.inf)

    @property
    def silent(self) -> int:
        """The number of silent streams at the last look."""
        return sum(one.silent for one in self._progress.values())

    def wait(self, published: int) -> float | None:
        """Seconds until the next stream becomes silent unless it makes progress; None if no stream is behind."""
        self._look(published)
        behind = (one.since for one in self._progress.values() if not one.silent and one.serial < published)
        first = min(behind, default=None)
        return None if first is None else max(0.0, first + SILENCE_SECONDS - self._clock())

    def _look(self, published: int) -> None:
        now, before = self._clock(), self._progress
        self._progress = {}
        for stream in self.streams:
            known = before.get(stream)
            if known is None or known.serial != stream.serial or stream.serial >= published:
                if known is not None and known.silent:
                    _LOG.info("an Envoy answers again: %s", stream.peer)
                known = _Progress(stream.serial, now)
            elif not known.silent and now - known.since >= SILENCE_SECONDS:
                known.silent = True
                _LOG.warning(
                    "an Envoy has not answered for %g s; changes no longer wait for it: %s",
                    SILENCE_SECONDS,
                    stream.peer,
                )
            self._progress[stream] = known


class Draining:
    """Names that listeners no longer use. ``seconds``: Envoy's drain time, 0 keeps nothing; ``clock`` gives seconds."""

    def __init__(self, seconds: float = ENVOYS_DEFAULT_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._unanswered: dict[Named, int] = {}
        self._until: dict[Named, float] = {}

    def keep(self, kind: Type, name: str, serial: int) -> None:
        """Keep a name that no listener uses any more from the publication ``serial`` on."""
        if self.seconds > 0:
            self._until.pop((kind, name), None)
            self._unanswered[kind, name] = serial

    def answered(self, serial: float) -> None:
        """Note that every Envoy has answered up to ``serial``: the drain time of names dropped by then begins."""
        for named in [named for named, left in self._unanswered.items() if left <= serial]:
            del self._unanswered[named]
            self._until[named] = self._clock() + self.seconds

    def keeps(self, kind: Type, name: str) -> bool:
        """Whether an old filter chain may still use this."""
        return (kind, name) in self._unanswered or (kind, name) in self._until

    def ended(self) -> list[Named]:
        """Forget the names whose drain time is over, and return them in order."""
        now = self._clock()
        over = sorted(named for named, until in self._until.items() if until <= now)
        for named in over:
            del self._until[named]
        return over

    def wait(self) -> float | None:
        """Seconds until the next drain time is over; None while none runs."""
        return max(0.0, min(self._until.values()) - self._clock()) if self._until else None


class Addresses:
    """The addresses of the listeners in force. ``left``: address → the serial that publishes its release."""

    def __init__(self) -> None:
        self.left: dict[str, int] = {}
        self._held: defaultdict[str, set[Key]] = defaultdict(set)

    def move(self, key: Key, before: Iterable[str], after: Iterable[str], serial: int) -> None:
        """Move ``key`` from ``before`` to ``after`` with the publication ``serial``; 0: it never had ``before``."""
        before, after = set(before), set(after)
        for address in before - after:
            self._held[address].discard(key)
            if not self._held[address]:
                del self._held[address]
            if serial:
                self.left[address] = serial
        for address in after - before:
            self._held[address].add(key)

    def had_by_another(self, key: Key, addresses: Iterable[str]) -> bool:
        """Whether another listener in force has one of ``addresses``."""
        return any(self._held.get(address, set()) - {key} for address in addresses)

    def last_left(self, addresses: Iterable[str]) -> int:
        """The last serial that published a release of one of ``addresses``; 0 for none."""
        return max((self.left.get(address, 0) for address in addresses), default=0)

    def forget(self, serial: int) -> None:
        """Forget releases that every Envoy has answered: those up to ``serial``."""
        self.left = {address: left for address, left in self.left.items() if left > serial}


ListenerAddresses = Mapping[str, Iterable[str]]
"""Name of a listener → its addresses, none for a deleted one."""


class HandOver(NamedTuple):
    """Names of listeners. ``leaving``: their removal must be answered first; ``coming``: they wait for that."""

    leaving: set[str]
    coming: set[str]


class StreamAddresses:
    """The addresses at which the Envoy of one stream listens."""

    def __init__(self) -> None:
        self._held: dict[str, set[str]] = {}

    def sent(self, listeners: ListenerAddresses) -> None:
        """Note listeners that were sent: until Envoy answers, each may be at its old or its new addresses."""
        for name, addresses in listeners.items():
            self._held.setdefault(name, set()).update(addresses)

    def accepted(self, listeners: ListenerAddresses, *, whole: bool) -> None:
        """Note that Envoy listens there now; ``whole``: and nowhere else."""
        if whole:
            self._held = {}
        self._held |= {name: set(addresses) for name, addresses in listeners.items()}
        self._held = {name: addresses for name, addresses in self._held.items() if addresses}

    def hand_over(self, changed: Iterable[str], wanted: ListenerAddresses) -> HandOver:
        """Which of the ``changed`` listeners hand an address over to another one, with ``wanted`` as the goal."""
        names = set(changed)
        comers = {name: set(wanted.get(name, ())) - self._held.get(name, set()) for name in names}
        leaving: set[str] = set()
        coming: set[str] = set()
        for name in names:
            left = self._held.get(name, set()).difference(wanted.get(name, ()))
            followers = {other for other, addresses in comers.items() if other != name and addresses & left}
            if followers:
                leaving.add(name)
                coming |= followers
        return HandOver(leaving, coming)
