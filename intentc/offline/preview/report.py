"""Defines the values of a plan, the JSON of ``intentc plan -o json``, without provisional values and secrets.

``format_version`` identifies the format. Its first number increases when a reader of the former format could misread
the new one.

Values only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from intentc.inspection.differences import Field
from intentc.loading.resources import ANSWER_VERSION
from intentc.model import Problem

FORMAT = "1.1"

CREATE, UPDATE, DELETE = "create", "update", "delete"


class Owner(msgspec.Struct, frozen=True, order=True):
    """A resource that causes a change. ``name``: its fq_name joined by ``:``."""

    kind: str
    name: str


class Change(msgspec.Struct, frozen=True):
    """A resource that is created, updated or deleted. ``uuid``: None if only the server can choose it. ``fields``: the
    differing ones. ``because``: the first few resources that cause it; empty for changes by people. ``remarks``: what
    the compiler says that the change means. ``seal``: a digest of the concealed values, equal for equal values; only in
    saved plans."""

    action: str
    kind: str
    name: str
    uuid: str | None
    fields: tuple[Field, ...] = ()
    because: tuple[Owner, ...] = ()
    remarks: tuple[str, ...] = ()
    seal: str | msgspec.UnsetType = msgspec.UNSET

    @property
    def order(self) -> tuple[str, str, str]:
        return self.kind, self.name, self.action


class Number(msgspec.Struct, frozen=True):
    """A number that is ``given`` to (or ``freed`` by) an owner. ``shown``: the number if it is known, else its
    placeholder in this plan."""

    action: str
    pool: str
    owner: str
    shown: str


class Withheld(msgspec.Struct, frozen=True):
    """A mass deletion of a kind that waits for ``intentc allow-deletes KIND``; the plan does not contain it."""

    kind: str
    count: int


class Summary(msgspec.Struct, frozen=True):
    """How many resources people and compilers together create, update and delete; each counts once."""

    create: int = 0
    update: int = 0
    delete: int = 0

    @property
    def nothing(self) -> bool:
        return not (self.create or self.update or self.delete)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What an input would write at ``revision``. ``applied``: the input's own changes; ``follows``: what compilers and
    the API server then write; ``due``: what compilers are about to write without it. ``problems``: new ones;
    ``resolved``: former ones. ``unmade``: how many intents and objects are held, rejected or waiting after the input
    and were not before it. ``seconds``: how long planning took."""

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
    unmade: int = 0
    summary: Summary = Summary()
    seconds: float = 0.0

    @property
    def due_summary(self) -> Summary:
        """What is due, counted as ``summary`` counts the rest."""
        return summary_of(self.due)

    def document(self) -> dict[str, Any]:
        """Return plain JSON for people, without seals."""
        found = msgspec.to_builtins(self)
        assert isinstance(found, dict)
        for change in (*found["applied"], *found["follows"], *found["due"]):
            change.pop("seal", None)
        return found


def summary_of(changes: Iterable[Change]) -> Summary:
    """Count the resources that ``changes`` finally create, update and delete."""
    actions: dict[tuple[str, str, str | None], set[str]] = {}
    for change in changes:
        actions.setdefault((change.kind, change.name, change.uuid), set()).add(change.action)
    # A resource that people create and compilers update is created.
    final = [next(action for action in (CREATE, DELETE, UPDATE) if action in done) for done in actions.values()]
    return Summary(final.count(CREATE), final.count(UPDATE), final.count(DELETE))
