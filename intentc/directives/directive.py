"""Defines directives and their form in etcd: ``/intentc/<installation>/directives/<sort>/<about>``, the value as JSON.

Why strict: a directive that is only partly understood could hold or delete the wrong thing, so one with an unknown
field, or whose value disagrees with its key, is rejected as a whole. ``obeying`` has the engine carry directives out.

Values and their form in etcd.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from intentc.model import InvalidInput, Key, stored_segment

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
