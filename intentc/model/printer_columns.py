"""The columns in which a table shows resources of a kind, for ``kubectl get``.

Why it exists: a CustomResourceDefinition names them, and our Kubernetes-compatible API fills them. A schema file
declares them by paths of the flat form (``columns``); a manifest has these fields at other places.

Pure functions of values.
"""

from __future__ import annotations

from typing import NamedTuple

from .kind import Kind
from .manifest_places import at_top
from .metadata import METADATA
from .status import STATUS
from .structural_schema import Node, structural_schema


class PrinterColumn(NamedTuple):
    """``type``: as in OpenAPI, or ``date``, which is shown as an age. ``steps``: the path in a manifest; ``[]``
    flattens a list."""

    name: str
    type: str
    steps: tuple[str, ...]

    @property
    def json_path(self) -> str:
        """The path as in a CustomResourceDefinition: ``.spec.prefix``."""
        return "".join("[*]" if step == "[]" else f".{step}" for step in self.steps)


AGE = PrinterColumn("Age", "date", ("metadata", "creationTimestamp"))


def printer_columns(kind: Kind, version: str) -> tuple[PrinterColumn, ...]:
    """The columns after the name, for manifests with this ``apiVersion``; the age is the last."""
    schema = structural_schema(kind, version)
    found = []
    for column in kind.columns:
        steps = _in_manifest(kind, version, column.path)
        found.append(PrinterColumn(column.name, _type(schema, steps), steps))
    return (*found, AGE)


def _in_manifest(kind: Kind, version: str, path: tuple[str, ...]) -> tuple[str, ...]:
    if at_top(kind) or path[0] in (METADATA, STATUS):
        return path
    for old, new in kind.manifests.versions.get(version, {}).items():
        moved = tuple((new or "").split("."))
        if path[: len(moved)] == moved:
            return ("spec", *old.split("."), *path[len(moved) :])
    return ("spec", *path)


def _type(schema: Node, steps: tuple[str, ...]) -> str:
    node = schema
    for step in steps:
        node = node.get("items", {}) if step == "[]" else node.get("properties", {}).get(step, {})
    found = node.get("type", "string")
    return found if found in ("boolean", "integer", "number", "string") else "string"
