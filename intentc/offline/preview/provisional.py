"""What was made up in a trial: numbers, uuids, and the uuids that follow from those, and what is told instead."""

from __future__ import annotations

from intentc.apiserver.admission import NO_RULES, RULES
from intentc.apiserver.admission.rules import Change as Admitted
from intentc.apiserver.admission.rules import Number as Taken
from intentc.apiserver.documents import Document

from .report import Number
from .trial import Moments, Trial
from .unknown import Unknown

GIVEN, FREED = "given", "freed"


class MadeUp:
    """Of one trial, between its moments."""

    def __init__(self, trial: Trial, moments: Moments) -> None:
        self._trial = trial
        self._moments = moments

    async def unknown(self) -> Unknown:
        """Everything that the real servers would have chosen otherwise."""
        return Unknown(await self._numbers(), await self._uuids())

    async def numbers(self, unknown: Unknown) -> tuple[Number, ...]:
        """The numbers that the input would have given, and freed."""
        before, after = self._moments.resting.numbers, self._moments.done.numbers
        found = []
        for action, these, those in ((GIVEN, after, before), (FREED, before, after)):
            for (pool, number), owner in these.items():
                if (pool, number) not in those:
                    shown = str(unknown.value(await self._shown_number(number, owner)))
                    found.append(Number(action, pool, unknown.text(await self._owner(owner)), shown))
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
        told: set[str] = set()
        for (pool, number), owner in sorted(given.items(), key=lambda item: item[1]):
            text = f"<{pool} for {await self._owner(owner)}>"
            if text in told:
                # One owner may have several for different purposes.
                text = f"{text[:-1]}, {owner.rpartition('/')[2]}>"
            told.add(text)
            found[await self._shown_number(number, owner)] = text
        return found

    async def _owner(self, owner: str) -> str:
        """Who holds a number, by name."""
        name = await self._trial.identity(_uuid_in(owner))
        return ":".join(name.fq_name) if name is not None else owner

    async def _shown_number(self, number: int, owner: str) -> int:
        """The number as it stands in a field: admission may add an offset."""
        uuid = _uuid_in(owner)
        name = await self._trial.identity(uuid)
        document = await self._trial.stored(name, uuid) if name is not None else None
        if name is None or document is None:
            return number
        return number + _offset(name.kind, uuid, document, number)

    async def _uuids(self) -> dict[str, str]:
        trial, moments = self._trial, self._moments
        made = [
            (resource.key.uuid, resource.mark.origin, ":".join(resource.fq_name))
            for changed in await trial.changed(moments.live, moments.done.revision)
            if changed.before is None
            and (resource := trial.resource(changed.key, changed.after)) is not None
            and resource.mark is not None
        ]
        found = dict(trial.drawn.uuids)
        further = True
        while further:
            # An object that compilers make can itself be an intent, whose uuid others follow from.
            news = {uuid: f"<uuid of {name}>" for uuid, origin, name in made if origin in found and uuid not in found}
            further = bool(news)
            found |= news
        return found


def _uuid_in(owner: str) -> str:
    """The uuid in ``installation/uuid/purpose``; of the API server's own owners all of it."""
    return owner.partition("/")[2].rpartition("/")[0] if "/" in owner else owner


def _offset(kind: str, uuid: str, document: Document, number: int) -> int:
    """What admission adds to a number before it stands in a field: found by asking for it once more."""
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
