"""An API server of a few lines for the commands to talk to: the calls that they make, over real HTTP, on a thread.

It resolves and checks nothing; the real one is tested with the commands in tests/integration.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

Resource = dict[str, Any]


class ToyApiServer(ThreadingHTTPServer):
    """``stored``: (kind in kebab-case, uuid) → fields. ``limit``: resources that one /sync takes. ``rejection``: status
    and message for every /sync but the first ``accepts`` (``rejected_item``: the index of the guilty element, and the
    message without its place). ``batches``: the accepted ones, as (operation, kind, last name). ``token``: what
    X-Auth-Token must be, given out to ``password``. ``status``: answers of /status, one after the other; ``why``:
    that of /why. ``quarantine``: what the pages of /quarantine show."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.stored: dict[tuple[str, str], Resource] = {}
        self.limit = 1000
        self.rejection: tuple[int, str] | None = None
        self.rejected_item: tuple[int, str] | None = None
        self.accepts = 0
        self.batches: list[list[tuple[str, str, str]]] = []
        self.revision = 100
        self.token = ""
        self.password = ""
        self.status: list[dict[str, Any]] = []
        self.why: dict[str, Any] = {}
        self.quarantine: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def put(self, kind: str, *fq_name: str, **fields: Any) -> str:
        """Store a resource; its uuid."""
        made = str(uuid.uuid4())
        self.stored[kind, made] = {"uuid": made, "fq_name": list(fq_name), "parent_type": "domain", **fields}
        return made

    def names(self, kind: str) -> list[str]:
        return sorted(":".join(data["fq_name"]) for (stored, _), data in self.stored.items() if stored == kind)

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        match method, path.partition("?")[0].strip("/").split("/"):
            case "GET", ["status"]:
                return 200, self.status.pop(0) if len(self.status) > 1 else self.status[0]
            case "GET", ["quarantine"]:
                given = {name: int(value) for name, value in parse_qsl(urlsplit(path).query)}
                page = self.quarantine[given["offset"] : given["offset"] + given["limit"]]
                return 200, {"total": len(self.quarantine), "quarantine": page}
            case "GET", ["why"]:
                return 200, self.why
            case "POST", ["fqname-to-id"]:
                for (kind, found), stored in self.stored.items():
                    if (kind, stored["fq_name"]) == (body["type"], body["fq_name"]):
                        return 200, {"uuid": found}
                return 404, {"message": "no such name"}
            case "POST", ["id-to-fqname"]:
                for (kind, found), stored in self.stored.items():
                    if found == body["uuid"]:
                        return 200, {"type": kind, "fq_name": stored["fq_name"]}
                return 404, {"message": "no such uuid"}
            case "POST", ["sync"]:
                return self._sync(body["resources"])
            case "GET", [kind, found]:
                data = self.stored.get((kind, found))
                return (200, {kind: data}) if data else (404, {"message": "no such uuid"})
            case "GET", [plural]:
                found_all = [{k: data} for (k, _), data in self.stored.items() if f"{k}s" == plural]
                return 200, {plural: found_all}
        return 404, {"message": "Not Found"}

    def _sync(self, entries: list[Any]) -> tuple[int, Any]:
        if self.rejection and len(entries) <= self.limit and len(self.batches) >= self.accepts:
            place = {"item": self.rejected_item[0], "detail": self.rejected_item[1]} if self.rejected_item else {}
            return self.rejection[0], {"message": self.rejection[1], **place}
        if len(entries) > self.limit:
            return 413, {"message": f"{len(entries)} operations, the limit is {self.limit}"}
        for entry in entries:
            kind, data = entry["kind"].replace("_", "-"), entry["data"]
            match entry["operation"]:
                case "CREATE":
                    data.setdefault("uuid", str(uuid.uuid4()))
                    self.stored[kind, data["uuid"]] = data
                case "UPDATE":
                    self.stored[kind, data["uuid"]] |= data
                case "DELETE":
                    data |= self.stored.pop((kind, data["uuid"]))
        self.batches.append([(e["operation"], e["kind"], e["data"]["fq_name"][-1]) for e in entries])
        self.revision += 1
        return 200, []


class _Handler(BaseHTTPRequestHandler):
    server: ToyApiServer

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body: Any = json.loads(self.rfile.read(length)) if length else None
        headers = {"X-Etcd-Revision": str(self.server.revision)}
        if self.path == "/keystone/v3/auth/tokens":
            given = body["auth"]["identity"]["password"]["user"]["password"]
            status, answer = (201, {}) if given == self.server.password else (401, {"message": "no"})
            headers["X-Subject-Token"] = self.server.token
        elif self.server.token and self.headers.get("X-Auth-Token") != self.server.token:
            status, answer = 401, {"message": "no token"}
        else:
            status, answer = self.server.answer(self.command, self.path, body)
            headers["X-Etcd-Revision"] = str(self.server.revision)
        content = json.dumps(answer).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = _answer

    def log_message(self, *args: Any) -> None:
        """Silent: the commands' own output is under test."""


@contextmanager
def serving() -> Iterator[ToyApiServer]:
    """The server on a thread while the context is open."""
    with ToyApiServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
