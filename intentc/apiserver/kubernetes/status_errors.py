"""Defines the errors of the Kubernetes-compatible API, and the ``Status`` that answers errors and complete deletions.

Why it exists: clients decide by ``reason`` and ``code``, and people read ``message``, which names the field and says
what to do next, as everywhere in intentc. ``apiserver/errors.py`` has the errors of the whole server, and their
codes and reasons.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from intentc.model.manifest import place_in_manifest

from ..errors import ApiError, BadRequest, NotFound
from ..integers import parse_integer
from .catalog import Offered

_INVALID = 422
_STEP = re.compile(r"[^.\[\]]+")
_ABOUT_RESOURCES = frozenset(
    {"AlreadyExists", "Conflict", "Forbidden", "Invalid", "MethodNotAllowed", "NotFound", "TooManyRequests"}
)
"""Reasons of errors that name the resource in ``details``."""


class Answered(ApiError):
    """An error with a status and a reason of Kubernetes' own. ``causes``: as in ``Status.details``; ``about``: the rest
    of ``details``, if it is not the resource that the request names."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        causes: tuple[dict[str, str], ...] = (),
        about: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.causes = causes
        self.about = about


class Invalid(Answered):
    """The content of a resource is rejected. ``field``: the path in the manifest, ``spec.weight``; empty if unknown."""

    def __init__(self, message: str, field: str = "", kind: str = "FieldValueInvalid") -> None:
        causes = ({"reason": kind, "message": message, "field": field},) if field else ()
        super().__init__(_INVALID, "Invalid", message, causes)
        self.field = field


def wrong_option(options: str, message: str, field: str, kind: str = "FieldValueNotSupported") -> Answered:
    """The error for a parameter of a request. ``options``: their kind, such as ``PatchOptions``."""
    causes = ({"reason": kind, "message": message, "field": field},)
    about = {"group": "meta.k8s.io", "kind": options}
    return Answered(_INVALID, "Invalid", f"{options}.meta.k8s.io is invalid: {field}: {message}", causes, about)


class Expired(Answered):
    """The requested resource version is compacted: list again."""

    def __init__(self, message: str) -> None:
        super().__init__(410, "Expired", message)


@contextmanager
def rejections(offered: Offered, manifest: Mapping[str, Any]) -> Iterator[None]:
    """Make what admission rejects in the block ``Invalid``, with the field's path in ``manifest``."""
    try:
        yield
    except BadRequest as error:
        steps = tuple(step if (at := parse_integer(step)) is None else at for step in _STEP.findall(error.field))
        moves = offered.kind.manifests.versions.get(offered.api_version, {})
        field = "".join(
            f"[{step}]" if isinstance(step, int) else f".{step}" for step in place_in_manifest(manifest, moves, steps)
        )
        raise Invalid(error.message, field.removeprefix(".")) from None


def failure(error: ApiError, offered: Offered | None = None, name: str = "") -> tuple[int, dict[str, Any]]:
    """(HTTP status, ``Status``) for an error. ``offered``, ``name``: the resource that the request names."""
    if isinstance(error, Answered):
        code, reason = error.code, error.reason
    else:
        _, code, reason = error.answer
    message = error.message
    details: dict[str, Any] = {}
    about = error.about if isinstance(error, Answered) else None
    if about is not None:
        details = dict(about)
    elif reason in _ABOUT_RESOURCES:
        details = _details(offered, name if reason != "MethodNotAllowed" else "")
    if isinstance(error, Answered) and error.causes:
        details["causes"] = list(error.causes)
    if reason == "Conflict" and offered is not None and name:
        message = f'Operation cannot be fulfilled on {offered.qualified} "{name}": {message}'
    if code == _INVALID and offered is not None and about is None:
        # Here clients expect the kind, in place of the resource.
        details["kind"] = offered.name
        shown = f"{offered.name}.{offered.group}" if offered.group else offered.name
        field = error.field if isinstance(error, Invalid) else ""
        message = f'{shown} "{name}" is invalid: ' + (f"{field}: {message}" if field else message)
    if code == 404 and offered is not None and name and isinstance(error, NotFound):
        message = f'{offered.qualified} "{name}" not found'
    if code in (429, 503):
        details["retryAfterSeconds"] = 1
    return code, _status("Failure", code, message=message, reason=reason, details=details)


def deleted(offered: Offered, name: str, uid: str) -> dict[str, Any]:
    """The answer to a deletion that is complete."""
    return _status("Success", 200, details={**_details(offered, name), "uid": uid})


def _details(offered: Offered | None, name: str) -> dict[str, Any]:
    if offered is None:
        return {}
    details: dict[str, Any] = {"name": name} if name else {}
    if offered.group:
        details["group"] = offered.group
    return {**details, "kind": offered.resource}


def _status(status: str, code: int, **more: Any) -> dict[str, Any]:
    shown = {name: value for name, value in more.items() if value}
    body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": status, **shown}
    return body | {"code": code} if status == "Failure" else body
