"""Logs in to Keystone v3 and keeps the token until the API server rejects it (docs/contrail.md B.3).

Neither password nor token is ever part of a message: not even Keystone's own messages are repeated, since they may
quote what we sent. ``connection.py`` sends requests, and repeats them with the new token.
The password is read again for each log-in.
"""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import msgspec

from intentc.model.problem import described
from intentc.reconcile.failures import Unavailable, Untrusted

from .answers import Answer
from .bounded import received
from .endpoint import Addresses, Credentials, trust_lack

_PAUSE = 1.0
"""Seconds before a rejected password is tried again, so that many calls count once against the account."""
_LARGEST_ANSWER = 4 * 1024 * 1024
"""Bytes: a token with the catalogue of services."""
_ANSWER_SECONDS = 60.0
_CHECK = "check client.id, client.password, and the client's project and domain"

TOKEN_HEADER = "X-Auth-Token"  # noqa: S105 - the header's name


class Tokens:
    """The current token. Many calls that are rejected at once log in once."""

    def __init__(self, credentials: Credentials, client: httpx2.AsyncClient) -> None:
        self._credentials = credentials
        self._addresses = Addresses(credentials.auth_urls, "Keystone")
        self._client = client
        self._token = ""
        self._turn = asyncio.Lock()
        self._rejected = ""
        """The password that Keystone rejected last."""
        self._rejected_until = 0.0

    async def token(self) -> str:
        """The token to send. Raises ``Unavailable`` if the log-in fails."""
        return self._token or await self.renewed("")

    async def renewed(self, rejected: str) -> str:
        """A token other than ``rejected``. Raises ``Unavailable`` naming what to check."""
        async with self._turn:
            if self._token == rejected:
                self._token = ""
                self._token = await self._log_in()
            return self._token

    async def _log_in(self) -> str:
        password = self._credentials.password()
        clock = asyncio.get_running_loop().time
        if password == self._rejected and clock() < self._rejected_until:
            raise Unavailable(f"Keystone at {self._credentials.auth_url} gave no token just now; {_CHECK}")
        body = msgspec.json.encode(login_body(self._credentials, password))
        base, answer = await self._addresses.ask(lambda url: self._asked(f"{url}/auth/tokens", body), repeats=True)
        where = f"{base}/auth/tokens"
        token = answer.headers.get("X-Subject-Token", "")
        if answer.status not in {200, 201} or not token:
            self._rejected, self._rejected_until = password, clock() + _PAUSE
            if answer.status == httpx2.codes.TOO_MANY_REQUESTS:
                raise Unavailable(f"Keystone at {where} gives no token: too many log-ins (429), try again later")
            raise Unavailable(f"Keystone at {where} gives no token (status {answer.status}): {_CHECK}")
        self._rejected = ""
        return str(token)

    async def _asked(self, where: str, body: bytes) -> Answer:
        try:
            sent = self._client.send(self._client.build_request("POST", where, content=body), stream=True)
            return await received(sent, most=_LARGEST_ANSWER, seconds=_ANSWER_SECONDS)
        except httpx2.HTTPError as error:
            if lack := trust_lack(error):
                raise Untrusted(f"no connection to Keystone at {where}: {lack} ({error})") from None
            raise Unavailable(f"no answer from Keystone at {where}: {described(error)}") from None


def login_body(credentials: Credentials, password: str) -> dict[str, Any]:
    """The body of ``POST /auth/tokens``."""
    user = {"id": credentials.user_id, "password": password}
    auth: dict[str, Any] = {"identity": {"methods": ["password"], "password": {"user": user}}}
    if credentials.project_id:
        auth["scope"] = {"project": {"id": credentials.project_id}}
    elif credentials.project_name:
        domain = {"name": credentials.domain_name} if credentials.domain_name else {"id": credentials.domain_id}
        auth["scope"] = {"project": {"name": credentials.project_name, "domain": domain}}
    return {"auth": auth}
