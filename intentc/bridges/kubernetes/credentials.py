"""Keeps the ``Authorization`` of requests to a cluster: a token, a token file, a password, or a program's answer.

Why it exists: tokens end while the process runs. A token file is read for each request; a program runs again before its
token ends, and after a 401. Whether a kubeconfig may run programs at all (``intentc.kubernetes.exec``) is checked by
``intentc kubernetes``.
"""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

import anyio
import msgspec

from intentc.loading.kubeconfig import ClusterAccess, Exec
from intentc.model.files import read_regular
from intentc.reconcile.failures import Unauthenticated

_LARGEST_TOKEN = 64 * 1024
_EXEC_SECONDS = 60.0
_EARLY_SECONDS = 30.0
"""A token that ends within this time is not used any more."""


class _Status(msgspec.Struct):
    token: str = ""
    until: datetime | None = msgspec.field(default=None, name="expirationTimestamp")


class _ExecCredential(msgspec.Struct):
    status: _Status


class _Given(NamedTuple):
    token: str
    until: datetime | None


class Credentials:
    """The credentials of one access. ``now``: the wall clock, in UTC."""

    def __init__(self, access: ClusterAccess, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._access = access
        self._now = now
        self._given: _Given | None = None
        self._running = anyio.Lock()

    async def header(self) -> dict[str, str]:
        """The header of a request; empty if a certificate, or nothing, shows who we are. Raises ``Unauthenticated``."""
        access = self._access
        if access.token_file is not None:
            try:
                token = read_regular(access.token_file, _LARGEST_TOKEN).decode().strip()
            except (OSError, UnicodeDecodeError) as error:
                raise Unauthenticated(f"the token can't be read: {error}") from None
            if not token:
                raise Unauthenticated(f"the token can't be read: {access.token_file} is empty")
            return {"Authorization": f"Bearer {token}"}
        if access.token:
            return {"Authorization": f"Bearer {access.token}"}
        if access.exec is not None:
            return {"Authorization": f"Bearer {await self._of_program(access.exec)}"}
        if access.username:
            pair = base64.b64encode(f"{access.username}:{access.password}".encode()).decode()
            return {"Authorization": f"Basic {pair}"}
        return {}

    def renew(self) -> bool:
        """Forget a token that the cluster rejected; whether the next one may be another."""
        self._given = None
        return self._access.exec is not None or self._access.token_file is not None

    async def _of_program(self, program: Exec) -> str:
        async with self._running:
            given = self._given
            if given is None or self._ends(given):
                given = self._given = await _ask(program)
            return given.token

    def _ends(self, given: _Given) -> bool:
        return given.until is not None and (given.until - self._now()).total_seconds() < _EARLY_SECONDS


async def _ask(program: Exec) -> _Given:
    about = {"apiVersion": program.api_version, "kind": "ExecCredential", "spec": {"interactive": False}}
    environment = {
        **os.environ,
        **program.environment,
        "KUBERNETES_EXEC_INFO": msgspec.json.encode(about).decode(),
    }
    name = program.command[0]
    if program.interactive:
        raise Unauthenticated(f"{name} asks a person (interactiveMode: Always), and a service has none")
    try:
        with anyio.fail_after(_EXEC_SECONDS):
            done = await anyio.run_process(
                list(program.command), env=environment, check=False, stdin=subprocess.DEVNULL
            )
    except (OSError, TimeoutError) as error:
        raise Unauthenticated(f"{name} can't be run for credentials: {error or 'no answer within 60 s'}") from None
    if done.returncode:
        raise Unauthenticated(f"{name} gave no credentials: it ended with {done.returncode}")
    try:
        status = msgspec.json.decode(done.stdout, type=_ExecCredential).status
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Unauthenticated(f"{name} gave no ExecCredential: {error}") from None
    if not status.token:
        raise Unauthenticated(f"{name} gave no token (certificates from programs are not supported)")
    return _Given(status.token, status.until)
