"""Reads the resources of input files, sorts them, and finds the lines that errors and problems are about.

Why it exists: a file may hold a child before its parent, and too many resources for one transaction; every chunk must
find what it names. Servers and compilers don't know files: a rejected ``/sync`` names an element by its index, a
problem names kind and fq_name, and both name fields as users write them; a user needs ``file:line``. What compiles
files applies them to an ``Offline`` in memory; ``transfer`` applies them at an API server.
"""

from __future__ import annotations

import graphlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from intentc.loading.configuration import Configuration
from intentc.loading.resource_files import Loaded, load_what_can_be
from intentc.model import InvalidInput, Kind, Problem, Schema, all_invalid, kebab, snake
from intentc.plugins import declared

if TYPE_CHECKING:
    from intentc.apiserver.errors import ApiError
    from intentc.offline.offline import Offline

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


_ITEM = re.compile(r"item (?P<index>\d+)(?: \(.*?\))?: (?P<detail>.*)", re.DOTALL)
_FIELD = re.compile(r"[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*|\[\d+\])*")
_STEP = re.compile(r"([A-Za-z_][\w-]*)|\[(\d+)\]")


def item_in(message: str) -> tuple[int | None, str]:
    """The index of the element that a rejection names (``item 3 (kind a:b:c): …``), None if none; and the rest."""
    found = _ITEM.fullmatch(message)
    return (int(found["index"]), found["detail"]) if found else (None, message)


def place_of(resource: Loaded, message: str) -> str:
    """``file:line`` of the field of ``resource`` that ``message`` names; of the resource itself if it names none."""
    named = (_steps(_plain(text), resource.data) for text in _FIELD.findall(message))
    return resource.where(max(named, key=len, default=()))


def with_resource_name(resource: Loaded, message: str) -> str:
    """``message`` with kind and name of its resource at the beginning, once."""
    name = name_of(resource)
    for beginning in (f"{kebab(resource.kind)} {name}: ", f"{kebab(resource.kind)}: "):
        message = message.removeprefix(beginning)
    return f"{resource.kind} {name}: {message}"


def located(problem: Problem, resources: Sequence[Loaded]) -> Problem:
    """``problem`` with ``file:line`` as its source, if it is about one of ``resources``."""
    for resource in resources:
        if is_about(problem, resource):
            return msgspec.structs.replace(problem, source=place_of(resource, problem.message))
    return problem


def is_about(problem: Problem, resource: Loaded) -> bool:
    """Whether a problem is about this resource."""
    return (problem.kind, problem.name) == (resource.kind, name_of(resource))


def line_of(problem: Problem) -> str:
    """A problem as one line of text, and below it where the author's code failed, if it did."""
    where = f"{problem.source}: " if problem.source else ""
    frames = "".join(f"\n    {line}" for line in problem.trace)
    return f"{where}{problem.kind} {problem.name}: {problem.message}{frames}"


def _plain(text: str) -> str:
    """A field's path in a resource's data: manifests have it under ``spec``."""
    return text.removeprefix("spec.")


def _steps(text: str, data: Any) -> tuple[str | int, ...]:
    """The steps of ``a.b[0]`` that exist in ``data``."""
    steps: list[str | int] = []
    for name, index in _STEP.findall(text):
        step = name or int(index)
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            break
        steps.append(step)
    return tuple(steps)


def read_input(files: Iterable[str], configuration: Configuration) -> tuple[list[Loaded], Schema]:
    """The resources in ``files``, targets first, and the kinds in use. Raises ``InvalidInput`` with all errors of all
    files, or if there are no resources."""
    given = list(files)
    schema = declared(configuration).schema
    resources = faultless(*load_what_can_be(given, schema), schema)
    if not resources:
        raise InvalidInput(f"no resources in {', '.join(given)}", reason="Empty")
    return targets_first(resources, schema), schema


def faultless(resources: list[Loaded], errors: list[InvalidInput], schema: Schema) -> list[Loaded]:
    """``resources`` if there are no ``errors``. Else raises all of them, with the errors in the other resources'
    fields."""
    if errors:
        raise all_invalid([*errors, *_field_faults(resources, schema)])
    return resources


def _field_faults(resources: Iterable[Loaded], schema: Schema) -> Iterator[InvalidInput]:
    """The errors that an API server finds in a resource alone: unknown fields, and values of another type."""
    from intentc.apiserver.admission.fields import accept, flat_body
    from intentc.apiserver.errors import ApiError

    for resource in resources:
        kind = schema.kind(resource.kind)
        try:
            accept(schema, kind, flat_body(kind, resource.data).fields)
        except ApiError as error:
            yield InvalidInput(with_resource_name(resource, error.message), source=place_of(resource, error.message))


def read_what_can_be(
    files: Iterable[str], configuration: Configuration
) -> tuple[list[Loaded], Schema, list[InvalidInput]]:
    """The usable resources in ``files``, the kinds in use, and the errors of the other resources."""
    schema = declared(configuration).schema
    resources, errors = load_what_can_be(list(files), schema)
    return targets_first(resources, schema), schema, errors


async def apply_inputs(offline: Offline, inputs: Sequence[Loaded], *, mirrored: bool = False) -> None:
    """Apply resources of files to an ``Offline`` at once. ``mirrored``: manifests keep their times, as if a bridge had
    brought them from a cluster. Raises ``InvalidInput`` naming those that are rejected."""
    from intentc.apiserver.errors import ApiError

    try:
        await offline.apply(_creation(each, mirrored=mirrored) for each in inputs)
    except ApiError as error:
        if error.item is None:
            raise InvalidInput(error.message) from None
        raise all_invalid([rejection for _, rejection in _rejections(error, inputs)]) from None


async def apply_what_can_be(
    offline: Offline, inputs: Sequence[Loaded], *, mirrored: bool = False
) -> list[InvalidInput]:
    """Apply the resources that are not rejected, and return the errors of the others; ``mirrored`` as above."""
    from intentc.apiserver.errors import ApiError

    left, errors = list(inputs), []
    while left:
        try:
            await offline.apply(_creation(each, mirrored=mirrored) for each in left)
        except ApiError as error:
            if error.item is None:
                raise
            rejected = _rejections(error, left)
            errors += [rejection for _, rejection in rejected]
            places = {place for place, _ in rejected}
            left = [resource for place, resource in enumerate(left) if place not in places]
        else:
            break
    return errors


def _creation(each: Loaded, *, mirrored: bool) -> dict[str, Any]:
    creation = {"kind": each.kind, "operation": "CREATE", "data": each.data}
    # ``moves`` is of manifests only; other kinds can't be mirrored.
    return {**creation, "mirror": True} if mirrored and each.moves is not None else creation


def _rejections(error: ApiError, inputs: Sequence[Loaded]) -> list[tuple[int, InvalidInput]]:
    """The index in ``inputs`` of each rejected resource, and its error."""
    found = []
    for item, detail in error.rejected or ((error.item or 0, error.detail),):
        resource = inputs[item]
        found.append((item, InvalidInput(with_resource_name(resource, detail), source=place_of(resource, detail))))
    return found
