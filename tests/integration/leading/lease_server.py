"""The two calls of etcd that a keeper makes, with tokens and TLS on demand.

Why not etcd itself: 3.4 asks nobody for a token before it renews a lease, later ones do; and its tokens expire after
five minutes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import grpc

from intentc.watch import rpc_pb2 as rpc
from intentc.watch.etcd_connections import Tls
from tests.support.waiting import PATIENCE

PASSWORD = "secret"


class LeaseServer:
    """Renews any lease that is not in ``lost``. With ``tls`` it asks clients for their certificates, too."""

    def __init__(self, ttl: int, tls: Tls | None = None, address: str = "127.0.0.1:0") -> None:
        self.lost: set[int] = set()
        self.token: str | None = None
        """None: nobody is asked for one. Another text: the tokens that were given are stale."""
        self.renewed = 0
        self.users: list[str] = []
        self._ttl = ttl
        self._changed = threading.Condition()
        self._server = grpc.server(futures.ThreadPoolExecutor(4))
        self._server.add_generic_rpc_handlers(
            [
                grpc.method_handlers_generic_handler(
                    "etcdserverpb.Lease",
                    {
                        "LeaseKeepAlive": grpc.stream_stream_rpc_method_handler(
                            self._keep_alive,
                            rpc.LeaseKeepAliveRequest.FromString,
                            rpc.LeaseKeepAliveResponse.SerializeToString,
                        )
                    },
                ),
                grpc.method_handlers_generic_handler(
                    "etcdserverpb.Auth",
                    {
                        "Authenticate": grpc.unary_unary_rpc_method_handler(
                            self._authenticate,
                            rpc.AuthenticateRequest.FromString,
                            rpc.AuthenticateResponse.SerializeToString,
                        )
                    },
                ),
            ]
        )
        if tls is None:
            port = self._server.add_insecure_port(address)
        else:
            assert tls.key is not None and tls.certificate is not None
            chain = tls.certificate.read_bytes()
            credentials = grpc.ssl_server_credentials(
                [(tls.key.read_bytes(), chain)], root_certificates=chain, require_client_auth=True
            )
            port = self._server.add_secure_port(address, credentials)
        self.address = f"127.0.0.1:{port}"
        self._server.start()

    def wait_for_renewals(self, more: int) -> bool:
        """Wait for so many more; whether they came."""
        with self._changed:
            goal = self.renewed + more
            return self._changed.wait_for(lambda: self.renewed >= goal, PATIENCE)

    def stop(self) -> None:
        """End it, and all connections to it."""
        self._server.stop(0).wait(PATIENCE)

    def _keep_alive(self, requests: Iterator[Any], context: Any) -> Iterator[Any]:
        if self.token is not None and ("token", self.token) not in context.invocation_metadata():
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "etcdserver: invalid auth token")
        for request in requests:
            with self._changed:
                self.renewed += 1
                self._changed.notify_all()
            yield rpc.LeaseKeepAliveResponse(ID=request.ID, TTL=0 if request.ID in self.lost else self._ttl)

    def _authenticate(self, request: Any, context: Any) -> Any:
        if self.token is None:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "etcdserver: authentication is not enabled")
        if request.password != PASSWORD:
            context.abort(
                grpc.StatusCode.INVALID_ARGUMENT,
                "etcdserver: authentication failed, invalid user ID or password",
            )
        self.users.append(request.name)
        return rpc.AuthenticateResponse(token=self.token)
