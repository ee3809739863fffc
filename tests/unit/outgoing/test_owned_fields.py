"""Owned fields are compared as a cluster keeps them: what it fills in, and what others add, is no difference."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.outgoing import differences

CONTAINER = {"name": "web", "image": "web:1", "ports": [{"containerPort": 80}]}


@pytest.mark.parametrize(
    ("owned", "live"),
    [
        ({"spec": {"replicas": 2}}, {"spec": {"replicas": 2, "progressDeadlineSeconds": 600}, "status": {}}),
        ({"containers": [CONTAINER]}, {"containers": [{"name": "sidecar"}, {**CONTAINER, "tty": True}]}),
        ({"ports": [{"port": 80}]}, {"ports": [{"port": 80, "protocol": "TCP", "nodePort": 30080}]}),
        ({"args": ["a", "b"]}, {"args": ["a", "b"]}),
        ({"hostNetwork": False, "labels": {}, "args": [], "note": ""}, {}),
        ({"securityContext": {"privileged": False}}, {}),
        ({"resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}}},
         {"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}),
        ({"resources": {"limits": {"cpu": 1}}}, {"resources": {"limits": {"cpu": "1"}}}),
    ],
)  # fmt: skip
def test_what_the_cluster_adds_is_no_difference(owned: Any, live: Any) -> None:
    assert differences(owned, live) == ()


@pytest.mark.parametrize(
    ("owned", "live", "paths"),
    [
        ({"spec": {"replicas": 2}}, {"spec": {"replicas": 3}}, ("spec.replicas",)),
        ({"spec": {"replicas": 2}}, {}, ("spec.replicas",)),
        ({"replicas": 0}, {"replicas": 1}, ("replicas",)),
        ({"containers": [CONTAINER]}, {"containers": [{**CONTAINER, "image": "web:2"}]}, ("containers[web].image",)),
        ({"containers": [CONTAINER]}, {"containers": [{"name": "other"}]}, ("containers[web]",)),
        ({"args": ["a"]}, {"args": ["a", "b"]}, ("args",)),
        ({"args": ["a", "b"]}, {"args": ["b", "a"]}, ("args[0]", "args[1]")),
        ({"ports": [{"port": 80, "protocol": "UDP"}]}, {"ports": [{"port": 80}]}, ("ports[80,UDP]",)),
        ({"enabled": True}, {"enabled": 1}, ("enabled",)),
        ({"resources": {"limits": {"cpu": "1"}}}, {"resources": {"limits": {"cpu": "2"}}}, ("resources.limits.cpu",)),
        ({"size": "1000m"}, {"size": "1"}, ("size",)),
        ({"labels": {"a": "b"}}, {"labels": None}, ("labels.a",)),
        ({"spec": {"a": 1}}, {"spec": "text"}, ("spec",)),
    ],
)
def test_each_path_that_differs_is_named(owned: Any, live: Any, paths: tuple[str, ...]) -> None:
    assert differences(owned, live) == paths
