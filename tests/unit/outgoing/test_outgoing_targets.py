"""A manifest's claim keeps exactly what its author gives, and gives it back as Kubernetes JSON."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.loading.checking import NAME
from intentc.model import InvalidInput
from intentc.outgoing import Target, body_of, claimed_fields, digest_of, name_of, target_of

DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
    "spec": {"replicas": 2},
}


def test_it_is_given_back_as_it_was_given() -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}, "rules": []}
    for manifest in (DEPLOYMENT, role):
        assert body_of(claimed_fields(manifest)) == manifest


def test_a_secret_s_data_are_apart_and_in_base64() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "shop"}, "type": "Opaque",
              "data": {"a": "QQ=="}, "stringData": {"b": "B"}}  # fmt: skip
    fields = claimed_fields(secret)
    assert fields["content"] == {"type": "Opaque"}
    assert fields["secret"] == {"a": "QQ==", "b": "Qg=="}
    assert body_of(fields)["data"] == {"a": "QQ==", "b": "Qg=="}


def test_objects_of_two_kinds_groups_or_namespaces_have_names_of_their_own() -> None:
    targets = [
        Target("", "v1", "Service", "shop", "web"),
        Target("serving.knative.dev", "v1", "Service", "shop", "web"),
        Target("", "v1", "Service", "farm", "web"),
        Target("apps", "v1", "Deployment", "shop", "web"),
        Target("a", "v1", "Job", "shop", "b.c"),
        Target("a.b", "v1", "Job", "shop", "c"),
        Target("", "v1", "Role", "shop", "a:b"),
        Target("", "v1", "Role", "shop", "a_b"),
        Target("", "v1", "Role", "shop", "a-b"),
        Target("", "v1", "Role", "shop", "A-b"),
        Target("", "v1", "Role", "shop", 250 * "a"),
        Target("", "v1", "Role", "shop", 251 * "a"),
    ]
    assert len({name_of(target) for target in targets}) == len(targets)
    assert name_of(targets[0]._replace(version="v2")) == name_of(targets[0])
    assert all(NAME.fullmatch(part) and len(part) < 254 for target in targets for part in name_of(target))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"apiVersion": None}, "apiVersion is missing"),
        ({"kind": ""}, "kind is missing"),
        ({"metadata": {"namespace": "shop"}}, "metadata.name is missing"),
        ({"metadata": "web"}, "metadata.name is missing"),
        ({"status": {"replicas": 1}}, "status is the cluster's; leave it out"),
        ({"metadata": {"name": "web", "finalizers": ["x"]}}, "metadata.finalizers can't be claimed"),
    ],
)
def test_what_can_t_be_a_manifest_is_an_error_that_says_what_to_do(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        claimed_fields({**DEPLOYMENT, **change})
    with pytest.raises(InvalidInput, match="a manifest is a mapping, not list"):
        target_of([])


def test_the_digest_does_not_depend_on_the_order_of_fields() -> None:
    assert digest_of({"a": 1, "b": {"c": 2, "d": 3}}) == digest_of({"b": {"d": 3, "c": 2}, "a": 1})
    assert digest_of({"a": 1}) != digest_of({"a": 2})
