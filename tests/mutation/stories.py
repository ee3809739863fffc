"""What a story is: a history of a simulated system whose engine has another reaction map, and what makes its end right.

The stories themselves are in ``corpus.py`` (Contrail) and ``gateway_corpus.py`` (Ambassador).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, Protocol

from intentc.logic.dependencies import ReactionMap
from intentc.model import Batch, Change, Snapshot
from intentc.plugins import Loaded
from tests.simulation.simulated_system import Saved, SimulatedSystem


class MutantSystem(SimulatedSystem):
    """Its engine has another reaction map. ``hidden`` are the uuids that the watch does not deliver."""

    def __init__(self, loaded: Loaded, reactions: ReactionMap, *, healing: bool, begins: Saved | None = None) -> None:
        self.hidden: set[str] = set()
        super().__init__(loaded._replace(reactions=reactions), healing=healing, begins=begins)

    async def _snapshot(self) -> Snapshot:
        snapshot = await super()._snapshot()
        return snapshot._replace(changes=self._shown(snapshot.changes))

    def _batches(self) -> list[Batch]:
        return [batch._replace(changes=self._shown(batch.changes)) for batch in super()._batches()]

    def _shown(self, changes: tuple[Change, ...]) -> tuple[Change, ...]:
        return tuple(change for change in changes if change.uuid not in self.hidden)


class Story(Protocol):
    """One history of a system whose engine has not seen anything yet. ``kind``: what it is about; ``compiled``: whether
    the world's objects are there at its beginning, as after a restart, or only what users put."""

    @property
    def kind(self) -> str: ...

    @property
    def compiled(self) -> bool: ...

    async def live(self, system: MutantSystem) -> None: ...


class Corpus(NamedTuple):
    """The stories about one compiler, always in the same order. ``put``: puts the world in which they all begin;
    ``right``: whether what is there is what should be."""

    loaded: Loaded
    stories: tuple[Story, ...]
    put: Callable[[MutantSystem], Coroutine[Any, Any, object]]
    right: Callable[[MutantSystem], Coroutine[Any, Any, bool]]
