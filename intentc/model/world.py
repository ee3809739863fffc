"""The world as an evaluation may see it: one protocol between the cache and the evaluation.

``evaluation`` reads through it and records each read; ``logic`` implements it over cache, graph, ledger, facts and
settings. What compilers wrote is hidden by ``evaluation``, not here. Sets come as tuples sorted by fq_name, then
uuid, so that no order of sets reaches an evaluation.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from .names import Key
from .resource import Resource


class Target(NamedTuple):
    """A resolved reference: the object it leads to and the attribute it carries (a struct, or None)."""

    key: Key
    attribute: Any


class HeldInput(Exception):
    """A read met an object whose value can't be used now (docs/engine.md §7): the reader keeps its last outputs."""

    def __init__(self, key: Key) -> None:
        super().__init__(f"{key} is held")
        self.key = key


class World(Protocol):
    """Everything that reads (``reads.py``) can ask for, answered from memory."""

    def resource(self, key: Key) -> Resource | None:
        """The object, None if it is absent. Raises ``HeldInput`` if it is there but can't be read."""
        ...

    def named(self, kind: str, fq_name: tuple[str, ...]) -> Key | None: ...

    def targets(self, key: Key, relation: str) -> tuple[Target, ...]:
        """What ``key`` refers to by ``relation`` (``parent``, a reference or a mention), as far as it is there."""
        ...

    def sources(self, key: Key, kind: str, relation: str) -> tuple[Key, ...]:
        """The objects of ``kind`` that refer to ``key`` by ``relation``."""
        ...

    def select(self, kind: str, index: str, value: str) -> tuple[Key, ...]: ...

    def contributions(self, kind: str, name: str) -> tuple[tuple[Key, Any], ...]:
        """Who contributes what to a fact, sorted by contributor."""
        ...

    def contributed(self, kind: str, name: str) -> bool:
        """Whether anybody contributes to a fact."""
        ...

    def allocation(self, pool: str, owner: str) -> int | None: ...

    def setting(self, name: str) -> Any:
        """Raises ``KeyError`` for a name that the configuration doesn't have."""
        ...
