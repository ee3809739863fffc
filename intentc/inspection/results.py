"""Computes the views that compilers offer over their outputs, and the tables of problems and of withheld writes.

Why it exists: a view is an author's pure function over objects, and reading thousands of objects takes longer than the
loop may be held. So the objects are gathered at one moment, which is quick, and read in a thread. The thread asks the
running engine which secrets were read for them. ``diagnostics`` and the commands choose, page and show the rows.

It reads the engine and changes nothing. State: a lock, since one view is computed at a time, and what was gathered for
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import anyio
import anyio.to_thread
import msgspec

from ..engine.live import Live
from ..evaluation import Compiled, Overview, Row
from ..evaluation.overview import PLANNED, PROBLEMS
from ..logic import LiveWorld
from ..model import HeldInput, Problem, Resource, verb, written_fields
from ..model.sensitive import cleared_resource, concealed
from .secrets import Behind, holders_of_secrets, read_for_each, secrets_in


def _problem_rows(compiled: Compiled) -> Iterable[Row]:
    return (problem.shown() for problem in compiled.problems)


_PROBLEMS = Overview(
    "what people must fix, listed on the resource that must change",
    (),
    ("kind", "name", "reason", "message"),
    _problem_rows,
)


class Results:
    """Computes views over one engine. ``views``: those of its compilers, by name."""

    def __init__(self, live: Live, views: Mapping[str, Overview]) -> None:
        self._live = live
        self._overviews: Mapping[str, Overview] = {PROBLEMS: _PROBLEMS, PLANNED: self._planned(), **views}
        self._one_at_a_time = anyio.Lock()

    @property
    def views(self) -> dict[str, dict[str, Any]]:
        """Name → ``{"description", "columns"}``."""
        return {
            name: {"description": overview.description, "columns": list(overview.columns)}
            for name, overview in self._overviews.items()
        }

    async def rows(self, view: str, wanted: Callable[[Row], bool]) -> list[Row]:
        """Return the ``wanted`` rows of ``view`` as of now, whether the engine has converged or not. ``wanted`` is
        called in another thread. Raises ``KeyError`` if there is no such view."""
        overview = self._overviews[view]
        async with self._one_at_a_time:
            gathered = Gathered(self._live, overview.kinds)
            return await anyio.to_thread.run_sync(lambda: [row for row in overview.rows(gathered) if wanted(row)])

    def _planned(self) -> Overview:
        """Describe the writes that wait for permission; their values are in ``/object``."""

        def rows(compiled: Compiled) -> Iterable[Row]:
            # In another thread: the table may change meanwhile.
            for name, operations in sorted(dict(self._live.states.planned).items()):
                for operation in operations:
                    yield {
                        "kind": name.kind,
                        "name": ":".join(name.fq_name),
                        "write": verb(operation),
                        "fields": list(written_fields(operation)),
                    }

        description = "what would be written if writes were permitted, as with --observe and on a standby"
        return Overview(description, (), ("kind", "name", "write", "fields"), rows)


class Gathered:
    """``Compiled`` over resources of one moment: they never change, so threads may read them. Which secrets are behind
    them is looked up when the first is read."""

    def __init__(self, live: Live, kinds: Sequence[str]) -> None:
        self._problems = (*live.states.problem_counts, *live.world.held.values())
        self._by_name = {
            kind: {":".join(resource.fq_name): resource for resource in _readable(live.world, kind)} for kind in kinds
        }
        self._live = live
        self._holders = holders_of_secrets(live.world) if kinds else ()

    @cached_property
    def _behind(self) -> Behind:
        return read_for_each(self._live.world, self._live.planner, self._holders)

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """All problems, sorted on first use, which is in a thread: there may be many thousands."""
        return tuple(sorted({*self._problems}))

    def objects(self, kind: str) -> Iterator[Mapping[str, Any]]:
        resources = self._by_name[kind].values()
        return map(self._document, sorted(resources, key=lambda resource: resource.fq_name))

    def named(self, kind: str, name: str) -> Mapping[str, Any] | None:
        resource = self._by_name.get(kind, {}).get(name)
        return self._document(resource) if resource is not None else None

    def _document(self, resource: Resource) -> dict[str, Any]:
        behind, document = self._behind.get(resource.name), document_of(resource)
        return cleared_resource(secrets_in(behind), document) if behind else document


def _readable(world: LiveWorld, kind: str) -> Iterator[Resource]:
    for key in world.cache.all(kind):
        try:
            resource = world.resource(key)
        except HeldInput:
            continue
        if resource is not None:
            yield resource


def document_of(resource: Resource) -> dict[str, Any]:
    """Return a resource in the form that ``Compiled`` offers."""
    # Decoded from the stored bytes, which is faster: there may be many thousands.
    kind, stored = resource.kind, msgspec.json.decode(resource.raw)
    fields = (*kind.properties, *(f"{relation}_refs" for relation in kind.relations))
    found = {field: value for field in fields if (value := stored.get(field)) is not None}
    identity = {"kind": kind.name, "uuid": resource.key.uuid, "fq_name": list(resource.fq_name)}
    return concealed(kind, {**identity, **found})
