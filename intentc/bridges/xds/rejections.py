"""Finds the element that caused an Envoy's rejection, and has the cache stop offering it.

All streams need one result: several Envoys reject the same element, one after the other, and an element that another
Envoy has acknowledged is not withdrawn because one rejects it. If the message names an element, the search is over;
otherwise those on trial are searched (``element_states``).

Every rejection is about the element itself, so trying the same version again would be useless, except for a listener
whose address was in use (``AddressRetries``). A release by one of our listeners is known, and the retry is immediate;
for other programs it backs off from 1 s to 30 s.

State: it reports what it finds to ``snapshot_cache``, which changes the states of elements and has it forget addresses
that were released.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from intentc.reconcile import Loop
from intentc.reconcile.backoff import Backoff
from intentc.reconcile.failures import Failure

from .elements import LISTENER, VIRTUAL_HOST, Key, Type
from .encoding import Version
from .snapshot_cache import SnapshotCache

_LOG = logging.getLogger(__name__)
_LONGEST_MESSAGE = 1_000
_LISTED = re.compile(r"Error adding/updating \w+\(s\) (.*)", re.DOTALL)
_REPEAT_SECONDS = 3600.0
_PERIOD_SECONDS = 60.0
_MOST_IN_PERIOD = 30
_MOST_KNOWN = 1_000
_TRIES = Backoff(1.0, 30.0, jitter=0)
_IN_USE = re.compile(r"cannot bind|duplicate address|address already in use", re.IGNORECASE)


def in_use(message: str) -> bool:
    """Whether Envoy rejects a listener only because its address is in use, which is no fault of the element."""
    return _IN_USE.search(message) is not None


class RejectionAnalyzer:
    """Finds the elements that Envoy rejects and withdraws them from the cache. ``on_retry``: called when it offers one
    again."""

    def __init__(self, cache: SnapshotCache, on_retry: Callable[[], None] = lambda: None) -> None:
        self.retries = AddressRetries(cache, on_retry)
        self._log = RejectionLog(time.monotonic)
        self._cache = cache

    def on_rejection(self, kind: Type, names: set[str] | None, trial: list[Version], message: str) -> bool:
        """Handle an Envoy's rejection of the resources ``names`` (None: all), in which ``trial`` are on trial.

        Returns False if no element can be blamed, so that the Envoy would reject the same resources again.
        """
        cache = self._cache
        if _LISTED.match(message):
            # Envoy took the others of the response, so only those that it names matter.
            found = named(message, trial, cache.members(kind, names))
            cache.drop_predecessors([version for version, _ in found])
            for version, why in found:
                if self._suspects([version]):
                    self._blame(version.key, why)
            return bool(found) or self._acknowledged_once(kind, names, message)
        if cache.drop_predecessors(trial):
            return True
        suspects = self._suspects(trial)
        if suspects is None:
            return True
        if not suspects:
            return self._acknowledged_once(kind, names, message)
        self._search(kind, suspects, message)
        return True

    def _suspects(self, trial: Iterable[Version]) -> list[Version] | None:
        """The versions of a rejected response that may have caused the rejection.

        None if one of them has changed since: then the rejection says nothing about what is offered now.
        """
        found = []
        for version in trial:
            state = self._cache.state(version.key)
            if state is None or state.offered is not version:
                return None
            if state.good is not version:
                found.append(version)
        return found

    def _acknowledged_once(self, kind: Type, names: set[str] | None, message: str) -> bool:
        """Handle a rejection of resources that were all acknowledged before."""
        cache = self._cache
        if len(cache.streams) > 1:
            shown = message[:_LONGEST_MESSAGE]
            level = self._log.level("in force", shown, logging.WARNING)
            _LOG.log(level, "one Envoy rejects what others have in force; it keeps what it has: %s", shown)
            return False
        members = cache.members(kind, names)
        if _LISTED.match(message):
            found = named(message, members)
            for version, why in found:
                self._blame(version.key, why)
            return bool(found)
        doubted = cache.put_on_trial_again(members)
        if doubted:
            self._search(kind, doubted, message)
        return bool(doubted)

    def _search(self, kind: Type, suspects: list[Version], message: str) -> None:
        """Blame the only suspect, or set half of them back."""
        if len(suspects) == 1:
            self._blame(suspects[0].key, message)
            return
        shown = message[:_LONGEST_MESSAGE]
        level = self._log.level("search", shown, logging.INFO)
        _LOG.log(level, "searching %d elements for the one that Envoy rejects: %s", len(suspects), shown)
        self._cache.suspend(kind, half(message, suspects), suspects)

    def _blame(self, key: Key, message: str) -> None:
        """Have the cache stop offering the wanted version of ``key``, and record it as rejected."""
        state = self._cache.state(key)
        if state is None or state.wanted is None:
            return
        shown = message[:_LONGEST_MESSAGE]
        extra = {"key": " ".join(key), "revision": state.wanted.element.revision}
        is_displaced = key[0] == LISTENER and in_use(shown)
        is_new = not is_displaced or self.retries.on_rejection(key)
        self._cache.reject(key, shown)
        if not is_new:
            _LOG.info("%s %s waits for its address: %s", *key, message, extra=extra)
            return
        level = self._log.level(" ".join(key), shown, logging.ERROR)
        _LOG.log(level, "Envoy rejects %s %s: %s", *key, shown, extra=extra)
        self._cache.unrecorded.add(key)


class _Attempt(NamedTuple):
    """A ``version`` that is retried. ``heard``: releases of its addresses up to this serial no longer count."""

    version: Version
    heard: int


class AddressRetries:
    """Retries all listeners whose address was in use. ``on_retry``: called when the loop offers one again."""

    def __init__(self, cache: SnapshotCache, on_retry: Callable[[], None]) -> None:
        self._cache = cache
        self._on_retry = on_retry
        self._attempts: dict[Key, _Attempt] = {}
        self.loop: Loop[Key] = Loop(self._retry, backoff=_TRIES)

    def on_rejection(self, key: Key) -> bool:
        """Note that an Envoy rejected the wanted version of ``key`` for its address. Returns whether to report that.

        A first rejection is not reported while another listener of ours has the address, or has released it and not
        every Envoy knows yet.
        """
        state = self._cache.state(key)
        if state is None or state.wanted is None:
            return False
        version, attempt = state.wanted, self._attempts.get(key)
        if attempt is not None and attempt.version is version:
            return True
        heard = self._begin(key, version, self._heard()).heard
        addresses = self._cache.addresses
        return not (addresses.last_left(version.addresses) > heard or addresses.had_by_another(key, version.addresses))

    def sweep(self) -> None:
        """Offer the listeners again whose address was released, and forget those that need no retry."""
        cache = self._cache
        for key in sorted(self._displaced()):
            wanted = cache.rejected[key].wanted
            if wanted is None:
                continue
            attempt = self._attempts.get(key)
            if attempt is None or attempt.version is not wanted:
                # Known from a record: an Envoy of a former process, or of another server, rejected it.
                attempt = self._begin(key, wanted, cache.serial)
            left = cache.addresses.last_left(wanted.addresses)
            if left > attempt.heard:
                self._attempts[key] = attempt._replace(heard=left)
                cache.try_again(key)
        cache.addresses.forget(self._heard())
        for key, attempt in list(self._attempts.items()):
            state = cache.state(key)
            if state is None or state.wanted is not attempt.version or state.good is attempt.version:
                del self._attempts[key]

    def _retry(self, key: Key) -> None:
        if key not in self._attempts:
            return
        if key in self._displaced():
            self._cache.try_again(key)
            self._on_retry()
        raise Failure(f"no Envoy has accepted the listener {key[1]} yet")

    def _displaced(self) -> list[Key]:
        """The listeners that are rejected only because their address is in use."""
        rejected = self._cache.rejected.items()
        return [key for key, state in rejected if key[0] == LISTENER and in_use(state.rejection)]

    def _begin(self, key: Key, version: Version, heard: int) -> _Attempt:
        attempt = self._attempts[key] = _Attempt(version, heard)
        self.loop.queue.forget(key)
        self.loop.queue.retry(key)
        return attempt

    def _heard(self) -> int:
        """The serial up to which every Envoy that is not silent has answered."""
        cache = self._cache
        return int(min(cache.progress.answered(cache.serial), cache.serial))


class RejectionLog:
    """Decides at which level a rejection is logged: in full once an hour per element and message, and 30 a minute.

    A client that reconnects is sent the same again and rejects it again, and what it says is up to it. Further ones are
    logged at DEBUG; metrics count each, and records and status have the present ones. ``clock`` gives seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._logged: dict[tuple[str, str], float] = {}
        self._period_began = clock()
        self._in_period = 0

    def level(self, about: str, message: str, first: int) -> int:
        """The level for a rejection of ``about`` with ``message``: ``first``, or DEBUG if that would be too much."""
        now = self._clock()
        if now - self._period_began >= _PERIOD_SECONDS:
            self._period_began, self._in_period = now, 0
        logged = self._logged.get((about, message))
        if self._in_period >= _MOST_IN_PERIOD or (logged is not None and now - logged < _REPEAT_SECONDS):
            return logging.DEBUG
        self._in_period += 1
        self._logged.pop((about, message), None)
        self._logged[about, message] = now
        if len(self._logged) > _MOST_KNOWN:
            del self._logged[next(iter(self._logged))]
        return first


def named(message: str, suspects: Iterable[Version], others: Iterable[Version] = ()) -> list[tuple[Version, str]]:
    """The ``suspects`` that Envoy names, each with Envoy's reason.

    Envoy applies clusters and listeners one by one and lists those that it rejects: ``Error adding/updating cluster(s)
    NAME: why, NAME: why``, listeners separated by an end of line. ``others``: elements that the message may name as
    well, so that their reason is not taken for a suspect's.
    """
    found = _LISTED.match(message)
    if found is None:
        return []
    listed, suspects = found[1], list(suspects)
    starts: dict[int, str] = {}
    for name in {one.resource for one in (*suspects, *others)} - {""}:
        places = (0 if listed.startswith(f"{name}: ") else -1, *(listed.find(f"{by}{name}: ") for by in (", ", "\n")))
        at = min((place for place in places if place >= 0), default=-1)
        if at >= 0:
            starts[at] = name
    ends = [*sorted(starts)[1:], len(listed)]
    said = {
        starts[at]: listed[at:end].removeprefix(", ").strip().removeprefix(f"{starts[at]}: ").strip()
        for at, end in zip(sorted(starts), ends, strict=False)
    }
    return [(one, said[one.resource]) for one in suspects if one.resource in said]


def half(message: str, suspects: list[Version]) -> list[Version]:
    """The suspects to set back first: those that the message names, otherwise the second half.

    If it names all, nothing is gained by them. Virtual hosts are set back last: without them nothing would be learned
    of their routes.
    """
    mentioned = [one for one in suspects if one.element.kind != VIRTUAL_HOST and one.resource in message]
    if mentioned and len(mentioned) < len(suspects):
        return mentioned
    ordered = sorted(suspects, key=lambda one: (one.element.kind != VIRTUAL_HOST, one.key))
    return ordered[len(ordered) // 2 :]
