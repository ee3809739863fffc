"""Converts stored resources that were written in an older version of their kind to the present one.

A kind's ``versions`` say for each version where its fields stand in the present form; the first version is the present
one. The API server writes that version's name into each resource of such a kind, as ``stored_version``, so every reader
of the store knows how to read it. ``manifest`` converts what people send; ``lost_fields`` finds fields that no version
declares.

Functions of values that change none of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from intentc.model.manifest import COMMON_PLACES, OF_SERVER, Conversion, Moves, copied, move_field
from intentc.model.metadata import METADATA
from intentc.model.status import STATUS, STATUS_CLAIMS

STORED_VERSION = "stored_version"
"""The field of a stored resource that names the version in which it was written."""

_TRACE = f'"{STORED_VERSION}"'.encode()
_OUTSIDE = frozenset({*COMMON_PLACES, *OF_SERVER, METADATA, STATUS, STATUS_CLAIMS, "parent_type", "parent_uuid"})
"""Fields that no conversion moves, next to references."""


class StoredVersions:
    """The versions of one kind. ``versions``: name → where its fields moved, the present version first; none: the kind
    has no versions. ``manifests``: whether resources without a version are of the first one (our own earlier releases
    wrote them); otherwise of the last one."""

    def __init__(
        self,
        versions: Mapping[str, Moves] | None = None,
        conversions: Mapping[str, Conversion] | None = None,
        *,
        manifests: bool = False,
    ) -> None:
        self._versions = versions or {}
        self._conversions = conversions or {}
        names = list(self._versions)
        self.current = names[0] if names else ""
        self._unmarked = self.current if manifests or not names else names[-1]
        self._mark = _TRACE + b":" + msgspec.json.encode(self.current) if names else b""

    def is_older(self, raw: bytes) -> bool:
        """Whether a stored value may be of another version than the present one. True also for the present one if it is
        written in another form than our API server's."""
        if self._mark and self._mark in raw:
            return False
        return _TRACE in raw or self._unmarked != self.current

    def version_of(self, document: Mapping[str, Any]) -> str:
        """The version in which a stored resource was written."""
        return str(document.get(STORED_VERSION) or self._unmarked)

    @property
    def mark(self) -> dict[str, Any]:
        """The field that a resource of the present version has."""
        return {STORED_VERSION: self.current} if self.current else {}

    def marked(self, document: dict[str, Any]) -> dict[str, Any]:
        """A resource of the present version with the name of that version."""
        return {**document, **self.mark} if self.current else document

    def converted(self, document: dict[str, Any]) -> dict[str, Any]:
        """A stored resource in the present version. Raises ``msgspec.ValidationError`` for a version that the kind does
        not declare."""
        version = self.version_of(document)
        if version == self.current:
            return self.marked(document)
        if version not in self._versions:
            known = f"the schema declares {', '.join(self._versions)}" if self._versions else "the schema declares none"
            raise msgspec.ValidationError(
                f"it is stored in version {version!r}, and {known}; declare that version again under `versions`, and "
                "drop it after `intentc migrate`"
            )
        kept = {field: value for field, value in document.items() if field in _OUTSIDE or field.endswith("_refs")}
        fields = copied({field: value for field, value in document.items() if field not in kept})
        for old, new in self._versions[version].items():
            move_field(fields, old, new)
        if version in self._conversions:
            fields = self._conversions[version].to_stored(fields)
        return self.marked({**fields, **kept})
