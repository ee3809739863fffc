"""Serves the style, the scripts and the drawing library under names that contain their hashes.

Why browsers may cache these, although everything else is ``no-store``: they are part of the program and contain no
data; and with the hash of the content in its name a cached file is never stale. Without a cache every page would load
the library's 430 kB again.
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
    """A file, plain and compressed."""

    media_type: str
    content: bytes
    compressed: bytes


def address(name: str) -> str:
    """Return the address of the file ``name``. Raises ``KeyError`` if there is none."""
    return _addresses()[name]


def asset_route() -> Route:
    """Return the route that serves the files; other names get 404."""

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
    """Return the file with its imports replaced by served names. So a script that imports a changed one changes its
    own name, and a browser runs a script that is imported twice once."""
    content = path.read_bytes()
    if path.suffix != ".js":
        return content
    return _IMPORT.sub(lambda found: b'from "./%s"' % _hashed(_FOLDER / found[1].decode()).encode(), content)


@functools.cache
def _names() -> dict[str, str]:
    """Return address → file."""
    return {served: name for name, served in _addresses().items()}


def _served(path: str) -> _Asset | None:
    name = _names().get(path)
    return _read(name) if name is not None else None


@functools.cache
def _read(name: str) -> _Asset:
    """Read and compress a file once: compressing the library takes 20 ms."""
    path = _FOLDER / name
    content = _content(path)
    return _Asset(_TYPES[path.suffix], content, gzip.compress(content, 6, mtime=0))
