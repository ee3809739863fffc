"""Generates the uuids and times that the server assigns.

Why it exists: a live server uses random uuids and the clock; an offline compile must give the same bytes for the same
input every time, so its source derives them from their purpose.
"""

from __future__ import annotations

import uuid as uuid_module
from datetime import UTC, datetime
from typing import Protocol

from intentc.model import Name

_NAMESPACE = uuid_module.UUID("0b9ee7b0-35c7-5b0e-8f0e-6d4a6e2f9c11")


class Source(Protocol):
    """Generates values. ``purpose`` distinguishes several uuids for one resource (empty: its own). ``is_random``:
    nobody can have a generated uuid already."""

    is_random: bool

    def uuid(self, name: Name, purpose: str = "") -> str: ...

    def now(self) -> str:
        """UTC, ISO 8601 without zone, microseconds: Contrail's form of timestamps."""
        ...


class RandomSource:
    """Generates random uuids and takes the time from the clock."""

    is_random = True

    def uuid(self, name: Name, purpose: str = "") -> str:
        return str(uuid_module.uuid4())

    def now(self) -> str:
        return datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")


class DerivedSource:
    """Derives uuids (uuid5) from kind, fq_name and purpose; the time is fixed."""

    is_random = False

    def uuid(self, name: Name, purpose: str = "") -> str:
        return str(uuid_module.uuid5(_NAMESPACE, "\0".join((name.kind, ":".join(name.fq_name), purpose))))

    def now(self) -> str:
        return "1970-01-01T00:00:00.000000"
