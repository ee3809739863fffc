"""How the naive oracle of Contrail reads a world: plain loops, importing nothing of intentc.

A world is ``{kind: {uuid: resource}}``, each resource the dict that the API server stores: ``uuid``, ``fq_name``,
``parent_uuid``, ``<kind>_refs`` with ``uuid``, ``to`` and ``attr``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]
World = dict[str, dict[str, Json]]
Expected = dict[tuple[str, tuple[str, ...]], Json]


def normal(value: Any) -> Any:
    """Plain JSON without what means nothing (docs/contrail.md A.1): null, false, zero, empty text, lists and objects,
    at any depth; lists keep their length."""
    if isinstance(value, dict):
        found = {key: normal(item) for key, item in value.items()}
        return {key: item for key, item in found.items() if item not in (None, False, 0, "", [], {})}
    if isinstance(value, list | tuple):
        return [normal(item) for item in value]
    return value


def resources(world: World, kind: str) -> list[Json]:
    return list(world.get(kind, {}).values())


def mark(resource: Json) -> list[str] | None:
    """Installation, compiler and origin of an object that a compiler made, None for any other."""
    for pair in ((resource.get("annotations") or {}).get("key_value_pair")) or []:
        if pair["key"] == "intentc":
            return str(pair["value"]).split("/")
    return None


def is_users(world: World, kind: str, fq_name: Sequence[str]) -> bool:
    """Whether a user's object has this name."""
    name = list(fq_name)
    return any(one["fq_name"] == name and mark(one) is None for one in world.get(kind, {}).values())


def is_hidden(resource: Json) -> bool:
    """Whether users' tools leave it out."""
    return (resource.get("id_perms") or {}).get("user_visible") is False


def targets(world: World, holder: Json, kind: str) -> list[Json]:
    """What ``holder`` refers to, as far as it is there, by name."""
    found = {}
    for entry in holder.get(f"{kind}_refs") or []:
        for resource in resources(world, kind):
            if entry.get("uuid") == resource["uuid"] or (
                not entry.get("uuid") and entry.get("to") == resource["fq_name"]
            ):
                found[resource["uuid"]] = resource
    return sorted(found.values(), key=lambda resource: (resource["fq_name"], resource["uuid"]))
