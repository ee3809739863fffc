"""Taking another reaction map and other settings into use while the compiler runs (fault F23).

What is read is proved first; anything that can't be read, or is proved wrong, leaves all of the former in force. What
is right is swapped in between two batches, and only whom it concerns is evaluated again. What can't change while the
process runs is named, and waits for a restart. Who asks for a reload (SIGHUP), and what a configuration means, is left
to others.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import anyio
import anyio.to_thread

from intentc.engine.edges import edges_of
from intentc.engine.engine import Engine
from intentc.engine.slices import Slice
from intentc.evaluation import Compiler
from intentc.loading.configuration import Configuration, Loaded
from intentc.loading.configuration.sections import Section
from intentc.logic.dependencies import ReactionMap, findings
from intentc.logic.dependencies.edges import Edge, edges
from intentc.logic.dependencies.reactions import load
from intentc.model import InvalidInput, Key
from intentc.plugins import check_settings, reaction_maps

_LOG = logging.getLogger(__name__)
READING_SECONDS = 60.0
"""In which files must be read: a disk that does not answer must not keep the next reload waiting for ever."""
_READING_AT_ONCE = 4
_SHOWN = 20
"""Edges that the log names of those that come or go."""
_ALIVE = frozenset({"intentc.settings", "intentc.reactions", "log_level", "intentc.log.format"})
"""What a reload takes into use; all else is for the start."""


class Change(NamedTuple):
    """What a reload would do. ``added`` and ``removed``: edges, as text, with file and line; ``former``: how many edges
    there were; ``gone``: how many of them lead nowhere any more; ``settings``: name → its
    new value, with ``unset`` gone; ``kinds``: whose intents are evaluated again; ``restart``: keys of the configuration
    that need one."""

    reactions: ReactionMap
    added: tuple[str, ...]
    removed: tuple[str, ...]
    former: int
    gone: int
    settings: Mapping[str, Any]
    unset: tuple[str, ...]
    kinds: frozenset[str]
    restart: tuple[str, ...]


class Reloader:
    """Of ``engine``, which compiles with ``compilers`` as ``loaded`` says. ``read``: reads the configuration again,
    raises ``InvalidInput`` or ``OSError``; called in a thread. ``on_read``: told of one that was taken into use."""

    def __init__(
        self,
        engine: Engine,
        compilers: Iterable[Compiler],
        loaded: Loaded,
        read: Callable[[], Loaded],
        on_read: Callable[[Loaded], None] = lambda loaded: None,
    ) -> None:
        self._engine = engine
        self._compilers = tuple(compilers)
        self._configuration = loaded.configuration
        self._started_with = loaded.configuration
        self._read = read
        self._on_read = on_read
        self._requested = anyio.Event()
        # Threads that hang must not take the places of those that others wait for.
        self._reading = anyio.CapacityLimiter(_READING_AT_ONCE)

    def request(self) -> None:
        """Reload soon. Asked for again while one goes on: once more after it, with what is there then."""
        self._requested.set()
        self._engine.evaluator.edges.reloading_now = True

    async def run(self) -> None:
        """Reload whenever that is asked for, one at a time, for ever."""
        while True:
            await self._requested.wait()
            self._requested = anyio.Event()
            await self.once()
            self._engine.evaluator.edges.reloading_now = self._requested.is_set()

    async def once(self) -> bool:
        """Reload now. False if what is there can't be used: then nothing has changed, and the log says why."""
        record = self._engine.evaluator.edges
        try:
            loaded, reactions = await self._read_anew()
        except Exception as error:
            # Whatever is in a file, it must not end a service that works.
            record.last_error = str(error) or type(error).__name__
            record.failures += 1
            unforeseen = not isinstance(error, InvalidInput | OSError)
            _LOG.error(
                "reload refused, all stays as it was: %s; mend that, see `intentc check`, and reload",
                record.last_error,
                exc_info=unforeseen,
            )
            return False
        change = self._change(loaded.configuration, reactions)
        told = self._concerned(change)
        _tell(change, len(told))
        self._take_into_use(change)
        self._configuration = loaded.configuration
        self._on_read(loaded)
        record.last_error = None
        record.reloads += 1
        record.loaded_at = time.time()
        await self._look_over(told)
        _LOG.info("reloaded")
        return True

    async def _read_anew(self) -> tuple[Loaded, ReactionMap]:
        """In threads that are left to themselves if they hang. Raises ``InvalidInput`` or ``OSError``."""
        try:
            with anyio.fail_after(READING_SECONDS):
                loaded = await anyio.to_thread.run_sync(self._read, abandon_on_cancel=True, limiter=self._reading)
                prove = partial(self._proved, loaded.configuration)
                return loaded, await anyio.to_thread.run_sync(prove, abandon_on_cancel=True, limiter=self._reading)
        except TimeoutError:
            raise OSError(
                f"configuration and reaction maps could not be read within {READING_SECONDS:g} s; does the disk answer"
                " on which they are?"
            ) from None

    def _proved(self, configuration: Configuration) -> ReactionMap:
        """The map that a configuration names. Raises ``InvalidInput`` for one that can't be read or is wrong."""
        reactions = load(*reaction_maps(configuration, self._compilers))
        check_settings(configuration.intentc.settings, self._compilers)
        for finding in findings(reactions, self._engine.parts.schema):
            if finding.severity == "error":
                raise InvalidInput(finding.message, source=finding.source, reason=finding.reason)
            if finding.severity == "warning":
                _LOG.warning("%s: %s: %s", finding.source, finding.reason, finding.message)
        return reactions

    def _change(self, configuration: Configuration, reactions: ReactionMap) -> Change:
        logic = self._engine.parts.logic
        before, after = edges(logic.reactions), edges(reactions)
        added = [edge for edge, said in after.items() if edge not in before or before[edge].everyone != said.everyone]
        removed = [edge for edge, said in before.items() if edge not in after or after[edge].everyone != said.everyone]
        old, new = self._configuration.intentc.settings, configuration.intentc.settings
        return Change(
            reactions,
            tuple(f"{edge} ({after[edge].source})" for edge in added),
            tuple(f"{edge} ({before[edge].source})" for edge in removed),
            len(before),
            sum(edge not in after for edge in before),
            {name: value for name, value in new.items() if name not in old or old[name] != value},
            tuple(name for name in old if name not in new),
            frozenset(self._kinds(added, removed, logic.reactions, reactions)),
            tuple(sorted(set(_differences(self._started_with, configuration)) - _ALIVE)),
        )

    def _kinds(
        self, added: Iterable[Edge], removed: Iterable[Edge], before: ReactionMap, after: ReactionMap
    ) -> Iterator[str]:
        """Whose intents may stand otherwise under the new map: those to whom an edge leads that is new; and of those
        that trust the map, all to whom the walk goes on from an edge that came or went."""
        intents = self._engine.parts.logic.intent_kinds
        yield from (edge.to for edge in added if edge.to in intents)
        for reactions, changed in ((after, added), (before, removed)):
            yield from (kind for kind in _reached(reactions, changed) if intents.get(kind))

    def _concerned(self, change: Change) -> list[Key]:
        cache = self._engine.parts.logic.cache
        return [key for kind in sorted(change.kinds) for key in cache.all(kind)]

    def _take_into_use(self, change: Change) -> None:
        """All at once: nothing else runs meanwhile."""
        engine = self._engine
        logic = engine.parts.logic
        if change.added or change.removed:
            # What the former map left out the new one may have; what it leaves out, too, is found again.
            engine.evaluator.missing_reactions.clear()
        logic.set_reactions(change.reactions)
        engine.evaluator.edges.keep(edges_of(change.reactions))
        for name, value in change.settings.items():
            engine.intake.concern(logic.set_setting(name, value))
        for name in change.unset:
            engine.intake.concern(logic.unset_setting(name))
        engine.reevaluate(())

    async def _look_over(self, keys: Iterable[Key]) -> None:
        turn = Slice()
        for key in keys:
            self._engine.look_over(key)
            await turn.rest()
        self._engine.reevaluate(())


def _tell(change: Change, concerned: int) -> None:
    """The plan, before it is carried out."""
    for sign, changed in (("+", change.added), ("-", change.removed)):
        for text in changed[:_SHOWN]:
            _LOG.info("reload: %s %s", sign, text)
    if change.gone * 2 > change.former:
        _LOG.warning(
            "reload: the new map leaves out %d of %d reactions; if nobody meant that, put the former one back",
            change.gone,
            change.former,
        )
    for name in (*change.settings, *change.unset):
        _LOG.info("reload: the setting %s has changed", name)
    _LOG.info(
        "reload: reactions +%d -%d, settings changed: %d, intents evaluated again for the map's sake: %d%s",
        len(change.added),
        len(change.removed),
        len(change.settings) + len(change.unset),
        concerned,
        f" ({', '.join(sorted(change.kinds))})" if change.kinds else "",
    )
    for name in change.restart:
        _LOG.warning("reload: restart to change %s", name)


def _reached(reactions: ReactionMap, changed: Iterable[Edge]) -> set[str]:
    """The kinds to which a walk comes over these edges."""
    waiting = [(edge.to, edge.kind) for edge in changed]
    seen = set(waiting)
    while waiting:
        kind, cause = waiting.pop()
        for further in (*reactions.next(kind, cause), *reactions.next_all(kind, cause)):
            if (further, kind) not in seen:
                seen.add((further, kind))
                waiting.append((further, kind))
    return {kind for kind, _ in seen}


def _differences(before: Section, after: Section, path: str = "") -> Iterator[str]:
    """The keys, with dots, whose values differ."""
    for name in before.__struct_fields__:
        one, other = getattr(before, name), getattr(after, name)
        here = f"{path}{name}"
        if isinstance(one, Section) and isinstance(other, Section):
            yield from _differences(one, other, f"{here}.")
        elif one != other:
            yield here
