"""Sending the resources of input files: who is there already, and in how many transactions.

Why it exists: ``apply`` and ``delete`` share both questions. All changes go in one transaction if the server takes
them; if it says that they are too many, in as few as it takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import anyio

from intentc.configuration import Configuration
from intentc.loading.resources import Loaded, load_resources
from intentc.model import InvalidInput, Schema
from intentc.plugins import installed

from .client import ApiClient, Change, Refused
from .ordering import name_of, targets_first
from .output import print_document

_LOOKUPS_AT_ONCE = 16
_TOO_MANY_OPERATIONS = 413


def read_input(files: Iterable[str], configuration: Configuration) -> tuple[list[Loaded], Schema]:
    """The resources in ``files``, targets first, and the kinds in use. Raises ``InvalidInput``."""
    schema = installed(configuration).schema
    return targets_first(load_resources(files, schema), schema), schema


async def present(client: ApiClient, resources: Sequence[Loaded], schema: Schema) -> list[str | None]:
    """For each resource the uuid that it has at the server, None if there is none of its name.

    Raises ``InvalidInput`` if the file gives another uuid than the server has.
    """
    found: list[str | None] = [None] * len(resources)
    limiter = anyio.CapacityLimiter(_LOOKUPS_AT_ONCE)

    async def look_up(index: int, resource: Loaded) -> None:
        kind, data = schema.kind(resource.kind), resource.data
        async with limiter:
            if data.get("fq_name"):
                found[index] = await client.identify(kind, data["fq_name"])
            elif data.get("uuid") and await client.get(kind, data["uuid"]) is not None:
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


async def send(client: ApiClient, changes: Sequence[Change]) -> int:
    """Carry out ``changes`` in their order; the last revision of etcd that the server told, 0 if none.

    A request that is refused as too large is halved; what was sent before a refusal of another sort stays done.
    """
    waiting = [list(changes)] if changes else []
    revision = 0
    while waiting:
        chunk = waiting.pop()
        try:
            revision = max(revision, await client.sync(chunk))
        except Refused as error:
            if error.status != _TOO_MANY_OPERATIONS or len(chunk) == 1:
                raise
            middle = len(chunk) // 2
            waiting += [chunk[middle:], chunk[:middle]]
    return revision


def print_results(output: str, resources: Sequence[Loaded], actions: Sequence[str], revision: int) -> None:
    """What was done with each resource: ``{"results": [{"kind", "fq_name", "action"}], "revision"}``, or a table."""
    named = [(r.kind, name_of(r), action) for r, action in zip(resources, actions, strict=True)]
    results = [{"kind": kind, "fq_name": name.split(":"), "action": action} for kind, name, action in named]
    print_document(output, {"results": results, "revision": revision}, ("kind", "name", "action"), named)
