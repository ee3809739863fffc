"""What a compiler tells of itself, and waiting until it has done what follows from a change, over its diagnostics.

The compiler may be behind, not started, or stuck on a held intent; each must be told from the others. What converged
means is the engine's business. ``where``, of all functions: the section ``intentc.diagnostics``, by which the token is
sent and certificates are checked.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import httpx2

from intentc.loading.configuration import Address
from intentc.loading.configuration.sections import Diagnostics

from .errors import CommandError, Exit

_PERIOD_SECONDS = 0.1
_ANSWER_SECONDS = 60.0
"""A view of a very large world takes its time."""


_WORDS = 200
"""Characters shown of an answer that is no JSON."""
_CANDIDATES = 5
"""Names that may be meant, shown of those that the compiler tells."""


async def wait_until_converged(
    where: Diagnostics, revision: int, timeout: float, transport: httpx2.AsyncBaseTransport | None = None
) -> dict[str, Any]:
    """The status of the compiler at ``where`` once it has applied ``revision`` and has nothing left to do.

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
    """The last status of the compiler at ``where``, and whether ``condition`` held for it within ``timeout`` seconds.

    Raises ``CommandError`` if it can't be reached.
    """
    status: dict[str, Any] = {}
    async with _client(where, transport=transport) as http:
        with anyio.move_on_after(timeout):
            while True:
                status = await _answer(http, url_of(where, "/status"), "does not tell its status")
                if condition(status):
                    return status, True
                await anyio.sleep(_PERIOD_SECONDS)
    return status, False


async def current_status(where: Diagnostics) -> dict[str, Any]:
    """What the compiler at ``where`` tells now. Raises ``CommandError`` if it can't be reached."""
    async with _client(where) as http:
        return await _answer(http, url_of(where, "/status"), "does not tell its status")


async def asked(where: Diagnostics, path: str, parameters: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What the diagnostics of the compiler at ``where`` answer for ``path``, also about what does not exist
    (``"exists": false``). Raises ``CommandError`` if it can't be reached, or has no such thing, in its own words."""
    async with _client(where, _ANSWER_SECONDS) as http:
        return await _answer(http, url_of(where, path), "does not answer", parameters)


def url_of(where: Diagnostics, path: str) -> str:
    """The address of ``path`` at the compiler. One that listens everywhere is asked on this machine."""
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
    # Without TLS nobody needs be trusted, and loading certificates would take longer than the answer.
    further["verify"] = _trust(where) if where.tls.enabled else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx2.AsyncClient(transport=transport, trust_env=False, **further)


def _trust(where: Diagnostics) -> ssl.SSLContext:
    """Whom we trust, and what we show. On the service's own machine its certificate is often all that there is: one
    that is its own authority is trusted as such."""
    tls = where.tls
    try:
        context = ssl.create_default_context(cafile=tls.ca or tls.cert or None)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        certificate, key = (tls.client_cert, tls.client_key) if tls.client_cert else (tls.cert, tls.key)
        if certificate and (tls.client_cert or tls.client_ca):
            context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise CommandError(
            f"the certificates by which the compiler is asked can't be used: {error}",
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
    """The answer, if it is one; else what was wrong with the request, as the compiler says it: one of another version
    says nothing."""
    try:
        told = dict(answer.json())
    except (ValueError, TypeError):
        told = {}
    if told.get("exists") is False:
        return told
    message = str(told.get("error") or _refusal(answer))
    candidates = [str(name) for name in told.get("candidates") or ()]
    # A message that names them itself need not be said twice: then the compiler's own advice is worth more.
    said = any(name in message for name in candidates)
    meant = f"did you mean {' or '.join(candidates[:_CANDIDATES])}?" if candidates and not said else ""
    raise CommandError(
        message,
        where=url,
        next_step=meant or str(told.get("next_step") or ""),
        code=Exit.INVALID if answer.status_code == 401 else Exit.USAGE,
    )


def _refusal(answer: httpx2.Response) -> str:
    if answer.status_code == 404:
        return f"the compiler has no {answer.url.path}"
    return f"the compiler refuses the request: {answer.text.strip()[:_WORDS] or _status(answer)}"


def _failed(answer: httpx2.Response, url: str) -> CommandError:
    """It is there and answers, and what it answers is of no use."""
    internal = answer.status_code == 500
    return CommandError(
        f"the compiler answered with an error: {_status(answer)}",
        where=url,
        next_step="its log tells what went wrong: please report that"
        if internal
        else "see that intentc.diagnostics.address names a compiler, and look at its log",
        code=Exit.INTERNAL if internal else Exit.UNREACHABLE,
    )


def _status(answer: httpx2.Response) -> str:
    return f"{answer.status_code} {answer.reason_phrase}".strip()


def _silent(what: str, url: str, error: Exception) -> CommandError:
    from intentc.writing.untrusted import trust_lack

    if lack := trust_lack(error, "intentc.diagnostics.tls"):
        return CommandError(
            f"no connection to the compiler: {lack} ({error})",
            where=url,
            next_step="compare intentc.diagnostics.tls here with what the compiler was started with",
            code=Exit.UNREACHABLE,
        )
    return CommandError(
        f"the compiler {what}: {str(error) or type(error).__name__}",
        where=url,
        next_step="start it with `intentc run`, and see that intentc.diagnostics.address names it",
        code=Exit.UNREACHABLE,
    )
