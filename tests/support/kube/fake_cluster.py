"""A small Kubernetes API server in the test's process: the wire protocol of lists, watches and discovery, with faults.

Use it where a test says what the network does to an answer; what a real server accepts is tested on one
(``kube_apiserver.py``). Objects are put and deleted by the test. Every request is counted.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from intentc.loading.kubeconfig import ClusterAccess

Manifest = dict[str, Any]
_STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


class FakeCluster:
    """Objects by path of their list (``/apis/example.org/v1/farms``).

    ``faults``: how the next answers fail: a status, or ``"cut"``; ``cut_after``: bytes of the next watch's answer after
    which its connection is cut; ``token``: what requests must carry, empty for nothing; ``is_identifiable``: whether
    the namespace kube-system may be read.
    """

    def __init__(self) -> None:
        self.uid = str(uuid.uuid4())
        self.version = 100
        self.compacted = 0
        self.kinds: dict[str, tuple[str, bool]] = {}
        self.objects: dict[str, dict[tuple[str, str], Manifest]] = {}
        self.history: list[tuple[int, str, str, Manifest]] = []
        self.faults: list[int | str] = []
        self.cut_after: list[int] = []
        self.token = ""
        self.is_identifiable = True
        self.requests: Counter[str] = Counter()
        self.port = 0
        self._changed = asyncio.Event()
        self._open: set[asyncio.StreamWriter] = set()

    def serve(self, path: str, kind: str, *, namespaced: bool = True) -> None:
        """Install a kind: ``path`` is that of its list."""
        self.kinds[path] = (kind, namespaced)
        self.objects.setdefault(path, {})

    def put(self, path: str, manifest: Manifest) -> Manifest:
        """Create or replace an object; returns it as stored."""
        self.version += 1
        given = manifest["metadata"]
        name = (given.get("namespace", ""), given["name"])
        before = self.objects[path].get(name)
        kept = before["metadata"] if before else {"uid": str(uuid.uuid4()), "creationTimestamp": "2026-01-01T00:00:00Z"}
        stored = {
            **manifest,
            "metadata": {"generation": 1, **kept, **given, "resourceVersion": str(self.version)},
        }
        self.objects[path][name] = stored
        self._note("MODIFIED" if before else "ADDED", path, stored)
        return stored

    def delete(self, path: str, name: str, namespace: str = "default") -> None:
        """Delete an object."""
        self.version += 1
        before = self.objects[path].pop((namespace, name))
        gone = {**before, "metadata": {**before["metadata"], "resourceVersion": str(self.version)}}
        self._note("DELETED", path, gone)

    def compact(self) -> None:
        """Forget the history."""
        self.compacted = self.version

    def emptied(self) -> None:
        """Become another cluster at the same address: without objects, with a history of its own."""
        self.uid, self.version, self.compacted = str(uuid.uuid4()), 5, 0
        self.objects = {path: {} for path in self.objects}
        self.history = []
        self.cut()

    def cut(self) -> None:
        """Cut all connections."""
        for writer in self._open:
            writer.transport.abort()
        self._open.clear()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def access(self) -> ClusterAccess:
        """How to reach it."""
        return ClusterAccess(self.url, token=self.token)

    def _note(self, type_: str, path: str, manifest: Manifest) -> None:
        self.history.append((self.version, type_, path, manifest))
        self._wake()

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        self._open.add(writer)
        try:
            while await self._answer(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(writer)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        method, target, _ = head.split(" ", 2)
        parts = urlsplit(target)
        length = next((int(one[15:]) for one in head.lower().split("\r\n") if one.startswith("content-length:")), 0)
        content = await reader.readexactly(length)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.requests[f"{method} {parts.path}"] += 1
        if self.token and f"authorization: bearer {self.token}".lower() not in head.lower():
            await _send(writer, 401, {"message": "Unauthorized"})
            return True
        if self.faults:
            fault = self.faults.pop(0)
            if fault == "cut":
                writer.transport.abort()
                return False
            await _send(writer, int(fault), {"message": "a fault"})
            return True
        if method == "PATCH":
            await _send(writer, *self._patched(parts.path, query, json.loads(content)))
            return True
        if parts.path in self.kinds and query.get("watch"):
            await self._watch(writer, parts.path, query)
            return False
        status, body = self._found(parts.path, query)
        await _send(writer, status, body)
        return True

    def _found(self, path: str, query: dict[str, str]) -> tuple[int, Any]:
        if path == "/api/v1/namespaces/kube-system" and not self.is_identifiable:
            return 403, {"reason": "Forbidden", "message": 'namespaces "kube-system" is forbidden'}
        if path == "/api/v1/namespaces/kube-system":
            return 200, {"metadata": {"name": "kube-system", "uid": self.uid}}
        if path in self.kinds:
            return self._page(path, query)
        if (found := self._object(path)) is not None:
            return 200, found
        served = [
            {"name": listed.rpartition("/")[2], "kind": kind, "namespaced": namespaced}
            for listed, (kind, namespaced) in self.kinds.items()
            if listed.rpartition("/")[0] == path
        ]
        served += [{**one, "name": f"{one['name']}/status"} for one in served]
        return (200, {"resources": served}) if served else (404, {"message": "page not found"})

    def _object(self, path: str) -> Manifest | None:
        base, _, rest = path.partition("/namespaces/")
        namespace, _, rest = rest.partition("/")
        plural, _, name = rest.partition("/")
        return self.objects.get(f"{base}/{plural}", {}).get((namespace, name))

    def _patched(self, path: str, query: dict[str, str], patch: Any) -> tuple[int, Any]:
        """A merge patch of the top of a status, recorded for its manager."""
        found = self._object(path.removesuffix("/status"))
        if found is None:
            return 404, {"reason": "NotFound", "message": f"{path} not found"}
        metadata = found["metadata"]
        if any(patch["metadata"][field] != metadata[field] for field in ("uid", "resourceVersion")):
            return 409, {"reason": "Conflict", "message": "the object has been modified"}
        status = {**found.get("status", {}), **patch["status"]}
        status = {field: value for field, value in status.items() if value is not None}
        fields: Manifest = {"f:status": {f"f:{field}": {} for field in patch["status"] if field in status}}
        managers = [{"manager": query["fieldManager"], "fieldsV1": fields}]
        base, _, rest = path.partition("/namespaces/")
        given = {**metadata, "managedFields": managers}
        return 200, self.put(f"{base}/{rest.split('/')[1]}", {**found, "metadata": given, "status": status})

    def _page(self, path: str, query: dict[str, str]) -> tuple[int, Any]:
        start, version = 0, self.version
        if "continue" in query:
            start, version = (int(part) for part in query["continue"].split("-"))
            if version <= self.compacted:
                return 410, {"message": "The provided continue parameter is too old"}
        limit = int(query.get("limit", "0")) or len(self.objects[path])
        items = list(self.objects[path].values())[start : start + limit]
        following = f"{start + limit}-{version}" if start + limit < len(self.objects[path]) else ""
        return 200, {"metadata": {"resourceVersion": str(version), "continue": following}, "items": items}

    async def _watch(self, writer: asyncio.StreamWriter, path: str, query: dict[str, str]) -> None:
        version = int(query["resourceVersion"])
        writer.write(_STREAM)
        left = self.cut_after.pop(0) if self.cut_after else None
        if version < self.compacted:
            error = {"kind": "Status", "code": 410, "message": "too old resource version"}
            await _chunk(writer, json.dumps({"type": "ERROR", "object": error}).encode() + b"\n")
            await _chunk(writer, b"")
            return
        while True:
            changed = self._changed
            for number, type_, listed, manifest in list(self.history):
                if listed != path or number <= version:
                    continue
                version = number
                line = json.dumps({"type": type_, "object": manifest}).encode() + b"\n"
                if left is not None and len(line) > left:
                    await _chunk(writer, line[:left])
                    writer.transport.abort()
                    return
                left = None if left is None else left - len(line)
                await _chunk(writer, line)
            await changed.wait()
            if writer.is_closing():
                return


async def _send(writer: asyncio.StreamWriter, status: int, body: Any) -> None:
    content = json.dumps(body).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    writer.write(head.encode() + content)
    await writer.drain()


async def _chunk(writer: asyncio.StreamWriter, piece: bytes) -> None:
    writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
    await writer.drain()


@asynccontextmanager
async def running_fake_cluster(
    setup: Callable[[FakeCluster], None] = lambda cluster: None,
) -> AsyncIterator[FakeCluster]:
    """A cluster that listens until the block is left; ``setup`` installs kinds."""
    cluster = FakeCluster()
    setup(cluster)
    server = await asyncio.start_server(cluster.connected, "127.0.0.1", 0)
    cluster.port = server.sockets[0].getsockname()[1]
    try:
        yield cluster
    finally:
        server.close()
        cluster.cut()
