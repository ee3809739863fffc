"""What a compiler tells of itself, and waiting until it has done what follows from a change, over its diagnostics.

The compiler may be behind, not started, or stuck on a held intent; each must be told from the others. What converged
means is the engine's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anyio
import click
import httpx2

from intentc.configuration import Address

from .errors import CommandError, Exit

_PERIOD_SECONDS = 0.1
_ANSWER_SECONDS = 60.0
"""A view of a very large world takes its time."""


async def wait_until_converged(
    address: Address, revision: int, timeout: float, transport: httpx2.AsyncBaseTransport | None = None
) -> dict[str, Any]:
    """The status of the compiler at ``address`` once it has applied ``revision`` and has nothing left to do.

    Raises ``CommandError`` if it can't be reached, or not within ``timeout`` seconds.
    """
    status, converged = await wait_for(
        address,
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
        where=_url(address),
        next_step="look at what it waits for there, or wait longer with --timeout",
        code=Exit.UNREACHABLE if behind else Exit.HELD,
    )


async def wait_for(
    address: Address,
    condition: Callable[[dict[str, Any]], bool],
    timeout: float,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> tuple[dict[str, Any], bool]:
    """The last status of the compiler at ``address``, and whether ``condition`` held for it within ``timeout`` seconds.

    Raises ``CommandError`` if it can't be reached.
    """
    status: dict[str, Any] = {}
    async with httpx2.AsyncClient(transport=transport, trust_env=False) as http:
        with anyio.move_on_after(timeout):
            while True:
                status = await _status(http, _url(address))
                if condition(status):
                    return status, True
                await anyio.sleep(_PERIOD_SECONDS)
    return status, False


async def current_status(address: Address) -> dict[str, Any]:
    """What the compiler at ``address`` tells now. Raises ``CommandError`` if it can't be reached."""
    async with httpx2.AsyncClient(trust_env=False) as http:
        return await _status(http, _url(address))


async def asked(address: Address, path: str, parameters: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What the diagnostics of the compiler at ``address`` answer for ``path``. Raises ``CommandError`` if it can't be
    reached, or has no such thing, in its own words."""
    url = f"http://{address}{path}"
    async with httpx2.AsyncClient(trust_env=False, timeout=_ANSWER_SECONDS) as http:
        try:
            answer = await http.get(url, params=dict(parameters or {}))
            if answer.status_code in (400, 404):
                raise CommandError(_refusal(answer), where=url, code=Exit.USAGE)
            answer.raise_for_status()
            return dict(answer.json())
        except (httpx2.HTTPError, ValueError) as error:
            raise _silent("does not answer", url, error) from None


def _refusal(answer: httpx2.Response) -> str:
    """What was wrong with a request, as the compiler says it; one of another version says nothing."""
    try:
        return str(answer.json()["error"])
    except (ValueError, KeyError, TypeError):
        return f"the compiler has no {answer.url.path}"


def _url(address: Address) -> str:
    return f"http://{address}/status"


async def _status(http: httpx2.AsyncClient, url: str) -> dict[str, Any]:
    try:
        answer = await http.get(url)
        answer.raise_for_status()
        return dict(answer.json())
    except (httpx2.HTTPError, ValueError) as error:
        raise _silent("does not tell its status", url, error) from None


def _silent(what: str, url: str, error: Exception) -> CommandError:
    return CommandError(
        f"the compiler {what}: {str(error) or type(error).__name__}",
        where=url,
        next_step="start it with `intentc run`, and see that intentc.diagnostics.address names it",
        code=Exit.UNREACHABLE,
    )


def verdict(status: dict[str, Any]) -> int:
    """The exit code: done, or held, with what keeps it from being done named on stderr."""
    stuck = [f"held: {name}" for name in (*status.get("held", ()), *status.get("refused", ()))]
    for entry in status.get("quarantine", ()):
        if entry["state"] in {"fought", "withheld"} or (entry["state"] == "paused" and not status.get("held")):
            stuck.append(f"{entry['state']}: {entry['kind']} {entry['name']}: {entry['message']}")
    if status.get("observing") and status.get("planned"):
        stuck.append(f"the compiler observes, and has not made {len(status['planned'])} writes")
    for line in stuck:
        click.echo(line, err=True)
    return Exit.HELD if stuck else Exit.DONE
