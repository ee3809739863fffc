"""``compile -o kubernetes`` prints the objects of a cluster as `kubectl apply` takes them."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.support.golden.compiling import compiled

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "sample" / "gateway"
TENANT = ROOT / "sample" / "tenant.yml"


def test_objects_are_printed_in_creation_order_with_the_bridges_label() -> None:
    ended = compiled("gateway", SAMPLE, output="kubernetes")
    assert ended.code == 0
    objects = list(yaml.safe_load_all(ended.out))
    assert len(objects) >= 25
    kinds = [one["kind"] for one in objects]
    order = ["Namespace", "ClusterRole", "ServiceAccount", "Job", "Deployment", "DaemonSet", "Service"]
    assert [kind for kind in dict.fromkeys(kinds) if kind in order] == order
    assert all("intentc.io/installation" in one["metadata"]["labels"] for one in objects)
    assert all("status" not in one for one in objects)


def test_each_listener_of_the_sample_has_a_port_of_its_service() -> None:
    objects = yaml.safe_load_all(compiled("gateway", SAMPLE, output="kubernetes").out)
    (service,) = [one for one in objects if one["kind"] == "Service" and one["metadata"]["name"] == "envoy-web"]
    assert [(port["name"], port["port"]) for port in service["spec"]["ports"]] == [("http-80", 80), ("http-8080", 8080)]


def test_a_compiler_that_makes_nothing_in_a_cluster_says_so() -> None:
    ended = compiled("contrail", TENANT, output="kubernetes")
    assert (ended.code, ended.out) == (2, "")
    assert "these compilers make nothing in a Kubernetes cluster" in ended.err


def test_a_view_can_not_be_printed_for_a_cluster() -> None:
    ended = compiled("gateway", SAMPLE, output="kubernetes", options=("--view", "problems"))
    assert (ended.code, ended.out) == (2, "")
    assert "--view and -o kubernetes exclude each other" in ended.err
