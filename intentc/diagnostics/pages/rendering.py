"""Renders the templates: escaping, the format of times, numbers and links, and the size and headers of a page.

Why it exists: names from a control plane may contain anything, so escaping is not left to each template; and the
content security policy, which lets no text run as a script, belongs with the rendering.

Pages are rendered in a thread.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus, urlencode

import anyio.to_thread
import msgspec
from starlette.responses import Response

from intentc.diagnostics.pages import words
from intentc.diagnostics.pages.assets import address

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
"""Only our own scripts and styles load, connections go only to us, and no script turns text into HTML."""

MOST_BYTES = 195_000
"""Most bytes of one page."""
_SHARES = (1.0, 0.5, 0.2, 0.08, 0.03)
_LINKED_NAME = 300
"""Most bytes of a name in an address; longer ones are linked by uuid, so that 50 of them don't fill a page."""

_UNITS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"))


async def page(template: str, *, code: int = 200, **values: Any) -> Response:
    """Answer with a rendered template. It renders in a thread, since 100 rows take longer than the loop may be held."""
    content = await anyio.to_thread.run_sync(lambda: _rendered(template, values))
    headers = {"Content-Security-Policy": CONTENT_SECURITY_POLICY, "Vary": "Accept"}
    return Response(content, code, headers=headers, media_type="text/html")


def _rendered(template: str, values: dict[str, Any]) -> bytes:
    """Render at most ``MOST_BYTES``: templates call ``most(N)`` for how much of N they may show, and that is reduced
    until the page is small enough. Lists are paged anyway; this bounds rows with many sources, and names of a
    kilobyte."""
    content = b""
    for share in _SHARES:
        most = functools.partial(_most, share)
        text = _templates().get_template(template).render(values, most=most, now=time.time())
        content = text.encode()
        if len(content) <= MOST_BYTES:
            break
    return content


def _most(share: float, whole: int, least: int = 1) -> int:
    return max(least, int(whole * share))


def link(path: str, **parameters: Any) -> str:
    """Return ``path`` with those parameters that have a value."""
    query = urlencode({name: value for name, value in parameters.items() if value not in ("", None, 0)})
    return f"{path}?{query}" if query else path


def short_name(resource: Mapping[str, Any]) -> str:
    """Return what an address or a command uses for a resource: its name, which people can read, or its uuid if the name
    is too long."""
    name, uuid = str(resource.get("name") or ""), str(resource.get("uuid") or "")
    return name if name and (not uuid or len(quote_plus(name)) <= _LINKED_NAME) else uuid


def object_link(resource: Mapping[str, Any]) -> str:
    """Return the address of a resource's page."""
    return link("/pages/object", kind=resource.get("kind", ""), name=short_name(resource))


def shortened(text: object, most: int) -> str:
    """Shorten ``text`` in its middle: names differ at their ends."""
    whole = str(text)
    if len(whole) <= most:
        return whole
    return f"{whole[: most // 2]} … {whole[-(most // 2) :]}"


def place(source: str) -> str:
    """Return ``file:line`` without the directories."""
    return source.rpartition("/")[2]


def clipped(text: object, most: int) -> str:
    """Return the beginning of a text for people."""
    whole = str(text)
    return whole if len(whole) <= most else f"{whole[:most]} …"


def value_text(value: Any, most: int) -> str:
    """Return the beginning of a JSON value for people: a text without quotes, anything else as indented JSON."""
    if isinstance(value, str):
        return clipped(value, most)
    return clipped(msgspec.json.format(msgspec.json.encode(value), indent=2).decode(), most)


def commands(text: str) -> Any:
    """Return a text for people as escaped HTML, with commands between backticks as code."""
    from markupsafe import Markup, escape

    # An unpaired backtick at the end is plain text.
    parts = text.split("`")
    if len(parts) % 2 == 0:
        parts[-2:] = ["`".join(parts[-2:])]
    shown = [Markup("<code>{}</code>").format(part) if place % 2 else escape(part) for place, part in enumerate(parts)]
    return Markup("").join(shown)


def utc(seconds: float) -> str:
    """Format a time for people: ``2026-11-22 06:00:00 UTC``."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def iso(seconds: float) -> str:
    """Format a time for programs: ``2026-11-22T06:00:00Z``."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def ago(seconds: float, now: float | None = None) -> str:
    """Format an age: ``12 s ago``; ``in 3 s`` if clocks differ by more than a second."""
    passed = (time.time() if now is None else now) - seconds
    return f"in {_length(-passed)}" if passed < -1 else f"{_length(max(0.0, passed))} ago"


def _length(seconds: float) -> str:
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"


def number(value: Any) -> str:
    """Format a number: ``12,345``; other values as text; a dash for none."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and not value.is_integer():
        return f"{value:,.1f}"
    if isinstance(value, int | float):
        return f"{int(value):,}"
    return str(value)


@functools.cache
def _templates() -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        # Missing keys render as nothing: half a page is better than none.
        undefined=jinja2.ChainableUndefined,
        auto_reload=False,
    )
    filters = (ago, clipped, commands, iso, number, place, shortened, utc, value_text)
    environment.filters.update({each.__name__: each for each in filters})
    environment.globals.update(
        asset=address,
        command=words.command,
        link=link,
        meaning=words.meaning,
        object_link=object_link,
        short_name=short_name,
        ownerships=words.OWNERSHIPS,
        roles=words.ROLES,
        severities=words.SEVERITIES,
        tone=words.tone,
    )
    return environment
