"""Decodes and checks HTTP requests: bodies, query parameters and headers (docs/contrail.md B.1, B.2).

Why it exists: ``app.py`` stays a list of calls. Manifests and Kubernetes' options are read in ``kubernetes/``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from intentc.loading.bodies import TOO_LARGE, read_json
from intentc.model import Key, Kind, kebab
from intentc.model.problem import InvalidInput

from .batch import relaxed_targets
from .collections import ElementUpdate
from .errors import ApiError, BadRequest, TooLarge, shortened
from .integers import LARGEST, parse_integer
from .mutation import Fence
from .queries import Query, View
from .resources import Condition

Request = TypeVar("Request")

_LARGEST_PAGE = 10_000
_MOST_LISTED = 4_000
"""Values of a parameter that is a list: as many uuids as fit into a request's head."""
_MOST_FILTERS = 50
"""Filters of a list; each resource is compared with all of them."""


class ReferenceRequest(
    msgspec.Struct, rename={"ref_type": "ref-type", "ref_uuid": "ref-uuid", "ref_name": "ref-fq-name"}
):
    """``POST /ref-update``."""

    operation: str = ""
    type: str = ""
    uuid: str = ""
    ref_type: str = ""
    ref_uuid: str | None = None
    ref_name: list[str] | None = None
    attr: dict[str, Any] | None = None
    relaxed: bool = False


class RelaxRequest(msgspec.Struct, rename={"ref_uuid": "ref-uuid"}):
    """``POST /ref-relax-for-delete``."""

    uuid: str
    ref_uuid: str


class NameRequest(msgspec.Struct):
    """``POST /fqname-to-id``."""

    type: str
    fq_name: list[str]


class IdRequest(msgspec.Struct):
    """``POST /id-to-fqname``."""

    uuid: str


class ElementRequest(msgspec.Struct):
    """One element of ``CollectionRequest.updates``."""

    field: str
    operation: str
    value: Any = None
    position: str | int | None = None

    def update(self) -> ElementUpdate:
        return ElementUpdate(
            self.field, self.operation, self.value, "" if self.position is None else str(self.position)
        )


class CollectionRequest(msgspec.Struct):
    """``POST /prop-collection-update``."""

    uuid: str
    updates: list[ElementRequest]


class SyncRequest(msgspec.Struct):
    """``POST /sync``."""

    resources: list[Any]


class PoolRequest(msgspec.Struct):
    """``POST /int-pools``: the half-open range [start, end)."""

    pool: str
    start: int
    end: int


class PoolName(msgspec.Struct):
    """``DELETE /int-pools``."""

    pool: str


class NumberRequest(msgspec.Struct):
    """``POST`` and ``DELETE /int-pool``."""

    pool: str
    value: int | None = None
    owner: str = ""


class Envelope(NamedTuple):
    """The content of a body.

    It has the resource, the paths of the field mask (None: no mask), and the uuids of targets whose deletion its
    references must not block.
    """

    resource: Any
    paths: Sequence[str] | None
    relaxed: tuple[str, ...]


def decode(raw: bytes, wanted: type[Request]) -> Request:
    """Decode a body as ``wanted``. Raises ``BadRequest`` with the place of the error, and ``TooLarge``."""
    try:
        return read_json(raw, wanted)
    except InvalidInput as error:
        raise unreadable(error) from None


def unreadable(error: InvalidInput) -> ApiError:
    """The error for a body that can't be decoded."""
    kind = TooLarge if error.reason == TOO_LARGE else BadRequest
    return kind(f"the body can't be read: {error}")


def envelope(raw: bytes, kind: Kind, *, is_status: bool = False) -> Envelope:
    """Decode ``{"virtual-x": {…}, "field_mask": {"paths": […]}, "relaxed": […]}``. An empty mask is none, but that of a
    status is one: it names no item. Raises ``BadRequest``."""
    body, name = decode(raw, dict[str, Any]), kebab(kind.name)
    if name not in body:
        raise BadRequest(f'the body has no {name!r}; it must be {{"{name}": {{…}}}}')
    mask = body.get("field_mask") or {}
    paths = mask.get("paths") if isinstance(mask, dict) else None
    if paths is not None and not (isinstance(paths, list) and all(isinstance(path, str) for path in paths)):
        raise BadRequest("field_mask.paths must be a list of texts")
    nothing = () if is_status and isinstance(body.get("field_mask"), dict) else None
    return Envelope(body[name], paths or nothing, relaxed_targets(body))


def condition(headers: Mapping[str, str]) -> Condition:
    """Read ``If-Match`` and ``If-None-Match``. Raises ``BadRequest`` unless they are a revision or ``*``."""
    none_match = headers.get("if-none-match", "").strip()
    if none_match not in ("", "*"):
        raise BadRequest(f"If-None-Match is {shortened(none_match)!r}; only * is understood")
    match = headers.get("if-match", "").strip().strip('"')
    if match in ("", "*"):
        return Condition(None, none_match == "*")
    revision = parse_integer(match)
    if revision is None:
        raise BadRequest(f"If-Match is {shortened(match)!r}; give the revision of an answer's X-Etcd-Revision")
    return Condition(revision, none_match == "*")


def fence(headers: Mapping[str, str]) -> Fence | None:
    """Read ``X-Intentc-Fence``. Raises ``BadRequest``."""
    text = headers.get("x-intentc-fence", "").strip()
    return Fence.parse(text) if text else None


def query(parameters: Mapping[str, str]) -> Query:
    """Read the parameters of a list. Raises ``BadRequest``."""
    return Query(
        filters=[_filter(text) for text in listed(parameters, "filters", _MOST_FILTERS)],
        parent_ids=listed(parameters, "parent_id"),
        parent_type=parameters.get("parent_type", ""),
        parent_fq_names=listed(parameters, "parent_fq_name_str"),
        back_ref_ids=listed(parameters, "back_ref_id"),
        uuids=listed(parameters, "obj_uuids"),
        fields=listed(parameters, "fields"),
        limit=min(number(parameters, "page_limit") or 0, _LARGEST_PAGE),
        marker=parameters.get("page_marker", ""),
    )


def view(parameters: Mapping[str, str]) -> View:
    """Read the parameters of a GET of one resource. Raises ``BadRequest``."""
    return View(
        frozenset(listed(parameters, "fields")),
        not flag(parameters, "exclude_children"),
        not flag(parameters, "exclude_back_refs"),
        flag(parameters, "sealed"),
    )


def flag(parameters: Mapping[str, str], name: str) -> bool:
    """Read a parameter that is ``true`` or ``false``. Raises ``BadRequest``."""
    text = parameters.get(name, "").lower()
    if text not in ("", "0", "1", "true", "false"):
        raise BadRequest(f"{name} is {shortened(text)!r}; give true or false")
    return text in ("1", "true")


def number(parameters: Mapping[str, str], name: str) -> int | None:
    """Read a parameter that is a number; None if it is missing. Raises ``BadRequest``."""
    text = parameters.get(name, "")
    if not text:
        return None
    value = parse_integer(text)
    if value is None:
        raise BadRequest(f"{name} is {shortened(text)!r}; give an integer from 0 to {LARGEST}")
    return value


def listed(parameters: Mapping[str, str], name: str, most: int = _MOST_LISTED) -> list[str]:
    """Read a parameter that is a list with commas. Raises ``BadRequest``."""
    found = [part for part in parameters.get(name, "").split(",") if part]
    if len(found) > most:
        raise BadRequest(f"{name} lists {len(found):,} values; {most:,} are the most, so ask several times")
    return found


def _filter(text: str) -> tuple[str, str]:
    field, separator, value = text.partition("==")
    if not separator or not field:
        raise BadRequest(f"filter {shortened(text)!r} is not of the form field==value")
    return field, value


def token(headers: Mapping[str, str]) -> str:
    """The token of a request, in Keystone's header or as a bearer token; empty if there is none."""
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    return headers.get("x-auth-token", "") or (bearer.strip() if scheme.lower() == "bearer" else "")


def href(base: object, key: Key) -> str:
    """The URL of a resource; ``base``: that under which the client sees this server."""
    return f"{str(base).rstrip('/')}/{kebab(key.kind)}/{key.uuid}"


def linked_entry(base: object, kind: str, entry: Any) -> Any:
    """An entry of a reference with the URL of its target."""
    # Opaque kinds store fields that look like references and may hold anything.
    named = isinstance(entry, dict) and isinstance(entry.get("uuid"), str)
    return {**entry, "href": href(base, Key(kind, entry["uuid"]))} if named else entry
