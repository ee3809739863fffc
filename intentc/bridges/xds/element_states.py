"""Holds the state of one element with Envoy, and searches for the element that makes Envoy reject a response.

Envoy rejects a whole route configuration for one bad route, and does not always say which. Elements that Envoy
acknowledged before are not to blame, so the cause is among those *on trial*: in force and never acknowledged. Half of
those on trial are set back to their last good version until the other half is acknowledged, and so on (``Search``). The
rejected element's last good version stays in force, unless it checks clients less strictly; a route without one gets a
fallback (``encoding.fallback_routes``). All other elements take effect.

State: the states belong to ``snapshot_cache``; only it changes them.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from .elements import ROUTE, Key
from .encoding import Version, fallback_routes


class Phase(Enum):
    """What is known of the version of an element that etcd holds."""

    DELETED = "etcd holds none; the last version may still be in force for others"
    ON_TRIAL = "no Envoy has acknowledged it"
    ACCEPTED = "an Envoy has acknowledged it"
    REJECTED = "an Envoy has rejected it, or it is no valid message"


class ElementState:
    """The state of one element: what etcd holds, what Envoys answered, and what is in force.

    ``wanted``: the version in etcd; ``good``: the last version that Envoy acknowledged, or had in force before this
    process started; ``rejection``: why ``wanted`` is not in force, or empty; ``is_set_back``: to ``good``, during a
    search; ``fallbacks``: what is offered in place of a rejected version if there is no good one, best first (Envoy may
    reject these as well).

    ``in_force``: the version that Envoys are sent; ``accepted``: the last version that an Envoy of this process
    acknowledged while the element was in force; ``unproven``: the version that was published and is not acknowledged,
    ``carried_by``: the resources that it was published in; ``waits_for``: clusters without which the offered version
    can't be in force; ``retained_as``: the name under which Envoys keep a listener of a former process.
    """

    __slots__ = (
        "accepted",
        "carried_by",
        "fallbacks",
        "good",
        "in_force",
        "is_set_back",
        "key",
        "rejection",
        "retained_as",
        "unproven",
        "waits_for",
        "wanted",
    )

    def __init__(self, key: Key) -> None:
        self.key = key
        self.wanted: Version | None = None
        self.good: Version | None = None
        self.rejection = ""
        self.is_set_back = False
        self.fallbacks: tuple[Version, ...] = ()
        self.in_force: Version | None = None
        self.accepted: Version | None = None
        self.unproven: Version | None = None
        self.carried_by: frozenset[str] = frozenset()
        self.waits_for: frozenset[str] = frozenset()
        self.retained_as = ""

    @property
    def phase(self) -> Phase:
        """The phase of the version that etcd holds."""
        if self.wanted is None:
            return Phase.DELETED
        if self.rejection:
            return Phase.REJECTED
        return Phase.ACCEPTED if self.wanted is self.good else Phase.ON_TRIAL

    @property
    def last_good(self) -> Version | None:
        """The last version of the element itself that Envoy acknowledged."""
        return self.good if self.good is not None and not self.good.is_fallback else None

    @property
    def unguarded(self) -> tuple[str, ...]:
        """The guards that the rejected version has and the last good one lacks.

        If there are any, the last good version must not be in force.
        """
        if not self.rejection or self.wanted is None or self.last_good is None:
            return ()
        return tuple(sorted(set(self.wanted.element.guards).difference(self.last_good.element.guards)))

    @property
    def offered(self) -> Version | None:
        """The version that should be in force; None for none."""
        if self.wanted is None:
            return None
        if self.rejection and self.last_good is None and self.fallbacks and not self.is_set_back:
            return self.fallbacks[0]
        if self.unguarded:
            return None
        return self.good if self.rejection or self.is_set_back else self.wanted

    @property
    def is_predecessor(self) -> bool:
        """Whether what is in force was never acknowledged, and stays only because others need it."""
        version = self.in_force
        if version is None or version is self.accepted or self.wanted is None:
            return version is not self.accepted
        return bool(self.waits_for) and version is not self.good and version is not self.offered

    def want(self, version: Version | None, rejection: str = "") -> None:
        """Note that etcd holds ``version`` now. ``rejection``: why it must not be offered at all."""
        if version is None:
            self.good = None
        elif self.wanted is not None and version.same(self.wanted):
            return
        elif self.good is not None and version.same(self.good):
            self.good, rejection = version, ""
        self.wanted, self.rejection, self.is_set_back = version, rejection, False
        self.fallbacks = fallback_routes(version) if version is not None and rejection else ()

    def restore(self, good: Version) -> None:
        """Note that Envoys had ``good`` in force before this process started, or before the element was deleted."""
        self.good = self.wanted if self.wanted is not None and good.same(self.wanted) else good

    def reject(self, message: str) -> None:
        """Stop offering the wanted version, or the fallback that is offered in its place."""
        if self.rejection:
            self.fallbacks = self.fallbacks[1:]
        elif self.wanted is not None:
            self.rejection, self.fallbacks = message, fallback_routes(self.wanted)
        self.is_set_back = False
        if self.good is self.wanted:
            self.good = None

    def try_again(self) -> None:
        """Offer a rejected version again."""
        self.rejection, self.fallbacks = "", ()

    def acknowledge(self, version: Version) -> bool:
        """Note that Envoy has ``version`` in force. Returns whether the record of a rejection may have changed."""
        if self.in_force is not None:
            self.accepted = version
        if self.wanted is None or self.good is version:
            return False
        if self.good is not None and self.good.element.revision > version.element.revision:
            return False
        if version.is_fallback and self.last_good is not None:
            return False
        self.good = version
        if self.wanted is version:
            self.try_again()
            return True
        # Its answer came late, and shows that another version of a rejected element is good.
        return bool(self.rejection) and not version.is_fallback

    def put_on_trial_again(self, version: Version) -> bool:
        """Forget that ``version`` was acknowledged, if it is the one that is offered. Returns whether it was."""
        if self.wanted is not version or self.offered is not version or self.good is not version:
            return False
        self.good = self.accepted = None
        return True


def safe_meanwhile(former: Version | None, waiting: Version) -> Version | None:
    """The version that is in force instead of ``former`` while ``waiting`` waits for a rejected cluster.

    The cluster may be missing for long. Until it is fixed, no listener with fewer guards stays in force, and no wider
    route answers in place of a route.
    """
    if former is None:
        return next(iter(fallback_routes(waiting)), None)
    is_guarded = set(waiting.element.guards).issubset(former.element.guards)
    return former if is_guarded or waiting.element.kind == ROUTE else None


class Search:
    """The search for rejected elements of one type.

    ``groups``: elements that are set back, the latest group last; ``pending``: suspects that must be answered before
    the last group is released; ``found``: whether an element was rejected since.
    """

    def __init__(self) -> None:
        self.groups: list[list[ElementState]] = []
        self.pending: list[ElementState] = []
        self.found = False

    @property
    def is_running(self) -> bool:
        """Whether elements are set back now."""
        return any(state.is_set_back for group in self.groups for state in group)

    def set_back(self, back: list[ElementState], suspects: Iterable[ElementState]) -> None:
        """Set ``back`` to their last good versions until the other ``suspects`` are acknowledged or rejected."""
        for state in back:
            state.is_set_back = True
        self.groups.append(back)
        self.pending = [state for state in suspects if not state.is_set_back]
        self.found = False

    def release(self) -> list[ElementState]:
        """Offer the last group that was set back again; call it once no suspect is pending. Returns the released.

        If nothing was rejected meanwhile, the cause must be in the group, and only half of it is released.
        """
        released: list[ElementState] = []
        while self.groups and not released:
            released = [state for state in self.groups.pop() if state.is_set_back]
        if not self.found and len(released) > 1:
            self.groups.append(released[len(released) // 2 :])
            released = released[: len(released) // 2]
        for state in released:
            state.is_set_back = False
        self.pending = released
        return released
