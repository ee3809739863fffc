"""The commands' client of the API server: looks up, reads, and changes many resources at once.

Why it exists: ``writing`` carries out plans, one object at a time, with fences. Commands change many resources in one
transaction, without a fence, and with compares only where they ask for them. ``writing.connection`` connects and logs
in; ``transfer`` splits what the server rejects as too large; the commands choose which resources are sent, and in which
order.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from intentc.loading.configuration import Configuration
from intentc.model import Key, Kind, kebab
from intentc.reconcile.failures import Unavailable, UnknownOutcome, Untrusted
from intentc.writing.answers import Answer
from intentc.writing.connection import Connection

from .command_error import CommandError, Exit
from .connecting import api_server
from .input_files import item_in

_HINTS: Mapping[int, str] = {
    HTTPStatus.FORBIDDEN: "the user of client.id may not do this, or only the server sets this field",
    HTTPStatus.NOT_FOUND: "`intentc get KIND` lists what exists",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "split the resource or the request, and run the command again",
    HTTPStatus.TOO_MANY_REQUESTS: "wait a moment, and run the command again",
    HTTPStatus.UNPROCESSABLE_ENTITY: "`intentc get KIND` lists what can't be read, and how to replace or delete it",
    HTTPStatus.CONFLICT: "delete or fix what is in the way first",
}


_AWAY = {HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}
"""The server answers, but something that it depends on does not."""


class Rejected(CommandError):
    """The server rejected a request with ``status``."""

    def __init__(self, answer: Answer, where: str) -> None:
        index, detail = item_in(answer.message or _phrase(answer.status))
        away = answer.status in _AWAY
        hint = _HINTS.get(answer.status, "fix the resource and run the command again")
        super().__init__(
            detail,
            where=f"{where} (HTTP {answer.status})",
            next_step="see that the API server's etcd runs, and run the command again" if away else hint,
            code=Exit.UNREACHABLE if away else Exit.INVALID,
        )
        self.status = answer.status
        self.item = index if answer.item is None else answer.item
        """The index of the rejected element of a ``/sync``, None if the server names none."""
        self.rejected = {one.item: one.detail for one in answer.rejected}
        """Index → why, of the rejected elements that the server names."""

    def about(self, message: str, where: str) -> CommandError:
        """The same rejection with a message about the resource; ``where``: its ``file:line``."""
        return CommandError(message, where=where, next_step=self.next_step, code=self.code)


class Change(NamedTuple):
    """One entry of a ``/sync``: ``operation`` is ``CREATE``, ``UPDATE`` or ``DELETE``. ``if_match``: the revision that
    the resource must still have, None: any; ``must_be_new``: it must not exist yet."""

    operation: str
    kind: str
    data: Mapping[str, Any]
    if_match: int | None = None
    must_be_new: bool = False

    @property
    def item(self) -> dict[str, Any]:
        """The element of ``resources``."""
        condition: dict[str, Any] = {} if self.if_match is None else {"if_match": self.if_match}
        if self.must_be_new:
            condition["if_none_match"] = True
        return {"kind": self.kind, "operation": self.operation, "data": self.data, **condition}


class Unreadable(NamedTuple):
    """A value in etcd that can't be read. ``uuid``: the last part of its key; ``fq_name``: empty if unknown;
    ``message``: which key it is, and why."""

    uuid: str
    fq_name: list[str]
    message: str


class ApiClient:
    """Calls the API server over a connection, which it closes as a context manager. Calls raise ``CommandError`` if the
    server can't be reached, and ``Rejected``."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.revision = 0
        """The highest etcd revision in any answer: of a change, or of a resource that was read."""

    async def __aenter__(self) -> ApiClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._connection.aclose()

    @property
    def url(self) -> str:
        """The server's URL, for messages."""
        return self._connection.endpoint.url

    async def identify(self, kind: Kind, fq_name: list[str]) -> str | None:
        """The uuid of the resource with this name, None if there is none."""
        body = {"type": kebab(kind.name), "fq_name": fq_name}
        answer = await self._call("POST", "/fqname-to-id", body, absent=True)
        return str(_json(answer)["uuid"]) if answer.ok else None

    async def fq_name_of(self, uuid: str) -> list[str]:
        """The fq_name of the resource with this uuid; empty if there is none."""
        answer = await self._call("POST", "/id-to-fqname", {"uuid": uuid}, absent=True)
        return list(_json(answer)["fq_name"]) if answer.ok else []

    async def name_of(self, uuid: str) -> str:
        """The fq_name of this uuid joined by ``:``; empty if there is none."""
        return ":".join(await self.fq_name_of(uuid))

    async def get(self, kind: Kind, uuid: str) -> dict[str, Any] | None:
        """One resource with the fields that the server adds, None if there is none."""
        answer = await self._call("GET", f"/{kebab(kind.name)}/{quote(uuid, safe='')}?exclude_hrefs=true", absent=True)
        return dict(_json(answer)[kebab(kind.name)]) if answer.ok else None

    async def listed(self, kind: Kind) -> tuple[list[dict[str, Any]], list[Unreadable]]:
        """All resources of a kind, sorted by name; and those whose values can't be read, if the server lists them."""
        answer = await self._call("GET", f"/{kebab(kind.plural)}?detail=true&exclude_hrefs=true&unreadable=true")
        body = _json(answer)
        resources = [entry.get(kebab(kind.name), entry) for entry in body[kebab(kind.plural)]]
        others = [Unreadable(**one) for one in body.get("unreadable", ())]
        return sorted(resources, key=lambda data: data.get("fq_name", [])), others

    async def referring(self, kind: Kind, uuid: str) -> list[dict[str, Any]]:
        """The resources of a kind that refer to a uuid."""
        query = f"detail=true&exclude_hrefs=true&back_ref_id={quote(uuid, safe='')}"
        answer = await self._call("GET", f"/{kebab(kind.plural)}?{query}")
        return [entry.get(kebab(kind.name), entry) for entry in _json(answer)[kebab(kind.plural)]]

    async def sync(self, changes: list[Change]) -> Answer:
        """Carry out ``changes`` in one transaction."""
        return await self.carry_out([change.item for change in changes])

    async def carry_out(self, items: list[dict[str, Any]]) -> Answer:
        """Carry out elements of a ``/sync``, as the server takes them, in one transaction."""
        return await self._call("POST", "/sync", {"resources": items})

    async def _call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, absent: bool = False
    ) -> Answer:
        """Send one request. ``absent``: 404 for a missing resource is an answer, not an error."""
        where = f"{method} {self.url.rstrip('/')}{path}"
        try:
            answer = await self._connection.send(method, path, msgspec.json.encode(body) if body is not None else None)
        except Untrusted as error:
            raise CommandError(
                str(error),
                where=where,
                next_step="compare client.tls with the certificates of the server",
                code=Exit.UNREACHABLE,
            ) from None
        except (Unavailable, UnknownOutcome) as error:
            raise CommandError(
                str(error),
                where=where,
                next_step="see that the server runs, and that client.endpoint and keystone.authurl name it",
                code=Exit.UNREACHABLE,
            ) from None
        self.revision = max(self.revision, answer.revision or 0)
        if answer.ok or (absent and answer.status == HTTPStatus.NOT_FOUND and not answer.no_route):
            return answer
        raise Rejected(answer, where)


class Touching(ApiClient):
    """A client that records which resources it changed, as the reference API server answers a ``/sync``."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.touched: set[Key] = set()

    async def sync(self, changes: list[Change]) -> Answer:
        answer = await super().sync(changes)
        self.touched |= {Key(done["kind"], done["data"]["uuid"]) for done in _json(answer)}
        return answer


def api_client(configuration: Configuration) -> ApiClient:
    """A client of the configured API server. Raises ``InvalidInput``, as ``api_server`` does."""
    return ApiClient(Connection(api_server(configuration)))


def _phrase(status: int) -> str:
    return next((known.phrase for known in HTTPStatus if known == status), "rejected")


def _json(answer: Answer) -> Any:
    return msgspec.json.decode(answer.content)
