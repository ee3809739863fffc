"""The two interfaces through which the compiler touches the API server, and how a call on them can fail.

Everything above (the engine, tests of intents, dry runs) knows these protocols only; ``http.py`` is one implementation,
``apiserver.local`` another, a mock of theirs a third. Each write is of one object; gathering writes into requests is
the implementation's business. What a failure means for the object is the engine's (docs/engine.md §6.3).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from intentc.model import AddReference, Create, Delete, Key, Name, RemoveReference, Update


class Written(NamedTuple):
    """An acknowledged write. ``revision``: the etcd revision that it made, None if the server doesn't tell."""

    revision: int | None


class ReadBack(NamedTuple):
    """One object as the server has it: its JSON without envelope, and the revision at which it was last written (None
    if the server doesn't tell). The JSON may carry what the server computes (children, back references)."""

    value: bytes
    revision: int | None


class Allocation(NamedTuple):
    """One number that an owner holds."""

    pool: str
    owner: str
    value: int


class WriteError(Exception):
    """A call was not acknowledged. Which subclass it is says what is known about the outcome."""


class _Refusal(WriteError):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}" if message else str(status))
        self.status = status
        self.message = message


class Conflict(_Refusal):
    """Nothing was written, since something is not as the plan assumed: the object, its name, a parent or a target
    (409, 404, a failed ``If-Match``, 400 on a write with references). Read back, and plan again."""


class Rejected(_Refusal):
    """Nothing was written, and the same write will be refused again; ``message`` holds the server's words."""


class Fenced(_Refusal):
    """Nothing was written: another compiler leads now. Stop writing."""


class UnknownOutcome(WriteError):
    """The write may or may not have happened: read back, never repeat it blindly."""


class Throttled(WriteError):
    """Nothing was written: the server asks for a pause of ``retry_after`` seconds."""

    def __init__(self, retry_after: float, message: str = "") -> None:
        super().__init__(f"asks for a pause of {retry_after:g} s" + (f": {message}" if message else ""))
        self.retry_after = retry_after


class Unreachable(WriteError):
    """Nothing was sent, or nobody may send: no connection, no login. The whole server is concerned, not one object."""


class Untrusted(Unreachable):
    """One side does not take the other's certificate: nothing was sent. The message names the key to look at."""


class WriteService(Protocol):
    """Writes of single objects. ``fence`` (``<installation>/<revision>``) has the server refuse the write once another
    compiler leads. Every method raises one of ``WriteError``'s subclasses if the write isn't acknowledged."""

    async def create(self, operation: Create, fence: str | None = None, /) -> Written:
        """Make an object that must not exist yet."""
        ...

    async def update(self, operation: Update, fence: str | None = None, /) -> Written:
        """Replace whole fields, if the object is still at ``operation.revision``."""
        ...

    async def delete(self, operation: Delete, fence: str | None = None, /) -> Written:
        """Delete an object, if it is still at ``operation.revision``."""
        ...

    async def add_ref(self, operation: AddReference, fence: str | None = None, /) -> Written:
        """Add one reference, or give it another attribute; idempotent."""
        ...

    async def remove_ref(self, operation: RemoveReference, fence: str | None = None, /) -> Written:
        """Take one reference away; idempotent."""
        ...

    async def allocate(self, pool: str, owner: str, fence: str | None = None, /) -> int:
        """The number of ``owner`` in ``pool``: the one that it has, else the lowest free one."""
        ...

    async def free(self, pool: str, owner: str, value: int, fence: str | None = None, /) -> None:
        """Give a number back; idempotent."""
        ...


class ReadService(Protocol):
    """Reading back. Raises ``Unreachable``, ``Throttled`` or ``Rejected``."""

    async def read(self, key: Key, /) -> ReadBack | None:
        """One object, None if it does not exist."""
        ...

    async def identify(self, name: Name, /) -> Key | None:
        """Which object has this name now, None if there is none."""
        ...

    async def allocations(self, pool: str, owner_prefix: str, /) -> dict[str, int]:
        """Owner → number, of all owners in ``pool`` whose name begins with ``owner_prefix``."""
        ...

    async def ledger(self, owner_prefix: str, /) -> tuple[Allocation, ...]:
        """All numbers, in all pools that compilers use, of the owners whose name begins with ``owner_prefix``."""
        ...
