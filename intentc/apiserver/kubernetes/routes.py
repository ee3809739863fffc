"""Serves the Kubernetes-compatible API: ``/version``, ``/livez``, ``/api``, ``/apis`` and ``/openapi``.

Why it exists: it translates between HTTP and ``api``, ``lists`` and ``watches``: URLs, verbs, bodies, tables,
``Status``. The resources of a collection are deleted one by one. ``app.py`` includes these routes, and says who the
caller is: a token comes as ``Authorization: Bearer``, which is how kubectl sends it, or as ``X-Auth-Token``.
"""

from __future__ import annotations

import platform
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from intentc.loading.bodies import TOO_LARGE, read_json, read_yaml
from intentc.model import Key, Name
from intentc.model.problem import InvalidInput
from intentc.reconcile.failures import Failure

from ..admission.fields import LONGEST_NAME
from ..api_server import ApiServer
from ..authorization import Caller, Operation, is_administrator
from ..documents import encode_list
from ..draft import NeedsThread
from ..errors import ApiError, from_store
from ..logins import network_of
from ..requests import decode, flag, unreadable
from ..threads import Threads
from . import discovery, openapi, patches, tables
from .api import Edit, KubernetesApi, Place, Written
from .catalog import Offered
from .lists import Listed, find, with_all_kept
from .options import DeleteOptions, delete_options, list_options, watch_options, write_options
from .received import warnings
from .shown import Manifest
from .status_errors import Answered, failure
from .watches import EventStream, Places, Watching

_JSON = "application/json"
_APPLY = "application/apply-patch+yaml"
_PROTOBUF = "application/vnd.kubernetes.protobuf"
BODY_TYPES = frozenset({patches.JSON, patches.MERGE, patches.STRATEGIC, _APPLY, _PROTOBUF})
"""Types of bodies besides JSON; protobuf is answered with an error that clients show."""
_NO_PROTOBUF = (
    "bodies in protobuf are not offered; send JSON: kubectl create … --dry-run=client -o yaml | kubectl apply -f -"
)

_OPERATIONS = {
    "POST": (Operation.CREATE,),
    "PUT": (Operation.UPDATE, Operation.CREATE),
    "PATCH": (Operation.UPDATE, Operation.CREATE),
    "DELETE": (Operation.DELETE,),
}
"""Method → what it may do; an application and the change of an implied namespace may create."""
_ANYTHING: Any = Any

Authenticate = Callable[..., Caller]
Body = Callable[[Request], Awaitable[bytes]]
Handler = Callable[[Request], Awaitable[Response]]


def kubernetes_routes(threads: Threads, authenticate: Authenticate, body: Body, most_watches: int) -> list[Route]:
    """The routes; none if no served kind is written as manifests. ``authenticate(request, reading=…)``: the caller, or
    an ``ApiError``; ``body``: reads a request's body, up to a limit; ``most_watches``: at once."""
    places = Places(most_watches)
    calls = _Calls(threads, threads.on_loop, authenticate, body, places)
    if not calls.offers:
        return []
    in_thread = _Calls(threads, threads.in_thread, authenticate, body, places)
    below = threads.endpoint(calls.below, in_thread.below, _failed)
    return [
        Route("/version", calls.version, methods=["GET"]),
        Route("/livez", calls.livez, methods=["GET"]),
        Route("/openapi/{path:path}", calls.openapi, methods=["GET"]),
        *(
            Route(path, below, methods=["GET", "POST", "PUT", "PATCH", "DELETE"])
            for path in ("/api", "/apis", "/api/{path:path}", "/apis/{path:path}")
        ),
    ]


class Target(NamedTuple):
    """What a URL names. ``offered``: None above the resources; ``name``: empty for a collection."""

    group: str
    version: str
    offered: Offered | None = None
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class _Calls:
    def __init__(
        self, threads: Threads, server: ApiServer, authenticate: Authenticate, body: Body, places: Places
    ) -> None:
        self._threads = threads
        self._in_thread = server is threads.in_thread
        self._api = KubernetesApi(server)
        self._server = server
        self._catalog = self._api.catalog
        self._authenticate = authenticate
        self._body = body
        self._places = places

    @property
    def offers(self) -> bool:
        """Whether any served kind is written as manifests."""
        return bool(self._catalog)

    async def version(self, request: Request) -> Response:
        return _answer(_VERSION)

    async def livez(self, request: Request) -> Response:
        return Response("ok", media_type="text/plain")

    async def openapi(self, request: Request) -> Response:
        path = request.path_params["path"].strip("/")
        try:
            self._authenticate(request, reading=True)
            if path == "v2":
                if "proto-openapi" in request.headers.get("accept", ""):
                    return Response(self._openapi_messages, media_type=openapi.MESSAGES_MEDIA)
                return _answer(self._openapi_v2)
            if path == "v3":
                return _answer(openapi.index(self._catalog))
            parts = path.split("/")
            group, version = (parts[2], parts[3]) if len(parts) == 4 else ("", parts[-1])
            resources = self._catalog.resources(group, version)
            if parts[0] != "v3" or not resources:
                raise _not_found("")
            return _answer(openapi.version_3(resources))
        except ApiError as error:
            return _failed(error)

    async def below(self, request: Request) -> Response:
        """Discovery, and everything that concerns resources."""
        target = None
        try:
            target = self._target(request)
            if target is None or target.offered is None:
                self._authenticate(request, reading=True)
                return self._discovered(request, target)
            return await self._of_resources(request, target, target.offered)
        except Failure as error:
            found: ApiError = from_store(error, writing=request.method != "GET")
        except ApiError as error:
            found = error
        return _failed(found, target)

    @cached_property
    def _openapi_v2(self) -> dict[str, Any]:
        return openapi.version_2(self._catalog)

    @cached_property
    def _openapi_messages(self) -> bytes:
        return openapi.encoded(self._openapi_v2)

    def _target(self, request: Request) -> Target | None:
        """What the URL names; None for ``/api`` and ``/apis``. Raises ``Answered`` for what is not offered."""
        parts = [part for part in request.url.path.split("/") if part]
        is_core = parts[0] == "api"
        rest = parts[1:] if is_core else parts[2:]
        group = "" if is_core else parts[1] if len(parts) > 1 else ""
        if len(parts) == 1:
            return None
        if not is_core and not self._catalog.versions(group):
            raise _not_found(f"there is no group {group}; there are {', '.join(self._catalog.groups())}")
        if not rest:
            return Target(group, "")
        version, rest = rest[0], rest[1:]
        if version not in self._catalog.versions(group):
            raise _not_found(f"there is no version {version}; there are {', '.join(self._catalog.versions(group))}")
        if not rest:
            return Target(group, version)
        namespace = ""
        if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
            namespace, rest = rest[1], rest[2:]
        if max(map(len, rest)) > LONGEST_NAME or len(namespace) > LONGEST_NAME:
            raise Answered(400, "BadRequest", f"a name in the URL has more than {LONGEST_NAME} characters")
        offered = self._catalog.find(group, version, rest[0])
        name, subresource = (*rest[1:3], "", "")[:2]
        has_subresource = subresource == "" or (subresource == "status" and offered is not None and offered.has_status)
        if offered is None or len(rest) > 3 or not has_subresource or (namespace and not offered.is_namespaced):
            hint = self._catalog.suggestion(group, version, rest[0]) if offered is None else ""
            raise _not_found(f"{'/'.join(rest)} is not offered{hint}")
        if offered.is_namespaced and name and not namespace:
            raise _not_found(f"a {offered.name} is in a namespace: …/namespaces/NAMESPACE/{'/'.join(rest)}")
        return Target(group, version, offered, namespace, name, subresource)

    def _discovered(self, request: Request, target: Target | None) -> Response:
        if request.method != "GET":
            raise _not_allowed(request)
        if target is None:
            is_core = request.url.path.strip("/") == "api"
            version = discovery.aggregated_version(request.headers.get("accept", ""))
            if version:
                groups = [""] if is_core else self._catalog.groups()
                body = discovery.aggregated(self._catalog, groups, version)
                return _answer(
                    body, media=f"application/json;g={discovery.AGGREGATED};v={version};as=APIGroupDiscoveryList"
                )
            return _answer(
                {"kind": "APIVersions", "versions": self._catalog.versions(""), "serverAddressByClientCIDRs": []}
                if is_core
                else discovery.groups(self._catalog)
            )
        if not target.version:
            return _answer(discovery.group(self._catalog, target.group))
        return _answer(discovery.resources(self._catalog, target.group, target.version))

    async def _of_resources(self, request: Request, target: Target, offered: Offered) -> Response:
        query = request.query_params
        caller = self._authenticate(request, reading=request.method == "GET")
        if request.headers.get("content-type", "").lower().startswith(_PROTOBUF):
            raise Answered(415, "UnsupportedMediaType", _NO_PROTOBUF)
        place = Place(offered, target.namespace, target.name)
        if request.method == "GET":
            await self._server.may_read(offered.kind, caller)
        elif operations := _OPERATIONS.get(request.method):
            named = Name(offered.kind.name, place.fq_name) if target.name else Key(offered.kind.name, "")
            await self._server.may_write(named, caller, *operations)
        if not target.name:
            if request.method == "GET" and flag(query, "watch"):
                return await self._watch(request, place, caller)
            if request.method == "GET":
                return await self._list(request, place, caller)
            if request.method == "DELETE":
                return await self._delete_all(request, place, caller)
            if request.method == "POST":
                if offered.is_namespaced and not target.namespace:
                    raise _not_found(f"a {offered.name} is created in a namespace")
                sent = decode(await self._body(request), _ANYTHING)
                options = write_options(query, request.headers.get("user-agent", ""), "CreateOptions")
                try:
                    return _after(await self._api.create(offered, target.namespace, sent, options, caller))
                except ApiError as error:
                    return _failed(error, target._replace(name=_name_of(sent)))
        elif request.method == "GET":
            found = await self._api.get(place, caller)
            metadata = {"resourceVersion": found["metadata"].get("resourceVersion", "")}
            return _answer(_table(request, offered, [found], metadata) or found)
        elif request.method in ("PUT", "PATCH"):
            return await self._written(request, place, target.subresource, caller)
        elif request.method == "DELETE" and not target.subresource:
            deletion = delete_options(query, await self._body(request))
            return _answer(await self._api.delete(place, deletion, caller))
        raise _not_allowed(request)

    async def _written(self, request: Request, place: Place, subresource: str, caller: Caller) -> Response:
        is_update = request.method == "PUT"
        media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        is_apply = media == _APPLY and not is_update
        options = write_options(
            request.query_params,
            request.headers.get("user-agent", ""),
            "UpdateOptions" if is_update else "PatchOptions",
            is_apply=is_apply,
        )._replace(subresource=subresource)
        raw = await self._body(request)
        if is_update:
            return _after(await self._api.replace(place, decode(raw, _ANYTHING), options, caller))
        if is_apply:
            return _after(await self._api.apply(place, self._configuration(raw), options, caller))
        patch = decode(raw, _ANYTHING)
        if media == patches.JSON and patches.copies(patch) and not self._in_thread:
            # A short one may copy much.
            raise NeedsThread
        edit = _edit(media, patch, place.offered)
        return _after(await self._api.change(place, edit, options, caller))

    def _configuration(self, raw: bytes) -> Any:
        """What a client applies: YAML, or JSON, as kubectl sends. Raises ``BadRequest`` and ``TooLarge``."""
        try:
            return read_json(raw, _ANYTHING)
        except InvalidInput as error:
            if error.reason == TOO_LARGE:
                raise unreadable(error) from None
        if not self._in_thread:
            # YAML takes twenty times as long as JSON, and a few bytes of it may be many values.
            raise NeedsThread
        try:
            return read_yaml(raw)
        except InvalidInput as error:
            raise unreadable(error) from None

    async def _list(self, request: Request, place: Place, caller: Caller) -> Response:
        offered = place.offered
        listed = await find(self._server, offered, place.namespace, list_options(request.query_params), caller)
        if table := _table(request, offered, listed.items, listed.metadata):
            return _list_of(table, "rows", table["rows"])
        items = await with_all_kept(self._server, offered, listed.items)
        body = {"kind": f"{offered.name}List", "apiVersion": offered.api_version, "metadata": listed.metadata}
        return _list_of(body, "items", items)

    async def _watch(self, request: Request, place: Place, caller: Caller) -> Response:
        options = watch_options(request.query_params)
        watching = Watching(self._threads, place.offered, place.namespace, options, caller)
        version = tables.wanted(request.headers.get("accept", ""))
        included = request.query_params.get("includeObject", "Metadata")
        policy = self._server.permissions.policy
        ended = self._places.take(
            caller,
            network_of(request.client.host if request.client else ""),
            is_administrator=is_administrator(policy, caller),
        )
        return EventStream(watching, ended, version, included)

    async def _delete_all(self, request: Request, place: Place, caller: Caller) -> Response:
        options: DeleteOptions = delete_options(request.query_params, await self._body(request))
        selected = list_options(request.query_params)

        def found(server: ApiServer) -> Coroutine[Any, Any, Listed]:
            return find(server, place.offered, place.namespace, selected, caller)

        # The deletions are small ones, so they stay in the loop.
        listed = await (found(self._server) if self._in_thread else self._threads.call(found))
        for one in listed.items:
            metadata = one["metadata"]
            each = Place(place.offered, metadata.get("namespace", ""), metadata["name"])
            await self._api.delete(each, options._replace(uid=metadata["uid"]), caller)
        body = {"kind": f"{place.offered.name}List", "apiVersion": place.offered.api_version}
        return _list_of({**body, "metadata": listed.metadata}, "items", listed.items)


_VERSION = {
    "major": "1",
    "minor": "32",
    "gitVersion": "v1.32.0-intentc",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": platform.python_implementation(),
    "platform": f"{platform.system().lower()}/{platform.machine()}",
}
"""The version of Kubernetes' API that clients may expect; 1.32 is the newest kubectl that was tried."""


def _edit(media: str, patch: Any, offered: Offered) -> Edit:
    """What a patch makes of a manifest. Raises ``Answered`` for a patch that the kind does not understand."""
    if media in (patches.MERGE, patches.STRATEGIC) and not isinstance(patch, dict):
        causes = ({"reason": "FieldValueInvalid", "message": "an object is expected", "field": "patch"},)
        raise Answered(422, "Invalid", "the patch is no object", causes, about={})
    if media == patches.MERGE:
        return lambda before: patches.merged(before, patch)
    if media == patches.JSON:
        return lambda before: patches.patched(before, patch)
    if media == patches.STRATEGIC and offered.is_built_in:
        return lambda before: patches.strategic(before, patch, offered.forms)
    known = [patches.JSON, patches.MERGE, _APPLY, *([patches.STRATEGIC] if offered.is_built_in else [])]
    raise Answered(
        415,
        "UnsupportedMediaType",
        f"the body of the request was in an unknown format - accepted media types include: {', '.join(known)}",
    )


def _name_of(sent: Any) -> str:
    """The name of a manifest of any form."""
    metadata = sent.get("metadata") if isinstance(sent, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""


def _answer(body: Mapping[str, Any], *, status: int = 200, media: str = _JSON) -> Response:
    return Response(msgspec.json.encode(body), status, media_type=media)


def _table(
    request: Request, offered: Offered, manifests: Sequence[Manifest], metadata: dict[str, Any]
) -> dict[str, Any]:
    """Manifests as the table that a client asks for; empty if it asks for none."""
    version = tables.wanted(request.headers.get("accept", ""))
    if not version:
        return {}
    included = request.query_params.get("includeObject", "Metadata")
    return tables.table(offered, manifests, datetime.now(UTC), version=version, included=included, metadata=metadata)


def _list_of(body: Mapping[str, Any], field: str, items: Sequence[Any]) -> Response:
    rest = {name: value for name, value in body.items() if name != field}
    return Response(encode_list(rest, field, items), media_type=_JSON)


def _after(written: Written) -> Response:
    """The answer to a write, with a warning of each field that is not stored."""
    response = _answer(written.manifest, status=201 if written.is_new else 200)
    for warning in warnings(written.unstored):
        response.headers.append("Warning", warning)
    return response


def _failed(error: ApiError, target: Target | None = None) -> Response:
    offered, name = (target.offered, target.name) if target is not None else (None, "")
    code, body = failure(error, offered, name)
    headers = {"Retry-After": "1"} if code in (429, 503) else {}
    return Response(msgspec.json.encode(body), code, headers, media_type=_JSON)


def _not_found(hint: str) -> Answered:
    message = "the server could not find the requested resource"
    return Answered(404, "NotFound", f"{message}: {hint}" if hint else message)


def _not_allowed(request: Request) -> Answered:
    return Answered(405, "MethodNotAllowed", f"{request.method} is not allowed on {request.url.path}")
