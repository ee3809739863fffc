"""The API server as the commands use it: look up, read, and change many resources at once.

Why it exists: ``writing`` carries out plans, one object at a time, with fences and compares; a person's files are
applied without either, all together or not at all. Connections and logging in are ``writing.connection``'s business;
which resources are sent, in which order, is the commands'.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from intentc.model import Kind, kebab
from intentc.writing.answers import Answer
from intentc.writing.connection import Connection
from intentc.writing.service import UnknownOutcome, Unreachable

from .errors import CommandError, Exit

_HINTS = {
    HTTPStatus.FORBIDDEN: "the user of client.id may not do this, or the field is the server's own",
    HTTPStatus.NOT_FOUND: "see with `intentc get KIND` what there is",
    HTTPStatus.CONFLICT: "delete or mend what is in the way first",
}


class Refused(CommandError):
    """The server answered with ``status``, which is not one of success."""

    def __init__(self, answer: Answer, where: str) -> None:
        message = answer.message or HTTPStatus(answer.status).phrase
        hint = _HINTS.get(HTTPStatus(answer.status), "mend the resource and run the command again")
        super().__init__(message, where=f"{where} (HTTP {answer.status})", next_step=hint)
        self.status = answer.status


class Change(NamedTuple):
    """One entry of a ``/sync``: ``operation`` is ``CREATE``, ``UPDATE`` or ``DELETE``."""

    operation: str
    kind: str
    data: Mapping[str, Any]


class ApiClient:
    """An async context manager over a connection that it closes. Its calls raise ``CommandError``: unreachable, or
    ``Refused``."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def __aenter__(self) -> ApiClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._connection.aclose()

    @property
    def url(self) -> str:
        """Where the server is, for messages."""
        return self._connection.endpoint.url

    async def identify(self, kind: Kind, fq_name: list[str]) -> str | None:
        """The uuid of the resource with this name, None if there is none."""
        body = {"type": kebab(kind.name), "fq_name": fq_name}
        answer = await self._call("POST", "/fqname-to-id", body, absent=True)
        return str(_json(answer)["uuid"]) if answer.ok else None

    async def get(self, kind: Kind, uuid: str) -> dict[str, Any] | None:
        """One resource with what the server adds to it, None if there is none."""
        answer = await self._call("GET", f"/{kebab(kind.name)}/{quote(uuid, safe='')}", absent=True)
        return dict(_json(answer)[kebab(kind.name)]) if answer.ok else None

    async def all_of(self, kind: Kind) -> list[dict[str, Any]]:
        """All resources of a kind, in the order of their names."""
        answer = await self._call("GET", f"/{kebab(kind.plural)}?detail=true")
        found = _json(answer)[kebab(kind.plural)]
        resources = [entry.get(kebab(kind.name), entry) for entry in found]
        return sorted(resources, key=lambda data: data.get("fq_name", []))

    async def sync(self, changes: list[Change]) -> int:
        """Carry out all of them in one transaction; the revision of etcd, 0 if the server does not tell it."""
        body = {"resources": [{"kind": c.kind, "operation": c.operation, "data": c.data} for c in changes]}
        return (await self._call("POST", "/sync", body)).revision or 0

    async def _call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, absent: bool = False
    ) -> Answer:
        """One request. ``absent``: that there is no such resource is an answer, too."""
        where = f"{method} {self.url.rstrip('/')}{path}"
        try:
            answer = await self._connection.send(method, path, msgspec.json.encode(body) if body is not None else None)
        except (Unreachable, UnknownOutcome) as error:
            raise CommandError(
                str(error),
                where=where,
                next_step="see that the server runs, and that client.endpoint and keystone.authurl name it",
                code=Exit.UNREACHABLE,
            ) from None
        if answer.ok or (absent and answer.status == HTTPStatus.NOT_FOUND and not answer.no_route):
            return answer
        raise Refused(answer, where)


def _json(answer: Answer) -> Any:
    return msgspec.json.decode(answer.content)
