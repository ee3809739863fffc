"""Waiting until a compiler has done what follows from a change: asked over its diagnostics.

The compiler may be behind, not started, or stuck on a held intent; each must be told from the others. What converged
means is the engine's business.
"""

from __future__ import annotations

from typing import Any

import anyio
import click
import httpx2

from intentc.configuration import Address

from .errors import CommandError, Exit

_PERIOD_SECONDS = 0.1


async def wait_until_converged(
    address: Address, revision: int, timeout: float, transport: httpx2.AsyncBaseTransport | None = None
) -> dict[str, Any]:
    """The status of the compiler at ``address`` once it has applied ``revision`` and has nothing left to do.

    Raises ``CommandError`` if it can't be reached, or not within ``timeout`` seconds.
    """
    url = f"http://{address}/status"
    status: dict[str, Any] = {}
    async with httpx2.AsyncClient(transport=transport, trust_env=False) as http:
        with anyio.move_on_after(timeout):
            while True:
                status = await _status(http, url)
                if status.get("applied_revision", 0) >= revision and status.get("converged"):
                    return status
                await anyio.sleep(_PERIOD_SECONDS)
    behind = status.get("applied_revision", 0) < revision
    waited_for = f"revision {revision}, it is at {status.get('applied_revision', 0)}" if behind else "quiet"
    raise CommandError(
        f"not converged after {timeout:g} s: still waiting for {waited_for}",
        where=url,
        next_step="look at what it waits for there, or wait longer with --timeout",
        code=Exit.UNREACHABLE if behind else Exit.HELD,
    )


async def _status(http: httpx2.AsyncClient, url: str) -> dict[str, Any]:
    try:
        answer = await http.get(url)
        answer.raise_for_status()
        return dict(answer.json())
    except (httpx2.HTTPError, ValueError) as error:
        raise CommandError(
            f"the compiler does not tell its status: {error or type(error).__name__}",
            where=url,
            next_step="start it with `intentc run`, and see that intentc.diagnostics.address names it",
            code=Exit.UNREACHABLE,
        ) from None


def verdict(status: dict[str, Any]) -> int:
    """The exit code: done, or held, with the held intents named on stderr."""
    stuck = [str(name) for name in (*status.get("held", ()), *status.get("refused", ()))]
    for name in stuck:
        click.echo(f"held: {name}", err=True)
    return Exit.HELD if stuck else Exit.DONE
