"""Names the kinds of Envoy's elements and rejections, and the discovery types that carry elements, in their order.

Why it exists: etcd, Envoy and the compilers must agree on these names. Compilers never import this package, and name
the kinds themselves.

Constants, and a pure function of a schema.
"""

from __future__ import annotations

from enum import StrEnum

from intentc.model.schema import Schema

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

NAME_FIELD = {CLUSTER: "name", ENDPOINTS: "cluster_name", LISTENER: "name", SECRET: "name", ROUTE: "name"}
"""Kind of element → the field of its ``config`` that holds Envoy's name for it."""


def calls_for_envoy(schema: Schema) -> bool:
    """Whether ``schema`` has Envoy's elements, which an xDS server must serve then."""
    return LISTENER in schema
