"""Defines directives and their form in etcd; puts, withdraws and lists them.

A directive is a JSON value at ``/intentc/<installation>/directives/<sort>/<about>``. One that is only partly understood
could hold or delete the wrong thing, so one with an unknown field, or whose value disagrees with its key, is rejected
as a whole. Withdrawing compares the revision, so that a directive that was put again meanwhile is not lost.
``hold_suspects`` records the intents that processes were evaluating when they died (docs/engine.md §4.3, §7).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Annotated, ClassVar, NamedTuple

import msgspec

from intentc.model import InvalidInput, Key, stored_segment
from intentc.watch.keys import Layout
from intentc.watch.listing import list_all
from intentc.watch.protocol import Delete, Put, Store, unchanged

ALL = "*"
"""What a retry of everything is about."""

_KindName = Annotated[str, msgspec.Meta(pattern=r"^[^:/*]+\Z")]
_Uuid = Annotated[str, msgspec.Meta(pattern=r"^[^:/*]+\Z")]


class _Order(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``by``: user@host; ``at``: ISO time; ``reason``: the operator's words. All for people."""

    sort: ClassVar[str]

    by: str = ""
    at: str = ""
    reason: str = ""


class _OfOne(_Order, frozen=True, kw_only=True):
    """About one resource, for the life of its uuid; ``name``, its fq_name, is for people."""

    kind: _KindName
    uuid: _Uuid
    name: tuple[str, ...] = ()

    @property
    def key(self) -> Key:
        return Key(self.kind, self.uuid)

    @property
    def about(self) -> str:
        return f"{self.kind}:{self.uuid}"


class Pause(_OfOne, frozen=True, kw_only=True):
    """Hold an intent or leave an object alone, until the directive is withdrawn."""

    sort: ClassVar[str] = "pause"


class Drop(_OfOne, frozen=True, kw_only=True):
    """Give a held intent up: what it contributed is removed, and it is not compiled while its resource stays as it was
    written at ``mod_revision``."""

    sort: ClassVar[str] = "drop"

    mod_revision: int


class Suspect(_OfOne, frozen=True, kw_only=True):
    """Processes died while they evaluated this intent, ``deaths`` of them recently. From the second on it is held while
    its resource stays as it was written at ``mod_revision``, or until a retry. One death may be any kill at a bad
    moment, and must cost only time."""

    sort: ClassVar[str] = "suspect"

    mod_revision: int
    deaths: int = 2

    @property
    def holds(self) -> bool:
        """Whether there were enough deaths to hold it."""
        return self.deaths > 1


class Retry(_Order, frozen=True, kw_only=True):
    """Retry what is quarantined now: the one of ``key``, or all; done once."""

    sort: ClassVar[str] = "retry"

    kind: str = ""
    uuid: str = ""
    name: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if bool(self.kind) != bool(self.uuid):
            raise ValueError("it has a kind without a uuid, or a uuid without a kind")

    @property
    def key(self) -> Key | None:
        return Key(self.kind, self.uuid) if self.kind else None

    @property
    def about(self) -> str:
        return f"{self.kind}:{self.uuid}" if self.kind else ALL


class AllowDeletes(_Order, frozen=True, kw_only=True):
    """Approve the deletion of all objects of one kind that is withheld now; done once."""

    sort: ClassVar[str] = "allow-deletes"

    kind: _KindName

    @property
    def about(self) -> str:
        return self.kind


Directive = Pause | Drop | Suspect | Retry | AllowDeletes

_SORTS: dict[str, type[Directive]] = {sort.sort: sort for sort in (Pause, Drop, Suspect, Retry, AllowDeletes)}


def directives_prefix(installation: str) -> str:
    """The prefix of an installation's directives."""
    return f"/intentc/{installation}/directives/"


def directive_key(installation: str, directive: Directive) -> str:
    """The key of a directive."""
    return f"{directives_prefix(installation)}{directive.sort}/{stored_segment(directive.about)}"


def encode(directive: Directive) -> bytes:
    """The value of a directive."""
    return msgspec.json.encode(directive)


def decode(sort: str, about: str, value: bytes) -> Directive:
    """The directive at ``<sort>/<about>``. Raises ``InvalidInput`` with the reason for an unknown sort, a value that
    can't be read, or one that disagrees with its key."""
    wanted = _SORTS.get(sort)
    if wanted is None:
        raise InvalidInput(f"there are no directives of the sort {sort!r}", reason="Malformed")
    try:
        directive = msgspec.json.decode(value, type=wanted)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"it can't be read: {error or type(error).__name__}", reason="Malformed") from None
    if directive.about != about:
        raise InvalidInput(f"its value is about {directive.about}", reason="Malformed")
    return directive


_LOG = logging.getLogger(__name__)


class Kept(NamedTuple):
    """A directive in etcd, and the revision at which it was put."""

    directive: Directive
    mod_revision: int


class Book:
    """The directives of one installation. Every call raises ``Failure``."""

    def __init__(self, store: Store, installation: str) -> None:
        self._store = store
        self._installation = installation

    async def put(self, directive: Directive) -> int:
        """Put a directive, replacing an older one about the same; return the revision."""
        key = directive_key(self._installation, directive)
        return (await self._store.transaction([], [Put(key, encode(directive))])).revision

    async def withdraw(self, kept: Kept) -> int:
        """Delete a directive; return the revision. 0: it was deleted, or a newer one is there and stays."""
        key = directive_key(self._installation, kept.directive)
        done = await self._store.transaction([unchanged(key, kept.mod_revision)], [Delete(key)])
        return done.revision if done.succeeded else 0

    async def list(self) -> tuple[Kept, ...]:
        """All directives, by sort and by what they are about. Unreadable ones are logged and left out."""
        prefix = directives_prefix(self._installation)
        listing = await list_all(self._store, Layout.of(prefix), _foreign)
        found = []
        for change in listing.snapshot.changes:
            try:
                directive = decode(change.kind, change.uuid, change.value or b"")
            except InvalidInput as error:
                _LOG.warning("the directive %s%s/%s is ignored: %s", prefix, change.kind, change.uuid, error.message)
            else:
                found.append(Kept(directive, change.mod_revision))
        return tuple(found)


def _foreign(key: str) -> None:
    _LOG.warning("the key %s is no directive; it is ignored", key)


_RECENTLY = timedelta(hours=1)
"""How long a single death is remembered."""


async def hold_suspects(
    store: Store,
    installation: str,
    path: str,
    keys: Iterable[Key],
    *,
    by: str,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> int:
    """Record a death for each of ``keys`` whose resource still exists; return how many are held from now on. ``path``:
    the path of resources (``etcd.path``); ``by``: identifies this process, even among earlier ones of the same name and
    number. Raises ``Failure``; may then be called again."""
    layout, book, held = Layout.of(f"/{path}/"), Book(store, installation), 0
    wanted = tuple(keys)
    known = (
        {directive.key: directive for directive, _ in await book.list() if isinstance(directive, Suspect)}
        if wanted
        else {}
    )
    for key in wanted:
        for item in (await store.range(layout.key(*key), keys_only=True)).items:
            suspect = Suspect(
                kind=key.kind,
                uuid=key.uuid,
                mod_revision=item.mod_revision,
                by=by,
                at=now().isoformat(timespec="seconds"),
                reason="a process died while it evaluated this",
                deaths=1 + _deaths_lately(known.get(key), item.mod_revision, now()),
            )
            noted = known.get(key)
            if noted is not None and noted.by == by:
                # Recorded by an earlier try of ours whose answer was lost: it is the same death.
                suspect = noted
            else:
                await book.put(suspect)
            held += suspect.holds
    return held


def _deaths_lately(known: Suspect | None, mod_revision: int, now: datetime) -> int:
    """The number of earlier deaths with the same resource in the same version; old ones don't count."""
    if known is None or known.mod_revision != mod_revision:
        return 0
    try:
        since = now - datetime.fromisoformat(known.at)
    except (ValueError, TypeError):
        return known.deaths
    return known.deaths if known.holds or since <= _RECENTLY else 0
