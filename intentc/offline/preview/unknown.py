"""What only the real API server can say, and how a plan tells of it: ``<POOL for NAME>``, ``<uuid of NAME>``.

Why it exists: over a copy numbers and uuids are made up. Nobody may read one of those in a plan and believe it; so
wherever one occurs, in a name or in a value, what it stands for is told. Which ones are made up is told here from
outside.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from intentc.apiserver.sources import DerivedSource
from intentc.model import Name

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MAC = re.compile(r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}")
_MADE_UP = re.compile(rf"{_UUID.pattern}|{_MAC.pattern}|(?<!\d)\d{{4,18}}(?!\d)")


class Drawn(DerivedSource):
    """Makes uuids up, and remembers what for. ``uuids``: uuid → what stands in its place."""

    def __init__(self) -> None:
        self.uuids: dict[str, str] = {}

    def uuid(self, name: Name, purpose: str = "") -> str:
        made = super().uuid(name, purpose)
        self.uuids[made] = "<uuid>" if purpose else f"<uuid of {':'.join(name.fq_name)}>"
        return made


class Unknown:
    """``numbers``, ``uuids``: what was made up → what is told instead."""

    def __init__(self, numbers: Mapping[int, str], uuids: Mapping[str, str]) -> None:
        self._numbers = numbers
        self._uuids = uuids
        # Hardware addresses may be made of a uuid's first bytes.
        self._beginnings = {uuid.replace("-", "")[:10]: told for uuid, told in uuids.items()}

    def along_with(self, other: Unknown) -> Unknown:
        """What either knows to be made up."""
        return Unknown({**self._numbers, **other._numbers}, {**self._uuids, **other._uuids})

    def text(self, text: str) -> str:
        """``text`` without anything made up."""
        return _MADE_UP.sub(self._instead, text) if self._numbers or self._uuids else text

    def value(self, value: Any) -> Any:
        """A JSON value without anything made up; a number becomes a text."""
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
        """A resource's uuid, None if it is made up."""
        return None if uuid in self._uuids else uuid

    def _instead(self, match: re.Match[str]) -> str:
        text = match[0]
        if "-" in text:
            return self._uuids.get(text, text)
        if ":" in text:
            told = self._beginnings.get(text[3:].replace(":", ""))
            return f"<address from {told[1:]}" if told else text
        return self._numbers.get(int(text), text)
