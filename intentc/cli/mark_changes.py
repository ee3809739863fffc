"""Moves the marks of many objects through the API server, in batches with compare-and-set.

Why apart: ``release`` and ``adopt`` differ in the annotation to which the mark is moved, and in what they check before.
A second run of either continues with the rest. ``marks`` finds the objects and describes each change.

It changes the API server's resources, and prints on stderr. State: what this run changed, and what was
rejected.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING

import click

from .errors import CommandError, Exit
from .marks import Marked

if TYPE_CHECKING:
    from intentc.model import Kind

    from .client import ApiClient

_BATCH = 50
"""Objects in one transaction; halved if the server accepts fewer."""
_ROUNDS = 3
"""Attempts for an object that another writer changes at the same time."""
_WRITTEN_MEANWHILE = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED})


class MarkChanges:
    """One run. ``find``: the objects of a kind that are left. ``key``: the annotation to which their marks are moved.
    ``check``: called before each batch, raises if it must not be sent. ``done``: the participle for people."""

    def __init__(
        self,
        client: ApiClient,
        *,
        find: Callable[[Kind], Awaitable[list[Marked]]],
        key: str,
        check: Callable[[], Awaitable[None]],
        done: str,
    ) -> None:
        self._client = client
        self._find = find
        self._key = key
        self._check = check
        self._done = done
        self._changed: list[Marked] = []
        self._rejected: dict[str, CommandError] = {}

    async def make(self, kinds: Sequence[Kind]) -> list[Marked]:
        """Move the marks of the objects of ``kinds``, and return the objects. Raises ``CommandError`` if some could not
        be changed: ``check`` failed, or the server rejected them or is away; stderr says how many were changed before.
        """
        try:
            for kind in kinds:
                left = await self._change_kind(kind)
                if left:
                    self._rejected.setdefault(left[0].name, CommandError("another writer keeps changing it"))
        except CommandError:
            self.report()
            raise
        if self._rejected:
            self.report()
            first, error = next(iter(self._rejected.items()))
            raise CommandError(
                f"{len(self._rejected)} objects could not be {self._done}; {first}: {error.what}",
                where=error.where,
                next_step="fix that, and run the command again: it continues with the rest",
            )
        return self._changed

    def report(self) -> None:
        """Print on stderr how many objects were changed before an error."""
        if self._changed:
            click.echo(f"{len(self._changed)} objects {self._done} before this", err=True)

    async def _change_kind(self, kind: Kind) -> list[Marked]:
        """Change the objects of a kind; those that another writer changed in every round are returned."""
        left: list[Marked] = []
        for _ in range(_ROUNDS):
            found = await self._find(kind)
            left = []
            for first in range(0, len(found), _BATCH):
                left += await self._send(found[first : first + _BATCH])
            if not left:
                break
        return left

    async def _send(self, batch: Sequence[Marked]) -> list[Marked]:
        """Change a batch, halving it if the server rejects it; returns objects that were written meanwhile, to read
        again."""
        from .client import Rejected

        waiting: list[Sequence[Marked]] = [batch]
        again: list[Marked] = []
        while waiting:
            part = waiting.pop()
            await self._check()
            try:
                await self._client.sync([marked.moved_to(self._key) for marked in part])
            except Rejected as error:
                if error.code is Exit.UNREACHABLE:
                    raise
                if len(part) > 1:
                    middle = len(part) // 2
                    waiting += [part[middle:], part[:middle]]
                elif error.status in _WRITTEN_MEANWHILE:
                    again += part
                else:
                    self._rejected[part[0].name] = error
            else:
                self._changed += part
        return again
