"""Fields that a schema declares sensitive: found wherever they stand, concealed, and left alone elsewhere."""

from __future__ import annotations

from typing import Any

import msgspec

from intentc.model import Change, Resource
from intentc.model.schema import KindSpec, build_kind
from intentc.model.sensitive import CONCEALED, cleared, cleared_resource, concealed, sensitive_texts, without
from intentc.model.types import TypeTable

TYPES = TypeTable(
    {
        "Login": {"user": "string", "password": {"type": "string", "sensitive": True}},
        "Device": {"logins": {"list": "Login"}, "name": "string"},
    }
)
DECLARED: dict[str, Any] = {
    "kind": "host",
    "group": "toy",
    "properties": {"device": "Device", "blob": {"type": "opaque", "sensitive": True}, "plain": "string"},
    "references": {"host": {"attribute": "Login"}},
}
KIND = build_kind(msgspec.convert(DECLARED, KindSpec), TYPES, "toy")
DOCUMENT: dict[str, Any] = {
    "fq_name": ["h"],
    "device": {"name": "d", "logins": [{"user": "u", "password": "canary-1"}, {"user": "v"}]},
    "blob": {"deep": [{"key": "canary-2"}, 1234567, True]},
    "plain": "shown",
    "host_refs": [{"uuid": "x", "attr": {"user": "w", "password": "canary-3"}}],
}


def resource() -> Resource:
    return KIND.decode(Change("host", "h", msgspec.json.encode(DOCUMENT), 1, 1))


def test_sensitive_fields_are_found_in_types_lists_and_attributes() -> None:
    assert set(KIND.sensitive) == {
        ("device", "logins", "[]", "password"),
        ("blob",),
        ("host_refs", "[]", "attr", "password"),
    }


def test_their_texts_are_found_at_any_depth() -> None:
    assert sensitive_texts(resource()) == {"canary-1", "canary-2", "canary-3", "1234567"}


def test_a_document_is_concealed_in_place_and_nothing_else_is_touched() -> None:
    document = msgspec.json.decode(msgspec.json.encode(DOCUMENT))
    assert concealed(KIND, document) is document
    assert document["device"] == {"name": "d", "logins": [{"user": "u", "password": CONCEALED}, {"user": "v"}]}
    assert document["blob"] == CONCEALED
    assert document["plain"] == "shown"
    assert document["host_refs"][0]["attr"] == {"user": "w", "password": CONCEALED}


def test_a_document_of_another_form_is_no_fault() -> None:
    assert concealed(KIND, {"device": [1], "host_refs": {"a": 1}}) == {"device": [1], "host_refs": {"a": 1}}


def test_a_kind_without_sensitive_fields_has_none() -> None:
    kind = build_kind(KindSpec(kind="plain", group="toy", properties={"text": "string"}), TYPES, "toy")
    found = kind.decode(Change("plain", "p", b'{"fq_name": ["p"], "text": "something"}', 1, 1))
    assert (kind.sensitive, sensitive_texts(found)) == ((), set())


def test_the_longer_of_two_secrets_is_replaced_first() -> None:
    assert without(["abcd", "abcdef"], "abcdef abcd") == f"{CONCEALED} {CONCEALED}"


def test_places_in_an_opaque_field_are_found_at_any_depth() -> None:
    places = ["**.auth.headers[].value", "plain.key"]
    declared = {"properties": {"config": {"type": "opaque", "sensitive_at": places}}, "kind": "deep", "group": "toy"}
    kind = build_kind(msgspec.convert(declared, KindSpec), TYPES, "toy")
    header = {"name": "n", "value": "canary-1"}
    document: dict[str, Any] = {
        "fq_name": ["d"],
        "config": {"a": [{"auth": {"headers": [header]}}], "plain": {"key": "canary-2", "value": "shown"}},
    }
    found = kind.decode(Change("deep", "d", msgspec.json.encode(document), 1, 1))
    assert sensitive_texts(found) == {"canary-1", "canary-2"}
    assert concealed(kind, document)["config"] == {
        "a": [{"auth": {"headers": [{"name": "n", "value": CONCEALED}]}}],
        "plain": {"key": CONCEALED, "value": "shown"},
    }


def test_what_is_written_in_base64_is_a_secret_in_clear_too() -> None:
    kind = build_kind(
        KindSpec(kind="s", group="toy", properties={"data": {"type": "map", "sensitive": True}}), TYPES, "toy"
    )
    found = kind.decode(
        Change("s", "s", b'{"fq_name": ["s"], "data": {"a": "Y2FuYXJ5LW9uZS1rZXk=", "b": "canary!"}}', 1, 1)
    )
    assert sensitive_texts(found) == {"Y2FuYXJ5LW9uZS1rZXk=", "canary-one-key", "canary!"}


def test_secrets_are_cleared_out_of_texts_names_and_numbers_at_any_depth() -> None:
    value = {"a": ["Bearer abcd", 12345, True, None], "key-abcd": {"b": 'in "JSON": a\\"b'}}
    assert cleared({"abcd", "12345", 'a"b', "absent"}, value) == {
        "a": ["Bearer <secret>", CONCEALED, True, None],
        "key-<secret>": {"b": 'in "JSON": <secret>'},
    }


def test_what_a_resource_and_its_targets_are_called_stays() -> None:
    document = {
        "fq_name": ["abcd"],
        "uuid": "abcd",
        "x_refs": [{"to": ["abcd"], "attr": {"key": "abcd"}}],
        "text": "abcd",
    }
    assert cleared_resource({"abcd"}, document) == {
        "fq_name": ["abcd"],
        "uuid": "abcd",
        "x_refs": [{"to": ["abcd"], "attr": {"key": CONCEALED}}],
        "text": CONCEALED,
    }


def test_kubectls_copy_of_a_manifest_with_secrets_is_sensitive() -> None:
    place = ("metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")
    declared = {**DECLARED, "shape": "kubernetes"}
    kind = build_kind(msgspec.convert(declared, KindSpec), TYPES, "toy")
    assert set(kind.sensitive) == {*KIND.sensitive, place}
    assert place not in build_kind(KindSpec("plain", "toy", shape="kubernetes"), TYPES, "toy").sensitive
