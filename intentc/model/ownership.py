"""Identifies what is ours: objects by the mark that we set and the uuid that we give, entries of shared lists by the
target's name, uuid or attribute (docs/engine.md §5.2, §5.5, §5.6).

Mark and uuid are constant for the life of an object, so that a restart recognises its own work without any other state.
Who *claims* an object now is never stored. ``planning/ownership.py`` decides whose a stored object is.
"""

from __future__ import annotations

import hashlib
import re
import uuid as uuid_module
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from intentc.model.names import Name

if TYPE_CHECKING:
    from intentc.model.kind import Relation

MARK_KEY = "intentc"
"""The annotation's key."""

RELEASED_KEY = "intentc-released"
"""The annotation that keeps the mark of an object that ``intentc release`` gave up, so that ``intentc adopt`` can put
it back. The object is nobody's meanwhile."""

SHARED = "shared"
"""The origin in the mark of an object that by nature has no single owner."""

_NAMESPACE = uuid_module.UUID("6f1c9be2-5f0e-5d3c-9a53-1c0f8f3c2a10")


class Mark(NamedTuple):
    """``installation`` of the compiler, ``compiler`` (``contrail``, …), ``origin``: the owner's uuid or ``shared``."""

    installation: str
    compiler: str
    origin: str

    def __str__(self) -> str:
        return "/".join(self)

    @classmethod
    def parse(cls, text: str) -> Mark | None:
        """The inverse of ``str``; None if ``text`` is no mark."""
        # The origin may contain any character: the name of a fact that is an intent itself is no uuid.
        parts = text.split("/", 2)
        return cls(*parts) if len(parts) == 3 and all(parts) else None


def is_made_by(installation: str, mark: Mark | None, name: Name, uuid: str) -> bool:
    """Whether an object with this mark, name and uuid was made by a compiler of ``installation``."""
    if mark is None or mark.installation != installation:
        return False
    return uuid == object_uuid(installation, name, mark.origin)


def fits(pattern: re.Pattern[str] | None, fq_name: tuple[str, ...]) -> bool:
    """Whether a kind's or a relation's pattern ``ours`` says that only compilers give this name to an object.

    >>> fits(re.compile(":auto-[^:]*$"), ("valley", "auto-1")), fits(re.compile("^auto-"), ("valley", "auto-1"))
    (True, False)
    """
    return pattern is not None and pattern.search(":".join(fq_name)) is not None


def is_our_entry(
    relation: Relation,
    holder: str,
    *,
    target: tuple[str, ...],
    uuid: str,
    attribute: Any,
    installation: str = "",
    both_made: bool = False,
) -> bool:
    """Whether an entry of a shared list is a compiler's (docs/engine.md §5.2). ``holder``: the holder's uuid.
    ``target``, ``uuid``: name and uuid of the object to which it leads; either may be empty if unknown. ``attribute``:
    a struct of the relation's type, or None. ``installation``: empty if unknown; then entries are not recognized by the
    uuid. ``both_made``: whether we made the holder and the target. That says nothing where users don't write: there the
    other entries are the server's, which refers to objects of ours, too."""
    if (both_made and not relation.system) or (relation.ours_with is not None and attribute == relation.ours_with):
        return True
    if not target:
        return False
    if fits(relation.ours, target):
        return True
    return bool(installation and uuid) and uuid == object_uuid(installation, Name(relation.name, target), holder)


@lru_cache(4096)  # 0.1 µs in place of 2.6: each object is looked at several times in a row
def object_uuid(installation: str, name: Name, owner: str) -> str:
    """The uuid of an object that we create; ``owner`` is its owner's uuid, or ``shared``."""
    text = "\0".join((installation, name.kind, ":".join(name.fq_name), owner))
    # uuid5 by hand, since planning computes one per object that it looks at, and ``uuid`` takes three times as long.
    digest = bytearray(hashlib.sha1(_NAMESPACE.bytes + text.encode(), usedforsecurity=False).digest()[:16])
    digest[6] = digest[6] & 0x0F | 0x50
    digest[8] = digest[8] & 0x3F | 0x80
    found = digest.hex()
    return f"{found[:8]}-{found[8:12]}-{found[12:16]}-{found[16:20]}-{found[20:]}"
