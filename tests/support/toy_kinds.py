"""Toy kinds for tests of cache, dependencies and logic: both shapes, with every sort of relation.

Contrail's shape: ``net`` under ``tenant`` with references to ``net`` and ``policy``, ``port`` with an attribute and a
shared list, ``group`` that mentions groups in its rules. Kubernetes' shape: ``app`` (labels), ``chooser`` (a selector)
and ``host``/``route`` (globs). ``tag`` is a fact.
"""

from __future__ import annotations

from typing import Any

import msgspec

from intentc.model import Batch, Change, Key, Kind, Mark, Schema, Snapshot
from intentc.model.schema import KindSpec, build_kind
from intentc.model.types import TypeTable

TYPES = TypeTable(
    {
        "Rule": {"group": "string", "port": "integer"},
        "Rules": {"rule": {"list": "Rule"}},
        "Weight": {"weight": "integer"},
    }
)

DECLARED: tuple[dict[str, Any], ...] = (
    {"kind": "tenant", "properties": {"text": "string"}},
    {"kind": "policy", "parents": ["tenant"], "properties": {"text": "string"}},
    {
        "kind": "net",
        "parents": ["tenant"],
        "properties": {"text": "string", "number": {"type": "integer", "writer": "compiler"}},
        "references": {"net": None, "policy": {"attribute": "Weight"}, "target": {"writer": "compiler"}},
    },
    {"kind": "target", "properties": {"text": "string"}},
    {
        "kind": "port",
        "parents": ["tenant"],
        "properties": {"text": "string"},
        "references": {
            "net": {"attribute": "Weight"},
            "target": {
                "writer": "shared",
                "attribute": "Weight",
                "ours": "(^|:)auto-[^:]*$",
                "ours_with": {"weight": 9},
            },
        },
    },
    {
        "kind": "group",
        "parents": ["tenant"],
        "properties": {"rules": "Rules", "number": {"type": "integer", "writer": "server"}},
        "mentions": {"mentioned": {"kind": "group", "paths": ["rules.rule[].group"], "ignore": ["any"]}},
        "indexes": {"names": {"paths": ["rules.rule[].group"]}},
    },
    {"kind": "app", "shape": "kubernetes", "indexes": {"label": {"paths": ["metadata.labels"]}}},
    {
        "kind": "chooser",
        "shape": "kubernetes",
        "properties": {"selector": "map", "backend": "string"},
        "mentions": {
            "chosen": {"kind": "app", "paths": ["selector"], "resolver": "selector"},
            "backend": {"kind": "app", "paths": ["backend"], "resolver": "namespaced_name"},
        },
    },
    {
        "kind": "host",
        "shape": "kubernetes",
        "properties": {"hostname": "string"},
        "indexes": {"hostname": {"paths": ["hostname"], "hostnames": True}},
    },
    {
        "kind": "route",
        "shape": "kubernetes",
        "properties": {"hosts": {"list": "string"}},
        "mentions": {"hosts": {"kind": "host", "paths": ["hosts[]"], "resolver": "glob"}},
    },
    {"kind": "tag", "stored": False},
)


def toy_schema(*more: dict[str, Any]) -> Schema:
    """The kinds above, and those declared in ``more``."""
    return Schema(build(declared) for declared in (*DECLARED, *more))


def build(declared: dict[str, Any]) -> Kind:
    return build_kind(msgspec.convert({"group": "toy", **declared}, KindSpec), TYPES, "toy")


def reference(target: str, *, uuid: bool = True, **attribute: Any) -> dict[str, Any]:
    """An entry of a list of references: to the uuid ``target``, or to the name."""
    entry: dict[str, Any] = {"uuid": target, "to": [target]} if uuid else {"to": target.split(":")}
    return entry | ({"attr": attribute} if attribute else {})


def put(kind: str, uuid: str, revision: int, *, born: int = 0, name: str = "", **fields: Any) -> Change:
    """``kind``/``uuid`` as the API server writes it; its name is its uuid if none is given; ``parent``: kind/uuid."""
    value: dict[str, Any] = {"uuid": uuid, "fq_name": (name or uuid).split(":")}
    if "parent" in fields:
        value["parent_type"], _, value["parent_uuid"] = str(fields.pop("parent")).partition("/")
    if "mark" in fields:
        mark = Mark("toy", "toy", str(fields.pop("mark")))
        value["annotations"] = {"key_value_pair": [{"key": "intentc", "value": str(mark)}]}
    return Change(kind, uuid, msgspec.json.encode(value | fields), born or revision, revision)


def manifest(kind: str, name: str, revision: int, *, labels: dict[str, str] | None = None, **spec: Any) -> Change:
    """A Kubernetes-shaped object in the namespace ``default`` whose uid is its name."""
    value = {"metadata": {"name": name, "uid": name, "labels": labels or {}}, "spec": spec}
    return Change(kind, name, msgspec.json.encode(value), revision, revision)


def broken(kind: str, uuid: str, revision: int, value: bytes = b"{", born: int = 0) -> Change:
    """A value that can't be read."""
    return Change(kind, uuid, value, born or revision, revision)


def deleted(kind: str, uuid: str, revision: int) -> Change:
    return Change(kind, uuid, None, 0, revision)


def batch(*changes: Change) -> Batch:
    """All changes as one revision: the highest of theirs."""
    return Batch(max(change.mod_revision for change in changes), changes)


def snapshot(*changes: Change, revision: int = 0) -> Snapshot:
    return Snapshot(revision or max(change.mod_revision for change in changes), changes)


def key(text: str) -> Key:
    """``net/a`` → its key."""
    kind, _, uuid = text.partition("/")
    return Key(kind, uuid)


def keys(*texts: str) -> set[Key]:
    return {key(text) for text in texts}
