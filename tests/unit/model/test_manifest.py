"""Kubernetes-shaped kinds: identity, versions, and references by name, URL, labels and hostnames
(docs/engine.md §2.2)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from intentc.model.events import Change
from intentc.model.manifest import Shape, Steps, flattened, manifest_of, place_in_manifest
from intentc.model.names import RESOLVERS
from intentc.model.problem import InvalidInput
from intentc.model.resource import Link, Resource
from intentc.model.schema import Schema

Manifest = Callable[..., Resource]


def links(resource: Resource) -> set[Link]:
    return set(resource.links)


def meets(link: Link, resolver: str, target: Resource) -> bool:
    """Whether ``target`` is what ``link`` means: found under the probe, and accepted."""
    offered = target.offers(link.by)
    rule = RESOLVERS[resolver]
    return rule.probe(link.value) in offered and rule.accepts(link.value, offered)


def test_identity_is_namespace_and_name(manifest: Manifest) -> None:
    assert manifest("toy_pod", "web-1", {}).fq_name == ("shop", "web-1")


def test_a_manifest_without_namespace_is_in_the_default_one(manifest: Manifest) -> None:
    assert manifest("toy_pod", "web-1", {}, namespace=None).fq_name == ("default", "web-1")


def test_a_manifest_without_uid_gets_the_same_one_every_time(manifest: Manifest) -> None:
    one, again, other = (manifest("toy_pod", name, {}).key.uuid for name in ("a", "a", "b"))

    assert one == again != other


def test_a_uid_is_kept(manifest: Manifest) -> None:
    assert manifest("toy_pod", "a", {}, uid="abc").key.uuid == "abc"


def test_two_versions_mean_the_same(manifest: Manifest) -> None:
    old = manifest(
        "toy_route", "r", {"hostname": "h", "path": "/a", "backend": "web"}, version="toy.intentc.io/v1alpha1"
    )
    new = manifest("toy_route", "r", {"hostname": "h", "match": {"prefix": "/a"}, "service": "web"})

    one, other = old.values(), new.values()
    assert (one.match, one.service, one.hostname) == (other.match, other.service, other.hostname)
    assert one.match.prefix == "/a"
    assert links(old) == links(new)


def test_the_version_that_a_user_wrote_is_found(manifest: Manifest) -> None:
    old, new = (manifest("toy_route", "r", {}, version=f"toy.intentc.io/{version}") for version in ("v1alpha1", "v1"))

    assert (old.values().api_version, new.values().api_version) == ("toy.intentc.io/v1alpha1", "toy.intentc.io/v1")
    assert not old.kind.same_input(old, new)


def test_fields_at_the_top_are_fields_of_the_resource() -> None:
    secret = {"apiVersion": "v1", "metadata": {"name": "s"}, "type": "Opaque", "data": {"a": "YQ=="}, "status": {}}

    assert flattened(secret, Shape("Secret", versions={"v1": {}})) == {
        "fq_name": ["default", "s"], "api_version": "v1", "type": "Opaque", "data": {"a": "YQ=="}
    }  # fmt: skip


def test_kubectls_copy_of_the_manifest_is_left_out() -> None:
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "team": "web"}

    flat = flattened({"metadata": {"name": "s", "annotations": annotations}}, Shape("Secret"))

    assert flat["metadata"] == {"annotations": {"team": "web"}}
    assert "annotations" not in flat, "that field has our mark alone"


def test_the_flat_form_is_read_as_it_stands(toy: Schema) -> None:
    flat: dict[str, Any] = {"uuid": "u", "fq_name": ["shop", "r"], "api_version": "v", "hostname": "h"}
    flat["metadata"] = {"labels": {"apiVersion": "x"}, "generation": 3}
    resource = toy.kind("toy_route").decode(Change("toy_route", "u", json.dumps(flat).encode(), 1, 7))

    values = resource.values()
    assert (resource.fq_name, values.hostname, values.api_version) == (("shop", "r"), "h", "v")
    assert (dict(values.metadata.labels), values.metadata.generation) == ({"apiVersion": "x"}, 3)


@pytest.mark.parametrize(
    ("field", "stands"),
    [
        (("hostname",), ("spec", "hostname")),
        (("match", "prefix"), ("spec", "path")),
        (("fq_name", 1), ("metadata", "name")),
        (("metadata", "labels", "app"), ("metadata", "labels", "app")),
        (("api_version",), ("apiVersion",)),
        (("data", "a"), ("data", "a")),
        ((), ()),
    ],
)
def test_each_field_of_the_flat_form_knows_where_it_stands(field: Steps, stands: Steps) -> None:
    manifest = {"metadata": {"name": "r"}, "spec": {"hostname": "h", "path": "/a"}, "data": {"a": "b"}}

    assert place_in_manifest(manifest, {"path": "match.prefix"}, field) == stands


def test_a_new_field_wins_over_its_old_name(manifest: Manifest) -> None:
    route = manifest("toy_route", "r", {"service": "new", "backend": "old"}, version="toy.intentc.io/v1alpha1")

    assert route.values().service == "new"


def test_nulls_are_as_good_as_missing(manifest: Manifest) -> None:
    route = manifest("toy_route", "r", {"hostname": "h", "timeout_ms": None, "match": None})

    assert (route.values().timeout_ms, route.values().match.prefix) == (3000, "")


def test_labels_and_annotations_are_read(manifest: Manifest) -> None:
    pod = manifest(
        "toy_pod", "a", {}, labels={"app": "web"}, annotations={"intentc": "default/toy/o"}, creationTimestamp=None
    )

    assert dict(pod.values().metadata.labels) == {"app": "web"}
    assert not pod.values().metadata.annotations, "the mark is none of the user's"
    assert pod.mark is not None


@pytest.mark.parametrize("version", ["toy.intentc.io/v1", "toy.intentc.io/v1alpha1"])
def test_a_manifest_is_found_again_in_each_version(toy: Schema, version: str) -> None:
    shape = toy.kind("toy_route").manifests
    metadata = {
        "name": "r",
        "namespace": "shop",
        "uid": "u",
        "labels": {"app": "web"},
        "annotations": {"team": "red", "intentc": "default/toy/o"},
        "generation": 4,
        "finalizers": ["toy.io/drain"],
        "ownerReferences": [{"apiVersion": "v1", "kind": "ToyPod", "name": "p", "uid": "w"}],
    }
    old = {"hostname": "h", "path": "/a", "backend": "b"}
    new = {"hostname": "h", "match": {"prefix": "/a"}, "service": "b"}
    spec = old if version.endswith("alpha1") else new
    manifest = {"apiVersion": version, "kind": "ToyRoute", "metadata": metadata, "spec": spec}

    flat = flattened(manifest, shape)

    assert manifest_of(flat, shape) == manifest
    other = manifest_of(flat, shape, "toy.intentc.io/v1alpha1")
    assert (other["apiVersion"], other["spec"]["path"]) == ("toy.intentc.io/v1alpha1", "/a")
    assert flattened(other, shape) == {**flat, "api_version": "toy.intentc.io/v1alpha1"}


def test_the_fields_of_a_secret_stand_at_the_top_again() -> None:
    shape = Shape("Secret", without_spec=True, versions={"v1": {}})
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "n"}, "data": {"a": "YQ=="}}

    assert manifest_of(flattened(secret, shape), shape) == secret


def test_a_cluster_scoped_resource_has_no_namespace() -> None:
    shape = Shape("Node", cluster_scoped=True, versions={"v1": {}})
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "namespace": "ignored"}}

    flat = flattened(node, shape)

    assert flat["fq_name"] == ["n"]
    assert manifest_of(flat, shape)["metadata"] == {"name": "n"}


def test_another_group_is_named_with_the_one_that_is_expected() -> None:
    shape = Shape("Ingress", "networking.k8s.io", versions={"networking.k8s.io/v1": {}})
    manifest = {"apiVersion": "gateways.example/v1", "kind": "Ingress", "metadata": {"name": "i"}}

    with pytest.raises(msgspec.ValidationError, match=r"is of networking\.k8s\.io: give networking"):
        flattened(manifest, shape)


@pytest.mark.parametrize(
    ("service", "name"),
    [
        ("web", "shop:web"),
        ("web.infra", "infra:web"),
        ("http://web:8080", "shop:web"),
        ("https://web.infra.svc.cluster.local:443/path", "infra:web"),
    ],
)
def test_a_service_url_names_a_service(manifest: Manifest, service: str, name: str) -> None:
    route = manifest("toy_route", "r", {"service": service})

    assert links(route) == {Link("service", "toy_service", "fq_name", name)}


def test_a_name_without_namespace_means_the_own_one(manifest: Manifest) -> None:
    near = manifest("toy_route", "r", {"gateway": "edge"})
    far = manifest("toy_route", "r", {"gateway": "edge.infra"})

    assert (*links(near), *links(far)) == (
        Link("gateway", "toy_gateway", "fq_name", "shop:edge"),
        Link("gateway", "toy_gateway", "fq_name", "infra:edge"),
    )


def test_a_selector_means_pods_with_all_its_labels(manifest: Manifest) -> None:
    (link,) = manifest("toy_service", "s", {"selector": {"tier": "1", "app": "web"}}).links

    assert link == Link("pods", "toy_pod", "label", "app=web,tier=1")
    assert meets(link, "selector", manifest("toy_pod", "a", {}, labels={"app": "web", "tier": "1", "x": "y"}))
    assert not meets(link, "selector", manifest("toy_pod", "b", {}, labels={"app": "web"}))
    assert not meets(link, "selector", manifest("toy_pod", "c", {}, labels={"tier": "1"}))


def test_a_service_without_selector_means_no_pods(manifest: Manifest) -> None:
    assert manifest("toy_service", "s", {}).links == ()


@pytest.mark.parametrize(
    ("glob", "met"), [("*.shop.io", True), ("www.shop.io", True), ("*", True), ("*.io", True), ("*.other.io", False)]
)
def test_a_glob_means_routes_whose_hostname_it_covers(manifest: Manifest, glob: str, met: bool) -> None:
    (link,) = manifest("toy_gateway", "g", {"hostname": glob}).links

    assert meets(link, "glob", manifest("toy_route", "r", {"hostname": "www.shop.io"})) is met


def test_a_gateway_without_hostname_serves_every_route(manifest: Manifest) -> None:
    assert manifest("toy_gateway", "g", {}).links == (Link("served", "toy_route", "hostname", "*"),)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "Expected `object`, got `array`"),
        ({"apiVersion": "toy.intentc.io/v1"}, "metadata.name is missing"),
        (
            {"apiVersion": "toy.intentc.io/v2", "metadata": {"name": "r"}},
            "apiVersion 'toy.intentc.io/v2' is not known; there are toy.intentc.io/v1, toy.intentc.io/v1alpha1",
        ),
    ],
)
def test_a_bad_manifest_names_its_key(toy: Schema, value: object, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        toy.kind("toy_route").decode(Change("toy_route", "u", json.dumps(value).encode(), 1, 7))

    assert str(caught.value) == f"toy_route/u@7: value can't be read: {message}"


@pytest.mark.parametrize(
    "manifest_of_another_shape",
    [
        {"apiVersion": "toy.intentc.io/v1", "metadata": "r"},
        {"apiVersion": "toy.intentc.io/v1", "metadata": {"name": "r"}, "spec": [1]},
        {"apiVersion": "toy.intentc.io/v1", "metadata": {"name": "r"}, "spec": "x"},
        {"apiVersion": "toy.intentc.io/v1", "metadata": {"name": "r", "annotations": [1]}},
        {"apiVersion": "toy.intentc.io/v1", "metadata": {"name": "r", "generation": "x"}},
        {"apiVersion": "toy.intentc.io/v1", "metadata": {"name": "r", "labels": 1}},
        {"apiVersion": "toy.intentc.io/v1", "metadata": {"name": "r"}, "hostname": "a", "spec": {"hostname": "b"}},
        {"apiVersion": "toy.intentc.io/v1", "metadata": {"name": "r"}, "spec": {"annotations": {"a": "b"}}},
        {"apiVersion": "toy.intentc.io/v1", "metadata": {"name": "r"}, "uuid": "u"},
        {"metadata": {"name": "r"}},
        {"apiVersion": "toy.intentc.io/v1alpha1", "metadata": {"name": "r"}, "spec": {"path": "/a", "match": "x"}},
    ],
)
def test_a_manifest_of_another_shape_is_malformed(toy: Schema, manifest_of_another_shape: object) -> None:
    with pytest.raises(InvalidInput, match="value can't be read"):
        toy.kind("toy_route").decode(Change("toy_route", "u", json.dumps(manifest_of_another_shape).encode(), 1, 7))
