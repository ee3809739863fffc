"""Defines the report of an audit, which is also the JSON of ``intentc audit -o json``.

It names objects, fields and intents, and never holds the value of a field: the report is printed, logged and sent from
one process to another, and values may be secrets.

Values only.
"""

from __future__ import annotations

import msgspec

from intentc.model import Key, Name

ALLOCATE = "allocate"
"""The operation of a difference that is a missing allocation; its field is ``<pool for NAME>``."""


WAIT = "wait"
"""The operation of a difference that must be written after other objects; its fields are those objects, each as
``<kind> <name>``."""


class Change(msgspec.Struct, frozen=True):
    """``operation``: create, update, delete, add_ref, remove_ref, ``allocate`` or ``wait``. ``fields``: the fields that
    it would set, sorted; references as ``<relation>_refs``."""

    operation: str
    fields: tuple[str, ...] = ()


class Difference(msgspec.Struct, frozen=True):
    """An object that differs from a compile from scratch. ``name``: its ``fq_name`` joined by ``:``.

    ``operations``: what would be written. ``origins``: the intents that claim it, or whose uuid its mark has, sorted.
    ``upstream``: the intents that contribute, through any number of facts, to what these read. ``revision``: of the
    listed object; 0 if it was absent.
    """

    kind: str
    name: str
    fq_name: tuple[str, ...]
    operations: tuple[Change, ...]
    origins: tuple[str, ...]
    upstream: tuple[str, ...] = ()
    revision: int = 0

    @property
    def place(self) -> Name:
        return Name(self.kind, self.fq_name)

    @property
    def intents(self) -> frozenset[Key]:
        """The keys of ``origins`` and ``upstream``."""
        return frozenset(Key(*text.split("/", 1)) for text in (*self.origins, *self.upstream))


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an audit at ``revision``. ``differences``: sorted by kind, then fq_name. ``last_change``: the last
    revision at which one of the listed resources was written. ``held``: intents that can't be compiled now, and paused
    objects. ``withheld``: deletes that need approval, which are not differences. ``owned``: objects with our mark, of
    ``resources`` in all. ``seconds``: the duration."""

    revision: int
    differences: tuple[Difference, ...] = ()
    last_change: int = 0
    held: int = 0
    withheld: int = 0
    problems: int = 0
    resources: int = 0
    owned: int = 0
    seconds: float = 0.0
