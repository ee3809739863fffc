"""Finds objects by the name that another program gives them, as compilers define it (``Compiler(names=…)``).

It reads the engine; compilers' functions run in a thread. It changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import anyio.to_thread

from intentc.engine.live import Live
from intentc.evaluation import Naming
from intentc.logic import LiveWorld
from intentc.model import HeldInput, Key, Name, Problem

from ..documents import Gathered, document_of


async def called(live: Live, kind: str, text: str) -> tuple[Name, ...]:
    """Return the existing objects that ``text`` means, the likeliest first. ``kind``: a word under which a compiler
    offers names (``live.names``), or a kind that it names; any other finds nothing."""
    found: dict[Name, None] = {}
    for word, naming in live.names.items():
        wanted = naming.kinds if kind == word else tuple(one for one in naming.kinds if one == kind)
        if wanted:
            found |= dict.fromkeys(await _meant(live, naming, wanted, text))
    return tuple(found)


async def _meant(live: Live, naming: Naming, wanted: tuple[str, ...], text: str) -> list[Name]:
    single = _there(live.world, wanted, naming.find(text, _Single(live.world, naming)))
    if single:
        return single
    gathered = Gathered(live, naming.kinds)
    return _there(live.world, wanted, await anyio.to_thread.run_sync(lambda: list(naming.find(text, gathered))))


class _Single:
    """``Compiled`` for look-ups of single objects by name: it lists none."""

    def __init__(self, world: LiveWorld, naming: Naming) -> None:
        self.problems: tuple[Problem, ...] = ()
        self._world = world
        self._kinds = naming.kinds

    def objects(self, kind: str) -> tuple[Mapping[str, Any], ...]:
        return ()

    def named(self, kind: str, name: str) -> Mapping[str, Any] | None:
        world = self._world
        key = world.named(kind, tuple(name.split(":"))) if kind in self._kinds else None
        try:
            resource = world.resource(key) if key is not None else None
        except HeldInput:
            return None
        return document_of(resource) if resource is not None else None


def _there(world: LiveWorld, kinds: Iterable[str], meant: Iterable[tuple[str, str]]) -> list[Name]:
    there = ((kind, world.cache.names.in_force(kind, name)) for kind, name in dict.fromkeys(meant) if kind in kinds)
    states = (world.cache.state(Key(kind, uuid)) for kind, uuid in there if uuid is not None)
    return [Name(state.key.kind, state.fq_name) for state in states if state is not None]
