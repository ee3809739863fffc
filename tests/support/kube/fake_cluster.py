"""A small Kubernetes API server in the test's process: the wire protocol of lists, watches and discovery, with faults.

Use it where a test says what the network does to an answer; what a real server accepts is tested on one
(``kube_apiserver.py``). Objects are put and deleted by the test, and by clients (``writes.py``). Every request is
counted.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from bisect import bisect_right
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from intentc.apiserver.kubernetes.server_side_apply import UPDATE, Entry, Owner, updated
from intentc.loading.kubeconfig import ClusterAccess

from .writes import NOW, carried_out, no_lists

Manifest = dict[str, Any]
_STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


class FakeCluster:
    """Objects by path of their list (``/apis/example.org/v1/farms``).

    ``faults``: how the next answers fail: a status, or ``"cut"``; ``cut_after``: bytes of the next watch's answer after
    which its connection is cut; ``repeated``: past events that each watch begins with, and that come again after each
    event; ``token``: what requests must carry, empty for nothing; ``is_identifiable``: whether the namespace
    kube-system may be read.
    """

    def __init__(self) -> None:
        self.uid = str(uuid.uuid4())
        self.version = 100
        self.compacted = 0
        self.kinds: dict[str, tuple[str, bool]] = {}
        self.objects: dict[str, dict[tuple[str, str], Manifest]] = {}
        self.history: list[tuple[int, str, str, Manifest, Manifest | None]] = []
        self.managers: dict[tuple[str, str, str], tuple[Entry, ...]] = {}
        """Who owns which field, by path of the list, namespace and name."""
        self.events: dict[str, Manifest] = {}
        """Kubernetes Events, by name."""
        self.log: list[str] = []
        """Writes of clients that changed something, such as ``apply Deployment shop/web``."""
        self.on_write: Callable[[str], None] = lambda what: None
        """Called after each of them, before it is answered."""
        self.faults: list[int | str] = []
        self.cut_after: list[int] = []
        self.failing: dict[str, int] = {}
        """How all writes at a path fail: a status."""
        self.unreadable: dict[str, int] = {}
        """How all reads of the object at a path fail: a status."""
        self.repeated = 0
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

    def put(self, path: str, manifest: Manifest, manager: str = "") -> Manifest:
        """Create or replace an object; returns it as stored. ``manager``: who owns what that changes, empty: nobody."""
        self.version += 1
        given = manifest["metadata"]
        name = (given.get("namespace", ""), given["name"])
        before = self.objects[path].get(name)
        kept = before["metadata"] if before else {"uid": str(uuid.uuid4()), "creationTimestamp": "2026-01-01T00:00:00Z"}
        stored = {
            **manifest,
            "metadata": {"generation": 1, **kept, **given, "resourceVersion": str(self.version)},
        }
        if manager:
            owner = Owner(manager, UPDATE)
            entries = self.managers.get((path, *name), ())
            self.managers[path, *name] = updated(before or {}, stored, entries, owner, no_lists, now=NOW)
        self.objects[path][name] = stored
        self._note("MODIFIED" if before else "ADDED", path, stored, before)
        return stored

    def delete(self, path: str, name: str, namespace: str = "default") -> None:
        """Delete an object; one with finalizers waits for them."""
        before = self.objects[path][namespace, name]
        if before["metadata"].get("finalizers"):
            self.put(path, {**before, "metadata": {**before["metadata"], "deletionTimestamp": NOW}})
        else:
            self.remove(path, name, namespace)

    def remove(self, path: str, name: str, namespace: str = "default") -> None:
        """Remove an object at once."""
        self.version += 1
        before = self.objects[path].pop((namespace, name))
        self.managers.pop((path, namespace, name), None)
        gone = {**before, "metadata": {**before["metadata"], "resourceVersion": str(self.version)}}
        self._note("DELETED", path, gone, before)

    def compact(self) -> None:
        """Forget the history."""
        self.compacted = self.version

    def emptied(self) -> None:
        """Become another cluster at the same address: without objects, with a history of its own."""
        self.uid, self.version, self.compacted = str(uuid.uuid4()), 5, 0
        self.objects = {path: {} for path in self.objects}
        self.history = []
        self.cut()

    def saved(self) -> tuple[int, dict[str, dict[tuple[str, str], Manifest]]]:
        """A backup of its etcd, for ``restore``."""
        return self.version, {path: dict(objects) for path, objects in self.objects.items()}

    def restore(self, saved: tuple[int, dict[str, dict[tuple[str, str], Manifest]]]) -> None:
        """Be as the backup says: the same cluster, at an older revision."""
        self.version, objects = saved[0], saved[1]
        self.objects = {path: dict(found) for path, found in objects.items()}
        self.history, self.compacted = [], self.version
        self.cut()

    def drop_kind(self, path: str) -> None:
        """Delete the definition of a kind, which deletes its objects, while nobody watches."""
        self.cut()
        for namespace, name in list(self.objects[path]):
            self.delete(path, name, namespace)
        del self.kinds[path]

    def cut(self) -> None:
        """Cut all connections."""
        for writer in self._open:
            writer.transport.abort()
        self._open.clear()
        self._wake()

    def last_event(self, path: str, selector: str = "") -> int:
        """The version of the last event that a watch with this labelSelector shows."""
        query = {"labelSelector": selector}
        shown = [one[0] for one in self.history if one[2] == path and _type_for(one[1], one[3], one[4], query)]
        return max(shown, default=0)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def access(self) -> ClusterAccess:
        """How to reach it."""
        return ClusterAccess(self.url, token=self.token)

    def _note(self, type_: str, path: str, manifest: Manifest, before: Manifest | None) -> None:
        self.history.append((self.version, type_, path, manifest, before))
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
        if method != "GET" and parts.path in self.failing:
            await _send(writer, self.failing[parts.path], {"message": "no such field"})
            return True
        if method == "GET" and parts.path in self.unreadable:
            await _send(writer, self.unreadable[parts.path], {"message": "not for you"})
            return True
        if method in ("PATCH", "POST", "DELETE"):
            done = carried_out(self, method, parts.path, query, json.loads(content or b"{}"), head.lower())
            await _send(writer, *done)
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
        if (place := self.place(path)) is not None:
            found = self.objects[place[0]].get(place[1:])
            return (200, found) if found is not None else (404, {"reason": "NotFound", "message": f"{path} not found"})
        served = [
            {"name": listed.rpartition("/")[2], "kind": kind, "namespaced": namespaced}
            for listed, (kind, namespaced) in self.kinds.items()
            if listed.rpartition("/")[0] == path
        ]
        served += [{**one, "name": f"{one['name']}/status"} for one in served]
        return (200, {"resources": served}) if served else (404, {"message": "page not found"})

    def place(self, path: str) -> tuple[str, str, str] | None:
        """The list, namespace and name of an object; None if no such kind is served."""
        base, _, rest = path.partition("/namespaces/")
        if rest:
            namespace, _, rest = rest.partition("/")
            plural, _, name = rest.partition("/")
        else:
            namespace, (base, _, name) = "", path.rpartition("/")
            base, _, plural = base.rpartition("/")
        listed = f"{base}/{plural}"
        return (listed, namespace, name) if listed in self.kinds and name and "/" not in name else None

    def _page(self, path: str, query: dict[str, str]) -> tuple[int, Any]:
        start, version = 0, self.version
        if "continue" in query:
            start, version = (int(part) for part in query["continue"].split("-"))
            if version <= self.compacted:
                return 410, {"message": "The provided continue parameter is too old"}
        chosen = [one for one in self.objects[path].values() if _is_selected(one, query)]
        limit = int(query.get("limit", "0")) or len(chosen)
        items = chosen[start : start + limit]
        following = f"{start + limit}-{version}" if start + limit < len(chosen) else ""
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
        begins = True
        while True:
            changed = self._changed
            # Sorted by version: a watch that keeps up looks at the new ones only.
            first = bisect_right(self.history, version, key=lambda one: one[0])
            news = [one for one in self.history[first:] if one[2] == path]
            if self.repeated and (begins or news):
                history = [one for one in self.history if one[2] == path]
                # Late ones first, and each of the new ones twice.
                news = [*[one for one in history if one[0] <= version][-self.repeated :], *news, *news]
            begins = False
            for number, type_, _, manifest, before in news:
                version = max(version, number)
                type_ = _type_for(type_, manifest, before, query)
                if not type_:
                    continue
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


def _is_selected(manifest: Manifest | None, query: dict[str, str]) -> bool:
    label, _, value = query.get("labelSelector", "").partition("=")
    return manifest is not None and (not label or manifest["metadata"].get("labels", {}).get(label) == value)


def _type_for(type_: str, manifest: Manifest, before: Manifest | None, query: dict[str, str]) -> str:
    """What an event is for a watch with a selector; empty: nothing."""
    was, now = _is_selected(before, query), type_ != "DELETED" and _is_selected(manifest, query)
    return {(False, True): "ADDED", (True, True): "MODIFIED", (True, False): "DELETED"}.get((was, now), "")


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
