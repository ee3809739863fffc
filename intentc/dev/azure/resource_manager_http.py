"""The stand-in on the wire: Resource Manager's REST, public IP addresses, and tokens, over HTTP on loopback.

It checks the bearer and the API version of requests; what a request means is in ``resource_manager``.

State: that of the ``ResourceManager``; the socket and the server's task while the block is open.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from .resource_manager import Answer, Operation, ResourceManager
from .validation import Fault

_NETWORK = "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network"
_OPERATIONS = "/subscriptions/{subscription}/providers/Microsoft.Network/locations/{location}"
Handler = Callable[[Request], Awaitable[Response]]


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
