"""Which changes of a manifest restart pods, in words."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from intentc.compilers.gateway.restarts import restarts

ENVOY: dict[str, Any] = {
    "target": {"group": "apps", "version": "v1", "kind": "DaemonSet", "namespace": "edge", "name": "envoy"},
    "immutable": ["spec.selector"],
    "content": {
        "metadata": {"labels": {"app": "envoy"}},
        "spec": {
            "selector": {"matchLabels": {"app": "envoy"}},
            "updateStrategy": {"type": "RollingUpdate"},
            "template": {
                "metadata": {"labels": {"app": "envoy"}, "annotations": {"hash": "1"}},
                "spec": {
                    "initContainers": [{"name": "config", "image": "contour:1"}],
                    "containers": [
                        {"name": "manager", "image": "contour:1"},
                        {"name": "envoy", "image": "envoy:1", "args": ["-c"]},
                    ],
                },
            },
        },
    },
}


def changed(path: str, value: Any) -> dict[str, Any]:
    found = deepcopy(ENVOY)
    place: Any = found["content"]
    *way, last = (int(step) if step.isdigit() else step for step in path.split("."))
    for step in way:
        place = place[step]
    place[last] = value
    return found


POD = "spec.template.spec"


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (f"{POD}.containers.1.image", "envoy:2", "image envoy:1 → envoy:2"),
        (f"{POD}.containers.1.args", [], "args of envoy"),
        (f"{POD}.containers.1.tty", True, "tty of envoy"),
        (f"{POD}.nodeSelector", {"disk": "ssd"}, "nodeSelector"),
        (f"{POD}.containers", [{"name": "envoy", "image": "envoy:1", "args": ["-c"]}], "container manager is removed"),
        (f"{POD}.containers.0.name", "other", "container manager is removed, container other is added"),
        ("spec.template.metadata.annotations", {"hash": "2"}, "annotation hash"),
        ("spec.template.metadata.labels", {"app": "envoy", "x": "y"}, "label x"),
        (f"{POD}.containers", [*reversed(ENVOY["content"]["spec"]["template"]["spec"]["containers"])],
         "order of containers"),
    ],
)  # fmt: skip
def test_a_changed_template_restarts_the_pods(path: str, value: Any, words: str) -> None:
    assert list(restarts(ENVOY, changed(path, value))) == [f"restarts: daemonset edge/envoy ({words})"]


def test_a_common_image_is_named_once_others_with_their_containers() -> None:
    after = changed(f"{POD}.containers.0.image", "contour:2")
    spec = after["content"]["spec"]["template"]["spec"]
    spec["initContainers"][0]["image"] = "contour:2"
    assert list(restarts(ENVOY, after)) == ["restarts: daemonset edge/envoy (image contour:1 → contour:2)"]
    spec["containers"][1]["image"] = "envoy:2"
    assert list(restarts(ENVOY, after)) == [
        "restarts: daemonset edge/envoy "
        "(image of config and manager contour:1 → contour:2, image of envoy envoy:1 → envoy:2)"
    ]


def test_a_change_elsewhere_restarts_nothing() -> None:
    assert list(restarts(ENVOY, changed("spec.updateStrategy", {"type": "OnDelete"}))) == []
    assert list(restarts(ENVOY, changed("metadata.labels", {"app": "other"}))) == []
    assert list(restarts(None, ENVOY)) == list(restarts(ENVOY, None)) == []


def test_what_can_not_be_changed_is_made_anew() -> None:
    after = changed("spec.selector", {"matchLabels": {"app": "other"}})
    assert list(restarts(ENVOY, after)) == ["made anew: daemonset edge/envoy (spec.selector)"]
