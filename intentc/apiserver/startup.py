"""Writes missing fixed objects and pools, and seals secrets with the newest key, at each start of a server.

Why it exists: networks need a project, groups a pool, route targets an autonomous system (docs/contrail.md A.5, B.6).
Every server writes those that are missing, and changes none that exists, so several servers may start at once. A pool
that is one range and ends sooner is extended.

A key can be taken out of ``intentc.api.secret_keys`` only once nothing needs it any more. So a server with keys looks
for secrets under older ones and in plain text, page by page, while it answers requests; ``secrets`` seals. Values that
can't be read stay as they are.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from intentc.model import Key, Kind, Name
from intentc.reconcile.failures import Failure

from .admission import SETTINGS_POOLS
from .admission.well_known import OBJECTS, POOLS
from .api_server import ApiServer, Call
from .authorization import Caller
from .draft import Draft
from .errors import ApiError, Conflict, Malformed, NotFound, TooLarge

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
            [{"kind": kind, "operation": "CREATE", "data": body} for kind, body in objects], call=Call(_SERVER)
        )
    except (Conflict, TooLarge):
        return False
    return True


async def _write_missing(server: ApiServer, objects: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    for kind, body in objects:
        if not await _is_there(server, Name(kind, tuple(body["fq_name"]))):
            try:
                await server.create(kind, body, call=Call(_SERVER))
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


_LOG = logging.getLogger(__name__)


async def keep_sealed(server: ApiServer) -> None:
    """Seal all secrets with the newest key, and log the result. A failure is logged; the next start tries again."""
    if not server.secrets.newest:
        return
    try:
        changed = await reseal(server)
    except (ApiError, Failure) as error:
        _LOG.warning("not all stored secrets were encrypted with the newest key; the next start tries again: %s", error)
        return
    _LOG.info(
        "all stored secrets are encrypted with the key %s of intentc.api.secret_keys; resources that were changed: %s",
        server.secrets.newest,
        changed,
    )


async def reseal(server: ApiServer) -> int:
    """Seal all secrets with the newest key; returns how many resources were changed. Raises ``ApiError`` and
    ``Failure``."""
    changed = 0
    for kind in server.schema:
        if kind.stored and kind.secret_places:
            for key in await _unsealed(server, kind):
                changed += await _seal(server, kind, key)
    return changed


async def _unsealed(server: ApiServer, kind: Kind) -> list[Key]:
    """The resources of a kind with a secret that is not under the newest key."""
    found, lost = [], set[str]()
    async for item, document in server.draft().values(kind):
        if isinstance(document, Malformed):
            continue
        if server.secrets.sealed(kind, document) != document:
            found.append(Key(kind.name, server.layout.uuid(item.key)))
        else:
            lost |= server.secrets.lost(kind, document)
    if lost:
        _LOG.warning(
            "secrets of the kind %s are under keys that intentc.api.secret_keys has no more, and can't be read: %s",
            kind.name,
            ", ".join(sorted(lost)),
        )
    return found


async def _seal(server: ApiServer, kind: Kind, key: Key) -> bool:
    async def work(draft: Draft) -> bool:
        before = await draft.readable(key)
        if before is not None:
            await draft.stage(key, server.secrets.sealed(kind, before))
        return before is not None

    return (await server.commit(work, kind.name))[0]
