"""How answers call a resource: kind, fq_name joined by ``:``, and uuid, as far as there is one.

Every answer uses these three keys, so that programs can follow any of them further. What a person may type for a name
is ``finding``'s.
"""

from __future__ import annotations

from typing import Any

from intentc.logic import Service
from intentc.model import Key, Name, Source

Document = dict[str, Any]


def of_key(logic: Service, key: Key) -> Document:
    """``{"kind", "name", "uuid"}`` of an object or fact; of one that is gone the uuid stands for the name, too."""
    return {"kind": key.kind, "name": logic.name_of(key), "uuid": key.uuid}


def name_now(logic: Service, key: Key) -> Name:
    """The name of what is there; of a fact its only element, of what has no name known its uuid."""
    state = logic.cache.state(key)
    return Name(key.kind, state.fq_name if state is not None and state.fq_name else (key.uuid,))


def of_name(logic: Service, name: Name) -> Document:
    """The same of the object of this name; ``uuid`` is empty if there is none."""
    joined = ":".join(name.fq_name)
    return {"kind": name.kind, "name": joined, "uuid": _uuid(logic, name.kind, joined)}


def of_source(logic: Service, source: Source) -> Document:
    """The same with ``revision`` (at which it was last written, None if it isn't there) and ``field``."""
    uuid = _uuid(logic, source.kind, source.name)
    return {
        "kind": source.kind,
        "name": source.name,
        "uuid": uuid,
        "revision": logic.mod_revision(Key(source.kind, uuid)) or None,
        "field": source.field,
    }


def with_revision(logic: Service, key: Key) -> Document:
    """``{"kind", "name", "uuid", "revision"}`` of a stored resource."""
    return {**of_key(logic, key), "revision": logic.mod_revision(key) or None}


def _uuid(logic: Service, kind: str, name: str) -> str:
    """Of the object of this name, or the fact itself; empty if there is none."""
    found = logic.cache.names.in_force(kind, name)
    if found is None and logic.exists(Key(kind, name)):
        return name
    return found or ""
