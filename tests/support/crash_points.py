"""The crash points of ``intentc``'s processes: their names, and a hook that is called at each of them.

``intentc.crashpoints`` reports most of them. ``create.sent``, ``update.sent``, ``delete.sent``, ``ref.sent``,
``allocate.sent`` and ``free.sent`` are found here, by a trace of the requests to the API server: the request was sent,
its answer is not yet read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import httpx2
import msgspec

from intentc import crashpoints
from intentc.writing.connection import Connection

POINTS = frozenset(
    [
        "list.page",
        "relist.begun",
        "relist.diffed",
        "batch.applied",
        "walk.done",
        "evaluate.done",
        "echo.seen",
        "allocate.sent",
        "allocate.answered",
        "free.sent",
        "free.answered",
        "create.sent",
        "create.answered",
        "update.sent",
        "update.answered",
        "ref.sent",
        "add_ref.answered",
        "delete.sent",
        "delete.answered",
        "lease.won",
        "lease.lost",
        "audit.begun",
    ]
)
"""``relist.*``: every listing of the world but the first. ``echo.seen``: both the answer and the echo of one of our own
writes have arrived, in either order."""

BRIDGE_POINTS = frozenset(
    [
        "cluster.page",
        "create.sent",
        "copy.answered",
        "delete.sent",
        "mark.written",
        "status.sent",
        "event.sent",
        "lease.won",
    ]
)
"""Those of the Kubernetes bridge. ``cluster.page``: a page of a list is taken in; ``copy.answered``: the answer to the
write of a copy was read, its echo was not seen; ``mark.written``: etcd has the mark of a kind; ``status.sent``: the
cluster has answered the write of a status, the answer is not taken in; ``event.sent``: the cluster has an Event, which
is not noted as reported."""

PUBLISHER_POINTS = frozenset(
    [
        "gateway.read",
        "gateway.recorded",
        "document.begun",
        "document.sent",
        "document.done",
        "document.kept",
        "rejection.answered",
        "rejection.recorded",
        "addresses.recorded",
        "create.sent",
        "update.sent",
        "lease.won",
    ]
)
"""Those of the publisher of Application Gateways. ``document.begun``: etcd says that a write begins, Azure was not
asked; ``document.sent``: Azure has accepted the document, and works on it; ``document.done``: Azure has ended, nothing
is recorded; ``rejection.answered``: Azure has rejected the document, nobody is left out yet."""

_SENT = "http11.send_request_body.complete"
_OF_PATH = {
    ("POST", "/ref-update"): "ref.sent",
    ("POST", "/int-pool"): "allocate.sent",
    ("DELETE", "/int-pool"): "free.sent",
}
_OF_METHOD = {"POST": "create.sent", "PUT": "update.sent", "DELETE": "delete.sent"}
_READS = {"/fqname-to-id", "/id-to-fqname", "/ref-relax-for-delete"}


@contextmanager
def installed(hook: crashpoints.Hook) -> Iterator[None]:
    """Call ``hook`` at each crash point of this process during the block."""
    begin = Connection.__init__

    def begun(connection: Connection, *arguments: Any, **options: Any) -> None:
        begin(connection, *arguments, **options)
        client, urls = connection._client, connection.endpoint.urls
        build = client.build_request

        def build_request(method: str, url: str, **request: Any) -> httpx2.Request:
            base = next((base for base in urls if url.startswith(base)), url)
            points = _sent(method, url.removeprefix(base), request["content"])
            return build(method, url, extensions={"trace": _reaching(points, hook)}, **request)

        client.build_request = build_request  # type: ignore[assignment, method-assign]

    crashpoints.install(hook)
    try:
        with mock.patch.object(Connection, "__init__", begun):
            yield
    finally:
        crashpoints.install(None)


def _sent(method: str, path: str, body: bytes | None) -> Collection[str]:
    """The points that are reached when a request is sent."""
    if path == "/sync":
        items = msgspec.json.decode(body or b"")["resources"]
        return sorted({f"{item['operation'].partition('_')[0].lower()}.sent" for item in items})
    if method == "GET" or path in _READS or not path or (method == "POST" and path.count("/") > 1):
        return ()
    return (_OF_PATH.get((method, path)) or _OF_METHOD[method],)


def _reaching(points: Collection[str], hook: crashpoints.Hook) -> Any:
    async def trace(step: str, details: dict[str, Any]) -> None:
        if step == _SENT:
            for point in points:
                hook(point)

    return trace
