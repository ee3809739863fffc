"""Names of health checks, which Envoy knows and the packages of its messages don't."""

from __future__ import annotations

from typing import Any

import pytest
from envoy.config.cluster.v3.cluster_pb2 import Cluster
from google.protobuf import json_format

from intentc.bridges.xds.encoding import parsed

HTTP = {"http_health_check": {"path": "/"}, "timeout": "1s"}


def cluster(*checks: Any) -> dict[str, Any]:
    return {"name": "echo", "health_checks": list(checks)}


def test_names_are_sent_beside_everything_else() -> None:
    message = parsed(cluster({"name": "one", **HTTP}, {"name": "two", **HTTP}), Cluster())
    assert [check.http_health_check.path for check in message.health_checks] == ["/", "/"]
    sent = message.SerializeToString(deterministic=True)
    # Field 27, three bytes long.
    assert b"\xda\x01\x03one" in sent
    assert b"\xda\x01\x03two" in sent


def test_a_cluster_without_names_is_read_as_ever() -> None:
    plain = json_format.ParseDict(cluster(HTTP), Cluster())
    assert parsed(cluster(HTTP), Cluster()) == plain
    assert parsed({"name": "echo"}, Cluster()) == json_format.ParseDict({"name": "echo"}, Cluster())


@pytest.mark.parametrize("check", [{"name": 7, **HTTP}, {"name": "one", "no_such_field": 1}, "text"])
def test_what_is_no_health_check_is_rejected(check: Any) -> None:
    with pytest.raises((json_format.ParseError, ValueError)):
        parsed(cluster(check), Cluster())
