"""Decides which Ingress is left out of the document after Azure rejected it (docs/appgw.md §11).

If Azure's message names sub-resources, it is the last in precedence of the Ingresses that they come from. Otherwise an
``OwnerSearch`` runs over the Ingresses that are not served yet: each step has the compiler leave out some of them, and
Azure's answer to the next document is the result. A search leaves out no Ingress that is already served.

The compiler leaves out the Ingresses that have a record ``appgw_rejection``; ``records``, given by the caller, writes
them through the API server. ``publisher`` sends the documents, and reports Azure's answers here. ``retried_ingresses``
lets an Ingress back in.

State: the search that runs, with its candidates, its waits and the rejection that began it; and the Ingresses that are
left out because of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .compiled_world import Digests, RejectionRecords, World
from .document import Parts
from .rejections import OwnerSearch, Rejection, named_parts

_MOST_WAITS = 20
"""After so many calls of ``is_ready`` in which the compiler's objects do not fit the search, the search ends."""
SUSPECTED = "Suspected"
"""The code in the record of an Ingress that is left out only because a search runs."""


_BEHIND = ("probes", "backendHttpSettingsCollection", "backendAddressPools")
"""Collections whose parts stay compiled while an Ingress is rejected."""


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
