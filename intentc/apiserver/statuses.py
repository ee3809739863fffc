"""Writes the status of a resource, and nothing else of it (docs/engine.md §5.8).

Why it exists: users write a resource and others its status; neither write may change what the other wrote. So a status
has calls of its own, is left out of all other writes except a bridge's copies, and its write changes no version, no
time and no generation of the resource. Single items can be written, by a mask, so that several writers need not agree
on the rest. The record of what compilers claim is written along, and only compilers change claimed items.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from intentc.model import Key, Kind, kebab
from intentc.model.status import STATUS, STATUS_CLAIMS, Status, claims_of, timed, with_claims, without_empty
from intentc.model.values import FrozenMap, decode_hook, thaw, without_nulls

from .admission.fields import accept_status
from .authorization import Caller
from .documents import Document
from .draft import Draft
from .errors import BadRequest, Forbidden
from .resources import NO_CONDITION, Condition, Resources


class StatusUpdate(NamedTuple):
    """``status``: as JSON. ``items``: those to write, None for the whole status. ``installation``, ``claims``: the
    items that its compilers claim from now on; None: as before."""

    status: Document
    items: tuple[str, ...] | None = None
    installation: str = ""
    claims: tuple[str, ...] | None = None


def parse(kind: Kind, body: Any, items: Sequence[str] | None) -> StatusUpdate:
    """Read ``{"status": {…}, "status_claims"?: {"installation", "items"}}``. Raises ``BadRequest``."""
    where = kebab(kind.name)
    if kind.status is None:
        raise BadRequest(f"{where} has no status")
    if not isinstance(body, dict) or not isinstance(body.get(STATUS) or {}, dict):
        raise BadRequest(f"{where}: status must be an object")
    for item in items or ():
        if not kind.status.is_known(item):
            raise BadRequest(f"{where}: status has no item {item!r}; items are paths (a.b) and conditions[TYPE]")
    status = without_nulls(body.get(STATUS) or {})
    given = body.get(STATUS_CLAIMS)
    if not isinstance(given, dict) or "installation" not in given:
        # An answer has the record of all installations; sent back, it changes nothing.
        return StatusUpdate(status, None if items is None else tuple(items))
    claims, installation = given.get("items"), given["installation"]
    if not (isinstance(installation, str) and installation and isinstance(claims, list)) or not all(
        isinstance(item, str) for item in claims
    ):
        raise BadRequest(f'{where}: status_claims must be {{"installation": text, "items": [text, …]}}')
    return StatusUpdate(status, None if items is None else tuple(items), installation, tuple(claims))


async def write(
    draft: Draft,
    resources: Resources,
    key: Key,
    update: StatusUpdate,
    caller: Caller,
    condition: Condition = NO_CONDITION,
) -> Document:
    """Stage a new status; returns ``{"uuid", "status"}``. Raises ``NotFound``, ``Forbidden``, ``BadRequest``."""
    kind = draft.schema.kind(key.kind)
    declared = kind.status
    assert declared is not None  # "parse" has checked it
    before = await resources.existing(draft, key, condition)
    access = await resources.may_update(draft, key, before, frozenset({STATUS}), caller)
    stored = msgspec.convert(before.get(STATUS) or {}, declared.struct, dec_hook=decode_hook)
    record = msgspec.convert(before.get(STATUS_CLAIMS) or {}, FrozenMap, dec_hook=decode_hook)
    given = accept_status(kind, update.status)
    if update.items is not None:
        sent = {item: declared.part(given, item) for item in update.items if declared.is_set(given, item)}
        given = declared.with_parts(stored, dict.fromkeys(update.items) | sent)
    after = timed(given, stored, resources.now())
    if not access.writes_outputs:
        _leave_claims(declared, key, stored, after, record, update)
    if update.claims is not None:
        record = with_claims(record, update.installation, update.claims)
    document = {field: value for field, value in before.items() if field not in (STATUS, STATUS_CLAIMS)}
    for field, value in ((STATUS, after), (STATUS_CLAIMS, record)):
        if value:
            document[field] = without_empty(thaw(value))
    await draft.stage(key, before if document == before else document)
    return {"uuid": key.uuid, STATUS: document.get(STATUS, {})}


def _leave_claims(declared: Status, key: Key, before: Any, after: Any, record: FrozenMap, update: StatusUpdate) -> None:
    """Check that a caller who is no compiler changes no item that compilers have written. Raises ``Forbidden``."""
    items = {item for installation in record for item in claims_of(record, installation) if declared.is_known(item)}
    changed = sorted(item for item in items if declared.part(before, item) != declared.part(after, item))
    if changed or update.claims is not None:
        what = f"{', '.join(changed)} of its status" if changed else "the record of what compilers claim"
        raise Forbidden(f"{key}: {what} is written by the compiler alone; leave it as it is", key=key)
