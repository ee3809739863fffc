"""Reloads the reaction map and the settings while the process runs (F23 in docs/guarantees.md).

The new files are checked first; if one is unreadable or wrong, everything stays in force as it was. A valid change is
applied between two batches, and only the affected intents are evaluated again. Keys that can't change while the process
runs are logged and take effect at the next start. Files are read in threads. The caller requests a reload (on SIGHUP),
and applies the configuration of logs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import anyio
import anyio.to_thread

from intentc.engine.engine import Engine
from intentc.evaluation import Compiler
from intentc.inspection.traversal import reached, sliced
from intentc.loading.configuration import Configuration, Loaded
from intentc.loading.configuration.sections import Section
from intentc.logic.dependencies import ReactionMap, findings
from intentc.logic.dependencies.reactions import Edge, edges, load
from intentc.model import InvalidInput, Key
from intentc.plugins import check_settings, reaction_maps

_LOG = logging.getLogger(__name__)
READING_SECONDS = 60.0
"""Time limit for reading the files: a hung disk must not block the next reload."""
_READING_AT_ONCE = 4
_SHOWN = 20
"""Added and removed edges that the log names."""
_ALIVE = frozenset({"intentc.settings", "intentc.reactions", "log_level", "intentc.log.format"})
"""The keys that a reload applies; all others apply at the start."""


class Change(NamedTuple):
    """What a reload would do. ``added``, ``removed``: edges as text, with file and line; ``former``: number of edges
    before; ``dropped``: how many of these the new map lacks; ``settings``: name → new value; ``unset``: removed
    settings; ``kinds``: kinds whose intents are evaluated again; ``restart``: changed keys that need a restart."""

    reactions: ReactionMap
    added: tuple[str, ...]
    removed: tuple[str, ...]
    former: int
    dropped: int
    settings: Mapping[str, Any]
    unset: tuple[str, ...]
    kinds: frozenset[str]
    restart: tuple[str, ...]


class Reloader:
    """Reloads ``engine``, which runs ``compilers`` with the configuration ``loaded``. ``read``: reads the configuration
    again in a thread; raises ``InvalidInput`` or ``OSError``. ``on_read``: notified of a configuration that was
    applied."""

    def __init__(
        self,
        engine: Engine,
        compilers: Iterable[Compiler],
        loaded: Loaded,
        read: Callable[[], Loaded],
        on_read: Callable[[Loaded], None] = lambda loaded: None,
    ) -> None:
        self._engine = engine
        self._world = engine.world
        self._record = engine.reloads
        self._compilers = tuple(compilers)
        self._configuration = loaded.configuration
        self._started_with = loaded.configuration
        self._read = read
        self._on_read = on_read
        self._requested = anyio.Event()
        # A limiter of its own: hung threads must not use up the default one.
        self._reading = anyio.CapacityLimiter(_READING_AT_ONCE)

    def request(self) -> None:
        """Reload soon. A request during a reload starts another one after it."""
        self._requested.set()
        self._record.under_way = True

    async def run(self) -> None:
        """Serve requests, one at a time, until cancelled."""
        while True:
            await self._requested.wait()
            self._requested = anyio.Event()
            await self.once()
            self._record.under_way = self._requested.is_set()

    async def once(self) -> bool:
        """Reload now. Returns False if the files can't be used: nothing has changed, and the log says why."""
        try:
            loaded, reactions = await self._read_anew()
        except Exception as error:
            # No content of a file may end a working service.
            reason = str(error) or type(error).__name__
            self._record.failed(reason)
            unforeseen = not isinstance(error, InvalidInput | OSError)
            _LOG.error(
                "reload rejected, the former configuration stays in force: %s; fix it, see `intentc check`, and reload",
                reason,
                exc_info=unforeseen,
            )
            return False
        change = self._change(loaded.configuration, reactions)
        affected = self._affected(change)
        _log(change, len(affected))
        self._apply(change)
        self._configuration = loaded.configuration
        self._on_read(loaded)
        self._record.succeeded()
        await self._resync(affected)
        _LOG.info("reloaded")
        return True

    async def _read_anew(self) -> tuple[Loaded, ReactionMap]:
        """Read the files in threads, abandoned if they hang. Raises ``InvalidInput`` or ``OSError``."""
        try:
            with anyio.fail_after(READING_SECONDS):
                loaded = await anyio.to_thread.run_sync(self._read, abandon_on_cancel=True, limiter=self._reading)
                check = partial(self._checked, loaded.configuration)
                return loaded, await anyio.to_thread.run_sync(check, abandon_on_cancel=True, limiter=self._reading)
        except TimeoutError:
            raise OSError(
                f"configuration and reaction maps could not be read within {READING_SECONDS:g} s; check the disk or"
                " network file system that they are on"
            ) from None

    def _checked(self, configuration: Configuration) -> ReactionMap:
        """Return the map that a configuration names. Raises ``InvalidInput`` if it is unreadable or wrong."""
        reactions = load(*reaction_maps(configuration, self._compilers))
        check_settings(configuration.intentc.settings, self._compilers)
        for finding in findings(reactions, self._world.schema):
            if finding.severity == "error":
                raise InvalidInput(finding.message, source=finding.source, reason=finding.reason)
            if finding.severity == "warning":
                _LOG.warning("%s: %s: %s", finding.source, finding.reason, finding.message)
        return reactions

    def _change(self, configuration: Configuration, reactions: ReactionMap) -> Change:
        in_force = self._world.reactions
        before, after = edges(in_force), edges(reactions)
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
            frozenset(self._kinds(added, removed, in_force, reactions)),
            tuple(sorted(set(_differences(self._started_with, configuration)) - _ALIVE)),
        )

    def _kinds(
        self, added: Iterable[Edge], removed: Iterable[Edge], before: ReactionMap, after: ReactionMap
    ) -> Iterator[str]:
        """Yield the kinds whose intents may change under the new map. These are the targets of new edges and, of kinds
        that trust the map, all that a walk reaches through an added or removed edge."""
        intents = self._world.intent_kinds
        yield from (edge.to for edge in added if edge.to in intents)
        for reactions, changed in ((after, added), (before, removed)):
            yield from (kind for kind in _reached(reactions, changed) if intents.get(kind))

    def _affected(self, change: Change) -> list[Key]:
        return [key for kind in sorted(change.kinds) for key in self._world.cache.all(kind)]

    def _apply(self, change: Change) -> None:
        """Apply a change without an await, so that nothing else runs in between."""
        other_edges = bool(change.added or change.removed)
        self._engine.reload(change.reactions, change.settings, change.unset, other_edges=other_edges)

    async def _resync(self, keys: Iterable[Key]) -> None:
        async for key in sliced(keys, block=1):
            self._engine.jobs.resync(key)
        self._engine.reevaluate(())


def _log(change: Change, affected: int) -> None:
    """Log a change before it is applied."""
    for sign, changed in (("+", change.added), ("-", change.removed)):
        for text in changed[:_SHOWN]:
            _LOG.info("reload: %s %s", sign, text)
    if change.dropped * 2 > change.former:
        _LOG.warning(
            "reload: the new map lacks %d of the former %d reactions; if that is a mistake, restore the former map",
            change.dropped,
            change.former,
        )
    for name in (*change.settings, *change.unset):
        _LOG.info("reload: the setting %s has changed", name)
    _LOG.info(
        "reload: reactions +%d -%d, settings changed: %d, intents to evaluate again because of the map: %d%s",
        len(change.added),
        len(change.removed),
        len(change.settings) + len(change.unset),
        affected,
        f" ({', '.join(sorted(change.kinds))})" if change.kinds else "",
    )
    for name in change.restart:
        _LOG.warning("reload: restart to change %s", name)


def _reached(reactions: ReactionMap, changed: Iterable[Edge]) -> set[str]:
    """Return the kinds that a walk through these edges reaches."""

    def further(visited: tuple[str, str]) -> Iterator[tuple[str, str]]:
        kind, cause = visited
        yield from ((to, kind) for to in (*reactions.next(kind, cause), *reactions.next_all(kind, cause)))

    return {kind for kind, _ in reached([(edge.to, edge.kind) for edge in changed], further)}


def _differences(before: Section, after: Section, path: str = "") -> Iterator[str]:
    """Yield the dotted keys whose values differ."""
    for name in before.__struct_fields__:
        one, other = getattr(before, name), getattr(after, name)
        here = f"{path}{name}"
        if isinstance(one, Section) and isinstance(other, Section):
            yield from _differences(one, other, f"{here}.")
        elif one != other:
            yield here
