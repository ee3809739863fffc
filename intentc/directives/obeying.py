"""Has the engine carry out directives, ends what is withdrawn, and says which directives are done.

All listed and watched changes pass through ``take``, so that a gap, a duplicate or a missed event has the same result
as a directive that arrived in time. Every call of ``engine/operator_actions.py`` is synchronous, cheap, and idempotent.

State: ``watching`` delivers directives, and withdraws those that are done.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from intentc.model import Change, InvalidInput, Key

from .directive import AllowDeletes, Directive, Drop, Pause, Retry, Suspect, decode

if TYPE_CHECKING:
    from intentc.engine.engine import Engine
    from intentc.engine.operator_actions import OperatorActions


_LOG = logging.getLogger(__name__)

Place = tuple[str, str]
"""Sort, and what the directive is about."""


@dataclass
class Known:
    """A directive in etcd. ``applied``: the action was taken. ``revoked``: a later retry undid it. ``withdrawn``: its
    deletion was requested; it stays here until the watch reports the deletion."""

    directive: Directive
    mod_revision: int
    applied: bool = False
    revoked: bool = False
    withdrawn: bool = False


class DirectiveExecutor:
    """The directives under ``prefix``, as one process obeys them."""

    def __init__(self, prefix: str, actions: OperatorActions, engine: Engine) -> None:
        self._prefix = prefix
        self._actions = actions
        self._engine = engine
        self._known: dict[Place, Known] = {}
        self._unreadable: dict[Place, int] = {}

    def take(self, changes: Iterable[Change], *, whole: bool) -> None:
        """Obey changed directives. ``whole``: directives that aren't among ``changes`` don't exist.

        Obeyed in the order in which they were given: a retry ends an older suspicion, and leaves a newer one.
        """
        given = sorted(changes, key=lambda change: change.mod_revision)
        if whole:
            there = {(change.kind, change.uuid) for change in given}
            for place in sorted((self._known.keys() | self._unreadable.keys()) - there):
                self._end(place)
        for change in given:
            place = (change.kind, change.uuid)
            if change.value is None:
                self._end(place)
            else:
                self._begin(place, change.value, change.mod_revision)

    def catch_up(self) -> bool:
        """Obey what had to wait for the first pass. True if there was anything."""
        deferred = [known for known in self._known.values() if not known.applied]
        for known in deferred:
            self._pull(known)
        return any(known.applied for known in deferred)

    def done(self) -> list[Known]:
        """The directives that may be withdrawn. What a retry revoked precedes the retry: a process that starts in
        between must not find the revoked one alone."""
        found = [known for known in self._known.values() if not known.withdrawn and self._is_done(known)]
        return sorted(found, key=lambda known: not known.revoked)

    @property
    def counts(self) -> dict[str, int]:
        """Sort → the number of directives."""
        return dict(sorted(Counter(sort for sort, _ in self._known).items()))

    @property
    def unreadable(self) -> list[str]:
        """The keys of the directives that are ignored."""
        return [self._prefix + "/".join(place) for place in sorted(self._unreadable)]

    def knows(self, changes: Iterable[Change]) -> bool:
        """Whether ``changes``, a list of all directives, equals what is known."""
        known = {place: known.mod_revision for place, known in self._known.items()} | self._unreadable
        return known == {(change.kind, change.uuid): change.mod_revision for change in changes}

    def _begin(self, place: Place, value: bytes, mod_revision: int) -> None:
        try:
            directive = decode(*place, value)
        except InvalidInput as error:
            if self._unreadable.get(place) != mod_revision:
                _LOG.warning("the directive %s%s is ignored: %s", self._prefix, "/".join(place), error.message)
            self._end(place)
            self._unreadable[place] = mod_revision
            return
        self._unreadable.pop(place, None)
        known = self._known.get(place)
        if known is not None and (known.directive, known.mod_revision) == (directive, mod_revision):
            return
        self._known[place] = fresh = Known(directive, mod_revision)
        _LOG.info("directive %s%s", "/".join(place), _signed(directive), extra={"revision": mod_revision})
        self._pull(fresh)

    def _pull(self, known: Known) -> None:
        actions = self._actions
        match known.directive:
            case Pause() as directive:
                actions.pause(directive.key, directive.name, f"paused{_signed(directive)}")
            case Drop() as directive:
                actions.drop(directive.key, directive.mod_revision)
            case Suspect() as directive:
                if directive.holds:
                    actions.suspect(directive.key, directive.mod_revision)
            case Retry() as directive:
                self._revoke(directive.key, known.mod_revision)
                _LOG.info("retry of %s: %d were quarantined", directive.about, actions.retry(directive.key))
            case AllowDeletes() as directive:
                if not self._engine.first_pass_complete:
                    return
                _LOG.info(
                    "deletes of %s allowed: %d were withheld", directive.kind, actions.allow_deletes(directive.kind)
                )
        known.applied = True

    def _revoke(self, key: Key | None, before: int) -> None:
        """End older suspicions by a retry and, if the retry is for one key, an older drop."""
        for known in self._known.values():
            if known.mod_revision >= before:
                continue
            match known.directive:
                case Suspect() as directive if key in (None, directive.key):
                    self._actions.unsuspect(directive.key)
                    known.revoked = True
                case Drop() as directive if key == directive.key:
                    self._actions.undrop(directive.key)
                    known.revoked = True

    def _end(self, place: Place) -> None:
        """A directive was withdrawn. Actions that are done once are not undone."""
        self._unreadable.pop(place, None)
        known = self._known.pop(place, None)
        if known is None:
            return
        _LOG.info("directive %s is withdrawn", "/".join(place))
        match known.directive:
            case Pause() as directive:
                self._actions.resume(directive.key)
            case Drop() as directive:
                self._actions.undrop(directive.key)
            case Suspect() as directive:
                self._actions.unsuspect(directive.key)

    def _is_done(self, known: Known) -> bool:
        match known.directive:
            case Retry() | AllowDeletes():
                return known.applied
            case Drop() | Suspect() as directive:
                if known.revoked:
                    return True
                changed = self._actions.changed_since(directive.key, directive.mod_revision)
                return changed and self._engine.first_pass_complete
            case _:
                return False


def _signed(directive: Directive) -> str:
    """`` by WHO at WHEN: WHY``, without the unknown parts."""
    who = f" by {directive.by}" if directive.by else ""
    when = f" at {directive.at}" if directive.at else ""
    why = f": {directive.reason}" if directive.reason else ""
    return f"{who}{when}{why}"
