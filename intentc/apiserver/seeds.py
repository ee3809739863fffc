"""Writes the fixed objects and the number pools of a new installation (docs/contrail.md A.5, B.6).

Why it exists: networks need a project, groups a pool, route targets an autonomous system. Every server writes those
that are missing at every start, so that several servers may start at once. A pool that is one range and ends sooner is
extended. ``admission/seed_objects.py`` lists objects and pools, ``admission/__init__.py`` the pools whose range follows
from settings.

It writes through ``ApiServer``, as the server itself, and changes no object that exists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from intentc.model import Key, Name

from .admission import SETTINGS_POOLS
from .admission.seed_objects import OBJECTS, POOLS
from .authorization import Caller
from .errors import Conflict, NotFound, TooLarge
from .service import ApiServer

_SERVER = Caller(privileged=True)


async def write_seeds(server: ApiServer) -> None:
    """Write missing objects and pools; idempotent. Kinds that the schema doesn't have are left out."""
    for pool, start, end in POOLS:
        await server.ensure_pool(pool, start, end)
    objects = [(kind, body) for kind, body in OBJECTS if kind in server.schema]
    if not await _are_written_at_once(server, objects):
        await _write_missing(server, objects)
    # The pools of an installation that is older than they are; a new one got them with the object.
    for pool, settings, range_of in SETTINGS_POOLS:
        if settings.kind in server.schema:
            key = Key(settings.kind, await server.identify(settings.kind, settings.fq_name, caller=_SERVER))
            start, end = range_of((await server.get(key, caller=_SERVER)).document)
            await server.ensure_pool(pool, start, end + 1)


async def _are_written_at_once(server: ApiServer, objects: Sequence[tuple[str, Mapping[str, Any]]]) -> bool:
    """Write the objects of a new installation in one transaction, with less than half of the requests to etcd. False if
    some are there already, or etcd takes no transaction as large as that."""
    if not objects or await _is_there(server, Name(objects[0][0], tuple(objects[0][1]["fq_name"]))):
        return False
    try:
        await server.sync(
            [{"kind": kind, "operation": "CREATE", "data": body} for kind, body in objects], caller=_SERVER
        )
    except (Conflict, TooLarge):
        return False
    return True


async def _write_missing(server: ApiServer, objects: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    for kind, body in objects:
        if not await _is_there(server, Name(kind, tuple(body["fq_name"]))):
            try:
                await server.create(kind, body, caller=_SERVER)
            except Conflict:
                # Another starting server was faster, or a user took the uuid; only the latter is an error.
                if not await _is_there(server, Name(kind, tuple(body["fq_name"]))):
                    raise


async def _is_there(server: ApiServer, name: Name) -> bool:
    try:
        await server.identify(name.kind, name.fq_name, caller=_SERVER)
    except NotFound:
        return False
    return True
