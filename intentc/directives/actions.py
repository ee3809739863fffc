"""What operators can do to a running engine, as directives ask for it.

Why a protocol: directives come from etcd and know nothing of queues and plans; the engine knows nothing of etcd. Every
call is synchronous, cheap, and idempotent: after a gap in the watch, or on a standby, it may come again.
"""

from __future__ import annotations

from typing import Protocol

from intentc.model import Key


class OperatorActions(Protocol):
    """All that an operator can do to an engine. Three sorts of holding don't mix: what is paused, dropped or suspect
    stays so until its own opposite is called, whatever becomes of the others."""

    def pause(self, key: Key, name: tuple[str, ...], message: str) -> None:
        """Hold an intent, or leave an object alone; it need not be there (yet). ``message``: who, when and why. Again
        with another message: the last one counts."""
        ...

    def resume(self, key: Key) -> None:
        """The opposite of ``pause``; nothing if it isn't paused."""
        ...

    def allow_deletes(self, kind: str) -> int:
        """Let the withheld deletions of one kind through; how many objects they are."""
        ...

    def retry(self, key: Key | None) -> int:
        """Try what is held, rejected or contended again now, None: all of it; how many. Does not lift a pause, a drop
        or a suspicion: ``undrop`` and ``unsuspect`` are called for those before."""
        ...

    def drop(self, key: Key, mod_revision: int) -> None:
        """Take away what an intent contributed, and don't compile it until its resource was written after
        ``mod_revision``. With another revision for the same key: the last one counts."""
        ...

    def undrop(self, key: Key) -> None:
        """The opposite of ``drop``; nothing if it isn't dropped."""
        ...

    def suspect(self, key: Key, mod_revision: int) -> None:
        """Hold an intent until its resource was written after ``mod_revision``."""
        ...

    def unsuspect(self, key: Key) -> None:
        """The opposite of ``suspect``; nothing if it isn't suspect."""
        ...

    def changed_since(self, key: Key, mod_revision: int) -> bool:
        """Whether the resource was written after ``mod_revision``, or is gone. False as long as the engine has not
        applied ``mod_revision`` itself: then it can't know."""
        ...
