"""Decodes what a Kubernetes API server sends: pages of a list, and the lines of a watch; compares resourceVersions.

Why it exists: a stream can be cut at any byte, and an object must cost little until somebody needs its fields. So lines
are put together here, and objects stay bytes (``msgspec.Raw``) with their identity next to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

LONGEST_LINE = 16_000_000
"""Bytes; etcd takes 1.5 MB in one request, so a longer line is no event."""


_LONGEST_VERSION = 256
"""Characters; a kube-apiserver's is a number of 64 bits."""
_LONGEST_TOKEN = 64 * 1024
"""Characters of the token for the next page, which is part of the next request."""


class Identity(NamedTuple):
    """The place of an object in its kind; ``namespace`` is empty for kinds of the whole cluster."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Object(NamedTuple):
    """One object of the cluster. ``version``: its resourceVersion; ``body``: its JSON."""

    identity: Identity
    uid: str
    version: str
    body: bytes


class Page(NamedTuple):
    """A page of a list. ``version``: the revision of the whole list; ``next``: the token of the next page, or empty."""

    objects: tuple[Object, ...]
    version: str
    next: str


class Event(NamedTuple):
    """One line of a watch. ``type``: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR; of an error, ``code`` is its status
    and ``message`` its words, and ``object`` has no meaning."""

    type: str
    object: Object
    code: int = 0
    message: str = ""


UNUSABLE = (
    msgspec.MsgspecError,
    ValueError,
    RecursionError,
    OverflowError,
    AttributeError,
    KeyError,
    TypeError,
    IndexError,
)
"""What reading an object raises whose content is not as its kind says: anybody may have written it."""


class Unreadable(ValueError):
    """A body that is no answer of a Kubernetes API server."""


class _Meta(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    version: str = msgspec.field(default="", name="resourceVersion")


class _Head(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    code: int = 0
    message: str = ""


class _ListMeta(msgspec.Struct):
    version: str = msgspec.field(default="", name="resourceVersion")
    next: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


_HEAD = msgspec.json.Decoder(_Head)
_LIST = msgspec.json.Decoder(_List)
_EVENT = msgspec.json.Decoder(_Event)


class Lines:
    """Puts the lines of a stream together from pieces that end anywhere."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def fed(self, piece: bytes) -> Iterator[bytes]:
        """The lines that ``piece`` completes, without empty ones. Raises ``Unreadable`` for one without an end."""
        first, *others = piece.split(b"\n")
        self._take(first)
        for line in others:
            if self._pieces:
                complete = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
                self._pieces, self._size = [], 0
                yield complete
            self._take(line)

    def _take(self, line: bytes) -> None:
        if line:
            self._pieces.append(line)
            self._size += len(line)
        if self._size > LONGEST_LINE:
            raise Unreadable(f"a line of the watch has more than {LONGEST_LINE:,} bytes")


def decode_page(body: bytes) -> Page:
    """Decode the answer to a list. Raises ``Unreadable``."""
    try:
        found = _LIST.decode(body)
        objects = tuple([_object(item) for item in found.items or ()])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(f"a list can't be read: {error}") from None
    if len(found.metadata.next) > _LONGEST_TOKEN:
        raise Unreadable(f"a list can't be read: its token has more than {_LONGEST_TOKEN:,} characters")
    return Page(objects, _checked(found.metadata.version), found.metadata.next)


def decode_event(line: bytes) -> Event:
    """Decode a line of a watch. Raises ``Unreadable``."""
    try:
        found = _EVENT.decode(line)
        head = _HEAD.decode(found.object)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(f"an event can't be read: {error}") from None
    failed = found.type == "ERROR"
    about = _of(head, found.object)
    return Event(found.type, about, head.code if failed else 0, head.message if failed else "")


def newer(version: str, other: str) -> bool | None:
    """Whether a resourceVersion is newer than another; None if they can't be compared, which their contract allows."""
    if version.isascii() and version.isdecimal() and other.isascii() and other.isdecimal():
        # As text: a number of thousands of digits can't be converted.
        first, second = version.lstrip("0"), other.lstrip("0")
        return (len(first), first) > (len(second), second)
    return None


def _checked(version: str) -> str:
    if len(version) > _LONGEST_VERSION:
        raise Unreadable(f"a resourceVersion has more than {_LONGEST_VERSION} characters: {version[:20]}…")
    return version


def _object(raw: msgspec.Raw) -> Object:
    return _of(_HEAD.decode(raw), raw)


def _of(head: _Head, raw: msgspec.Raw) -> Object:
    meta = head.metadata
    return Object(Identity(meta.namespace, meta.name), meta.uid, _checked(meta.version), bytes(raw))
