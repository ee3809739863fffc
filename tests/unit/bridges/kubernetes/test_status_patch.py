"""What is written to a status that we share: our items, only if they differ, and nothing of others."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from intentc.bridges.kubernetes.status_patch import MANAGER, DesiredStatus, desired_status_of, live_of, status_patch
from intentc.loading.schemas import load_schema
from intentc.model.status import Status

IDENTITY = {"uid": "u", "resourceVersion": "7"}


@pytest.fixture(scope="module")
def mapping() -> Status:
    declared = load_schema("ambassador").kind("mapping").status
    assert declared is not None
    return declared


def _patch(declared: Status, said: DesiredStatus, status: Any, written: tuple[str, ...] = ()) -> Any:
    fields: dict[str, Any] = {"f:status": {f"f:{path}": {} for path in written}}
    managers = [{"manager": MANAGER, "fieldsV1": fields}, {"manager": "kubectl", "fieldsV1": {"f:spec": {}}}]
    body = {"metadata": {**IDENTITY, "managedFields": managers}, "status": status}
    return status_patch(said, live_of(msgspec.json.encode(body)), declared)


def test_our_items_are_written_with_uid_and_version(mapping: Status) -> None:
    said = DesiredStatus({"state": "Error", "reason": "why", "other": 1}, ("reason", "state"))
    patch = {"metadata": IDENTITY, "status": {"state": "Error", "reason": "why"}}
    assert _patch(mapping, said, None) == patch


def test_what_the_cluster_has_is_not_written_again(mapping: Status) -> None:
    assert (
        _patch(mapping, DesiredStatus({"state": "Error"}, ("state",)), {"state": "Error", "reason": "theirs"}) is None
    )


def test_an_item_of_others_stays_even_if_compilers_could_claim_it(mapping: Status) -> None:
    assert _patch(mapping, DesiredStatus({}, ()), {"state": "theirs"}) is None


def test_what_we_wrote_and_nobody_claims_is_cleared(mapping: Status) -> None:
    found = _patch(mapping, DesiredStatus({}, ()), {"state": "Error", "reason": "theirs"}, ("state",))
    assert found == {"metadata": IDENTITY, "status": {"state": None}}


def test_a_resource_that_no_bridge_wrote_says_nothing() -> None:
    stored = {"status": {"state": "a"}, "status_claims": {"one": ["state"]}}
    assert desired_status_of(msgspec.json.encode(stored)) is None
    mirrored = msgspec.json.encode({**stored, "metadata": {"mirrored": True}})
    assert desired_status_of(mirrored) == DesiredStatus({"state": "a"}, ("state",))


def test_what_several_installations_wrote_goes_to_the_cluster() -> None:
    claims = {"one": ["state"], "two": ["conditions[Ready]", "state"]}
    stored = {"status": {"state": "a"}, "status_claims": claims, "metadata": {"mirrored": True}}
    assert desired_status_of(msgspec.json.encode(stored)) == DesiredStatus(
        {"state": "a"}, ("conditions[Ready]", "state")
    )
