"""What must be there before anybody works: the fixed objects and the number pools (docs/contrail.md A.5, B.6).

Why it exists: networks need a project, groups a pool, route targets an autonomous system. Written at every start of
every server, each only if it is missing, so that several servers may start at once. Which objects they are is told in
``admission/seed_objects.py``.
"""

from __future__ import annotations

from intentc.model import Name

from .admission.seed_objects import OBJECTS, POOLS
from .errors import Conflict, NotFound
from .resources import Caller
from .service import ApiServer

_SERVER = Caller(privileged=True)


async def write_seeds(server: ApiServer) -> None:
    """Write what is missing; a second time does nothing. Kinds that the schema doesn't have are left out."""
    for pool, start, end in POOLS:
        await server.ensure_pool(pool, start, end)
    for kind, body in OBJECTS:
        if kind in server.schema and not await _is_there(server, Name(kind, tuple(body["fq_name"]))):
            try:
                await server.create(kind, body, caller=_SERVER)
            except Conflict:
                # Another server that starts now was faster, or a user took the uuid; only the latter is a fault.
                if not await _is_there(server, Name(kind, tuple(body["fq_name"]))):
                    raise


async def _is_there(server: ApiServer, name: Name) -> bool:
    try:
        await server.identify(name.kind, name.fq_name, caller=_SERVER)
    except NotFound:
        return False
    return True
