"""Operations as the API server's JSON."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from intentc.model import AddReference, Create, Key, Name, RemoveReference, Update, UpdateStatus
from intentc.model.metadata import FINALIZERS, METADATA, converted
from intentc.reconcile.failures import Rejected
from intentc.writing.encode import encode_mutation, encode_reference
from tests.support.gate_system import gates
from tests.unit.writing.toy_api import MARK, SCHEMA, TENANT, Direction, Rules, create, delete, to_target, update

KEY, NAME = Key("access_list", "a1"), Name("access_list", ("acme", "a1"))


def decoded(raw: bytes | None) -> Any:
    return msgspec.json.decode(raw or b"null")


def test_a_create_is_the_whole_object_in_its_envelope_with_the_mark() -> None:
    operation = create()._replace(references={"target": (to_target("t1", Direction(export=True)), to_target("t2"))})
    mutation = encode_mutation(operation, SCHEMA)
    assert (mutation.method, mutation.path, mutation.headers) == ("POST", "/access-lists", {"If-None-Match": "*"})
    assert decoded(mutation.body) == {
        "access-list": {
            "uuid": "a1",
            "fq_name": ["acme", "a1"],
            "parent_type": "tenant",
            "parent_uuid": "t",
            "annotations": {"key_value_pair": [{"key": "intentc", "value": "main/toy/o1"}]},
            "rules": {"rule": ["any"]},
            "target_refs": [
                {"uuid": "t1", "to": ["t1"], "attr": {"export": True}},
                {"uuid": "t2", "to": ["t2"]},
            ],
        }
    }


def test_a_create_without_parent_names_none() -> None:
    body = decoded(encode_mutation(create(parent=None), SCHEMA).body)["access-list"]
    assert "parent_type" not in body
    assert "parent_uuid" not in body


def test_an_update_holds_the_changed_fields_and_a_mask_that_names_them_whole() -> None:
    operation = update(rules=Rules(rule=("a",)), digest="d")._replace(references={"target": ()})
    mutation = encode_mutation(operation, SCHEMA)
    assert (mutation.method, mutation.path, mutation.headers) == ("PUT", "/access-list/a1", {"If-Match": "7"})
    assert decoded(mutation.body) == {
        "access-list": {"uuid": "a1", "rules": {"rule": ["a"]}, "digest": "d", "target_refs": []},
        "field_mask": {"paths": ["rules", "digest", "target_refs"]},
    }


def test_a_cleared_field_is_sent_with_its_default() -> None:
    body = decoded(encode_mutation(update(rules=Rules(), digest=""), SCHEMA).body)["access-list"]
    assert body == {"uuid": "a1", "rules": {}, "digest": ""}


def test_a_delete_has_no_body() -> None:
    mutation = encode_mutation(delete(), SCHEMA)
    assert (mutation.method, mutation.path, mutation.body) == ("DELETE", "/access-list/a1", None)
    assert mutation.headers == {"If-Match": "7"}


def test_without_a_known_revision_there_is_no_condition() -> None:
    assert encode_mutation(delete(revision=None), SCHEMA).headers == {}
    assert "if_match" not in decoded(encode_mutation(update(revision=None), SCHEMA).item)


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (create(), {"operation": "CREATE", "if_none_match": True}),
        (update(), {"operation": "UPDATE", "if_match": 7}),
        (delete(), {"operation": "DELETE", "if_match": 7}),
    ],
)
def test_a_batch_item_carries_kind_operation_condition_and_data(operation: Any, expected: dict[str, Any]) -> None:
    item = decoded(encode_mutation(operation, SCHEMA).item)
    assert item.pop("data")["uuid"] == "a1"
    assert item == {"kind": "access_list", **expected}


def test_a_kubernetes_shaped_kind_is_written_flat() -> None:
    operation = Create(
        Key("toy_route", "r1"),
        Name("toy_route", ("shop", "home")),
        None,
        MARK,
        {"host": "h", "metadata": {"labels": {"a": "b"}}},
        {},
    )
    mutation = encode_mutation(operation, SCHEMA)
    assert mutation.path == "/toy-routes"
    assert decoded(mutation.body)["toy-route"] == {
        "uuid": "r1",
        "fq_name": ["shop", "home"],
        "annotations": {"key_value_pair": [{"key": "intentc", "value": "main/toy/o1"}]},
        "host": "h",
        "metadata": {"labels": {"a": "b"}},
    }


def test_an_update_of_metadata_leaves_the_parts_of_others() -> None:
    key = Key("toy_route", "r1")
    mutation = encode_mutation(
        Update(key, Name("toy_route", ("shop", "home")), {"host": "h", "metadata": None}, {}, 7), SCHEMA
    )
    assert mutation.mask == ("host", "metadata.annotations", "metadata.labels")


@pytest.mark.parametrize(
    ("metadata", "sent"), [(None, {}), (converted({"labels": {"a": "b"}}), {"labels": {"a": "b"}})]
)
def test_finalizers_are_a_part_of_metadata_and_leave_the_others(metadata: Any, sent: dict[str, Any]) -> None:
    key, name = Key("toy_route", "r1"), Name("toy_route", ("shop", "home"))
    alone = encode_mutation(Update(key, name, {FINALIZERS: ("a", "b")}, {}, 7), SCHEMA)
    assert alone.mask == (FINALIZERS,)
    assert decoded(alone.body)["toy-route"] == {"uuid": "r1", "metadata": {"finalizers": ["a", "b"]}}
    assert decoded(alone.item)["field_mask"] == {"paths": [FINALIZERS]}, "in a batch as well"
    both = encode_mutation(Update(key, name, {FINALIZERS: (), METADATA: metadata}, {}, 7), SCHEMA)
    assert set(both.mask) == {FINALIZERS, "metadata.annotations", "metadata.labels"}
    assert decoded(both.item)["data"]["metadata"] == {**sent, "finalizers": []}


def test_an_item_without_parts_has_no_mask() -> None:
    assert "field_mask" not in decoded(encode_mutation(update(digest="d"), SCHEMA).item)


def test_an_added_reference_names_its_target_twice_and_carries_the_attribute() -> None:
    operation = AddReference(KEY, NAME, "target", to_target("t1", Direction(export=True)))
    assert decoded(encode_reference(operation)) == {
        "operation": "ADD",
        "type": "access-list",
        "uuid": "a1",
        "ref-type": "target",
        "ref-uuid": "t1",
        "ref-fq-name": ["t1"],
        "attr": {"export": True},
    }


def test_a_removed_reference_names_its_target_by_uuid() -> None:
    assert decoded(encode_reference(RemoveReference(KEY, NAME, "target", Key("target", "t1")))) == {
        "operation": "DELETE",
        "type": "access-list",
        "uuid": "a1",
        "ref-type": "target",
        "ref-uuid": "t1",
    }


def test_a_value_that_is_no_json_is_rejected_by_name_before_anything_is_sent() -> None:
    with pytest.raises(Rejected, match=r"access_list/a1 can't be written as JSON"):
        encode_mutation(update(digest="\ud800"), SCHEMA)


def test_only_writes_with_parent_or_references_count_as_related() -> None:
    related = update()._replace(references={"target": (to_target("t1"),)})
    assert encode_mutation(create(parent=TENANT), SCHEMA).relates
    assert encode_mutation(related, SCHEMA).relates
    assert not encode_mutation(create(parent=None), SCHEMA).relates
    assert not encode_mutation(update(), SCHEMA).relates
    assert not encode_mutation(delete(), SCHEMA).relates


def test_a_status_is_written_by_items_and_needs_no_revision() -> None:
    """In a batch, too: an empty mask names no item, and the record alone is written."""
    schema, key = gates().schema, Key("gate", "u")
    write = UpdateStatus(key, Name("gate", ("a",)), {"state": "red", "loadBalancer.ingress": None}, "one", ("state",))
    mutation = encode_mutation(write, schema)
    assert (mutation.method, mutation.path, mutation.headers) == ("PUT", "/gate/u/status", {})
    data = {
        "uuid": "u",
        "status": {"state": "red", "loadBalancer": {}},
        "status_claims": {"installation": "one", "items": ["state"]},
    }
    mask = {"paths": ["state", "loadBalancer.ingress"]}
    body = msgspec.json.decode(mutation.body or b"")
    assert body == {"gate": data, "field_mask": mask}
    item = msgspec.json.decode(mutation.item)
    assert item == {"kind": "gate", "operation": "UPDATE_STATUS", "data": data, "field_mask": mask}
    alone = msgspec.json.decode(encode_mutation(write._replace(parts={}), schema).item)
    assert alone["field_mask"] == {"paths": []}
