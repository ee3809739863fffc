"""Computes the least change of an object's status: the items that compilers claim, and those they claim no more
(docs/engine.md §5.8); and finds out whether a resource has items that we wrote.

Whose an item is, is stored with the status (``status_claims``): kinds are shared with other controllers, so neither an
item nor its value shows who wrote it. Times are not compared. ``model/status.py`` reads and replaces items. The planner
decides on which objects status may be written, and what may be cleared now.

Pure functions of values.
"""

from __future__ import annotations

from typing import Any

from intentc.model import Resource, UpdateStatus
from intentc.model.status import STATUS, STATUS_CLAIMS, claims_of, status_item, timeless

from .actual import Actual
from .diff import MayRemove
from .merge import Desired

_TRACE = f'"{STATUS_CLAIMS}"'.encode()


def status_change(actual: Actual, desired: Desired, installation: str, may_clear: MayRemove) -> UpdateStatus | None:
    """The write of an object's status, None if the status is right."""
    declared = actual.kind.status
    if declared is None or declared.is_input:
        return None
    stored = actual.value(STATUS)
    ours = claims_of(actual.value(STATUS_CLAIMS), installation)
    if not ours and not desired.status:
        return None
    parts: dict[str, Any] = {}
    left = set(desired.status)
    for item, value in desired.status.items():
        if timeless(declared.part(stored, item)) != value:
            parts[item] = value
    for item in ours:
        if item in desired.status:
            continue
        if status_item(item) in desired.disputed or not may_clear(status_item(item)):
            left.add(item)
        elif declared.is_known(item) and declared.is_set(stored, item):
            parts[item] = None
    if not parts and left == set(ours):
        return None
    return UpdateStatus(actual.key, actual.name, parts, installation, tuple(sorted(left)))


def carries_status(resource: Resource, installation: str) -> bool:
    """Whether a stored resource has items of status that this installation wrote."""
    if _TRACE not in resource.raw or resource.kind.status is None:
        return False
    return bool(claims_of(getattr(resource.values(), STATUS_CLAIMS), installation))
