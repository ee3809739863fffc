"""The parameters of requests to the Kubernetes face, read from a URL's query and from ``DeleteOptions``.

Values and pure functions.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from intentc.loading.bodies import read_json

from ..errors import BadRequest, shortened
from ..integers import LARGEST, parse_integer
from ..requests import decode
from .failures import wrong_option
from .selectors import Selector, selector

_LARGEST_PAGE = 10_000
_LONGEST_NAME = 128
_LONGEST_TOKEN = 4096
VALIDATIONS = ("Ignore", "Warn", "Strict")
"""What a client may wish for fields that nobody knows."""
_PROPAGATIONS = ("Background", "Foreground", "Orphan")
_DELETE_OPTIONS = "DeleteOptions"


class WriteOptions(NamedTuple):
    """``manager``: the name of the field manager; ``force``: an application takes fields from others; ``subresource``:
    ``status``, or empty; ``validation``: what becomes of unknown fields: ``Ignore``, ``Warn``, ``Strict``, or empty."""

    dry_run: bool = False
    manager: str = "unknown"
    force: bool = False
    subresource: str = ""
    validation: str = ""


class DeleteOptions(NamedTuple):
    """``uid``, ``resource_version``: preconditions; empty ones hold."""

    dry_run: bool = False
    uid: str = ""
    resource_version: str = ""


class _Preconditions(msgspec.Struct, rename="camel"):
    uid: str | None = None
    resource_version: str | None = None


class _DeleteOptions(msgspec.Struct, rename="camel"):
    """Kubernetes' ``DeleteOptions``, as a body has them."""

    dry_run: list[str] | None = None
    preconditions: _Preconditions | None = None
    propagation_policy: str | None = None


class Position(NamedTuple):
    """Where a list goes on: its revision, and the first key of the next page."""

    revision: int
    start: str


class ListOptions(NamedTuple):
    """``limit``: 0 is none; ``revision``: 0 is now; ``exactly``: that revision, and no later one."""

    selector: Selector = Selector()
    limit: int = 0
    position: Position | None = None
    revision: int = 0
    exactly: bool = False


class WatchOptions(NamedTuple):
    """``revision``: of the last event that the client has seen; None: it has seen nothing, and gets everything first.
    ``seconds``: how long the watch lasts; 0: as the server likes. ``marks_initial``: a bookmark follows the initial
    events."""

    selector: Selector = Selector()
    revision: int | None = None
    bookmarks: bool = False
    seconds: int = 0
    marks_initial: bool = False


def write_options(query: Mapping[str, str], user_agent: str, options: str, *, is_apply: bool = False) -> WriteOptions:
    """Read the parameters of a write. ``options``: their kind in Kubernetes, such as ``PatchOptions``; ``is_apply``: an
    application, which needs a manager. Raises ``Answered`` and ``BadRequest``."""
    given = query.get("fieldManager", "")
    if is_apply and not given:
        raise wrong_option(options, "is required for an application", "fieldManager", "FieldValueRequired")
    manager = given or user_agent.split("/", 1)[0] or "unknown"
    if len(manager) > _LONGEST_NAME:
        message = f"may not be longer than {_LONGEST_NAME}"
        raise wrong_option(options, message, "fieldManager", "FieldValueInvalid")
    validation = query.get("fieldValidation", "")
    if validation not in ("", *VALIDATIONS):
        raise wrong_option(options, _one_of(validation, VALIDATIONS), "fieldValidation")
    return WriteOptions(
        _dry_run(query.get("dryRun", ""), options), manager, flag(query, "force"), validation=validation
    )


def delete_options(query: Mapping[str, str], body: bytes) -> DeleteOptions:
    """Read the parameters of a deletion, in the query or the body. Raises ``Answered`` and ``BadRequest``."""
    given = decode(body, _DeleteOptions) if body.strip() else _DeleteOptions()
    preconditions = given.preconditions or _Preconditions()
    dry_run = ",".join(given.dry_run or ()) or query.get("dryRun", "")
    policy = given.propagation_policy or query.get("propagationPolicy", "")
    if policy not in ("", *_PROPAGATIONS):
        raise wrong_option(_DELETE_OPTIONS, _one_of(policy, _PROPAGATIONS), "propagationPolicy")
    return DeleteOptions(
        _dry_run(dry_run, _DELETE_OPTIONS), preconditions.uid or "", preconditions.resource_version or ""
    )


def list_options(query: Mapping[str, str]) -> ListOptions:
    """Read the parameters of a list. Raises ``BadRequest``."""
    match = query.get("resourceVersionMatch", "")
    if match not in ("", "Exact", "NotOlderThan"):
        raise BadRequest(f"resourceVersionMatch is {shortened(match)!r}; there are Exact and NotOlderThan")
    return ListOptions(
        selector(query.get("labelSelector", ""), query.get("fieldSelector", "")),
        min(number(query, "limit"), _LARGEST_PAGE),
        _position(query.get("continue", "")),
        number(query, "resourceVersion"),
        match == "Exact",
    )


def watch_options(query: Mapping[str, str]) -> WatchOptions:
    """Read the parameters of a watch. Raises ``BadRequest``."""
    marks_initial = flag(query, "sendInitialEvents")
    revision = number(query, "resourceVersion")
    return WatchOptions(
        selector(query.get("labelSelector", ""), query.get("fieldSelector", "")),
        None if marks_initial or not revision else revision,
        flag(query, "allowWatchBookmarks"),
        number(query, "timeoutSeconds"),
        marks_initial,
    )


def continuation(position: Position) -> str:
    """A position as the text that clients send back."""
    return base64.urlsafe_b64encode(msgspec.json.encode(position)).decode()


def _position(text: str) -> Position | None:
    if not text:
        return None
    try:
        if len(text) > _LONGEST_TOKEN:
            raise ValueError
        position = read_json(base64.urlsafe_b64decode(text), Position)
        if not 0 < position.revision <= LARGEST:
            raise ValueError
    except ValueError:
        raise BadRequest("continue is not what this server gave; list again without it") from None
    return position


def number(query: Mapping[str, str], name: str) -> int:
    """A parameter that is a number; 0 if it is missing. Raises ``BadRequest``."""
    text = query.get(name, "")
    found = parse_integer(text) if text else 0
    if found is None:
        raise BadRequest(f"{name} is {shortened(text)!r}; give a number")
    return found


def flag(query: Mapping[str, str], name: str) -> bool:
    """A parameter that is ``true`` or ``false``. Raises ``BadRequest``."""
    text = query.get(name, "").lower()
    if text not in ("", "0", "1", "true", "false"):
        raise BadRequest(f"{name} is {shortened(text)!r}; give true or false")
    return text in ("1", "true")


def _dry_run(text: str, options: str) -> bool:
    if text not in ("", "All"):
        raise wrong_option(options, _one_of(text, ("All",)), "dryRun")
    return text == "All"


def _one_of(text: str, known: Sequence[str]) -> str:
    return f"Unsupported value: {shortened(text)!r}: supported values: {', '.join(known)}"
