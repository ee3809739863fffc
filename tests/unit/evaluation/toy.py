"""A schema of three kinds and a fact for tests of evaluations: no kind of any real compiler."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from intentc.evaluation import Intent, Limits, Outcome, Runner
from intentc.model import Key, Schema
from intentc.model.schema import KindSpec, build_kind
from intentc.model.types import TypeTable
from tests.support.naive_world import NaiveWorld

INSTALLATION = "test"

_TYPES: dict[str, dict[str, Any]] = {
    "Weight": {"grams": "integer", "tags": {"list": "string"}},
    "Fit": {"tight": "boolean", "code": {"type": "string", "sensitive": True}},
}
_KINDS: list[dict[str, Any]] = [
    {
        "kind": "box",
        "group": "toy",
        "properties": {
            "size": {"type": "integer", "default": 7},
            "weight": {"type": "Weight", "compiler_parts": ["grams"]},
            "label": "string",
            "pin": {"type": "string", "sensitive": True},
            "number": {"type": "integer", "writer": "server"},
            "total": {"type": "integer", "writer": "compiler"},
            "children": "string",
        },
        "references": {
            "box": {"attribute": "Fit"},
            "sticker": {"writer": "shared", "attribute": "Fit", "ours": "(^|:)auto-[^:]*$"},
            "part": {"writer": "compiler"},
            "link": {"writer": "shared", "attribute": "Fit", "ours_with": {"tight": True}},
        },
        "mentions": {"named": {"kind": "box", "paths": ["label"]}},
        "indexes": {"label": {"paths": ["label"]}},
    },
    {
        "kind": "part",
        "group": "toy",
        "parents": ["box"],
        "properties": {
            "weight": {"type": "Weight", "writer": "compiler"},
            "weights": {"list": "Weight", "writer": "compiler"},
            "name_of": {"type": "string", "writer": "compiler"},
        },
        "references": {"sticker": {"writer_if_made": "compiler"}, "box": None},
    },
    {"kind": "sticker", "group": "toy"},
    {"kind": "link", "group": "toy"},
    {"kind": "sum", "group": "toy", "stored": False},
]


def toy_schema() -> Schema:
    types = TypeTable(_TYPES)
    return Schema(build_kind(msgspec.convert(spec, KindSpec), types, spec["kind"]) for spec in _KINDS)


def toy_world(**settings: Any) -> NaiveWorld:
    return NaiveWorld(toy_schema(), settings=settings)


def evaluate(world: NaiveWorld, key: Key, body: Any, limits: Limits | None = None, **options: Any) -> Outcome:
    """Run ``body(intent, ctx)``, a generator function or one that returns an iterable, as the intent of ``key``.
    ``options``: the runner's."""
    return runner(world, key.kind, body, limits, **options).run(key)


def runner(world: NaiveWorld, kind: str, body: Any, limits: Limits | None = None, **options: Any) -> Runner:
    """What runs ``body`` as the intent of every resource of ``kind``."""

    class Body(Intent):
        def evaluate(self, ctx: Any) -> Iterable[Any]:
            found: Iterable[Any] = body(self, ctx)
            return found

    Body.kind = kind
    return Runner(world.schema, {kind: Body}, world, installation=INSTALLATION, limits=limits, **options)


def seen(world: NaiveWorld, key: Key, look: Any) -> Any:
    """What ``look(intent, ctx)`` returns inside an evaluation; its exception if it raises one."""
    result: list[Any] = []

    def body(intent: Any, ctx: Any) -> tuple[()]:
        try:
            result.append(look(intent, ctx))
        except Exception as error:
            result.append(error)
        return ()

    evaluate(world, key, body)
    return result[0]
