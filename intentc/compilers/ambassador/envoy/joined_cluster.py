"""Joins several clusters into one with failover: the first cluster that has an endpoint gets the requests."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

_TYPE = "type.googleapis.com/envoy.extensions.clusters.aggregate.v3.ClusterConfig"
_DIGITS = 32


def joined_name(clusters: Sequence[str]) -> str:
    """The name, which follows from all of them and their order."""
    return f"cluster_joined-{hashlib.sha256(msgspec.msgpack.encode(tuple(clusters))).hexdigest()[:_DIGITS]}"


def joined_cluster(name: str, clusters: Sequence[str]) -> dict[str, Any]:
    """``envoy.config.cluster.v3.Cluster``."""
    return {
        "name": name,
        "lb_policy": "CLUSTER_PROVIDED",
        "cluster_type": {
            "name": "envoy.clusters.aggregate",
            "typed_config": {"@type": _TYPE, "clusters": list(clusters)},
        },
    }
