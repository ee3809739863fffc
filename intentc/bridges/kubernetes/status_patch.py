"""Decides what a bridge writes to the status of an object in a cluster (docs/engine.md §5.8).

Why it exists: several controllers share one status. Ours are the items that ``status_claims`` names in the store; those
that we wrote to the cluster and that it no longer names are cleared, by the cluster's own record of who wrote what
(``managedFields``). Everything else stays as the cluster has it. By the same record ``written_status`` says what we
wrote, for a copy that is made anew (``projection``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from intentc.model.status import STATUS, TRANSITION_TIME, Status, condition, condition_of

MANAGER = "intentc-status"
"""Under which name we write a status in a cluster."""
_CONDITIONS = "conditions"


class DesiredStatus(NamedTuple):
    """What the store says of an object's status. ``items``: those that compilers wrote, of whichever installation."""

    status: Mapping[str, Any]
    items: tuple[str, ...]


class _Manager(msgspec.Struct):
    manager: str = ""
    fields: dict[str, Any] = msgspec.field(default_factory=dict, name="fieldsV1")


class _Metadata(msgspec.Struct):
    uid: str = ""
    version: str = msgspec.field(default="", name="resourceVersion")
    name: str = ""
    namespace: str = ""
    managers: list[_Manager] = msgspec.field(default_factory=list, name="managedFields")


class Live(msgspec.Struct):
    """What a cluster says of an object, as far as its status is concerned."""

    metadata: _Metadata
    status: dict[str, Any] | None = None


class _Stored(msgspec.Struct):
    metadata: dict[str, Any] = {}
    status: dict[str, Any] = {}
    status_claims: dict[str, tuple[str, ...]] = {}


_LIVE = msgspec.json.Decoder(Live)
_STORED = msgspec.json.Decoder(_Stored)


def live_of(body: bytes) -> Live:
    """Decode an object of the cluster. Raises ``msgspec.MsgspecError``."""
    return _LIVE.decode(body)


def desired_status_of(value: bytes) -> DesiredStatus | None:
    """Decode a resource in etcd; None if no bridge wrote it, or it can't be read."""
    try:
        found = _STORED.decode(value)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    items = sorted({item for written in found.status_claims.values() for item in written})
    return DesiredStatus(found.status, tuple(items)) if found.metadata.get("mirrored") else None


def status_patch(said: DesiredStatus, live: Live, declared: Status) -> dict[str, Any] | None:
    """The merge patch for the object's status, None if the cluster has what we say. It carries uid and resourceVersion,
    so that it changes no other object, and no newer one."""
    before = live.status or {}
    after = before
    for item in sorted({*said.items, *_written(live.metadata.managers, declared)}):
        wanted = _part(said.status, item) if item in said.items else None
        if _plain(wanted) != _plain(_part(before, item)):
            after = _with_part(after, item, wanted)
    if after == before:
        return None
    identity = {"uid": live.metadata.uid, "resourceVersion": live.metadata.version}
    return {"metadata": identity, STATUS: _merge(before, after)}


def written_status(live: Live, declared: Status) -> DesiredStatus | None:
    """What we wrote to the status of an object, by the record of the cluster; None if that is nothing."""
    items = tuple(sorted(_written(live.metadata.managers, declared)))
    status: dict[str, Any] = {}
    for item in items:
        status = _with_part(status, item, _part(live.status or {}, item))
    return DesiredStatus(status, items) if items else None


def _written(managers: Iterable[_Manager], declared: Status) -> set[str]:
    """The declared items that we wrote, by the record of the cluster. A list of conditions that the cluster does not
    join by type is recorded as a whole: then all declared conditions count."""
    found: set[str] = set()
    for one in managers:
        if one.manager != MANAGER:
            continue
        fields = one.fields.get(f"f:{STATUS}")
        if not isinstance(fields, dict):
            continue
        found |= {path for path in declared.paths if _has(fields, path.split("."))}
        listed = fields.get(f"f:{_CONDITIONS}")
        if isinstance(listed, dict):
            types = {str(msgspec.json.decode(key[2:]).get("type")) for key in listed if key.startswith("k:")}
            found |= {condition(name) for name in declared.conditions if name in types or not types}
    return found


def _has(fields: Any, steps: list[str]) -> bool:
    for step in steps:
        if not isinstance(fields, dict) or f"f:{step}" not in fields:
            return False
        fields = fields[f"f:{step}"]
    return True


def _part(status: Any, item: str) -> Any:
    wanted = condition_of(item)
    if wanted is not None:
        return next((one for one in status.get(_CONDITIONS) or () if one.get("type") == wanted), None)
    for step in item.split("."):
        status = status.get(step) if isinstance(status, Mapping) else None
    return status


def _with_part(status: Mapping[str, Any], item: str, part: Any) -> dict[str, Any]:
    """A status like ``status`` with this item; None removes it. A condition keeps its place."""
    wanted = condition_of(item)
    if wanted is None:
        step, _, rest = item.partition(".")
        inner = status.get(step)
        value = _with_part(inner if isinstance(inner, Mapping) else {}, rest, part) if rest else part
        others = {name: one for name, one in status.items() if name != step}
        return others if value is None else {**others, step: value}
    listed = list(status.get(_CONDITIONS) or ())
    places = [place for place, one in enumerate(listed) if one.get("type") == wanted]
    if places:
        listed[places[0] : places[0] + 1] = [] if part is None else [part]
    elif part is not None:
        listed.append(part)
    return {**status, _CONDITIONS: listed}


def _plain(value: Any) -> Any:
    """A value without times of conditions and without empty members: both mean the same as absent ones."""
    if isinstance(value, Mapping):
        inner = {name: _plain(one) for name, one in value.items() if name != TRANSITION_TIME}
        return {name: one for name, one in inner.items() if one is not None} or None
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value] or None
    return None if value == "" else value


def _merge(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch that makes ``after`` of ``before``."""
    patch: dict[str, Any] = {name: None for name in before if name not in after}
    for name, value in after.items():
        former = before.get(name)
        if isinstance(value, Mapping) and isinstance(former, Mapping):
            if inner := _merge(former, value):
                patch[name] = inner
        elif value != former:
            patch[name] = value
    return patch
