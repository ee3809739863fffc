"""The view ``leftovers``: route targets of another transformer that only people may delete (docs/contrail.md D.1).

It lists those of the automatic range without a mark to which no routing instance and no logical router refers, except
the server's own two. Another transformer allocated them, or a user chose them under an earlier autonomous system; so
the compiler deletes no route target without its mark.
"""

from __future__ import annotations

from collections.abc import Iterator

from intentc import Compiled, Overview, Row

from .route_targets import DEFAULT_AUTONOMOUS_SYSTEM, GLOBAL_SYSTEM_CONFIG, is_automatic, parse_route_target

_MARK = "intentc"
_SEEDED = frozenset({8_000_000, 8_000_001})
"""The numbers of the server's own route targets (docs/contrail.md A.5)."""

_HOLDERS = ("routing_instance", "logical_router")


def _rows(compiled: Compiled) -> Iterator[Row]:
    config = compiled.named("global_system_config", ":".join(GLOBAL_SYSTEM_CONFIG)) or {}
    system = config.get("autonomous_system") or DEFAULT_AUTONOMOUS_SYSTEM
    entries = [
        entry
        for kind in _HOLDERS
        for holder in compiled.objects(kind)
        for entry in holder.get("route_target_refs") or ()
    ]
    wanted = {entry.get("uuid") for entry in entries} | {":".join(entry.get("to") or ()) for entry in entries}
    for target in compiled.objects("route_target"):
        name = ":".join(target["fq_name"])
        pairs = (target.get("annotations") or {}).get("key_value_pair") or ()
        is_marked = any(pair.get("key") == _MARK for pair in pairs)
        if not wanted & {name, target["uuid"]} and not is_marked and _is_left(name, system):
            yield {"name": name, "uuid": target["uuid"]}


def _is_left(name: str, system: int) -> bool:
    try:
        target = parse_route_target(name)
    except ValueError:
        return False
    return is_automatic(target, system) and target.number not in _SEEDED


VIEWS = {
    "leftovers": Overview(
        "route targets that another transformer allocated and nobody refers to: delete them once it has been removed",
        ("global_system_config", "route_target", *_HOLDERS),
        ("name", "uuid"),
        _rows,
    )
}
"""By the name under which commands and the API offer it."""
