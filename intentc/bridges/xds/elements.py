"""Names Envoy's elements and discovery types, and decodes elements and rejections from etcd.

The watch under the compilers' path delivers every resource; only a few kinds concern Envoy. ``encoding`` finds faults
inside an element, such as a ``config`` that is no valid message. Compilers never import this package; they name the
kinds themselves.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from intentc.model.events import Change
from intentc.model.schema import Schema

Key = tuple[str, str]
"""Kind and name of an element."""

CLUSTER = "envoy_cluster"
ENDPOINTS = "envoy_endpoints"
LISTENER = "envoy_listener"
VIRTUAL_HOST = "envoy_virtual_host"
ROUTE = "envoy_route"
SECRET = "envoy_secret"  # noqa: S105  # a kind, not a secret
REJECTION = "envoy_rejection"

_ROOT = "type.googleapis.com"


class Type(StrEnum):
    """A discovery type by its URL, in the order in which changes are sent: targets of references first."""

    SECRETS = f"{_ROOT}/envoy.extensions.transport_sockets.tls.v3.Secret"
    CLUSTERS = f"{_ROOT}/envoy.config.cluster.v3.Cluster"
    ENDPOINTS = f"{_ROOT}/envoy.config.endpoint.v3.ClusterLoadAssignment"
    LISTENERS = f"{_ROOT}/envoy.config.listener.v3.Listener"
    ROUTES = f"{_ROOT}/envoy.config.route.v3.RouteConfiguration"


WILDCARD = frozenset({Type.CLUSTERS, Type.LISTENERS})
"""Types of which an Envoy receives all resources; of the others it names what it wants."""

TYPE_OF = {
    SECRET: Type.SECRETS,
    CLUSTER: Type.CLUSTERS,
    ENDPOINTS: Type.ENDPOINTS,
    LISTENER: Type.LISTENERS,
    VIRTUAL_HOST: Type.ROUTES,
    ROUTE: Type.ROUTES,
}
"""Kind of element → the type that carries it."""
KINDS = frozenset({*TYPE_OF, REJECTION})
"""The kinds of elements and of rejections."""

NAME_FIELD = {CLUSTER: "name", ENDPOINTS: "cluster_name", LISTENER: "name", SECRET: "name", ROUTE: "name"}
"""Kind of element → the field of its ``config`` that holds Envoy's name for it."""

_DIGEST_LENGTH = 32


class Origin(msgspec.Struct, frozen=True, omit_defaults=True):
    """The source of an element: kind and name (``namespace:name``) of a user's resource, and its field."""

    kind: str = ""
    name: str = ""
    field: str = ""


class _Stored(msgspec.Struct, frozen=True):
    fq_name: tuple[str, ...]
    config: dict[str, Any] = {}
    origins: tuple[Origin, ...] = ()
    tables: tuple[str, ...] = ()
    sort_key: str = ""
    clusters: tuple[str, ...] = ()
    route_configuration: str = ""
    domain: str = ""
    scopes: tuple[str, ...] = ()
    head: Any = None
    shared_filters: Any = None
    guards: tuple[str, ...] = ()


class Element(NamedTuple):
    """One element.

    ``name``: its fq_name joined by ``:``; ``config``: v3 JSON with names in snake_case; ``head``: the routes (v3 JSON)
    of a virtual host before those of its tables; ``guards``: names of the checks that a listener makes of its clients.
    Fields that a kind doesn't have are empty.
    """

    kind: str
    name: str
    revision: int
    config: dict[str, Any]
    origins: tuple[Origin, ...] = ()
    tables: tuple[str, ...] = ()
    sort_key: str = ""
    clusters: tuple[str, ...] = ()
    route_configuration: str = ""
    domain: str = ""
    scopes: tuple[str, ...] = ()
    head: tuple[dict[str, Any], ...] = ()
    guards: tuple[str, ...] = ()


class Rejection(msgspec.Struct, frozen=True, omit_defaults=True):
    """The record that Envoy rejected an element (schema ``envoy_rejection``).

    ``last_good``: the ``config`` that Envoy took last, None for none; ``guards``: its guards; ``meanwhile``: describes
    what is in force if that isn't.
    """

    element_kind: str
    element_name: str
    digest: str
    message: str = ""
    origins: tuple[Origin, ...] = ()
    last_good: dict[str, Any] | None = None
    guards: tuple[str, ...] = ()
    meanwhile: str = ""


class Malformed(Exception):
    """A value in etcd is neither an element nor a rejection; the message says why."""


_DECODE = msgspec.json.Decoder(_Stored)
_DECODE_REJECTION = msgspec.json.Decoder(Rejection)


def decode_element(change: Change) -> Element:
    """Decode the element that ``change`` writes. Raises ``Malformed``."""
    try:
        stored = _DECODE.decode(change.value or b"")
    except msgspec.MsgspecError as error:
        raise Malformed(f"{change.kind}/{change.uuid}: {error}") from None
    head = stored.head or []
    listed = (head,) if isinstance(head, dict) else tuple(head) if isinstance(head, list) else None
    if listed is None or not all(isinstance(route, dict) for route in listed):
        raise Malformed(f"{change.kind}/{change.uuid}: `head` is no list of routes")
    return Element(
        change.kind,
        ":".join(stored.fq_name),
        change.mod_revision,
        _unfolded(change, stored),
        stored.origins,
        stored.tables,
        stored.sort_key,
        stored.clusters,
        stored.route_configuration,
        stored.domain,
        stored.scopes,
        listed,
        stored.guards,
    )


def _unfolded(change: Change, stored: _Stored) -> dict[str, Any]:
    """The configuration, with filters that the chains of a listener share repeated in each chain."""
    shared = stored.shared_filters
    if not shared:
        return stored.config
    try:
        chains = [{**chain, "filters": shared[chain["filters"]]} for chain in stored.config["filter_chains"]]
    except (LookupError, TypeError):
        raise Malformed(f"{change.kind}/{change.uuid}: a chain's `filters` is no number in `shared_filters`") from None
    return {**stored.config, "filter_chains": chains}


def decode_rejection(change: Change) -> Rejection:
    """Decode the rejection that ``change`` writes. Raises ``Malformed``."""
    try:
        return _DECODE_REJECTION.decode(change.value or b"")
    except msgspec.MsgspecError as error:
        raise Malformed(f"{change.kind}/{change.uuid}: {error}") from None


def digest(config: Any) -> str:
    """A hash that shows whether ``config`` is still the one that Envoy rejected; the compilers compute the same."""
    return hashlib.sha256(msgspec.json.encode(config, order="sorted")).hexdigest()[:_DIGEST_LENGTH]


def calls_for_envoy(schema: Schema) -> bool:
    """Whether ``schema`` has Envoy's elements, which an xDS server must serve then."""
    return LISTENER in schema
