"""The world as an evaluation may see it: one protocol between the cache and the evaluation.

``evaluation`` reads through it and records each read; ``logic`` implements it over cache, graph, allocations, facts and
settings. ``evaluation`` hides what compilers wrote, not this module. Sets are tuples sorted by fq_name, then uuid, so
that their order is always the same for an evaluation.

Declarations only.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from intentc.model.names import Key, Name
from intentc.model.resource import Resource


class Target(NamedTuple):
    """A resolved reference: the object it leads to and the attribute it carries (a struct, or None)."""

    key: Key
    attribute: Any


class HeldInput(Exception):
    """A read met an object whose value can't be used now (docs/engine.md §7): the reader keeps its last outputs.

    ``name``: its name, if one is known."""

    def __init__(self, key: Key, name: Name | None = None) -> None:
        super().__init__(f"{key} is held")
        self.key = key
        self.name = name


class World(Protocol):
    """Everything that reads (``reads.py``) can ask for, answered from memory."""

    def resource(self, key: Key) -> Resource | None:
        """The object, None if it is absent. Raises ``HeldInput`` if it exists but can't be read."""
        ...

    def named(self, kind: str, fq_name: tuple[str, ...]) -> Key | None: ...

    def targets(self, key: Key, relation: str) -> tuple[Target, ...]:
        """The present targets of ``key`` by ``relation`` (``parent``, a reference or a mention)."""
        ...

    def sources(self, key: Key, kind: str, relation: str) -> tuple[Key, ...]:
        """The objects of ``kind`` that refer to ``key`` by ``relation``."""
        ...

    def select(self, kind: str, index: str, value: str) -> tuple[Key, ...]: ...

    def contributions(self, kind: str, name: str) -> tuple[tuple[Key, Any], ...]:
        """The contributions to a fact, sorted by contributor."""
        ...

    def contributed(self, kind: str, name: str) -> bool:
        """Whether a fact has contributions."""
        ...

    def allocation(self, pool: str, owner: str) -> int | None: ...

    def setting(self, name: str) -> Any:
        """Raises ``KeyError`` for a name that the configuration doesn't have."""
        ...
