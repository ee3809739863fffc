"""What an event that changes no declared field is recognized by."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from intentc.bridges.kubernetes.fingerprint import fingerprint_of
from intentc.bridges.kubernetes.mirror import Mirror, Wanted
from intentc.bridges.kubernetes.wire import Identity
from intentc.loading.schemas import load_schema
from intentc.model import Key

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "7", "labels": {"app": "web"}},
    "spec": {"nodeName": "node-1", "containers": [{"name": "web", "ports": [{"containerPort": 80}]}]},
    "status": {"phase": "Running", "podIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]},
}


def _fingerprint(manifest: Any, kind: str = "pod", version: str = "v1", compiler: str = "kubernetes") -> bytes:
    return fingerprint_of(load_schema(compiler).kind(kind))(msgspec.json.encode(manifest), version)


def _pod(**parts: dict[str, Any]) -> bytes:
    return _fingerprint(POD | {name: POD[name] | changed for name, changed in parts.items()})


def test_what_no_schema_declares_does_not_count() -> None:
    probed = [{"type": "Ready", "status": "True", "lastProbeTime": "2026-01-01T00:00:00Z"}]
    assert _pod() == _pod(metadata={"resourceVersion": "8", "managedFields": [{"manager": "kubelet"}], "selfLink": "x"})
    assert _pod() == _pod(status={"message": "12:00", "conditions": probed})
    assert _pod() == _fingerprint(POD | {"more": 1})


@pytest.mark.parametrize(
    "parts",
    [
        {"metadata": {"labels": {"app": "other"}}},
        {"metadata": {"finalizers": ["x"]}},
        {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
        {"spec": {"nodeName": "node-2"}},
        {"status": {"phase": "Failed"}},
        {"status": {"conditions": [{"type": "Ready", "status": "False"}]}},
    ],
)
def test_each_declared_part_counts(parts: dict[str, dict[str, Any]]) -> None:
    assert _pod(**parts) not in (_pod(), b"")


def test_the_version_counts() -> None:
    assert _fingerprint(POD, version="v2") != _fingerprint(POD)


def test_fields_at_the_top_of_a_manifest_count() -> None:
    secret = {"metadata": {"name": "s", "uid": "u"}, "data": {"a": "Yg=="}}
    assert _fingerprint(secret, "secret") != _fingerprint(secret | {"data": {"a": "Yw=="}}, "secret")


def test_unreadable_or_converted_objects_and_those_with_claimed_status_have_no_fingerprint() -> None:
    assert _pod(status={"conditions": 7}) == b""
    assert _fingerprint([]) == b""
    assert _fingerprint(POD, "ingress") == b""
    assert _fingerprint(POD, "mapping", compiler="ambassador") == b""


def test_an_object_without_a_fingerprint_or_that_can_not_be_copied_is_not_known() -> None:
    mirror, key = Mirror(), Key("pod", "u")
    assert not mirror.knows(key, b"f")
    mirror.put(key, Wanted(Identity("shop", "web"), b"d", b"{}", b"f"))
    assert mirror.knows(key, b"f")
    assert not mirror.knows(key, b"g")
    assert not mirror.knows(key, b"")
    mirror.cannot_copy(key, Identity("shop", "web"), "why")
    assert not mirror.knows(key, b"f")
    mirror.deleted(key)
    assert not mirror.knows(key, b"f")
