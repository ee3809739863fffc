"""Tables of resources, in which ``kubectl get`` shows them.

Why it exists: clients ask for a ``Table`` (``as=Table`` in ``Accept``), since only the server knows which fields
matter. A kind's schema file declares the columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from intentc.model.structural_schema import PrinterColumn, printer_columns

from .catalog import Offered

_META = "meta.k8s.io"
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_YEAR = 365 * _DAY
_NAME = {
    "name": "Name",
    "type": "string",
    "format": "name",
    "description": "The name of the resource, unique among those of its kind in a namespace.",
    "priority": 0,
}


def wanted(accept: str) -> str:
    """The version of ``Table`` that a client prefers over the resources themselves; empty if it wants those."""
    for media in accept.split(","):
        parts = dict(part.strip().partition("=")[::2] for part in media.split(";")[1:])
        if parts.get("as") == "Table" and parts.get("g") == _META and parts.get("v") in ("v1", "v1beta1"):
            return parts["v"]
        if not parts.get("as") and media.split(";")[0].strip() in ("application/json", "*/*"):
            return ""
    return ""


def table(
    offered: Offered,
    manifests: Iterable[dict[str, Any]],
    now: datetime,
    *,
    version: str = "v1",
    included: str = "Metadata",
    metadata: dict[str, Any] | None = None,
    headings: bool = True,
) -> dict[str, Any]:
    """Manifests as a ``Table``. ``included``: what each row carries: ``Metadata``, ``Object`` or ``None``.

    ``metadata``: that of the list; ``headings``: false in all events of a watch but the first."""
    columns = printer_columns(offered.kind, offered.api_version)
    result: dict[str, Any] = {
        "kind": "Table",
        "apiVersion": f"{_META}/{version}",
        "metadata": metadata or {},
        "columnDefinitions": _definitions(columns) if headings else None,
        "rows": [_row(manifest, columns, now, version, included) for manifest in manifests],
    }
    return result


def _definitions(columns: Sequence[PrinterColumn]) -> list[dict[str, Any]]:
    return [_NAME] + [
        {"name": one.name, "type": one.type, "format": "", "description": "", "priority": 0} for one in columns
    ]


def _row(
    manifest: dict[str, Any], columns: Sequence[PrinterColumn], now: datetime, version: str, included: str
) -> dict[str, Any]:
    cells = [manifest["metadata"]["name"]] + [_cell(manifest, column, now) for column in columns]
    row: dict[str, Any] = {"cells": cells}
    if included == "Object":
        row["object"] = manifest
    elif included != "None":
        row["object"] = {
            "kind": "PartialObjectMetadata",
            "apiVersion": f"{_META}/{version}",
            "metadata": manifest["metadata"],
        }
    return row


def _cell(manifest: dict[str, Any], column: PrinterColumn, now: datetime) -> Any:
    found: list[Any] = [manifest]
    for step in column.steps:
        if step == "[]":
            found = [item for one in found for item in (one if isinstance(one, list) else ())]
        else:
            found = [one[step] for one in found if isinstance(one, dict) and one.get(step) is not None]
    if column.type == "date":
        return age(str(found[0]), now) if found else None
    if len(found) == 1 and not isinstance(found[0], dict | list):
        return found[0]
    return ",".join(str(one) for one in found) if found else None


def age(timestamp: str, now: datetime) -> str:
    """The time since ``timestamp`` (RFC 3339) as kubectl shows it: ``42s``, ``7m3s``, ``5h20m``, ``3d``."""
    try:
        seconds = int((now - datetime.fromisoformat(timestamp)).total_seconds())
    except ValueError:
        return "<invalid>"
    if seconds < 2 * _MINUTE:
        return f"{max(seconds, 0)}s"
    for below, unit, letter, inner, inner_letter in (
        (10 * _MINUTE, _MINUTE, "m", 1, "s"),
        (3 * _HOUR, _MINUTE, "m", 0, ""),
        (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
        (2 * _DAY, _HOUR, "h", 0, ""),
        (8 * _DAY, _DAY, "d", _HOUR, "h"),
        (2 * _YEAR, _DAY, "d", 0, ""),
        (8 * _YEAR, _YEAR, "y", _DAY, "d"),
    ):
        if seconds < below:
            rest = seconds % unit // inner if inner else 0
            return f"{seconds // unit}{letter}" + (f"{rest}{inner_letter}" if rest else "")
    return f"{seconds // _YEAR}y"
