"""Replaces the provisional values of a trial by placeholders such as ``<POOL for NAME>`` and ``<uuid of NAME>``.

The numbers, uuids and addresses of a copy are provisional: only the real API server can choose them. A plan must not
show one, so wherever it occurs, in a name or in a value, its placeholder is shown. ``Provisional`` finds these values,
and the numbers that the input would give to owners and free; ``Unknown`` replaces them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from intentc.apiserver.admission import NO_RULES, RULES
from intentc.apiserver.admission.rules import Allocation as Taken
from intentc.apiserver.admission.rules import Change as Admitted
from intentc.apiserver.documents import Document
from intentc.offline.preview.report import PlannedAllocation
from intentc.offline.preview.trial import UUID, Moments, Trial

_MAC = re.compile(r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}")
_CANDIDATE = re.compile(rf"{UUID.pattern}|{_MAC.pattern}|(?<!\d)\d{{4,18}}(?!\d)")
GIVEN, FREED = "given", "freed"


class Unknown:
    """Replaces provisional values. ``numbers``, ``uuids``, ``addresses``: value → its placeholder."""

    def __init__(
        self, numbers: Mapping[int, str], uuids: Mapping[str, str], addresses: Mapping[str, str] | None = None
    ) -> None:
        self._numbers = numbers
        self._uuids = uuids
        self._addresses = addresses or {}
        self._candidate = _CANDIDATE
        if addresses:
            either = "|".join(map(re.escape, addresses))
            self._candidate = re.compile(rf"(?<![\w.:])(?:{either})(?![\w.:])|{_CANDIDATE.pattern}")
        # Hardware addresses may consist of a uuid's first bytes.
        self._beginnings = {uuid.replace("-", "")[:10]: placeholder for uuid, placeholder in uuids.items()}

    def text(self, text: str) -> str:
        """Return ``text`` without provisional values."""
        return self._candidate.sub(self._instead, text) if self._numbers or self._uuids else text

    def value(self, value: Any) -> Any:
        """Return a JSON value without provisional values; a provisional number becomes a text."""
        match value:
            case str():
                return self.text(value)
            case bool():
                return value
            case int():
                return self._numbers.get(value, value)
            case dict():
                return {self.text(name): self.value(inner) for name, inner in value.items()}
            case list() | tuple():
                return [self.value(inner) for inner in value]
        return value

    def uuid(self, uuid: str) -> str | None:
        """Return a resource's uuid, None if it is provisional."""
        return None if uuid in self._uuids else uuid

    def _instead(self, match: re.Match[str]) -> str:
        text = match[0]
        if text in self._addresses:
            return self._addresses[text]
        if "-" in text:
            return self._uuids.get(text, text)
        if ":" in text:
            placeholder = self._beginnings.get(text[3:].replace(":", ""))
            return f"<address from {placeholder[1:]}" if placeholder else text
        return self._numbers.get(int(text), text)


class Provisional:
    """The provisional values of one trial between its moments."""

    def __init__(self, trial: Trial, moments: Moments) -> None:
        self._trial = trial
        self._moments = moments

    async def unknown(self) -> Unknown:
        """Return everything that the real servers would choose differently."""
        numbers = await self._numbers()
        return Unknown(numbers, await self._uuids(Unknown(numbers, {})), await self._addresses())

    async def allocations(self, unknown: Unknown) -> tuple[PlannedAllocation, ...]:
        """Return the allocations that the input would give and free."""
        before, after = self._moments.resting.allocations, self._moments.done.allocations
        found = []
        for action, these, those in ((GIVEN, after, before), (FREED, before, after)):
            for (pool, number), owner in these.items():
                if (pool, number) not in those:
                    shown = str(unknown.value(await self._shown_number(number, owner)))
                    where, whose = await self._pool(pool), unknown.text(await self._owner(owner))
                    found.append(PlannedAllocation(action, unknown.text(where), whose, shown))
        return tuple(sorted(found, key=lambda number: (number.action, number.pool, number.owner, number.shown)))

    async def _numbers(self) -> dict[int, str]:
        known = await self._trial.allocations(self._moments.live)
        given = {
            place: owner
            for moment in (self._moments.resting, self._moments.done)
            for place, owner in moment.allocations.items()
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
            if address and address not in trial.text:
                found[address] = f"<address for {await trial.shown_name(uuid)}>"
        return found

    async def _owner(self, owner: str) -> str:
        """Return the name of a number's owner; of a fact, its kind and name."""
        uuid = _uuid_in(owner)
        return await self._trial.shown_name(uuid) or next(map(str, self._trial.intent_of(uuid)), owner)

    async def _pool(self, pool: str) -> str:
        """Return the name of a pool; of one of a family, with the name of the resource that it belongs to."""
        family, colon, part = pool.partition(":")
        name = await self._trial.shown_name(part) if part else None
        return family + colon + name if name else pool

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
    if not rules.allocates:
        return 0
    for field, value in document.items():
        if isinstance(value, int) and not isinstance(value, bool):
            rest = {name: inner for name, inner in document.items() if name != field}
            for taken in rules.allocations(Admitted(uuid, None, rest)):
                if isinstance(taken, Taken) and taken.field == field and number + taken.offset == value:
                    return taken.offset
    return 0
