"""A small API server that remembers what it was sent, and a schema of its own for writing to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from intentc.model import Create, Delete, Key, Mark, Name, Parent, ReferenceValue, Schema, Update
from intentc.model.schema import KindSpec, ReferenceSpec, build_kind
from intentc.model.types import TypeTable

TYPES = TypeTable({"Rules": {"rule": {"list": "string"}}, "Direction": {"export": "boolean"}})

SCHEMA = Schema(
    build_kind(spec, TYPES, "toy")
    for spec in (
        KindSpec(kind="tenant", group="toy"),
        KindSpec(
            kind="access_list",
            group="toy",
            parents=("tenant",),
            properties={"rules": "Rules", "digest": "string"},
            references={"target": ReferenceSpec(attribute="Direction"), "tenant": None},
        ),
        KindSpec(kind="target", group="toy"),
        KindSpec(
            kind="toy_route",
            group="toy.io",
            shape="kubernetes",
            properties={"host": "string"},
            versions={"toy.io/v1": {"hostname": "host"}, "toy.io/v2": {}},
        ),
    )
)

Rules: Any = TYPES.struct("Rules")
Direction: Any = TYPES.struct("Direction")
TENANT = Parent(Key("tenant", "t"), ("acme",))
MARK = Mark("main", "toy", "o1")


def create(uuid: str = "a1", *, parent: Parent | None = TENANT) -> Create:
    return Create(
        Key("access_list", uuid), Name("access_list", ("acme", uuid)), parent, MARK, {"rules": Rules(rule=("any",))}, {}
    )


def update(uuid: str = "a1", *, revision: int | None = 7, **fields: Any) -> Update:
    return Update(
        Key("access_list", uuid), Name("access_list", ("acme", uuid)), fields or {"digest": "x"}, {}, revision
    )


def delete(uuid: str = "a1", *, revision: int | None = 7) -> Delete:
    return Delete(Key("access_list", uuid), Name("access_list", ("acme", uuid)), revision)


def to_target(uuid: str, attribute: Any = None) -> ReferenceValue:
    return ReferenceValue(Key("target", uuid), (uuid,), attribute)


class Sent(NamedTuple):
    """One request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


Rule = Callable[[Sent], Response | None]


def reject(status: int, message: str = "no", **headers: str) -> Response:
    return JSONResponse({"message": message}, status, {name.replace("_", "-"): text for name, text in headers.items()})


class ToyApi:
    """Acknowledges everything with a rising revision, save what ``rule`` answers otherwise.

    ``gate``: while it is closed, no request is answered. ``limit``, ``relaxes``: what ``GET /`` answers.
    """

    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.rule: Rule = lambda sent: None
        self.gate = asyncio.Event()
        self.gate.set()
        self.limit: int | None = 1000
        self.relaxes = False
        self.revisions = True
        self.revision = 100
        self.most_at_once = 0
        self._at_once = 0
        self.app = Starlette(routes=[Route("/{path:path}", self._answer, methods=["GET", "POST", "PUT", "DELETE"])])

    @property
    def writes(self) -> list[Sent]:
        """The requests other than ``GET /``."""
        return [sent for sent in self.sent if (sent.method, sent.path) != ("GET", "/")]

    @property
    def batches(self) -> list[list[str]]:
        """The uuids in each ``/sync``."""
        return [uuids(sent) for sent in self.sent if sent.path == "/sync"]

    async def _answer(self, request: Request) -> Response:
        raw = await request.body()
        sent = Sent(
            request.method,
            request.url.path,
            dict(request.query_params),
            dict(request.headers),
            msgspec.json.decode(raw) if raw else None,
        )
        self.sent.append(sent)
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            await asyncio.sleep(0)  # so that others get their turn, as over a network
            await self.gate.wait()
        finally:
            self._at_once -= 1
        if (answer := self.rule(sent)) is not None:
            return answer
        if (sent.method, sent.path) == ("GET", "/"):
            limit = {} if self.limit is None else {"max_txn_ops": self.limit}
            return JSONResponse(limit | ({"relaxed_references": True} if self.relaxes else {}))
        self.revision += 1
        return JSONResponse({}, headers={"X-Etcd-Revision": str(self.revision)} if self.revisions else {})


def uuids(sent: Sent) -> list[str]:
    """The uuids that a request writes."""
    if sent.path == "/sync":
        return [item["data"]["uuid"] for item in sent.body["resources"]]
    return [next(iter(sent.body.values()))["uuid"]] if sent.method == "POST" else [sent.path.rsplit("/", 1)[-1]]
