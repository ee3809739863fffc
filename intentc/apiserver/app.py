"""Serves the API server over HTTP: docs/contrail.md B.1 and B.2 as routes, errors as ``{"message": …}``
(docs/contrail.md B.4).

Why it exists: it translates between HTTP and ``ApiServer``, which implements the calls, and lets clients log in
(B.3; ``auth``). ``kubernetes`` has the routes for manifests, which are included. Every answer to a mutation, and to a
GET of one resource, carries ``X-Etcd-Revision``.

Additions to Contrail's API; ``GET /`` announces those that a client must know:

- ``GET /healthz`` (200 while the server lives) and ``GET /readyz`` (503 while etcd doesn't answer) need no token.
  ``GET /metrics`` has a token of its own (``health``).
- ``If-Match``, ``If-None-Match`` and ``X-Intentc-Fence`` on mutations (``fence``); in items of ``/sync`` the first two
  are ``if_match`` and ``if_none_match``. ``max_txn_ops``: the operations of one transaction; a request that needs more
  gets 413.
- References that don't block the deletion of their target, in the transaction that writes them
  (``relaxed_references``): ``"relaxed": true`` in the body of ``/ref-update``, ``"relaxed": ["<uuid of a target>", …]``
  next to the resource in the body of a POST or PUT and in items of ``/sync``. ``/ref-relax-for-delete`` remains.
- A rejected ``/sync`` names the first rejected item, if the error concerns one: ``{"message": …, "item": <its index>,
  "detail": <the message without the place>}``; ``"rejected": [{"item", "detail"}]`` lists up to a hundred.
- ``GET`` and ``PUT /<kind>/<uuid>/status`` for kinds with a status: ``{"<kind>": {"status": {…}}}``, with
  ``"field_mask": {"paths": ["state", "conditions[Ready]"]}`` for single items. Nothing else of the resource changes,
  and no other write but a bridge's changes the status. In ``/sync``: the operation ``UPDATE_STATUS``, with
  ``field_mask``.
- ``mirror`` in items of ``/sync``: a bridge writes what a cluster has (docs/engine.md §14.3).
- ``?unreadable=true`` of a list adds ``"unreadable": [{"uuid", "fq_name", "message"}]``: stored values that can't be
  read (422 for a single one). A PUT of a whole resource, one with an fq_name, replaces such a value.
- ``/int-pool`` is idempotent by (pool, owner), and a GET lists allocations.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from intentc.listening.origin import ANY_HOST, JSON_TYPES, Checks, OriginGuard, Rejection
from intentc.model import Key, Kind, kebab, snake
from intentc.model.status import STATUS, STATUS_CLAIMS
from intentc.reconcile.failures import Failure

from . import health, requests
from .admission.fields import children_of
from .api_server import ApiServer, Call
from .auth import Keystone
from .authorization import Caller, Operation
from .documents import Document, encode_list
from .errors import ApiError, BadRequest, NotFound, from_store
from .kubernetes.routes import BODY_TYPES, kubernetes_routes
from .kubernetes.watches import MOST
from .queries import View
from .references import ReferenceUpdate
from .threads import Threads, read_body

_LOG = logging.getLogger(__name__)

REVISION_HEADER = "X-Etcd-Revision"
_LARGEST_LOG_IN = 64 * 1024
"""Bytes of a log-in's body, which is read before the caller is known."""

_LONGEST_UUID = 1_024
"""Characters: what stands in place of a uuid in a key of etcd is escaped, and can be deleted by that."""

_PAUSE_SECONDS = "1"
Handler = Callable[[Request], Awaitable[Response]]


def create_app(
    server: ApiServer,
    keystone: Keystone | None = None,
    hosts: Sequence[str] | None = ANY_HOST,
    metrics_token: Callable[[], str] = str,
    most_watches: int = MOST,
) -> Starlette:
    """Create the ASGI application. Requests of web pages and bodies that are no ``application/json`` are rejected.

    ``keystone``: None is ``no_auth``. ``hosts``: the names that ``Host`` may have. ``metrics_token``: gives the token
    for ``/metrics``, if there is one. ``most_watches``: at once.
    """
    threads = Threads(server)
    calls = _Calls(threads.on_loop, keystone, metrics_token)
    in_thread = _Calls(threads.in_thread, keystone, metrics_token)

    def either(path: str, name: str, method: str) -> Route:
        handler = threads.endpoint(getattr(calls, name), getattr(in_thread, name), _failed)
        return Route(path, handler, methods=[method])

    routes = [
        *kubernetes_routes(threads, calls.caller, read_body, most_watches),
        Route("/", calls.about, methods=["GET"]),
        Route("/healthz", calls.healthz, methods=["GET"]),
        Route("/readyz", calls.readyz, methods=["GET"]),
        Route("/metrics", calls.metrics, methods=["GET"]),
        either("/ref-update", "ref_update", "POST"),
        either("/ref-relax-for-delete", "ref_relax", "POST"),
        either("/fqname-to-id", "fqname_to_id", "POST"),
        either("/id-to-fqname", "id_to_fqname", "POST"),
        either("/prop-collection-get", "prop_collection_get", "GET"),
        either("/prop-collection-update", "prop_collection_update", "POST"),
        either("/sync", "sync", "POST"),
        either("/int-pools", "create_pool", "POST"),
        either("/int-pools", "drop_pool", "DELETE"),
        either("/int-pool", "allocate", "POST"),
        either("/int-pool", "free", "DELETE"),
        either("/int-pool", "numbers", "GET"),
        either("/{plural}", "create", "POST"),
        either("/{plural}", "list", "GET"),
        either("/{kind}/{uuid}/status", "get_status", "GET"),
        either("/{kind}/{uuid}/status", "update_status", "PUT"),
        either("/{kind}/{uuid:path}", "get", "GET"),
        either("/{kind}/{uuid:path}", "update", "PUT"),
        either("/{kind}/{uuid:path}", "delete", "DELETE"),
    ]
    if keystone is not None:
        routes.insert(0, Route("/keystone/v3/auth/tokens", calls.log_in, methods=["POST"]))
        routes.insert(0, Route("/keystone/v3/auth/tokens", calls.log_out, methods=["DELETE"]))
    media = JSON_TYPES | BODY_TYPES
    checks = Checks("server.hosts", hosts, only_json=True, media=media, untyped=("/api/", "/apis/"))
    app = Starlette(
        routes=routes,
        middleware=[Middleware(OriginGuard, checks=checks, answer=_rejected)],
        exception_handlers=dict.fromkeys((ApiError, Failure, ClientDisconnect, HTTPException, Exception), _error),
    )
    # A redirect would lead to the host that the request names.
    app.router.redirect_slashes = False
    return app


class _Calls:
    """One method per call: it reads the request, calls the server, and builds the answer."""

    def __init__(self, server: ApiServer, keystone: Keystone | None, metrics_token: Callable[[], str]) -> None:
        self._server = server
        self._keystone = keystone
        self._metrics_token = metrics_token

    async def about(self, request: Request) -> Response:
        base = str(request.base_url).rstrip("/")
        links = [
            {"link": {"href": f"{base}/{kebab(kind.plural)}", "name": kebab(kind.name), "rel": "collection"}}
            for kind in self._server.schema
            if kind.stored
        ]
        limit = self._server.max_txn_ops
        return _answer({"href": base, "links": links, "max_txn_ops": limit, "fence": True, "relaxed_references": True})

    async def healthz(self, request: Request) -> Response:
        """Liveness: any answer means that the server lives."""
        return _answer({"ok": True, "reasons": []})

    async def readyz(self, request: Request) -> Response:
        """Whether etcd answers. The reasons are shown only without authentication: the call needs no token."""
        lack = await self._server.readiness.lack()
        reasons = [lack] if lack and self._keystone is None else []
        return _answer({"ok": not lack, "reasons": reasons}, status=503 if lack else 200)

    async def metrics(self, request: Request) -> Response:
        if not health.is_scraper(request.headers.get("authorization", ""), self._metrics_token()):
            self._administrator(request, reading=True)
        return Response(health.exposition(await self._server.pools()), media_type="text/plain; version=0.0.4")

    async def log_in(self, request: Request) -> Response:
        assert self._keystone is not None
        body = requests.decode(await read_body(request, _LARGEST_LOG_IN), dict[str, Any])
        token = await self._keystone.log_in(body, request.client.host if request.client else "")
        return _answer(token.body, status=201, headers={"X-Subject-Token": token.text})

    async def log_out(self, request: Request) -> Response:
        assert self._keystone is not None
        await self._keystone.log_out(requests.token(request.headers), request.headers.get("x-subject-token", ""))
        return Response(status_code=204)

    async def create(self, request: Request) -> Response:
        caller, kind = self.caller(request), self._of_plural(request)
        await self._server.may_write(Key(kind.name, ""), caller, Operation.CREATE)
        body = requests.envelope(await read_body(request), kind)
        answer = await self._server.create(
            kind.name,
            body.resource,
            relaxed=body.relaxed,
            call=_call(request, caller),
        )
        return _answer({kebab(kind.name): answer.document}, answer.revision)

    async def get(self, request: Request) -> Response:
        caller, key = self.caller(request, reading=True), self._key(request)
        await self._server.may_read(self._server.schema.kind(key.kind), caller)
        view = requests.view(request.query_params)
        document, revision = await self._server.get(key, view, caller=caller)
        if not requests.flag(request.query_params, "exclude_hrefs"):
            document = self._linked(request, key, document)
        return _answer({kebab(key.kind): document}, revision)

    async def update(self, request: Request) -> Response:
        caller, key = self.caller(request), self._key(request)
        await self._server.may_write(key, caller, Operation.UPDATE)
        body = requests.envelope(await read_body(request), self._server.schema.kind(key.kind))
        answer = await self._server.update(
            key,
            body.resource,
            paths=body.paths,
            relaxed=body.relaxed,
            call=_call(request, caller),
        )
        return _answer({kebab(key.kind): answer.document}, answer.revision)

    async def get_status(self, request: Request) -> Response:
        caller, key = self.caller(request, reading=True), self._key(request)
        self._with_status(key)
        document, revision = await self._server.get(key, View((), False, False), caller=caller)
        shown = {field: document[field] for field in ("uuid", "fq_name", STATUS, STATUS_CLAIMS) if field in document}
        return _answer({kebab(key.kind): {STATUS: {}} | shown}, revision)

    async def update_status(self, request: Request) -> Response:
        caller, key = self.caller(request), self._key(request)
        kind = self._with_status(key)
        await self._server.may_write(key, caller, Operation.UPDATE)
        body = requests.envelope(await read_body(request), kind, is_status=True)
        answer = await self._server.update_status(
            key,
            body.resource,
            items=body.paths,
            call=_call(request, caller),
        )
        return _answer({kebab(key.kind): answer.document}, answer.revision)

    async def delete(self, request: Request) -> Response:
        caller = self.caller(request)
        revision = await self._server.delete(
            self._key(request),
            call=_call(request, caller),
        )
        return Response(headers={REVISION_HEADER: str(revision)})

    async def list(self, request: Request) -> Response:
        caller = self.caller(request, reading=True)
        kind, parameters = self._of_plural(request), request.query_params
        await self._server.may_read(kind, caller)
        found = await self._server.find(kind.name, requests.query(parameters), caller=caller)
        # Resources that are shared with the caller are always listed, so "shared" is accepted and changes nothing.
        requests.flag(parameters, "shared")
        if requests.flag(parameters, "count"):
            return _answer({kebab(kind.plural): {"count": len(found)}})
        if not requests.flag(parameters, "exclude_hrefs"):
            found = [self._linked(request, Key(kind.name, one["uuid"]), one) for one in found]
        if requests.flag(parameters, "detail"):
            found = [{kebab(kind.name): one} for one in found]
        answer: dict[str, Any] = {}
        if requests.flag(parameters, "unreadable"):
            answer["unreadable"] = await self._server.unreadable(kind.name, caller=caller)
        return Response(encode_list(answer, kebab(kind.plural), found), media_type="application/json")

    async def ref_update(self, request: Request) -> Response:
        caller = self.caller(request)
        asked = requests.decode(await read_body(request), requests.ReferenceRequest)
        for name, value in (("operation", asked.operation), ("type", asked.type), ("uuid", asked.uuid),
                            ("ref-type", asked.ref_type)):  # fmt: skip
            if not value:
                raise BadRequest(f"{name} is missing")
        if asked.operation not in ("ADD", "DELETE"):
            raise BadRequest(f"operation {asked.operation!r} is unknown; give ADD or DELETE")
        if not asked.ref_uuid and not asked.ref_name:
            raise BadRequest("ref-uuid is missing; give it, or ref-fq-name")
        holder = Key(self._server.kind(asked.type).name, asked.uuid)
        update = ReferenceUpdate(
            holder,
            snake(asked.ref_type),
            asked.operation == "ADD",
            asked.ref_uuid or "",
            tuple(asked.ref_name or ()),
            asked.attr,
            asked.relaxed and asked.operation == "ADD",
        )
        revision = await self._server.update_reference(
            update,
            call=_call(request, caller),
        )
        return _answer({"uuid": asked.uuid}, revision)

    async def ref_relax(self, request: Request) -> Response:
        caller = self.caller(request)
        asked = requests.decode(await read_body(request), requests.RelaxRequest)
        revision = await self._server.relax_reference(
            asked.uuid, asked.ref_uuid, call=Call(caller, fence=requests.fence(request.headers))
        )
        return _answer({"uuid": asked.uuid}, revision)

    async def fqname_to_id(self, request: Request) -> Response:
        caller = self.caller(request, reading=True)
        asked = requests.decode(await read_body(request), requests.NameRequest)
        return _answer({"uuid": await self._server.identify(asked.type, asked.fq_name, caller=caller)})

    async def id_to_fqname(self, request: Request) -> Response:
        caller = self.caller(request, reading=True)
        asked = requests.decode(await read_body(request), requests.IdRequest)
        name = await self._server.name_of(asked.uuid, caller=caller)
        return _answer({"type": kebab(name.kind), "fq_name": name.fq_name})

    async def prop_collection_get(self, request: Request) -> Response:
        caller, parameters = self.caller(request, reading=True), request.query_params
        uuid, fields = parameters.get("uuid", ""), requests.listed(parameters, "fields")
        for name, value in (("uuid", uuid), ("fields", fields)):
            if not value:
                raise BadRequest(f"{name} is missing")
        return _answer(await self._server.collections(uuid, fields, parameters.get("position", ""), caller=caller))

    async def prop_collection_update(self, request: Request) -> Response:
        caller = self.caller(request)
        asked = requests.decode(await read_body(request), requests.CollectionRequest)
        revision = await self._server.update_collections(
            asked.uuid,
            [element.update() for element in asked.updates],
            call=Call(caller, fence=requests.fence(request.headers)),
        )
        return Response(headers={REVISION_HEADER: str(revision)})

    async def sync(self, request: Request) -> Response:
        caller = self.caller(request)
        asked = requests.decode(await read_body(request), requests.SyncRequest)
        applied, revision = await self._server.sync(
            asked.resources, call=Call(caller, fence=requests.fence(request.headers))
        )
        return _answer([event._asdict() for event in applied], revision)

    async def create_pool(self, request: Request) -> Response:
        self._administrator(request)
        asked = requests.decode(await read_body(request), requests.PoolRequest)
        revision = await self._server.create_pool(
            asked.pool, asked.start, asked.end, fence=requests.fence(request.headers)
        )
        return _answer({}, revision)

    async def drop_pool(self, request: Request) -> Response:
        self._administrator(request)
        asked = requests.decode(await read_body(request), requests.PoolName)
        return _answer({}, await self._server.drop_pool(asked.pool, fence=requests.fence(request.headers)))

    async def allocate(self, request: Request) -> Response:
        self._administrator(request)
        asked = requests.decode(await read_body(request), requests.NumberRequest)
        value, revision = await self._server.allocate(
            asked.pool, asked.owner, asked.value, fence=requests.fence(request.headers)
        )
        return _answer({"value": value}, revision)

    async def free(self, request: Request) -> Response:
        self._administrator(request)
        asked = requests.decode(await read_body(request), requests.NumberRequest)
        if asked.value is None and not asked.owner:
            raise BadRequest("value is missing; give it, or owner")
        revision = await self._server.free(
            asked.pool, value=asked.value, owner=asked.owner, fence=requests.fence(request.headers)
        )
        return _answer({}, revision)

    async def numbers(self, request: Request) -> Response:
        self._administrator(request, reading=True)
        parameters = request.query_params
        pool, value = parameters.get("pool", ""), requests.number(parameters, "value")
        if value is not None:
            return _answer({"owner": await self._server.owner_of(pool, value)})
        found = []
        for held in await self._server.held(pool, parameters.get("owner", "")):
            found.append(held._asdict())
            if held.pool == pool:
                del found[-1]["pool"]
        return _answer({"allocations": found})

    def caller(self, request: Request, *, reading: bool = False) -> Caller:
        """The caller, looked up in the loop alone. One without any right to this sort of call is rejected here."""
        if self._keystone is None:
            return Caller()
        caller: Caller = request.scope.get("intentc.caller") or self._keystone.caller(requests.token(request.headers))
        request.scope["intentc.caller"] = caller
        self._server.permissions.admit(caller, reading=reading)
        return caller

    def _administrator(self, request: Request, *, reading: bool = False) -> None:
        self._server.permissions.administrate(self.caller(request, reading=reading), reading=reading)

    def _linked(self, request: Request, key: Key, document: Document) -> Document:
        """``document`` with its URL, and those of its parent, references, back references and children."""
        shown = {**document, "href": requests.href(request.base_url, key)}
        if document.get("parent_uuid") and document.get("parent_type"):
            shown["parent_href"] = requests.href(
                request.base_url, Key(snake(document["parent_type"]), document["parent_uuid"])
            )
        children = children_of(self._server.schema, self._server.schema.kind(key.kind))
        for field, entries in document.items():
            name = children[field].name if field in children else field.removesuffix("_refs").removesuffix("_back")
            if name != field and name in self._server.schema and isinstance(entries, list):
                shown[field] = [requests.linked_entry(request.base_url, name, entry) for entry in entries]
        return shown

    def _of_plural(self, request: Request) -> Kind:
        plural = request.path_params["plural"]
        kind = self._server.schema.by_plural(plural)
        if kind is None or not kind.stored:
            raise NotFound(f"there is no collection {plural!r}; GET / lists them")
        return kind

    def _with_status(self, key: Key) -> Kind:
        kind = self._server.schema.kind(key.kind)
        if kind.status is None:
            raise NotFound(f"{kebab(kind.name)} has no status")
        return kind

    def _key(self, request: Request) -> Key:
        name = request.path_params["kind"]
        kind = self._server.schema.by_path(name)
        if kind is None or not kind.stored:
            raise NotFound(f"there is no kind {name!r}; GET / lists them")
        uuid = request.path_params["uuid"]
        if len(uuid) > _LONGEST_UUID:
            raise BadRequest(f"the uuid in the URL has more than {_LONGEST_UUID:,} characters")
        return Key(kind.name, uuid)


def _call(request: Request, caller: Caller) -> Call:
    return Call(caller, requests.condition(request.headers), requests.fence(request.headers))


def _answer(
    body: Any, revision: int | None = None, *, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    revisions = {} if revision is None else {REVISION_HEADER: str(revision)}
    return Response(msgspec.json.encode(body), status, (headers or {}) | revisions, media_type="application/json")


def _rejected(rejection: Rejection) -> Response:
    return _answer({"message": f"{rejection.problem}; {rejection.advice}"}, status=rejection.status)


def _failed(error: ApiError) -> Response:
    headers = {"Retry-After": _PAUSE_SECONDS} if error.status in (429, 503) else {}
    place: dict[str, Any] = {} if error.item is None else {"item": error.item, "detail": error.detail}
    if error.rejected:
        place["rejected"] = [{"item": item, "detail": detail} for item, detail in error.rejected]
    return _answer({"message": error.message, **place}, status=error.status, headers=headers)


async def _error(request: Request, error: Exception) -> Response:
    """The answer to any error of a call."""
    if isinstance(error, Failure):
        error = from_store(error, writing=request.method != "GET")
    if isinstance(error, ApiError):
        return _failed(error)
    if isinstance(error, HTTPException):
        return _answer({"message": error.detail}, status=error.status_code, headers=dict(error.headers or {}))
    if isinstance(error, ClientDisconnect):
        # Before its request was complete, so nobody reads this answer.
        return _answer({"message": "the request was cut off"}, status=400)
    _LOG.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return _answer({"message": f"the server failed: {type(error).__name__}; its log says more"}, status=500)
