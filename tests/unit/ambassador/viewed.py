"""The views of a gateway, over a compile in memory or over handmade elements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from intentc import Row
from intentc.compilers.ambassador.views import VIEWS
from intentc.inspection import Reader
from intentc.model import Problem
from tests.support.ambassador.hosts import MemoryGateway


async def rows(gate: MemoryGateway, view: str) -> list[Row]:
    found = await Reader(gate.service.offline.engine, VIEWS).rows(view, lambda row: True)
    for row in found if view in VIEWS else ():
        assert set(row) == set(VIEWS[view].columns)
    return found


class HandMade:
    """Elements (and users' resources) as a test writes them: ``{kind: {name: fields}}``."""

    def __init__(self, objects: Mapping[str, Mapping[str, dict[str, Any]]], problems: Iterable[Problem] = ()) -> None:
        self.problems = tuple(problems)
        self._objects = {
            kind: {name: {"kind": kind, "fq_name": name.split(":"), **fields} for name, fields in named.items()}
            for kind, named in objects.items()
        }

    def objects(self, kind: str) -> list[dict[str, Any]]:
        return [found for _, found in sorted(self._objects.get(kind, {}).items())]

    def named(self, kind: str, name: str) -> dict[str, Any] | None:
        return self._objects.get(kind, {}).get(name)

    def rows(self, view: str) -> list[Row]:
        return list(VIEWS[view].rows(self))
