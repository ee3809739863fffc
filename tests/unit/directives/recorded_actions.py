"""Operator actions that record their calls, and a process that obeys the directives in a store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

import anyio

from intentc.directives import DirectiveWatch
from intentc.engine.engine import Engine
from intentc.engine.operator_actions import OperatorActions
from intentc.model import Key
from intentc.reconcile.backoff import Backoff, Retries
from intentc.watch.heartbeat import Heartbeat
from intentc.watch.protocol import Store

INSTALLATION = "test"
FAST = Backoff(0.001, 0.01)


@dataclass
class RecordedActions(OperatorActions):
    """``calls``: what was pulled, in order. ``paused``, ``dropped``, ``suspected``: what holds now. ``withheld``: how
    many deletes of a kind; ``newest``: what ``changed_since`` knows."""

    calls: list[tuple[object, ...]] = field(default_factory=list)
    paused: dict[Key, str] = field(default_factory=dict)
    dropped: dict[Key, int] = field(default_factory=dict)
    suspected: dict[Key, int] = field(default_factory=dict)
    withheld: dict[str, int] = field(default_factory=dict)
    newest: dict[Key, int] = field(default_factory=dict)

    def pause(self, key: Key, name: tuple[str, ...], message: str) -> None:
        self.calls.append(("pause", key, name))
        self.paused[key] = message

    def resume(self, key: Key) -> None:
        self.calls.append(("resume", key))
        self.paused.pop(key, None)

    def allow_deletes(self, kind: str) -> int:
        self.calls.append(("allow_deletes", kind))
        return self.withheld.pop(kind, 0)

    def retry(self, key: Key | None) -> int:
        self.calls.append(("retry", key))
        return 1

    def drop(self, key: Key, mod_revision: int) -> None:
        self.calls.append(("drop", key, mod_revision))
        self.dropped[key] = mod_revision

    def undrop(self, key: Key) -> None:
        self.calls.append(("undrop", key))
        self.dropped.pop(key, None)

    def suspect(self, key: Key, mod_revision: int) -> None:
        self.calls.append(("suspect", key, mod_revision))
        self.suspected[key] = mod_revision

    def unsuspect(self, key: Key) -> None:
        self.calls.append(("unsuspect", key))
        self.suspected.pop(key, None)

    def changed_since(self, key: Key, mod_revision: int) -> bool:
        return self.newest.get(key, mod_revision) > mod_revision


class Process:
    """One process that obeys; ``may_write`` and ``first_pass_complete`` as a test sets them. ``changes``: how often it
    was notified of taken actions; ``waits``: how often it waited because directives could not be read."""

    def __init__(
        self,
        store: Store,
        *,
        leads: bool = True,
        settled: bool = True,
        heartbeat: Heartbeat | None = None,
        relist_period: float = 60.0,
    ) -> None:
        self.actions = RecordedActions()
        self.may_write = leads
        self.first_pass_complete = settled
        self.changes = 0
        self.waits = 0
        self.directives = DirectiveWatch(
            store,
            INSTALLATION,
            self.actions,
            cast(Engine, self),
            heartbeat=heartbeat,
            period=0.005,
            relist_period=relist_period,
            retries=Retries(FAST, chance=self._wait),
        )

    def _wait(self) -> float:
        self.waits += 1
        return 1.0

    def work_ended(self) -> None:
        self.changes += 1

    @asynccontextmanager
    async def obeying(self) -> AsyncIterator[Process]:
        """Loaded, and running while the block lasts."""
        await self.directives.load()
        async with anyio.create_task_group() as group:
            group.start_soon(self.directives.run)
            yield self
            group.cancel_scope.cancel()
