"""Collects the provisional values of a trial: numbers, uuids and addresses that only the real server can choose.

``unknown`` replaces them in a plan by texts such as ``<POOL for NAME>``. A plan also lists the numbers that the input
would give to owners and free; they are found here.
"""

from __future__ import annotations

from intentc.apiserver.admission import NO_RULES, RULES
from intentc.apiserver.admission.rules import Change as Admitted
from intentc.apiserver.admission.rules import Number as Taken
from intentc.apiserver.documents import Document
from intentc.offline.preview.report import PlannedAllocation
from intentc.offline.preview.trial import Moments, Trial
from intentc.offline.preview.unknown import Unknown

GIVEN, FREED = "given", "freed"


class Provisional:
    """The provisional values of one trial between its moments."""

    def __init__(self, trial: Trial, moments: Moments) -> None:
        self._trial = trial
        self._moments = moments

    async def unknown(self) -> Unknown:
        """Return everything that the real servers would choose differently."""
        numbers = await self._numbers()
        return Unknown(numbers, await self._uuids(Unknown(numbers, {})), await self._addresses())

    async def numbers(self, unknown: Unknown) -> tuple[PlannedAllocation, ...]:
        """Return the allocations that the input would give and free."""
        before, after = self._moments.resting.numbers, self._moments.done.numbers
        found = []
        for action, these, those in ((GIVEN, after, before), (FREED, before, after)):
            for (pool, number), owner in these.items():
                if (pool, number) not in those:
                    shown = str(unknown.value(await self._shown_number(number, owner)))
                    where, whose = await self._pool(pool), unknown.text(await self._owner(owner))
                    found.append(PlannedAllocation(action, unknown.text(where), whose, shown))
        return tuple(sorted(found, key=lambda number: (number.action, number.pool, number.owner, number.shown)))

    async def _numbers(self) -> dict[int, str]:
        known = await self._trial.numbers(self._moments.live)
        given = {
            place: owner
            for moment in (self._moments.resting, self._moments.done)
            for place, owner in moment.numbers.items()
            if place not in known
        }
        found: dict[int, str] = {}
        texts: set[str] = set()
        for (pool, number), owner in sorted(given.items(), key=lambda item: item[1]):
            text = f"<{await self._pool(pool)} for {await self._owner(owner)}>"
            if text in texts:
                # One owner may have several for different purposes.
                text = f"{text[:-1]}, {owner.rpartition('/')[2]}>"
            texts.add(text)
            shown = await self._shown_number(number, owner)
            # Several pools of a family give the same number.
            found[shown] = f"<{pool.partition(':')[0]}>" if shown in found else text
        return found

    async def _addresses(self) -> dict[str, str]:
        """The new addresses that the input doesn't request."""
        trial, moments = self._trial, self._moments
        owners = await trial.owners_of_addresses(moments.resting.revision)
        owners |= await trial.owners_of_addresses(moments.done.revision)
        found: dict[str, str] = {}
        for uuid in sorted(owners - await trial.owners_of_addresses(moments.live)):
            name = await trial.identity(uuid)
            document = await trial.stored(name, uuid) if name is not None else None
            address = (document or {}).get(f"{name.kind}_address") if name is not None else None
            if name is not None and address and address not in trial.text:
                found[address] = f"<address for {trial.drawn.shown(':'.join(name.fq_name))}>"
        return found

    async def _owner(self, owner: str) -> str:
        """Return the name of a number's owner; of a fact, its kind and name."""
        name = await self._trial.identity(_uuid_in(owner))
        if name is not None:
            return self._trial.drawn.shown(":".join(name.fq_name))
        return next((str(key) for key in self._trial.intent_of(_uuid_in(owner))), owner)

    async def _pool(self, pool: str) -> str:
        """Return the name of a pool; of one of a family, with the name of the resource that it belongs to."""
        family, colon, part = pool.partition(":")
        name = await self._trial.identity(part) if part else None
        return family + colon + self._trial.drawn.shown(":".join(name.fq_name)) if name is not None else pool

    async def _shown_number(self, number: int, owner: str) -> int:
        """Return the number as a field shows it: admission may add an offset."""
        uuid = _uuid_in(owner)
        name = await self._trial.identity(uuid)
        document = await self._trial.stored(name, uuid) if name is not None else None
        if name is None or document is None:
            return number
        return number + _offset(name.kind, uuid, document, number)

    async def _uuids(self, numbered: Unknown) -> dict[str, str]:
        """``numbered``: replaces the provisional numbers."""
        trial, moments = self._trial, self._moments
        made = [
            (resource.key.uuid, resource.mark.origin, trial.drawn.shown(":".join(resource.fq_name)))
            for changed in await trial.changed(moments.live, moments.done.revision)
            if changed.before is None
            and (resource := trial.resource(changed.key, changed.after)) is not None
            and resource.mark is not None
        ]
        found = dict(trial.drawn.uuids)
        # The uuid of what compilers make follows from its name, too, which may contain a number.
        found |= {uuid: f"<uuid of {numbered.text(name)}>" for uuid, _, name in made if numbered.text(name) != name}
        further = True
        while further:
            # An object that compilers make can have an intent itself; other uuids then follow from its own.
            news = {uuid: f"<uuid of {name}>" for uuid, origin, name in made if origin in found and uuid not in found}
            further = bool(news)
            found |= news
        return found


def _uuid_in(owner: str) -> str:
    """Return the uuid in ``installation/uuid/purpose``; the API server's own owners are uuids themselves."""
    return owner.partition("/")[2].rpartition("/")[0] if "/" in owner else owner


def _offset(kind: str, uuid: str, document: Document, number: int) -> int:
    """Return what admission adds to a number in a field, found by running its rule once more."""
    rules = RULES.get(kind, NO_RULES)
    if not rules.takes_numbers:
        return 0
    for field, value in document.items():
        if isinstance(value, int) and not isinstance(value, bool):
            rest = {name: inner for name, inner in document.items() if name != field}
            for taken in rules.numbers(Admitted(uuid, None, rest)):
                if isinstance(taken, Taken) and taken.field == field and number + taken.offset == value:
                    return taken.offset
    return 0
