"""Reads the resources of input files, finds the existing ones, sends the changes, and prints what was done.

Why it exists: ``apply`` and ``delete`` share these steps, and whatever compiles files reads them so. All changes go in
one transaction if the server accepts it; a request that is too large is halved, unless all must go together.

It reads files or stdin, sends requests to the API server, and prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import anyio

from intentc.loading.configuration import Configuration
from intentc.loading.resources import Loaded, load_what_can_be
from intentc.model import InvalidInput, Schema, all_invalid
from intentc.plugins import declared

from .client import ApiClient, Change, Rejected
from .errors import CommandError, Exit
from .file_lines import place_of, with_resource_name
from .lookup import read
from .ordering import fq_name_of, name_of, targets_first
from .output import print_document

CALLS_AT_ONCE = 16
_TOO_MANY_OPERATIONS = 413
STALE = (409, 412)
"""The status codes with which the server rejects a change of a resource that was changed meanwhile."""
_HOLDER = re.compile(r"(?P<kind>[\w-]+)/(?P<uuid>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")


Done = tuple[str, list[str], str]
"""Kind, fq_name, and what was done: ``created``, ``updated``, ``unchanged``, ``deleted``, ``absent``, or ``reference
removed``."""


class Stale(CommandError):
    """A resource was changed after the plan was made; nothing was written."""

    def __init__(self, what: str, *, where: str = "") -> None:
        super().__init__(
            f"the plan is stale: {what}",
            where=where,
            next_step="make a new plan, and review it",
            code=Exit.DIFFERENT,
        )


class Sent(NamedTuple):
    """One change, and its resource in the input."""

    resource: Loaded
    change: Change


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


async def present(client: ApiClient, resources: Sequence[Loaded], schema: Schema) -> list[str | None]:
    """The uuid of each resource at the server, None if the server has none of its name.

    Raises ``InvalidInput`` if the file gives another uuid than the server has.
    """
    found: list[str | None] = [None] * len(resources)
    limiter = anyio.CapacityLimiter(CALLS_AT_ONCE)

    async def look_up(index: int, resource: Loaded) -> None:
        kind, data = schema.kind(resource.kind), resource.data
        async with limiter:
            if data.get("fq_name"):
                found[index] = await client.identify(kind, data["fq_name"])
            elif data.get("uuid") and await read(client, kind, data["uuid"]) is not None:
                found[index] = data["uuid"]

    async with anyio.create_task_group() as group:
        for index, resource in enumerate(resources):
            group.start_soon(look_up, index, resource)
    for uuid, resource in zip(found, resources, strict=True):
        given = resource.data.get("uuid")
        if uuid and given and given != uuid:
            raise InvalidInput(
                f"{resource.kind} {name_of(resource)} exists with uuid {uuid}; "
                "take the uuid out of the file, or delete the other one first",
                source=resource.source,
            )
    return found


async def send(client: ApiClient, changes: Sequence[Sent], *, together: bool = False) -> None:
    """Carry out ``changes`` in their order.

    A request that the server rejects as too large is halved, unless the changes must go ``together``; requests before
    another rejection stay done. Raises ``CommandError``, naming ``file:line`` of the rejected resource if the server
    names it.
    """
    waiting = [list(changes)] if changes else []
    while waiting:
        chunk = waiting.pop()
        try:
            await client.sync([sent.change for sent in chunk])
        except Rejected as error:
            if together and error.status in STALE:
                raise Stale((await _explained(client, error, chunk, first_only=True)).what) from None
            if error.status != _TOO_MANY_OPERATIONS or len(chunk) == 1 or together:
                raise await _explained(client, error, chunk) from None
            middle = len(chunk) // 2
            waiting += [chunk[middle:], chunk[:middle]]


async def _explained(
    client: ApiClient, error: Rejected, chunk: Sequence[Sent], *, first_only: bool = False
) -> CommandError:
    """The rejection with the resource's name and line, and names in place of uuids."""
    message = await with_names(client, error.what)
    if error.item is None or error.item >= len(chunk):
        return CommandError(message, where=error.where, next_step=error.next_step, code=error.code)
    resource = chunk[error.item].resource
    if first_only or len(error.rejected) < 2:
        return error.about(with_resource_name(resource, message), place_of(resource, message))
    found = [(chunk[item].resource, detail) for item, detail in error.rejected.items() if item < len(chunk)]
    named = [(one, await with_names(client, detail)) for one, detail in found]
    lines = [f"{place_of(one, detail)}: {with_resource_name(one, detail)}" for one, detail in named]
    return error.about("\n  ".join([f"{len(lines)} resources are rejected:", *lines]), "")


async def with_names(client: ApiClient, message: str) -> str:
    """A server's message with names in place of uuids."""
    for kind, uuid in dict.fromkeys(_HOLDER.findall(message)):
        name = await client.name_of(uuid)
        if name:
            message = message.replace(f"{kind}/{uuid}", f"{kind} {name}")
    return message


def print_results(output: str, resources: Sequence[Loaded], actions: Sequence[str], revision: int) -> None:
    """Print the action for each resource of the input, like ``print_actions``."""
    done = [(r.kind, fq_name_of(r), action) for r, action in zip(resources, actions, strict=True)]
    print_actions(output, done, revision)


def print_actions(output: str, done: Iterable[tuple[str, Sequence[str], str]], revision: int) -> None:
    """Print (kind, fq_name, action): ``{"results": [{"kind", "fq_name", "action"}], "revision"}``, or a table."""
    results = [{"kind": kind, "fq_name": fq_name, "action": action} for kind, fq_name, action in done]
    rows = [(str(one["kind"]), ":".join(one["fq_name"]), str(one["action"])) for one in results]
    print_document(output, {"results": results, "revision": revision}, ("kind", "name", "action"), rows)
