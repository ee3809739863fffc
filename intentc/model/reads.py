"""The reads of an evaluation, as values: they decide which intents must run again (docs/engine.md §3).

A read is a small tuple, so that it hashes fast and hundreds of thousands are cheap to keep. Its first element is its
sort. Absence and the empty set are results like any other, under the same tuple. ``evaluation/context.py`` answers
reads from the ``World`` and records them, ``logic/dependencies/read_index.py`` finds the readers of a read, and
``logic/changes.py`` the reads that a change affects.
"""

from __future__ import annotations

from intentc.model.names import Key

Read = tuple[str, ...]

PARENT = "parent"
"""The name of the relation between a child and its parent."""

TAKEN = "taken"
"""The sort of ``taken_read``. An object has no relation to the intents that would have created one with its name, so no
reaction map can name them."""


def object_read(key: Key) -> Read:
    """The input fields of one object, its fq_name included and its ``metadata`` not, or its absence."""
    return ("object", key.kind, key.uuid)


def usable_read(key: Key) -> Read:
    """Whether one object exists and can be read. Recorded with each ``metadata_read``."""
    return ("usable", key.kind, key.uuid)


def metadata_read(key: Key, *part: str) -> Read:
    """One part of an object's ``metadata``: a field, or a field and the key of a label or an annotation."""
    return ("metadata", key.kind, key.uuid, *part)


def name_read(kind: str, fq_name: tuple[str, ...]) -> Read:
    """Which object has this name now, if any."""
    return ("name", kind, ":".join(fq_name))


def taken_read(kind: str, fq_name: tuple[str, ...]) -> Read:
    """Whether an object that this installation's compilers did not make has this name. Our objects don't count, so an
    intent that creates an object with a free name does not change the answer."""
    return (TAKEN, kind, ":".join(fq_name))


def targets_read(key: Key, relation: str) -> Read:
    """The set of objects to which ``key`` refers by ``relation`` (``parent`` too), attributes included."""
    return ("targets", key.kind, key.uuid, relation)


def sources_read(key: Key, kind: str, relation: str) -> Read:
    """The set of objects of ``kind`` that refer to ``key`` by ``relation`` (children: by ``parent``)."""
    return ("sources", key.kind, key.uuid, kind, relation)


def index_read(kind: str, index: str, value: str) -> Read:
    """The set of objects of ``kind`` that offer ``value`` in ``index``; index ``all`` has the value ``""``."""
    return ("index", kind, index, value)


def fact_read(kind: str, name: str) -> Read:
    """The contributions of intents to one fact."""
    return ("fact", kind, name)


def presence_read(kind: str, name: str) -> Read:
    """Whether one fact has contributions."""
    return ("presence", kind, name)


def allocation_read(pool: str, owner: str) -> Read:
    """The allocation of ``owner`` in ``pool``."""
    return ("allocation", pool, owner)


def setting_read(name: str) -> Read:
    """One value of the compilers' configuration."""
    return ("setting", name)


def kinds_of(read: Read) -> Read:
    """The kinds that a read names. A change at the end of a relation that it doesn't name is found by the other end."""
    return (read[1], read[3]) if read[0] == "sources" else (read[1],)
