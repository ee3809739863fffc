"""Finds out which Ingress Azure rejects a document for, and has the compiler leave it out (docs/appgw.md §11).

If Azure's message names sub-resources, it is the last in precedence of the Ingresses that they come from. Otherwise an
``OwnerSearch`` runs over the Ingresses that are not served yet: each step has the compiler leave out some of them, and
Azure's answer to the next document is the result. The compiler leaves out the Ingresses that have a record
``appgw_rejection``; ``RetriedIngresses`` lets an Ingress back in.

State: ``publisher`` reports Azure's answers; the tries of each rejected Ingress in this process.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from intentc.reconcile.backoff import Backoff
from intentc.reconcile.failures import Conflict, Rejected

from .compiled_world import SUSPECTED, Digests, World
from .document import Parts

_LOG = logging.getLogger(__name__)
_TRIES = Backoff(5.0, 300.0)
_ID = re.compile(r"/applicationGateways/[^/\s]+/(\w+)/([\w.\-]+)(?:/pathRules/([\w.\-]+))?", re.IGNORECASE)


class Rejection(NamedTuple):
    """Why Azure rejected a document. ``code`` and ``message`` are Azure's; ``details`` are further pairs of the two."""

    code: str
    message: str
    details: tuple[tuple[str, str], ...] = ()

    @property
    def words(self) -> str:
        """The codes and messages, on one line."""
        return " ".join([f"{self.code}: {self.message}", *(f"{code}: {text}" for code, text in self.details)])


def rejection_of(body: Any) -> Rejection:
    """The rejection in an answer's body, ``{"error": {code, message, details}}``.

    A body of another form becomes the message, cut to 500 characters, with the code ``Unknown``."""
    error = body.get("error") if isinstance(body, Mapping) else None
    if not isinstance(error, Mapping):
        return Rejection("Unknown", str(body)[:500])
    details = error.get("details")
    listed = [item for item in details if isinstance(item, Mapping)] if isinstance(details, list) else []
    further = tuple((str(item.get("code", "")), str(item.get("message", ""))) for item in listed)
    return Rejection(str(error.get("code", "Unknown")), str(error.get("message", "")), further)


def named_parts(rejection: Rejection, document: Mapping[str, Any]) -> list[str]:
    """The sub-resources of ``document`` that the rejection names, sorted, as ``httpListeners/fl-…``.

    If the message contains ids of sub-resources, it names those. Otherwise it names each sub-resource whose name is a
    word of the message, in every collection that has one of that name."""
    known = {
        f"{collection}/{item['name']}".lower(): f"{collection}/{item['name']}"
        for collection, items in (document.get("properties") or {}).items()
        if isinstance(items, list)
        for item in items
        if isinstance(item, Mapping) and "name" in item
    }
    named = {f"{collection}/{name}".rstrip(".").lower() for collection, name, _ in _ID.findall(rejection.words)}
    if found := sorted(known[place] for place in named if place in known):
        return found
    words = set(re.findall(r"[\w\-]+(?:\.[\w\-]+)*", rejection.words.lower()))
    return sorted(place for folded, place in known.items() if folded.partition("/")[2] in words)


class OwnerSearch:
    """Finds the owner because of which Azure rejects a document, by halving.

    ``owners`` are in order of precedence; the document with all of them was rejected. Until ``found`` or ``has_failed``
    is set, send a document without ``left_out``, and report the answer to ``learn``. The owner found is the first
    one in this order with which the document is rejected."""

    def __init__(self, owners: Sequence[str]) -> None:
        if not owners:
            raise ValueError("a search needs owners")
        self._owners = tuple(owners)
        self._accepted, self._rejected = -1, len(self._owners)
        self.has_failed = False
        """Whether the search ended without an owner: the document is rejected even without all of them."""

    @property
    def found(self) -> str | None:
        """The owner found; None until then."""
        return self._owners[self._accepted] if 0 <= self._accepted == self._rejected - 1 else None

    @property
    def left_out(self) -> frozenset[str]:
        """The owners to leave out of the next document."""
        return frozenset(self._owners[self._middle :])

    @property
    def _middle(self) -> int:
        return 0 if self._accepted < 0 else (self._accepted + self._rejected) // 2

    def learn(self, was_accepted: bool) -> None:
        """Record Azure's answer to the document without ``left_out``."""
        if was_accepted:
            self._accepted = self._middle
        else:
            self.has_failed = self._accepted < 0
            self._rejected = self._middle


_MOST_WAITS = 20
"""After so many calls of ``is_ready`` in which the compiler's objects do not fit the search, the search ends."""
_BEHIND = ("probes", "backendHttpSettingsCollection", "backendAddressPools")
"""Collections whose parts stay compiled while an Ingress is rejected."""


class RejectionRecords(Protocol):
    """The records ``appgw_rejection``, which the compiler reads. An Ingress is namespace:name."""

    async def reject(self, ingress: str, digests: Digests, rejection: Rejection) -> None:
        """Leave an Ingress out while it asks for this."""
        ...

    async def release(self, ingress: str) -> None:
        """Leave it out no longer."""
        ...


class RejectedIngresses:
    """Call ``is_ready`` before each document, then ``on_accepted`` or ``on_rejected`` with Azure's answer.

    ``suspected``: the Ingresses that a search of a former process left out. That search does not go on; they are
    released. All methods raise what ``records`` raises."""

    def __init__(self, records: RejectionRecords, suspected: Iterable[str] = ()) -> None:
        self._records = records
        self._suspected = set(suspected)
        self._search: OwnerSearch | None = None
        self._candidates: tuple[str, ...] = ()
        self._digests: dict[str, Digests] = {}
        self._waits = 0
        self._rejection = Rejection("", "")
        """The last rejection that named nothing."""

    async def is_ready(self, world: World) -> bool:
        """Whether the compiler's objects fit the search, so that Azure's answer to the next document is its result.

        Without a search: whether the objects of released Ingresses have returned."""
        if self._search is None:
            for ingress in sorted(self._suspected):
                await self._records.release(ingress)
            has_returned = self._suspected <= world.parts.owners.keys()
            self._suspected.clear()
            return has_returned
        if any(then.said != world.said.get(name, then.said) for name, then in self._digests.items()):
            # A candidate has changed, and with it, perhaps, the answers so far.
            self._search = None
            return await self.is_ready(world)
        left_out = self._search.left_out
        present = _owners(world.parts)
        if not left_out & present and set(self._candidates) - left_out <= present:
            self._waits = 0
            return True
        self._waits += 1
        if self._waits > _MOST_WAITS:
            # This happens when a candidate was deleted, for example.
            self._search, self._waits = None, 0
        return False

    async def on_accepted(self, world: World) -> bool:
        """Azure accepted the document. Returns whether a search ran, which now has its next step or its result."""
        if self._search is None:
            return False
        self._search.learn(was_accepted=True)
        await self._step()
        return True

    async def on_rejected(self, world: World, document: Mapping[str, Any], rejection: Rejection) -> str:
        """Azure rejected the document. Returns the Ingresses that are left out because of it; empty: none."""
        in_order = [owner.name for owner in sorted(world.parts.owners.values())]
        places = named_parts(rejection, document)
        owners = {owner for place in places for owner in _owners_at(world.parts, place)}
        if named := [name for name in in_order if name in owners]:
            self._search = None
            await self._records.reject(named[-1], world.digests(named[-1]), rejection)
            self._suspected.discard(named[-1])
            return named[-1]
        self._rejection = rejection
        if self._search is not None:
            self._search.learn(was_accepted=False)
        elif new := tuple(name for name in in_order if name not in world.served):
            self._candidates = new
            self._digests = {name: world.digests(name) for name in self._candidates}
            self._search = OwnerSearch(self._candidates)
        else:
            return ""
        return await self._step()

    async def _step(self) -> str:
        """Leave out what the search asks for, or its result; returns the names of these Ingresses."""
        assert self._search is not None
        found = self._search.found
        if self._search.has_failed:
            self._search = None
            return ""
        wanted = {found} if found is not None else set(self._search.left_out)
        for ingress in sorted(self._suspected - wanted):
            await self._records.release(ingress)
            self._suspected.discard(ingress)
        rejection = self._rejection if found is not None else Rejection(SUSPECTED, self._rejection.words)
        for ingress in sorted(wanted if found is not None else wanted - self._suspected):
            if found is None:
                # Before the write: it may arrive though it raises, and what is not known here is never released.
                self._suspected.add(ingress)
            await self._records.reject(ingress, self._digests.get(ingress, Digests()), rejection)
        if found is not None:
            self._suspected.clear()
            self._search = None
        return ", ".join(sorted(wanted))


class RetriedIngresses:
    """Lets a rejected Ingress back in when anything that it asks for has changed, or when nobody asks for it any more.

    What an Ingress says is compared by the compiler as well; what is behind it (probes, settings, pools) only here,
    since the compiler leaves it out before it knows. An Ingress whose Pods come and go would be tried at each of their
    changes, and each try costs a rejected document: such tries back off. ``clock``: seconds."""

    def __init__(self, records: RejectionRecords, clock: Callable[[], float]) -> None:
        self._records = records
        self._clock = clock
        self._tries: dict[str, tuple[int, float]] = {}
        """Ingress → how often it was tried, and when it may be again."""

    async def release(self, world: World) -> None:
        """Remove the records of Ingresses that ask for something else now. One that can't be removed holds up no other,
        and is tried again in the next pass."""
        changed = self._changed(world, world.rejected)
        for ingress in sorted(changed):
            try:
                await self._records.release(ingress)
            except (Rejected, Conflict) as error:
                _LOG.warning("the record appgw_rejection %s can't be deleted: %s", ingress, error)
        gone = self._tries.keys() - world.said.keys() - (world.rejected.keys() - set(changed))
        for ingress in (world.served & self._tries.keys()) | gone:
            del self._tries[ingress]

    def _changed(self, world: World, rejected: Mapping[str, Digests]) -> list[str]:
        found = []
        for ingress, then in rejected.items():
            now = world.digests(ingress)
            if now.said != then.said or (now.content != then.content and self._may_try(ingress)):
                found.append(ingress)
        return found

    def _may_try(self, ingress: str) -> bool:
        count, next_at = self._tries.get(ingress, (0, 0.0))
        if self._clock() < next_at:
            return False
        self._tries[ingress] = (count + 1, self._clock() + _TRIES.seconds(count + 1))
        return True


def _owners(parts: Parts) -> set[str]:
    """The Ingresses that own a part that rejected ones lose, or are named by such a part as its origin."""
    found = set(parts.owners)
    for collection, there in parts.parts.items():
        for part in there.values() if collection not in _BEHIND else ():
            found.update(_of_part(part.owners, part.fields))
    return found


def _owners_at(parts: Parts, place: str) -> tuple[str, ...]:
    collection, _, name = place.partition("/")
    part = parts.of(collection).get(name)
    return _of_part(part.owners, part.fields) if part is not None else ()


def _of_part(owners: tuple[str, ...], fields: Mapping[str, Any]) -> tuple[str, ...]:
    origins = fields.get("origins") or ()
    return owners or tuple(str(one["name"]) for one in origins if one.get("kind") == "ingress")
