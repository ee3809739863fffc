"""Imitates Azure Resource Manager with one application gateway, so that ``intentc appgw`` can be tried anywhere.

It is not Azure: it answers as Azure's public REST conventions say, and rejects what Azure is known to reject
(docs/appgw.md §11, ``gateway_validation``). A write with ``If-Match`` of another ETag answers 412; a rejected document
answers 400 at once and changes nothing; an accepted one is shown as ``Updating`` until its operation ends; a second
write ends the first as ``Canceled``; a stopped gateway starts by a write; a certificate's data is never read back, and
stays if a write leaves it out; a new certificate without data is rejected. Codes that users have seen are Azure's; the
others are named after its habit. Tests let writes, requests and operations fail.
"""

from __future__ import annotations

import base64
import contextlib
import copy
import itertools
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from .gateway_validation import COLLECTIONS, Fault, first_fault, items_of

Document = dict[str, Any]
_NETWORK = "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network"
_OPERATIONS = "/subscriptions/{subscription}/providers/Microsoft.Network/locations/{location}"
Handler = Callable[[Request], Awaitable[Response]]
_TYPE = "Microsoft.Network/applicationGateways"
_SUPERSEDED = Fault("CanceledAndSupersededDueToAnotherOperation", "Operation was superseded by another operation.")
_SECRETS = ("data", "password")
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "backendAddressPools": {"backendAddresses": []},
    "httpListeners": {"hostNames": [], "requireServerNameIndication": False, "customErrorConfigurations": []},
    "probes": {"pickHostNameFromBackendHttpSettings": False, "minServers": 0, "match": {}},
    "backendHttpSettingsCollection": {"cookieBasedAffinity": "Disabled", "pickHostNameFromBackendAddress": False},
}
"""Collection → properties that Azure fills in."""


class Answer(Exception):
    """An answer that is an error. ``status``: of HTTP; ``headers``: beyond the usual ones."""

    def __init__(self, status: int, fault: Fault, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(f"{status} {fault.code}: {fault.message}")
        self.status = status
        self.fault = fault
        self.headers = dict(headers or {})


@dataclass
class Operation:
    """A write that takes time. ``ends_at``: seconds of the clock; ``fault``: how it ended, None if well."""

    name: str
    ends_at: float
    status: str = "InProgress"
    fault: Fault | None = None


@dataclass
class ResourceManager:
    """``gateway``: the document, or None if there is none. ``clock``: seconds. ``put_seconds``: how long a write takes.

    ``rejects``: names of sub-resources, and host names, that Azure rejects for a reason of its own. ``fails``: faults
    with which the next operations end. ``answers``: errors that the next requests meet. ``puts``: the documents that
    were accepted, as sent; ``on_put`` gets the former one and each. ``requests``: the methods of all requests.
    ``addresses``: id of a public IP resource, in lower case → its properties. ``most_at_once``: the most writes that
    ran at the same time. ``fills_in``: collection → properties that it adds to what was written."""

    gateway: Document | None
    clock: Callable[[], float]
    put_seconds: float = 0.2
    rejects: set[str] = field(default_factory=set)
    fails: list[Fault] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    puts: list[Document] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    addresses: dict[str, Document] = field(default_factory=dict)
    on_put: Callable[[Document, Document], None] = lambda former, sent: None
    most_at_once: int = 0
    fills_in: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    _operations: dict[str, Operation] = field(default_factory=dict)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)
    _secrets: dict[str, Document] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.gateway is not None:
            self.gateway = self._stored(copy.deepcopy(self.gateway), "Succeeded")
            self._keep_secrets(self.gateway)

    def meet(self, request: str) -> None:
        """Count a request (``GET``, ``PUT``), and raise the next of ``answers``, if there is one."""
        self.requests.append(request)
        if self.answers:
            raise self.answers.pop(0)

    def get(self) -> Document:
        """The gateway as Azure shows it. Raises ``Answer`` (404)."""
        self._advance()
        if self.gateway is None:
            raise Answer(404, Fault("ResourceNotFound", "The application gateway was not found."))
        return copy.deepcopy(self.gateway)

    def put(self, document: Document, if_match: str = "") -> tuple[Document, Operation]:
        """Begin to write a document. Raises ``Answer``: 404, 412, and 400 for a document that Azure rejects."""
        present = self.get()
        if if_match and if_match != present["etag"]:
            raise Answer(412, Fault("PreconditionFailed", f"The ETag {if_match} is not that of the gateway."))
        stored = self._stored({**copy.deepcopy(document), "id": present["id"], "name": present["name"]}, "Updating")
        fault = self._without_data(stored, present) or first_fault(stored) or self._rejected(stored)
        if fault is not None:
            raise Answer(400, fault)
        self._keep_secrets(stored)
        running = [found for found in self._operations.values() if found.status == "InProgress"]
        for former in running:
            former.status, former.fault = "Canceled", _SUPERSEDED
        self.most_at_once = max(self.most_at_once, 1 + len(running))
        stored["properties"]["operationalState"] = "Running"
        self.gateway = stored
        self.puts.append(copy.deepcopy(document))
        self.on_put(present, self.puts[-1])
        operation = Operation(f"operation-{next(self._numbers)}", self.clock() + self.put_seconds)
        self._operations[operation.name] = operation
        return copy.deepcopy(stored), operation

    def operation(self, name: str) -> Operation:
        """An operation as it stands. Raises ``Answer`` (404)."""
        self._advance()
        try:
            return self._operations[name]
        except KeyError:
            raise Answer(404, Fault("OperationNotFound", f"There is no operation {name}.")) from None

    def certificate_data(self, name: str) -> str | None:
        """The data that a certificate was last written with, which Azure shows to nobody."""
        return self._secrets.get(name, {}).get("data")

    def change(self, edit: Callable[[Document], None]) -> None:
        """Let another writer edit the gateway: ``edit`` gets its ``properties``."""
        gateway = self.get()
        edit(gateway["properties"])
        self.gateway = self._stored(gateway, gateway["properties"]["provisioningState"])

    def stop(self) -> None:
        """Let somebody stop the gateway."""
        self.change(lambda properties: properties.update(operationalState="Stopped"))

    def _advance(self) -> None:
        """End the operations whose time is over."""
        for operation in self._operations.values():
            if operation.status == "InProgress" and operation.ends_at <= self.clock():
                operation.fault = self.fails.pop(0) if self.fails else None
                operation.status = "Failed" if operation.fault else "Succeeded"
                if self.gateway is not None:
                    self.gateway = self._stored(self.gateway, operation.status)

    def _stored(self, document: Document, state: str) -> Document:
        """A document as Azure keeps it: with ids, ETags, states, defaults and back references."""
        etag = f'W/"{next(self._numbers):08d}-0000-4000-8000-000000000000"'
        document.update(etag=etag, type=_TYPE, location=document.get("location", "westeurope"))
        properties = document.setdefault("properties", {})
        properties.setdefault("operationalState", "Running")
        properties.update(provisioningState=state, resourceGuid="00000000-0000-4000-8000-000000000000")
        for collection in COLLECTIONS:
            for item in properties.setdefault(collection, []):
                self._complete(item, f"{document['id']}/{collection}/{item.get('name', '')}", collection, etag, state)
                for rule in item["properties"].get("pathRules") or ():
                    place = f"{item['id']}/pathRules/{rule['name']}"
                    self._complete(rule, place, "urlPathMaps/pathRules", etag, state)
        _add_back_references(document)
        return document

    def _complete(self, item: Document, place: str, collection: str, etag: str, state: str) -> None:
        item.update(etag=etag, type=f"{_TYPE}/{collection}")
        item.setdefault("id", place)
        given = item.setdefault("properties", {})
        for name, value in {**_DEFAULTS.get(collection, {}), **self.fills_in.get(collection, {})}.items():
            given.setdefault(name, copy.deepcopy(value))
        given["provisioningState"] = state

    def _without_data(self, document: Document, present: Document) -> Fault | None:
        """A certificate that is new and has neither data nor a place in a vault has nothing to serve."""
        known = {item["name"] for item in items_of(present, "sslCertificates")}
        for item in items_of(document, "sslCertificates"):
            given = item["properties"].get("data") or item["properties"].get("keyVaultSecretId")
            if item["name"] not in known and not given:
                return Fault("ApplicationGatewaySslCertificateDataMustBeSpecified", f"{item['id']} has no data.")
        return None

    def _keep_secrets(self, document: Document) -> None:
        """Move what nobody may read back out of a document."""
        for item in items_of(document, "sslCertificates"):
            given = {name: item["properties"].pop(name) for name in _SECRETS if name in item["properties"]}
            kept = self._secrets.setdefault(item["name"], {})
            kept.update(given)
            if public := _public_part(kept):
                item["properties"]["publicCertData"] = public

    def _rejected(self, document: Document) -> Fault | None:
        for collection in COLLECTIONS:
            for item in items_of(document, collection):
                if self.rejects & {item["name"], *item["properties"].get("hostNames", ())}:
                    return Fault("ApplicationGatewayRejectedForATest", f"{item['id']} is not allowed here.")
        return None


def _public_part(secrets: Document) -> str:
    """The certificates of a PFX as Azure shows them: PKCS #7 in base64; empty if it can't be read."""
    from cryptography.hazmat.primitives.serialization import Encoding
    from cryptography.hazmat.primitives.serialization.pkcs7 import serialize_certificates
    from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

    try:
        archive = load_pkcs12(base64.b64decode(secrets["data"]), str(secrets.get("password", "")).encode())
    except (KeyError, ValueError):
        return ""
    chain = [one.certificate for one in (archive.cert, *archive.additional_certs) if one is not None]
    return base64.b64encode(serialize_certificates(chain, Encoding.DER)).decode()


def _add_back_references(document: Document) -> None:
    """Azure shows on frontend ports and certificates which listeners use them."""
    properties = document["properties"]
    for collection, name in (("frontendPorts", "frontendPort"), ("sslCertificates", "sslCertificate")):
        users: dict[str, list[dict[str, str]]] = {}
        for listener in properties["httpListeners"]:
            used = (listener["properties"].get(name) or {}).get("id", "").lower()
            users.setdefault(used, []).append({"id": listener["id"]})
        for item in properties[collection]:
            item["properties"].pop("httpListeners", None)
            if found := users.get(item["id"].lower()):
                item["properties"]["httpListeners"] = found


class _Guest(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the command."""
        yield


@asynccontextmanager
async def serving_resource_manager(
    manager: ResourceManager, *, token: str = "", retry_after: int = 0, port: int = 0
) -> AsyncIterator[str]:
    """Serve a ``ResourceManager`` while the block is open; yields its URL.

    ``token``: what requests must carry as bearer, empty for anything; ``POST /<tenant>/oauth2/v2.0/token`` gives it.
    ``retry_after``: seconds that answers ask clients to wait between polls. ``port``: 0 for a free one.
    """
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen()
        app = _Endpoints(manager, token, retry_after).app()
        server = _Guest(uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", ws="none"))
        async with anyio.create_task_group() as group:
            group.start_soon(server.serve, [listener])
            try:
                yield f"http://127.0.0.1:{listener.getsockname()[1]}"
            finally:
                server.should_exit = True


class _Endpoints:
    def __init__(self, manager: ResourceManager, token: str, retry_after: int) -> None:
        self._manager = manager
        self._token = token
        self._retry_after = str(retry_after)

    def app(self) -> Starlette:
        """The application."""
        gateway = _NETWORK + "/applicationGateways/{gateway}"
        return Starlette(
            routes=[
                Route(gateway, self._guarded(self._get), methods=["GET"]),
                Route(gateway, self._guarded(self._put), methods=["PUT"]),
                Route(_NETWORK + "/publicIPAddresses/{name}", self._guarded(self._address), methods=["GET"]),
                Route(_OPERATIONS + "/operations/{name}", self._guarded(self._poll), methods=["GET"]),
                Route(_OPERATIONS + "/operationResults/{name}", self._guarded(self._result), methods=["GET"]),
                Route("/{tenant}/oauth2/v2.0/token", self._give_token, methods=["POST"]),
            ]
        )

    def _guarded(self, handler: Handler) -> Handler:
        async def guarded(request: Request) -> Response:
            try:
                self._check(request)
                self._manager.meet(request.method)
                return await handler(request)
            except Answer as answer:
                return _error(answer)

        return guarded

    def _check(self, request: Request) -> None:
        if self._token and request.headers.get("authorization") != f"Bearer {self._token}":
            raise Answer(401, Fault("InvalidAuthenticationToken", "The access token is missing, wrong or expired."))
        if "api-version" not in request.query_params:
            raise Answer(400, Fault("MissingApiVersionParameter", "The api-version query parameter is required."))

    async def _get(self, request: Request) -> Response:
        return JSONResponse(self._manager.get())

    async def _put(self, request: Request) -> Response:
        shown, operation = self._manager.put(await request.json(), request.headers.get("if-match", ""))
        path = request.url.path.split("/resourceGroups/")[0] + "/providers/Microsoft.Network/locations/westeurope"
        base = f"{request.url.scheme}://{request.url.netloc}{path}"
        version = request.query_params["api-version"]
        headers = {
            "Azure-AsyncOperation": f"{base}/operations/{operation.name}?api-version={version}",
            "Location": f"{base}/operationResults/{operation.name}?api-version={version}",
            "Retry-After": self._retry_after,
        }
        return JSONResponse(shown, headers=headers)

    async def _poll(self, request: Request) -> Response:
        operation = self._manager.operation(request.path_params["name"])
        shown: dict[str, Any] = {"status": operation.status}
        if operation.fault is not None:
            shown["error"] = _body(operation.fault)
        return JSONResponse(shown, headers={"Retry-After": self._retry_after})

    async def _result(self, request: Request) -> Response:
        operation: Operation = self._manager.operation(request.path_params["name"])
        if operation.status == "InProgress":
            return Response(status_code=202, headers={"Retry-After": self._retry_after})
        return Response(status_code=204)

    async def _address(self, request: Request) -> Response:
        properties = self._manager.addresses.get(request.url.path.lower())
        if properties is None:
            raise Answer(404, Fault("ResourceNotFound", f"{request.url.path} was not found."))
        return JSONResponse({"id": request.url.path, "properties": properties})

    async def _give_token(self, request: Request) -> Response:
        return JSONResponse({"token_type": "Bearer", "expires_in": 3600, "access_token": self._token or "token"})


def _body(fault: Fault) -> dict[str, Any]:
    return {"code": fault.code, "message": fault.message, "details": []}


def _error(answer: Answer) -> Response:
    return JSONResponse({"error": _body(answer.fault)}, status_code=answer.status, headers=answer.headers)
