"""Queries a compiler's diagnostics, and waits until it has converged on a change.

The compiler may be behind, not started, or stuck on a held intent; errors distinguish these. The engine defines what
converged means. ``where`` in all functions: the section ``intentc.diagnostics``, with address, token and certificates.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import httpx2

from intentc.loading.configuration import Address
from intentc.loading.configuration.sections import Diagnostics
from intentc.model.problem import described

from .command_error import CommandError, Exit
from .output import moment

_PERIOD_SECONDS = 0.1
_ANSWER_SECONDS = 60.0
"""A view of very many resources takes long."""


_WORDS = 200
"""Characters shown of an answer that is no JSON."""
_CANDIDATES = 5
"""Candidate names that an error shows."""


async def wait_until_converged(
    where: Diagnostics, revision: int, timeout: float, transport: httpx2.AsyncBaseTransport | None = None
) -> dict[str, Any]:
    """Wait until the running compiler at ``where`` has applied ``revision`` and converged, and return its status.

    Raises ``CommandError`` if it can't be reached, or not within ``timeout`` seconds.
    """
    status, converged = await wait_for(
        where,
        lambda status: status.get("applied_revision", 0) >= revision and bool(status.get("converged")),
        timeout,
        transport,
    )
    if converged:
        return status
    if (since := status.get("unknown_since")) is not None:
        raise CommandError(
            f"not known to have converged after {timeout:g} s: etcd or the API server has not answered the compiler "
            f"since {moment(since)}",
            where=url_of(where, "/status"),
            next_step="see what it waits for: `intentc status`",
            code=Exit.UNREACHABLE,
        )
    behind = status.get("applied_revision", 0) < revision
    waited_for = f"revision {revision}, it is at {status.get('applied_revision', 0)}" if behind else "quiet"
    raise CommandError(
        f"not converged after {timeout:g} s: still waiting for {waited_for}",
        where=url_of(where, "/status"),
        next_step="look at what it waits for there, or wait longer with --timeout",
        code=Exit.UNREACHABLE if behind else Exit.HELD,
    )


async def wait_for(
    where: Diagnostics,
    condition: Callable[[dict[str, Any]], bool],
    timeout: float,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> tuple[dict[str, Any], bool]:
    """Wait until ``condition`` holds for the running compiler's status, ``timeout`` seconds at most; the last status,
    and whether.

    Raises ``CommandError`` if it can't be reached.
    """
    status: dict[str, Any] = {}
    async with _client(where, transport=transport) as http:
        with anyio.move_on_after(timeout):
            while True:
                status = await _answer(http, url_of(where, "/status"), "does not report its status")
                if condition(status):
                    return status, True
                await anyio.sleep(_PERIOD_SECONDS)
    return status, False


async def current_status(where: Diagnostics) -> dict[str, Any]:
    """The current status of the running compiler at ``where``. Raises ``CommandError`` if it can't be reached."""
    async with _client(where) as http:
        return await _answer(http, url_of(where, "/status"), "does not report its status")


async def asked(where: Diagnostics, path: str, parameters: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The answer of the running compiler at ``where`` to ``GET path``, including answers with ``"exists": false``.
    Raises ``CommandError`` if it can't be reached, or with its own error message."""
    async with _client(where, _ANSWER_SECONDS) as http:
        return await _answer(http, url_of(where, path), "does not answer", parameters)


def url_of(where: Diagnostics, path: str) -> str:
    """The URL of ``path`` at the running compiler. One that listens on all addresses is queried on loopback."""
    address = where.address
    if address.host in ("0.0.0.0", "::"):  # noqa: S104 - nothing is bound here
        address = Address(f"{'[::1]' if ':' in address.host else '127.0.0.1'}:{address.port}")
    return f"{'https' if where.tls.enabled else 'http'}://{address}{path}"


def _client(
    where: Diagnostics, timeout: float | None = None, transport: httpx2.AsyncBaseTransport | None = None
) -> httpx2.AsyncClient:
    further: dict[str, Any] = {} if timeout is None else {"timeout": timeout}
    if where.token:
        further["headers"] = {"Authorization": f"Bearer {where.token.reveal()}"}
    # Without TLS no certificates are needed, and loading them would take longer than the answer.
    further["verify"] = _trust(where) if where.tls.enabled else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx2.AsyncClient(transport=transport, trust_env=False, **further)


def _trust(where: Diagnostics) -> ssl.SSLContext:
    """The trusted authorities and our own certificate. On the service's machine its certificate is often the only file:
    a self-signed one is trusted."""
    tls = where.tls
    try:
        context = ssl.create_default_context(cafile=tls.ca or tls.cert or None)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        certificate, key = (tls.client_cert, tls.client_key) if tls.client_cert else (tls.cert, tls.key)
        if certificate and (tls.client_cert or tls.client_ca):
            context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise CommandError(
            f"the certificates for the compiler's diagnostics can't be used: {error}",
            where="intentc.diagnostics.tls",
            next_step="see that ca, client_cert and client_key name PEM files that this user may read",
        ) from None
    return context


async def _answer(
    http: httpx2.AsyncClient, url: str, lack: str, parameters: Mapping[str, str] | None = None
) -> dict[str, Any]:
    try:
        answer = await http.get(url, params=dict(parameters or {}))
        if answer.status_code in (400, 401, 404, 409):
            return _without_error(answer, url)
        if not answer.is_success:
            raise _failed(answer, url)
        return dict(answer.json())
    except (httpx2.HTTPError, ValueError) as error:
        raise _silent(lack, url, error) from None


def _without_error(answer: httpx2.Response, url: str) -> dict[str, Any]:
    """The answer if it says that something does not exist; else raise the compiler's error message. A compiler of
    another version may send none."""
    try:
        content = dict(answer.json())
    except (ValueError, TypeError):
        content = {}
    if content.get("exists") is False:
        return content
    message = str(content.get("error") or _rejection(answer))
    candidates = [str(name) for name in content.get("candidates") or ()]
    # If the message already has the candidates, the compiler's own advice is more useful.
    said = any(name in message for name in candidates)
    meant = f"did you mean {' or '.join(candidates[:_CANDIDATES])}?" if candidates and not said else ""
    raise CommandError(
        message,
        where=url,
        next_step=meant or str(content.get("next_step") or ""),
        code=Exit.INVALID if answer.status_code == 401 else Exit.USAGE,
    )


def _rejection(answer: httpx2.Response) -> str:
    if answer.status_code == 404:
        return f"the compiler has no {answer.url.path}"
    return f"the compiler rejects the request: {answer.text.strip()[:_WORDS] or _status(answer)}"


def _failed(answer: httpx2.Response, url: str) -> CommandError:
    """The error for an answer that can't be used."""
    internal = answer.status_code == 500
    return CommandError(
        f"the compiler answered with an error: {_status(answer)}",
        where=url,
        next_step="its log has the cause: please report it"
        if internal
        else "check that intentc.diagnostics.address names a compiler, and look at its log",
        code=Exit.INTERNAL if internal else Exit.UNREACHABLE,
    )


def _status(answer: httpx2.Response) -> str:
    return f"{answer.status_code} {answer.reason_phrase}".strip()


def _silent(what: str, url: str, error: Exception) -> CommandError:
    from intentc.writing.endpoint import trust_lack

    if lack := trust_lack(error, "intentc.diagnostics.tls"):
        return CommandError(
            f"no connection to the compiler: {lack} ({error})",
            where=url,
            next_step="compare intentc.diagnostics.tls here with what the compiler was started with",
            code=Exit.UNREACHABLE,
        )
    return CommandError(
        f"the compiler {what}: {described(error)}",
        where=url,
        next_step="start it with `intentc run`, and check that intentc.diagnostics.address names it",
        code=Exit.UNREACHABLE,
    )
