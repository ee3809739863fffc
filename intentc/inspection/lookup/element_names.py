"""Finds objects by the name that another program gives them, as compilers define it (``Compiler(names=…)``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import anyio.to_thread

from intentc.engine.parts import Parts
from intentc.evaluation import Naming
from intentc.model import HeldInput, Key, Name, Problem

from ..results import Gathered, document_of


async def called(parts: Parts, kind: str, text: str) -> tuple[Name, ...]:
    """Return the existing objects that ``text`` means, the likeliest first. ``kind``: a word under which a compiler
    offers names (``parts.names``), or a kind that it names; any other finds nothing."""
    found: dict[Name, None] = {}
    for word, naming in parts.names.items():
        wanted = naming.kinds if kind == word else tuple(one for one in naming.kinds if one == kind)
        if wanted:
            found |= dict.fromkeys(await _meant(parts, naming, wanted, text))
    return tuple(found)


async def _meant(parts: Parts, naming: Naming, wanted: tuple[str, ...], text: str) -> list[Name]:
    single = _there(parts, wanted, naming.find(text, _Single(parts, naming)))
    if single:
        return single
    gathered = Gathered(parts, naming.kinds)
    return _there(parts, wanted, await anyio.to_thread.run_sync(lambda: list(naming.find(text, gathered))))


class _Single:
    """``Compiled`` for look-ups of single objects by name: it lists none."""

    def __init__(self, parts: Parts, naming: Naming) -> None:
        self.problems: tuple[Problem, ...] = ()
        self._parts = parts
        self._kinds = naming.kinds

    def objects(self, kind: str) -> tuple[Mapping[str, Any], ...]:
        return ()

    def named(self, kind: str, name: str) -> Mapping[str, Any] | None:
        logic = self._parts.logic
        key = logic.named(kind, tuple(name.split(":"))) if kind in self._kinds else None
        try:
            resource = logic.resource(key) if key is not None else None
        except HeldInput:
            return None
        return document_of(resource) if resource is not None else None


def _there(parts: Parts, kinds: Iterable[str], meant: Iterable[tuple[str, str]]) -> list[Name]:
    there = (
        (kind, parts.logic.cache.names.in_force(kind, name)) for kind, name in dict.fromkeys(meant) if kind in kinds
    )
    states = (parts.logic.cache.state(Key(kind, uuid)) for kind, uuid in there if uuid is not None)
    return [Name(state.key.kind, state.fq_name) for state in states if state is not None]
