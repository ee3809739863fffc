"""The parameters of Kubernetes requests, read from a URL's query and from ``DeleteOptions``.

Clients select resources by text: ``app=web,tier in (a,b),!old``. Fields are ``metadata.name`` and
``metadata.namespace`` only, as for custom resources in Kubernetes. A client may send any text, so the patterns never go
back (``*+``): each text is read once.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from intentc.loading.bodies import read_json

from ..errors import BadRequest, shortened
from ..integers import LARGEST
from ..requests import decode, flag, number
from .status_errors import wrong_option

_LARGEST_PAGE = 10_000
_LONGEST_NAME = 128
_LONGEST_TOKEN = 4096
VALIDATIONS = ("Ignore", "Warn", "Strict")
"""What a client may wish for fields that nobody knows."""
_PROPAGATIONS = ("Background", "Foreground", "Orphan")
_DELETE_OPTIONS = "DeleteOptions"
_SET = re.compile(r"\s*+(?P<key>[^\s!=,()]++)\s++(?P<not>not)?in\s*+\((?P<values>[^()]*+)\)\s*+")
_EQUAL = re.compile(r"\s*+(?P<key>[^\s!=,()]++)\s*+(?P<operator>==|!=|=)\s*+(?P<value>[^\s!=,()]*+)\s*+")
_PRESENT = re.compile(r"\s*+(?P<not>!)?\s*+(?P<key>[^\s!=,()]++)\s*+")
LONGEST = 16_384
"""Characters of a selector."""
MOST = 50
"""Requirements of a selector; each resource is compared with all of them."""
_FIELDS = ("metadata.name", "metadata.namespace")


class Requirement(NamedTuple):
    """``key`` has one of ``values`` (None: any value); ``negated``: it has not, or is missing."""

    key: str
    values: frozenset[str] | None
    negated: bool = False

    def matches(self, found: Mapping[str, Any]) -> bool:
        """Whether these labels, or fields, fulfil the requirement."""
        value = found.get(self.key)
        holds = self.key in found if self.values is None else value in self.values
        return holds is not self.negated


class Selector(NamedTuple):
    """All requirements must hold."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.labels or self.fields)

    def matches(self, metadata: Mapping[str, Any]) -> bool:
        """Whether a resource with this ``metadata`` of its manifest is selected."""
        labels = metadata.get("labels") or {}
        fields = {"metadata.name": metadata.get("name", ""), "metadata.namespace": metadata.get("namespace", "")}
        return all(one.matches(labels) for one in self.labels) and all(one.matches(fields) for one in self.fields)


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
        min(number(query, "limit") or 0, _LARGEST_PAGE),
        _position(query.get("continue", "")),
        number(query, "resourceVersion") or 0,
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
        number(query, "timeoutSeconds") or 0,
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


def _dry_run(text: str, options: str) -> bool:
    if text not in ("", "All"):
        raise wrong_option(options, _one_of(text, ("All",)), "dryRun")
    return text == "All"


def _one_of(text: str, known: Sequence[str]) -> str:
    return f"Unsupported value: {shortened(text)!r}: supported values: {', '.join(known)}"


def selector(labels: str, fields: str) -> Selector:
    """Read both parameters. Raises ``BadRequest``."""
    return Selector(_requirements(labels, "labelSelector"), _field_requirements(fields))


def _requirements(text: str, parameter: str) -> tuple[Requirement, ...]:
    if len(text) > LONGEST:
        raise BadRequest(f"{parameter} has {len(text):,} characters; {LONGEST:,} are the most")
    found: list[Requirement] = []
    position = 0
    while position < len(text):
        if len(found) == MOST:
            raise BadRequest(f"{parameter} has more than {MOST} requirements; use key in (a,b), or list several times")
        for pattern in (_SET, _EQUAL, _PRESENT):
            match = pattern.match(text, position)
            if match is not None and (match.end() == len(text) or text[match.end()] == ","):
                break
        else:
            raise BadRequest(
                f"{parameter} {shortened(text)!r} can't be read at {shortened(text[position:])!r}; "
                "write key=value, key!=value, key in (a,b), key notin (a,b), key or !key, with commas between"
            )
        found.append(_requirement(match))
        position = match.end() + 1
    return tuple(found)


def _requirement(match: re.Match[str]) -> Requirement:
    parts = match.groupdict()
    if match.re is _SET:
        values = frozenset(value.strip() for value in parts["values"].split(","))
        return Requirement(parts["key"], values, bool(parts["not"]))
    if match.re is _EQUAL:
        return Requirement(parts["key"], frozenset([parts["value"]]), parts["operator"] == "!=")
    return Requirement(parts["key"], None, bool(parts["not"]))


def _field_requirements(text: str) -> tuple[Requirement, ...]:
    found = _requirements(text, "fieldSelector")
    for one in found:
        if one.key not in _FIELDS:
            raise BadRequest(f"field label not supported: {shortened(one.key)}; there are {', '.join(_FIELDS)}")
    return found
