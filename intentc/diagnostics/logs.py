"""Formats logs, as one JSON object per line for programs or one short line for people, and redacts secrets.

Why it exists: the former compiler logged whole resources and its own password. Callers pass keys and revisions as
``extra`` and never a body; as the last step this module removes known secrets, whatever the caller passed.

State: the known secrets, here and in the formatter; ``set_up`` replaces the handlers and levels of the process's
logging. The handler writes lines to stderr, or to the stream that it gets.
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
"""Shorter texts occur by chance: redacting them would garble lines and so reveal them."""

_LONGEST = 4_000
"""Most characters of a message and of each extra value: a name may have a million."""

_LEVELS = {"warn": "WARNING", "fatal": "CRITICAL", "panic": "CRITICAL"}
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}

_ABOUT = frozenset({"key", "resource", "reaction_path"})
"""Extras of lines about an intent or an object, for programs; ``engine/log_fields.py`` defines them."""


class Redaction:
    """Removes known secrets from a line. ``secrets`` is called for each line, since passwords are rotated."""

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
    """Return the forms of secrets in a line: plain, in JSON, in a ``repr``, in a URL. The longest come first, since one
    secret may begin with another."""
    forms = {
        form
        for text in secrets
        if len(text) >= _SHORTEST_SECRET
        for form in (text, json.dumps(text)[1:-1], repr(text)[1:-1], quote(text, safe=""))
    }
    return sorted(forms, key=lambda form: (-len(form), form))


class LineFormatter(logging.Formatter):
    """Renders a record with its extras by ``render(record, extra, trace)`` and redacts the line."""

    def __init__(self, render: Callable[[logging.LogRecord, dict[str, Any], str], str], redaction: Redaction) -> None:
        super().__init__()
        self._render = render
        self._redaction = redaction

    def format(self, record: logging.LogRecord) -> str:
        extra = {name: _bounded(value) for name, value in vars(record).items() if name not in _STANDARD}
        trace = self.formatException(record.exc_info) if record.exc_info else ""
        return self._redaction(self._render(record, extra, trace))


def _clipped(text: str) -> str:
    """Return ``text``, or its beginning and the number of omitted characters."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text) - _LONGEST:,} more characters)"


def _bounded(value: Any) -> Any:
    if isinstance(value, str):
        return _clipped(value)
    return [_bounded(one) for one in value] if isinstance(value, list | tuple) else value


def json_line(record: logging.LogRecord, extra: dict[str, Any], trace: str) -> str:
    """Return ``{"time", "level", "logger", "message", …extra, "exception"}``; time in UTC with milliseconds."""
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
    """Return ``12:00:01 WARNING message  name=value``. The resource is added by name if the message lacks it; the
    reaction path only if it has more than one step."""
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
    """Send all logs of the process to ``stream`` (stderr). ``level``: as in Contrail's files (including ``warn``,
    ``fatal`` and ``panic``); ``form``: ``json``, ``text``, or ``auto``: text on a terminal. ``secrets``: returns the
    texts to redact."""
    global _redaction
    out = stream or sys.stderr
    plain = form == "text" or (form == "auto" and out.isatty())
    _redaction = Redaction(secrets)
    handler = logging.StreamHandler(out)
    handler.setFormatter(LineFormatter(plain_line if plain else json_line, _redaction))
    logging.basicConfig(level=_LEVELS.get(level, level.upper()), handlers=[handler], force=True)
    # The clients' request lines name every uuid twice and repeat our own lines.
    for chatty in ("httpx2", "httpcore2", "uvicorn.access", "uvicorn.error", "asyncio"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


def redacted(text: str) -> str:
    """Redact ``text`` that is printed and not logged."""
    return _redaction(text)


def _stamp(record: logging.LogRecord) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))


_redaction = Redaction()
