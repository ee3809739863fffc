"""Writes the fixed objects and the number pools of a new installation (docs/contrail.md A.5, B.6).

Why it exists: networks need a project, groups a pool, route targets an autonomous system. Every server writes those
that are missing at every start, so that several servers may start at once. A pool that is one range and ends sooner is
extended. ``admission/seed_objects.py`` lists objects and pools, ``admission/__init__.py`` the pools whose range follows
from settings.

It writes through ``ApiServer``, as the server itself, and changes no object that exists.

Touches: nothing itself; through others: clock, etcd, randomness.
"""

from __future__ import annotations

from intentc.model import Key, Name

from .admission import SETTINGS_POOLS
from .admission.seed_objects import OBJECTS, POOLS
from .authorization import Caller
from .errors import Conflict, NotFound
from .service import ApiServer

_SERVER = Caller(privileged=True)


async def write_seeds(server: ApiServer) -> None:
    """Write missing objects and pools; idempotent. Kinds that the schema doesn't have are left out."""
    for pool, start, end in POOLS:
        await server.ensure_pool(pool, start, end)
    for kind, body in OBJECTS:
        if kind in server.schema and not await _is_there(server, Name(kind, tuple(body["fq_name"]))):
            try:
                await server.create(kind, body, caller=_SERVER)
            except Conflict:
                # Another starting server was faster, or a user took the uuid; only the latter is an error.
                if not await _is_there(server, Name(kind, tuple(body["fq_name"]))):
                    raise
    # The pools of an installation that is older than they are; a new one got them with the object.
    for pool, settings, range_of in SETTINGS_POOLS:
        if settings.kind in server.schema:
            key = Key(settings.kind, await server.identify(settings.kind, settings.fq_name, caller=_SERVER))
            start, end = range_of((await server.get(key, caller=_SERVER)).document)
            await server.ensure_pool(pool, start, end + 1)


async def _is_there(server: ApiServer, name: Name) -> bool:
    try:
        await server.identify(name.kind, name.fq_name, caller=_SERVER)
    except NotFound:
        return False
    return True
