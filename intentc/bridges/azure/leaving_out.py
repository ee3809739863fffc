"""Leaves out the Ingress because of which Azure rejects the document, and no other for longer than needed.

If Azure names sub-resources, that Ingress is the last in precedence of those that they come from. Otherwise it is
searched among the Ingresses that are not served yet, by halving: each step lets the compiler leave out some, by a
record, and looks at the answer to the next document. An Ingress that is served is never left out by a search
(docs/appgw.md, publisher).

State: the search. The caller's records are in etcd.

Touches: nothing itself; through others: clock, HTTP, logs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from .document import Parts
from .rejections import Rejection, Search, guilty

_MOST_WAITS = 20
"""Looks at the gateway after which a search ends because the compiler does not do what it asks for."""
SUSPECTED = "Suspected"
"""The code of the record of an Ingress that is left out while the guilty one is searched."""


class World(NamedTuple):
    """What the compiler made. ``digests``: Ingress → the digest by which its rejection ends. ``secret``: name
    (namespace:name) → the PFX; it raises ``ValueError`` if there is none. ``private``: the Ingresses that are to be
    served at the private address. ``served``: those that the gateway serves, by the records."""

    parts: Parts
    digests: Mapping[str, str]
    secret: Callable[[str], str]
    private: frozenset[str] = frozenset()
    served: frozenset[str] = frozenset()


class RejectionRecords(Protocol):
    """The records ``appgw_rejection``, which the compiler reads. An Ingress is namespace:name."""

    async def reject(self, ingress: str, digest: str, rejection: Rejection) -> None:
        """Leave an Ingress out while it has ``digest``."""
        ...

    async def release(self, ingress: str) -> None:
        """Leave it out no longer."""
        ...


class LeavingOut:
    """``suspected``: the Ingresses that a former process had under suspicion."""

    def __init__(self, records: RejectionRecords, suspected: Iterable[str] = ()) -> None:
        self._records = records
        self._suspected = set(suspected)
        self._search: Search | None = None
        self._candidates: tuple[str, ...] = ()
        self._digests: dict[str, str] = {}
        self._waits = 0
        self._rejection = Rejection("", "")

    async def ready(self, world: World) -> bool:
        """Whether the compiler has done what the search asked for, so that the next document answers its question."""
        if self._search is None:
            for ingress in sorted(self._suspected):
                await self._records.release(ingress)
            has_returned = self._suspected <= world.parts.owners.keys()
            self._suspected.clear()
            return has_returned
        if any(digest != world.digests.get(name, digest) for name, digest in self._digests.items()):
            # A candidate has changed: what was learned is about another one.
            self._search = None
            return await self.ready(world)
        left_out = self._search.left_out
        present = _owners(world.parts)
        if not left_out & present and set(self._candidates) - left_out <= present:
            self._waits = 0
            return True
        self._waits += 1
        if self._waits > _MOST_WAITS:
            # A candidate is gone, for example.
            self._search, self._waits = None, 0
        return False

    async def accepted(self, world: World) -> bool:
        """Take note that Azure has accepted the document; whether the search goes on."""
        if self._search is None:
            return False
        self._search.learn(was_accepted=True)
        await self._step()
        return True

    async def rejected(self, world: World, document: Mapping[str, Any], rejection: Rejection) -> str:
        """Leave somebody out; returns who is guilty or suspected, empty if there is nobody."""
        in_order = [owner.name for owner in sorted(world.parts.owners.values())]
        named = {owner for place in guilty(rejection, document) for owner in _owners_at(world.parts, place)}
        if suspects := [name for name in in_order if name in named]:
            self._search = None
            self._suspected.discard(suspects[-1])
            await self._records.reject(suspects[-1], world.digests.get(suspects[-1], ""), rejection)
            return suspects[-1]
        self._rejection = rejection
        if self._search is not None:
            self._search.learn(was_accepted=False)
        elif new := tuple(name for name in in_order if name not in world.served):
            self._candidates = new
            self._digests = {name: world.digests.get(name, "") for name in self._candidates}
            self._search = Search(self._candidates)
        else:
            return ""
        return await self._step()

    async def _step(self) -> str:
        assert self._search is not None
        found = self._search.found
        if self._search.is_none_guilty:
            # It is none of them.
            self._search = None
            return ""
        wanted = {found} if found is not None else set(self._search.left_out)
        for ingress in sorted(self._suspected - wanted):
            await self._records.release(ingress)
        code = self._rejection if found is not None else Rejection(SUSPECTED, self._rejection.words)
        for ingress in sorted(wanted if found is not None else wanted - self._suspected):
            await self._records.reject(ingress, self._digests.get(ingress, ""), code)
        self._suspected = set() if found is not None else wanted
        if found is not None:
            self._search = None
        return ", ".join(sorted(wanted))


def _owners(parts: Parts) -> set[str]:
    """The Ingresses that have a part in the gateway, or are left in one."""
    found = set(parts.owners)
    for there in parts.parts.values():
        for part in there.values():
            found.update(_of_part(part.owners, part.fields))
    return found


def _owners_at(parts: Parts, place: str) -> tuple[str, ...]:
    collection, _, name = place.partition("/")
    part = parts.of(collection).get(name)
    return _of_part(part.owners, part.fields) if part is not None else ()


def _of_part(owners: tuple[str, ...], fields: Mapping[str, Any]) -> tuple[str, ...]:
    origins = fields.get("origins") or ()
    return owners or tuple(str(one["name"]) for one in origins if one.get("kind") == "ingress")
