"""Selectors, patches, tables and field sets of the Kubernetes-compatible API, on values."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from intentc.apiserver.errors import BadRequest
from intentc.apiserver.kubernetes import patches
from intentc.apiserver.kubernetes.fieldsets import built_in, custom, fields_of, from_json, to_json
from intentc.apiserver.kubernetes.options import selector
from intentc.apiserver.kubernetes.server_side_apply import Entry, Owner, apply, read_entries, shown_entries, updated
from intentc.apiserver.kubernetes.status_errors import Answered
from intentc.apiserver.kubernetes.tables import age, wanted

NOW = "2026-11-23T09:00:00Z"
A, B = Owner("a", "Apply"), Owner("b", "Apply")


@pytest.mark.parametrize(
    ("text", "labels", "matches"),
    [
        ("app=web", {"app": "web"}, True),
        ("app==web, tier!=old", {"app": "web"}, True),
        ("app!=web", {"app": "web"}, False),
        ("app in (web, db),!gone", {"app": "db"}, True),
        ("app in (web,db)", {"app": "x"}, False),
        ("app notin (web)", {}, True),
        ("app", {}, False),
        ("!app", {"app": ""}, False),
        ("app=", {"app": ""}, True),
        ("", {}, True),
        ("sub.example.io/app-name=a_b.c", {"sub.example.io/app-name": "a_b.c"}, True),
    ],
)
def test_label_selectors(text: str, labels: dict[str, str], matches: bool) -> None:
    assert selector(text, "").matches({"labels": labels}) is matches


@pytest.mark.parametrize("text", ["app=a b", "=x", "app in web", "a,,b", "a in (b"])
def test_a_selector_that_cannot_be_read_is_rejected(text: str) -> None:
    with pytest.raises(BadRequest, match="labelSelector"):
        selector(text, "")


def test_field_selectors_are_of_name_and_namespace() -> None:
    metadata = {"name": "a", "namespace": "n"}
    assert selector("", "metadata.name=a,metadata.namespace!=m").matches(metadata)
    assert not selector("", "metadata.name!=a").matches(metadata)
    with pytest.raises(BadRequest, match=r"field label not supported: spec\.x; there are metadata\.name"):
        selector("", "spec.x=1")


@pytest.mark.parametrize(
    ("patch", "after"),
    [
        ({"spec": {"a": None, "b": {"d": 1}}}, {"spec": {"b": {"c": 1, "d": 1}, "l": [1, 2]}}),
        ({"spec": {"l": [3]}}, {"spec": {"a": 1, "b": {"c": 1}, "l": [3]}}),
        ({"spec": None}, {}),
    ],
)
def test_a_merge_patch(patch: Any, after: Any) -> None:
    before = {"spec": {"a": 1, "b": {"c": 1}, "l": [1, 2]}}
    assert patches.merged(before, patch) == after
    assert before == {"spec": {"a": 1, "b": {"c": 1}, "l": [1, 2]}}


def test_a_json_patch_is_applied_or_rejected() -> None:
    before = {"spec": {"a": 1}}
    assert patches.patched(before, [{"op": "add", "path": "/spec/b", "value": 2}]) == {"spec": {"a": 1, "b": 2}}
    with pytest.raises(Answered, match="does not fit"):
        patches.patched(before, [{"op": "test", "path": "/spec/a", "value": 2}])
    with pytest.raises(Answered, match="does not fit"):
        patches.patched(before, [{"op": "remove", "path": "/spec/x"}])
    for wrong in ({"op": "add"}, [1], [{"op": "nothing", "path": "/spec"}], [{"op": "add", "path": 3, "value": 1}]):
        with pytest.raises(BadRequest):
            patches.patched(before, wrong)
    assert before == {"spec": {"a": 1}}


def test_a_strategic_patch_merges_elements_by_their_key() -> None:
    before = {"spec": {"ports": [{"port": 80, "targetPort": 1}, {"port": 90}], "type": "ClusterIP"}}
    patch = {"spec": {"ports": [{"port": 80, "name": "web"}, {"port": 90, "$patch": "delete"}, {"port": 100}]}}
    assert patches.strategic(before, patch, built_in) == {
        "spec": {"ports": [{"port": 80, "targetPort": 1, "name": "web"}, {"port": 100}], "type": "ClusterIP"}
    }
    order = {"spec": {"$setElementOrder/ports": [{"port": 90}, {"port": 80}]}}
    assert [p["port"] for p in patches.strategic(before, order, built_in)["spec"]["ports"]] == [90, 80]
    with pytest.raises(BadRequest, match=r"spec\.ports has no 'port'"):
        patches.strategic(before, {"spec": {"ports": [{"name": "x"}]}}, built_in)


def test_a_strategic_patch_knows_sets_and_directives() -> None:
    before = {"metadata": {"finalizers": ["a", "b"]}, "spec": {"x": {"y": 1}}}
    assert patches.strategic(before, {"metadata": {"finalizers": ["c"]}}, custom)["metadata"]["finalizers"] == [
        "c", "a", "b"
    ]  # fmt: skip
    removal = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}
    assert patches.strategic(before, removal, custom)["metadata"]["finalizers"] == ["b"]
    assert patches.strategic(before, {"spec": {"x": {"$patch": "replace", "z": 2}}}, custom)["spec"] == {"x": {"z": 2}}
    with pytest.raises(BadRequest, match=r"\$patch is 'what'"):
        patches.strategic(before, {"$patch": "what"}, custom)


def test_field_sets_have_the_form_of_managed_fields() -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s", "namespace": "n", "labels": {"app": "web"}},
        "spec": {"ports": [{"port": 80, "name": "web"}], "list": [1, 2], "empty": {}},
    }
    shown = to_json(fields_of(service, built_in))
    assert shown == {
        "f:metadata": {"f:labels": {"f:app": {}}},
        "f:spec": {
            "f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}, "f:name": {}}},
            "f:list": {},
            "f:empty": {},
        },
    }
    assert from_json(shown) == fields_of(service, built_in)


def applied(live: Any, spec: Any, entries: tuple[Entry, ...], owner: Owner, *, force: bool = False) -> Any:
    return apply(live, {"apiVersion": "g/v1", "spec": spec}, entries, owner, custom, now=NOW, force=force)


def test_what_a_manager_leaves_out_is_removed_unless_another_owns_it() -> None:
    one = applied({}, {"x": 1, "y": {"z": 1}}, (), A)
    two = applied(one.manifest, {"x": 1}, one.entries, B)
    three = applied(two.manifest, {"w": 1}, two.entries, A)
    assert three.manifest["spec"] == {"x": 1, "w": 1}
    assert {e.owner.manager: to_json(e.fields) for e in three.entries} == {
        "a": {"f:spec": {"f:w": {}}},
        "b": {"f:spec": {"f:x": {}}},
    }
    assert read_entries(shown_entries(three.entries)) == three.entries


def test_another_value_than_the_owner_gave_is_a_conflict_with_its_name() -> None:
    one = applied({}, {"x": 1}, (), A)
    with pytest.raises(Answered, match=r'1 conflict: \.spec\.x \(conflict with "a"\)') as caught:
        applied(one.manifest, {"x": 2}, one.entries, B)
    assert (caught.value.code, caught.value.reason) == (409, "Conflict")
    assert caught.value.causes[0] == {
        "reason": "FieldManagerConflict", "message": 'conflict with "a"', "field": ".spec.x"
    }  # fmt: skip
    forced = applied(one.manifest, {"x": 2}, one.entries, B, force=True)
    assert forced.manifest["spec"] == {"x": 2}
    assert [entry.owner.manager for entry in forced.entries] == ["b"]


def test_an_update_takes_the_fields_that_it_changes() -> None:
    one = applied({}, {"x": 1, "y": 1}, (), A)
    after = {"apiVersion": "g/v1", "spec": {"x": 2}}
    entries = updated(one.manifest, after, one.entries, Owner("kubectl-edit", "Update"), custom, now=NOW)
    assert [(e.owner.manager, to_json(e.fields)) for e in entries] == [("kubectl-edit", {"f:spec": {"f:x": {}}})]
    assert updated(after, after, entries, A, custom, now=NOW) == entries


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0s"), (119, "119s"), (423, "7m3s"), (3600, "60m"), (4 * 3600 + 60, "4h1m"), (86400 * 3 + 7200, "3d2h"),
     (86400 * 30, "30d"), (86400 * 365 * 3, "3y")],
)  # fmt: skip
def test_ages_are_shown_as_kubectl_does(seconds: int, shown: str) -> None:
    then = datetime(2026, 1, 1, tzinfo=UTC)
    assert age("2026-01-01T00:00:00Z", datetime.fromtimestamp(then.timestamp() + seconds, UTC)) == shown


def test_a_client_says_whether_it_wants_a_table() -> None:
    table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io"
    assert wanted(f"{table},application/json") == "v1"
    assert wanted("application/json") == wanted("") == wanted("*/*") == ""
