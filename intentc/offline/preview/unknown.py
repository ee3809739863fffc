"""Replaces provisional values in a plan by placeholders such as ``<POOL for NAME>`` and ``<uuid of NAME>``.

Why it exists: the numbers, uuids and addresses of a copy are provisional; only the real API server can choose them. A
plan must not show one, so wherever it occurs, in a name or in a value, its placeholder is shown. ``Drawn`` chooses the
uuids and times of a copy's API server, and remembers the uuids; ``provisional`` finds the other values.

State: the uuids that were drawn, and the placeholders of one plan.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from intentc.apiserver.sources import DerivedSource, RandomSource
from intentc.model import Name

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MAC = re.compile(r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}")
_CANDIDATE = re.compile(rf"{_UUID.pattern}|{_MAC.pattern}|(?<!\d)\d{{4,18}}(?!\d)")


class Drawn(DerivedSource):
    """Chooses provisional uuids and records them. ``uuids``: uuid → its placeholder."""

    def __init__(self) -> None:
        self.uuids: dict[str, str] = {}

    def uuid(self, name: Name, purpose: str = "") -> str:
        made = super().uuid(name, purpose)
        self.uuids[made] = "<uuid>" if purpose else f"<uuid of {self.shown(':'.join(name.fq_name))}>"
        return made

    def now(self) -> str:
        """The clock's: what is created in the copy is younger than what exists, as it will be."""
        return RandomSource().now()

    def shown(self, name: str) -> str:
        """Return a name as a placeholder contains it: UUID stands for a provisional uuid in it."""
        return _UUID.sub(lambda match: "UUID" if match[0] in self.uuids else match[0], name)


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

    def along_with(self, other: Unknown) -> Unknown:
        """Return the union of both."""
        return Unknown(
            {**self._numbers, **other._numbers},
            {**self._uuids, **other._uuids},
            {**self._addresses, **other._addresses},
        )

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
