"""What a plan says, as values: the JSON of ``intentc plan -o json``. Nothing in it is made up, and no secret.

Which shape it has is told by ``format_version``: its first number goes up when a reader that knew the former shape
could misread it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from intentc.inspection.differences import Field
from intentc.loading.resources import ANSWER_VERSION
from intentc.model import Problem

FORMAT = "1.0"

CREATE, UPDATE, DELETE = "create", "update", "delete"


class Owner(msgspec.Struct, frozen=True, order=True):
    """A resource on whose account something is so. ``name``: its fq_name joined by ``:``."""

    kind: str
    name: str


class Change(msgspec.Struct, frozen=True):
    """One resource that is created, updated or deleted. ``uuid``: None if only the server can say. ``fields``: those
    that differ. ``because``: the intents behind it, the first few; empty for what people change. ``seal``: of what
    can't be shown, a digest that is equal for equal values; only in saved plans."""

    action: str
    kind: str
    name: str
    uuid: str | None
    fields: tuple[Field, ...] = ()
    because: tuple[Owner, ...] = ()
    seal: str | msgspec.UnsetType = msgspec.UNSET

    @property
    def order(self) -> tuple[str, str, str]:
        return self.kind, self.name, self.action


class Number(msgspec.Struct, frozen=True):
    """A number that is ``given`` to (or ``freed`` by) an owner. ``shown``: how it is told in this plan, which is the
    number itself where it is known."""

    action: str
    pool: str
    owner: str
    shown: str


class Withheld(msgspec.Struct, frozen=True):
    """Deletes of a kind, too many at once, that wait for ``intentc allow-deletes KIND``; they are no part of a plan."""

    kind: str
    count: int


class Summary(msgspec.Struct, frozen=True):
    """How many resources are created, updated and deleted, by people and by compilers together; a resource that is
    both counts once."""

    create: int = 0
    update: int = 0
    delete: int = 0

    @property
    def nothing(self) -> bool:
        return not (self.create or self.update or self.delete)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What carrying out an input at ``revision`` would write. ``applied``: what the input itself says; ``follows``:
    what compilers and the API server do then. ``due``: what compilers are about to write anyway. ``problems``: those
    that come, ``resolved``: those that go. ``seconds``: how long it took to find out."""

    api_version: str = msgspec.field(default=ANSWER_VERSION, name="apiVersion")
    format_version: str = msgspec.field(default=FORMAT, name="formatVersion")
    revision: int
    installation: str
    versions: Mapping[str, str]
    applied: tuple[Change, ...] = ()
    follows: tuple[Change, ...] = ()
    due: tuple[Change, ...] = ()
    problems: tuple[Problem, ...] = ()
    resolved: tuple[Problem, ...] = ()
    numbers: tuple[Number, ...] = ()
    withheld: tuple[Withheld, ...] = ()
    summary: Summary = Summary()
    seconds: float = 0.0

    def document(self) -> dict[str, Any]:
        """As plain JSON, for people: without seals."""
        found = msgspec.to_builtins(self)
        assert isinstance(found, dict)
        for change in (*found["applied"], *found["follows"], *found["due"]):
            change.pop("seal", None)
        return found


def summary_of(changes: list[Change]) -> Summary:
    """How many resources ``changes`` create, update and delete, in the end."""
    actions: dict[tuple[str, str, str | None], set[str]] = {}
    for change in changes:
        actions.setdefault((change.kind, change.name, change.uuid), set()).add(change.action)
    # What is created by one hand and completed by the other is created.
    final = [next(action for action in (CREATE, DELETE, UPDATE) if action in done) for done in actions.values()]
    return Summary(final.count(CREATE), final.count(UPDATE), final.count(DELETE))
