"""Logs: one JSON object a line for programs, one short line for people, and no secret in either.

Why it exists: the ancestor logged whole resources and its own password. Callers give keys and revisions as ``extra``
and never a body; what is known to be secret is taken out here, last, whatever the caller did. Who logs what is left to
the callers.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable, Iterable, Set
from typing import Any, TextIO
from urllib.parse import quote

REDACTED = "<secret>"
_SHORTEST_SECRET = 4
"""Shorter texts occur by chance: taking them out would garble lines and so betray them."""

_LONGEST = 4_000
"""Characters of a message, and of each value beside it: names may have a million."""

_LEVELS = {"warn": "WARNING", "fatal": "CRITICAL", "panic": "CRITICAL"}
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}

_ABOUT = frozenset({"key", "resource", "reaction_path"})
"""What lines about an intent or an object carry for programs; ``engine/log_fields.py`` says what they mean."""


class Redaction:
    """Takes known secret texts out of a line. ``secrets`` is asked for each line, since passwords are rotated."""

    def __init__(self, secrets: Callable[[], Set[str]] = frozenset) -> None:
        self._secrets = secrets
        self._known: Set[str] = frozenset()
        self._forms: list[str] = []

    def __call__(self, line: str) -> str:
        known = self._secrets()
        if known != self._known:
            self._known = known
            self._forms = _forms(known)
        for form in self._forms:
            line = line.replace(form, REDACTED)
        return line


def _forms(secrets: Iterable[str]) -> list[str]:
    """How texts may stand in a line: as they are, in JSON, in a ``repr``, in a URL. The longest first, since one
    secret may begin with another."""
    forms = {
        form
        for text in secrets
        if len(text) >= _SHORTEST_SECRET
        for form in (text, json.dumps(text)[1:-1], repr(text)[1:-1], quote(text, safe=""))
    }
    return sorted(forms, key=lambda form: (-len(form), form))


class LineFormatter(logging.Formatter):
    """Renders a record with its extras by ``render(record, extra, trace)`` and redacts what comes out."""

    def __init__(self, render: Callable[[logging.LogRecord, dict[str, Any], str], str], redaction: Redaction) -> None:
        super().__init__()
        self._render = render
        self._redaction = redaction

    def format(self, record: logging.LogRecord) -> str:
        extra = {name: _bounded(value) for name, value in vars(record).items() if name not in _STANDARD}
        trace = self.formatException(record.exc_info) if record.exc_info else ""
        return self._redaction(self._render(record, extra, trace))


def _clipped(text: str) -> str:
    """``text``, or its beginning and how much is left out."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text) - _LONGEST:,} more characters)"


def _bounded(value: Any) -> Any:
    if isinstance(value, str):
        return _clipped(value)
    return [_bounded(one) for one in value] if isinstance(value, list | tuple) else value


def json_line(record: logging.LogRecord, extra: dict[str, Any], trace: str) -> str:
    """``{"time", "level", "logger", "message", …extra, "exception"}``; time in UTC with milliseconds."""
    fields = {
        "time": f"{_stamp(record)}.{int(record.msecs):03d}Z",
        "level": record.levelname.lower(),
        "logger": record.name,
        "message": _clipped(record.getMessage()),
        **extra,
    }
    if trace:
        fields["exception"] = trace
    return json.dumps(fields, default=str, ensure_ascii=False)


def plain_line(record: logging.LogRecord, extra: dict[str, Any], trace: str) -> str:
    """``12:00:01 WARNING message  name=value``. Whom a line is about is said by name only, and where the message
    doesn't; the reaction path only if it leads somewhere."""
    said = _clipped(record.getMessage())
    details = "".join(f"  {name}={value}" for name, value in extra.items() if name not in _ABOUT)
    resource, path = str(extra.get("resource", "")), extra.get("reaction_path", ())
    if resource and resource not in said:
        details = f"  ({resource}){details}"
    if len(path) > 1:
        details += f"  by {' → '.join(map(str, path))}"
    time_of_day = _stamp(record).partition("T")[2]
    line = f"{time_of_day} {record.levelname:7} {said}{details}"
    return f"{line}\n{trace}" if trace else line


def set_up(
    level: str, form: str = "auto", secrets: Callable[[], Set[str]] = frozenset, stream: TextIO | None = None
) -> None:
    """Send all logs of the process to ``stream`` (stderr). ``level`` as in Contrail's files (``warn``, ``fatal`` and
    ``panic`` included); ``form``: ``json``, ``text``, or ``auto``: text on a terminal. ``secrets`` gives the texts
    that must not show."""
    global _redaction
    out = stream or sys.stderr
    plain = form == "text" or (form == "auto" and out.isatty())
    _redaction = Redaction(secrets)
    handler = logging.StreamHandler(out)
    handler.setFormatter(LineFormatter(plain_line if plain else json_line, _redaction))
    logging.basicConfig(level=_LEVELS.get(level, level.upper()), handlers=[handler], force=True)
    # Clients' request lines name every uuid twice and say nothing that ours don't.
    for chatty in ("httpx2", "httpcore2", "uvicorn.access", "uvicorn.error", "asyncio"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


def redacted(text: str) -> str:
    """``text`` without what this process must not show: for what is printed and not logged."""
    return _redaction(text)


def _stamp(record: logging.LogRecord) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))


_redaction = Redaction()
