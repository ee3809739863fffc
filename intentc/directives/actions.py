"""Declares what directives need of a running engine: the operator actions, and how far it is.

Why a protocol: directives are read from etcd and know nothing of queues and plans; the engine
(``engine/operator_actions.py``) knows nothing of etcd. Every call is synchronous, cheap, and idempotent: after a gap in
the watch, or on a standby, it may be repeated.

Declarations only.
"""

from __future__ import annotations

from typing import Protocol

from intentc.model import Key


class RunningEngine(Protocol):
    """What directives must know of the engine that obeys them."""

    @property
    def may_write(self) -> bool:
        """Whether this process leads, so that it withdraws what is done."""
        ...

    @property
    def first_pass_complete(self) -> bool:
        """Whether the first pass is complete, so that withheld deletes, and changes of resources, are known."""
        ...


class OperatorActions(Protocol):
    """All operator actions. Three reasons to hold are independent: what is paused, dropped or suspect stays so until
    its own opposite is called, whatever happens to the others."""

    def pause(self, key: Key, name: tuple[str, ...], message: str) -> None:
        """Hold an intent, or leave an object alone; it need not exist (yet). ``message``: who, when and why. A repeated
        call replaces the message."""
        ...

    def resume(self, key: Key) -> None:
        """End a ``pause``; does nothing if the key isn't paused."""
        ...

    def allow_deletes(self, kind: str) -> int:
        """Approve the withheld deletions of one kind; return the number of objects."""
        ...

    def retry(self, key: Key | None) -> int:
        """Retry what is held, rejected or contended now, None: all of it; return the number. Does not lift a pause, a
        drop or a suspicion: ``undrop`` and ``unsuspect`` are called for those before."""
        ...

    def drop(self, key: Key, mod_revision: int) -> None:
        """Remove what an intent contributed, and don't compile it until its resource is written after ``mod_revision``.
        A repeated call replaces the revision."""
        ...

    def undrop(self, key: Key) -> None:
        """End a ``drop``; does nothing if the key isn't dropped."""
        ...

    def suspect(self, key: Key, mod_revision: int) -> None:
        """Hold an intent until its resource is written after ``mod_revision``."""
        ...

    def unsuspect(self, key: Key) -> None:
        """End a ``suspect``; does nothing if the key isn't suspect."""
        ...

    def changed_since(self, key: Key, mod_revision: int) -> bool:
        """Whether the resource was written after ``mod_revision``, or deleted. False while the engine has not applied
        ``mod_revision`` itself, since it can't know then."""
        ...
