"""Reads, applies and deletes single objects that compilers make in the cluster.

Why it exists: what we write must change no object that somebody else made. So an apply of an existing object carries
its uid, one of a new object a version that no object has (unless the server rejects that), and a deletion the uid; and
no apply takes a field away from another manager.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from intentc.outgoing import with_list_keys
from intentc.reconcile.backoff import Backoff
from intentc.reconcile.failures import Conflict, Failure, Rejected, Unavailable

from .cluster import Cluster

MANAGER = "intentc"
"""Under which name we own fields in a cluster."""

_APPLY = "application/apply-patch+yaml"
_NO_VERSION = "1"
"""A resourceVersion that no object has: etcd's first revision is an empty store's."""
_NO_GUARD = "resourceVersion should not be set"
"""With these words, and the status 500, servers of older clusters reject each guarded creation of a Service."""
_TIME = re.compile(r" at \d{4}-\d\d-\d\dT[\d:]+Z")


class NotAsExpected(Failure):
    """The object is another one than expected, or exists although it should not: read it again."""

    backoff = Backoff(0.2, 30.0)


async def read(cluster: Cluster, path: str) -> bytes | None:
    """An object; None if it does not exist. Raises ``Failure``."""
    try:
        return await cluster.get(path)
    except Rejected as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return None
        raise


async def apply(cluster: Cluster, path: str, body: Mapping[str, Any], uid: str, *, create_only: bool = True) -> bytes:
    """Write the fields in ``body``, and create the object if ``uid`` is empty; returns it. ``create_only``: never write
    an object that was created meanwhile, which some server might not understand. Raises ``Failure``, and
    ``NotAsExpected``."""
    guard = {"uid": uid} if uid else {"resourceVersion": _NO_VERSION} if create_only else {}
    guarded = {**with_list_keys(body), "metadata": {**body["metadata"], **guard}}
    try:
        return await cluster.send("PATCH", path, {"fieldManager": MANAGER}, guarded, _APPLY)
    except (Conflict, Rejected) as error:
        if _is_another(error):
            raise NotAsExpected(str(error)) from None
        raise
    except Unavailable as error:
        if create_only and not uid and _NO_GUARD in str(error):
            raise NotAsExpected(str(error)) from None
        raise


async def delete(cluster: Cluster, path: str, uid: str) -> bytes | None:
    """Delete the object with this uid; returns it if the cluster is still deleting it. Raises ``Failure``, and
    ``NotAsExpected``."""
    options = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": uid},
        "propagationPolicy": "Background",
    }
    try:
        answer = await cluster.send("DELETE", path, None, options)
    except (Conflict, Rejected) as error:
        if error.status in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
            raise NotAsExpected(str(error)) from None
        raise
    found = msgspec.json.decode(answer, type=dict[str, Any])
    return answer if found.get("kind") != "Status" and (found.get("metadata") or {}).get("uid") == uid else None


def words_of(error: Exception) -> str:
    """What people read of a rejection. A conflict names the other manager; its times, which change with each of its
    writes, are left out."""
    return _TIME.sub("", str(error))


def _is_another(error: Conflict | Rejected) -> bool:
    """Whether an apply was rejected for what it said of uid or version, and not for its fields."""
    if error.status == HTTPStatus.CONFLICT:
        return "Apply failed" not in str(error)
    return error.status == HTTPStatus.UNPROCESSABLE_ENTITY and "metadata.uid" in str(error)
