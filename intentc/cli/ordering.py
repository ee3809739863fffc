"""Sorts the resources of input files: parents and reference targets before the resources that name them.

Why it exists: a file may hold a child before its parent, and too many resources for one transaction; every chunk must
find what it names. The kinds declare what refers to what; the server checks whether a target exists. ``name_of`` and
``fq_name_of`` have the name of a resource in a file.

Pure functions of values.
"""

from __future__ import annotations

import graphlib
from collections.abc import Iterator, Sequence

from intentc.loading.resources import Loaded
from intentc.model import InvalidInput, Kind, Schema, snake

_Identity = tuple[str, str]


def name_of(resource: Loaded) -> str:
    """The fq_name joined by ``:``; the name or the uuid if the file has no fq_name."""
    data = resource.data
    return ":".join(data.get("fq_name") or [data.get("name") or data.get("uuid") or ""])


def fq_name_of(resource: Loaded) -> list[str]:
    """The elements of the fq_name, which may contain colons; one element for a bare name or uuid."""
    return list(resource.data.get("fq_name") or [name_of(resource)])


def targets_first(resources: Sequence[Loaded], schema: Schema) -> list[Loaded]:
    """``resources`` with parents and reference targets before those that name them, else by kind and name.

    Raises ``InvalidInput`` naming the resources of a reference cycle.
    """
    position: dict[_Identity, int] = {}
    for index, resource in enumerate(resources):
        position[resource.kind, name_of(resource)] = index
        if resource.data.get("uuid"):
            position[resource.kind, resource.data["uuid"]] = index
    sorter: graphlib.TopologicalSorter[int] = graphlib.TopologicalSorter()
    for index, resource in enumerate(resources):
        wanted = (position.get(identity, index) for identity in _named_by(resource, schema.kind(resource.kind)))
        sorter.add(index, *(target for target in wanted if target != index))
    try:
        sorter.prepare()
    except graphlib.CycleError as error:
        circle = [resources[index] for index in error.args[1]]
        names = " -> ".join(f"{resource.kind} {name_of(resource)}" for resource in reversed(circle))
        raise InvalidInput(
            f"resources refer to each other: {names}; apply one of them without its reference first",
            source=circle[0].source,
        ) from None
    found: list[Loaded] = []
    while sorter.is_active():
        ready = sorter.get_ready()
        found += sorted((resources[index] for index in ready), key=lambda r: (r.kind, name_of(r)))
        sorter.done(*ready)
    return found


def _named_by(resource: Loaded, kind: Kind) -> Iterator[_Identity]:
    data = resource.data
    parents = [snake(data["parent_type"])] if data.get("parent_type") else [parent.kind for parent in kind.parents]
    above = ":".join((data.get("fq_name") or [])[:-1])
    for parent in parents:
        yield parent, data.get("parent_uuid") or above
    for relation in kind.relations:
        for entry in data.get(f"{relation}_refs") or ():
            if isinstance(entry, dict):
                yield relation, entry.get("uuid") or ":".join(map(str, entry.get("to") or ()))
