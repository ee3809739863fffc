"""Creates and updates resources at the API server, for ``apply``, ``dev`` and plans; equal ones are left alone.

``differences`` decides what is equal, ``transfer`` reads the input and sends the changes, ``deleting`` deletes.
``apply_by`` uses the client that it gets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import anyio

if TYPE_CHECKING:
    from intentc.loading.configuration import Configuration
    from intentc.loading.resources import Loaded as Input
    from intentc.model import Key, Schema

    from .client import ApiClient
    from .lookup import Meant


class Applied(NamedTuple):
    """The action for each resource, and the etcd revision that includes all of them."""

    actions: list[str]
    revision: int


async def apply_resources(resources: Sequence[Input], schema: Schema, configuration: Configuration) -> Applied:
    """Create ``resources``, or update those that differ from the stored ones. Raises ``InvalidInput`` and
    ``CommandError``."""
    from intentc.writing.connection import Connection

    from .client import ApiClient
    from .connecting import api_server

    async with ApiClient(Connection(api_server(configuration))) as client:
        return await apply_by(client, resources, schema)


async def apply_by(
    client: ApiClient, resources: Sequence[Input], schema: Schema, seen: Mapping[Key, int] | None = None
) -> Applied:
    """Apply ``resources`` at the server of ``client``. ``seen``: the revisions that all of them must still have; then
    they go in one transaction, and ``Stale`` is raised if one has another revision."""
    from intentc.model import Key

    from .client import Change
    from .differences import replacing, says_the_same
    from .transfer import Sent, present, send

    actions: list[str] = []
    changes: list[Sent] = []
    uuids = await present(client, resources, schema)
    stored = await _stored(client, resources, uuids, schema)
    for resource, uuid, found in zip(resources, uuids, stored, strict=True):
        kind, data = resource.kind, resource.data
        there = found.data if found is not None else None
        if resource.whole and there is not None:
            data = replacing(schema.kind(kind), data, there)
        if not uuid:
            actions.append("created")
            changes.append(Sent(resource, Change("CREATE", kind, data, must_be_new=seen is not None)))
            continue
        revision = None if seen is None else seen.get(Key(kind, uuid), 0)
        if found is not None and found.data is None:
            # Only a whole resource with this name replaces a value that can't be read.
            actions.append("replaced")
            changes.append(
                Sent(resource, Change("UPDATE", kind, {"fq_name": found.fq_name, **data, "uuid": uuid}, revision))
            )
        elif there is not None and says_the_same(data, there):
            actions.append("unchanged")
            if seen is not None:
                changes.append(Sent(resource, Change("UPDATE", kind, {"uuid": uuid}, revision)))
        else:
            actions.append("updated")
            changes.append(Sent(resource, Change("UPDATE", kind, {**data, "uuid": uuid}, revision)))
    await send(client, changes, together=seen is not None)
    return Applied(actions, client.revision)


async def _stored(
    client: ApiClient, resources: Sequence[Input], uuids: Sequence[str | None], schema: Schema
) -> list[Meant | None]:
    """Each resource as the server has it; None without a uuid, or if it was deleted since."""
    from .lookup import read as read_resource
    from .transfer import CALLS_AT_ONCE

    found: list[Meant | None] = [None] * len(resources)
    limiter = anyio.CapacityLimiter(CALLS_AT_ONCE)

    async def read(index: int, kind: str, uuid: str) -> None:
        async with limiter:
            found[index] = await read_resource(client, schema.kind(kind), uuid)

    async with anyio.create_task_group() as group:
        for index, (resource, uuid) in enumerate(zip(resources, uuids, strict=True)):
            if uuid:
                group.start_soon(read, index, resource.kind, uuid)
    return found
