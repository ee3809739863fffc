"""The style, the scripts and the drawing library: files of this package, served under names that hold their hashes.

Why these may be kept by browsers, though everything else says ``no-store``: they are the program's own text, the same
for everybody, with nothing of the world in it; and since the hash of the content stands in the name, what was kept
can't be stale. The library is 430 kB, and would else come again with every page.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import re
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_FOLDER = Path(__file__).parent / "static"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_PATH = "/pages/static/"
_IMPORT = re.compile(rb'from "\./([a-z_]+\.js)"')
_HEADERS = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}


class _Asset(NamedTuple):
    """``content`` as it is, and compressed."""

    media_type: str
    content: bytes
    compressed: bytes


def address(name: str) -> str:
    """Where the file ``name`` is served. Raises ``KeyError`` if there is none."""
    return _addresses()[name]


def asset_route() -> Route:
    """Serves what ``address`` names; anything else is 404."""

    async def asset(request: Request) -> Response:
        found = _served(request.url.path)
        if found is None:
            return Response("there is no such file\n", 404, media_type="text/plain")
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers = {**_HEADERS, "Content-Encoding": "gzip"}
            return Response(found.compressed, headers=headers, media_type=found.media_type)
        return Response(found.content, headers=_HEADERS, media_type=found.media_type)

    return Route(_PATH + "{name}", asset)


@functools.cache
def _addresses() -> dict[str, str]:
    return {path.name: _PATH + _hashed(path) for path in _FOLDER.iterdir() if path.suffix in _TYPES}


def _hashed(path: Path) -> str:
    digest = hashlib.sha256(_content(path)).hexdigest()[:16]
    return f"{path.stem}.{digest}{path.suffix}"


def _content(path: Path) -> bytes:
    """The file, with what it imports under the addresses that are served: a script that imports a newer one is itself
    new, and a browser that has both under one address runs the imported one once."""
    content = path.read_bytes()
    if path.suffix != ".js":
        return content
    return _IMPORT.sub(lambda found: b'from "./%s"' % _hashed(_FOLDER / found[1].decode()).encode(), content)


@functools.cache
def _names() -> dict[str, str]:
    """Address → file."""
    return {served: name for name, served in _addresses().items()}


def _served(path: str) -> _Asset | None:
    name = _names().get(path)
    return _read(name) if name is not None else None


@functools.cache
def _read(name: str) -> _Asset:
    """Compressed once: the library takes 20 ms, which no request should wait for twice."""
    path = _FOLDER / name
    content = _content(path)
    return _Asset(_TYPES[path.suffix], content, gzip.compress(content, 6, mtime=0))
