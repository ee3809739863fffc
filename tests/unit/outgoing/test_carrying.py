"""What a bridge does next follows from what is stored and from what the cluster has, and from nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.model import InvalidInput
from intentc.outgoing import INSTALLATION_LABEL, Step, Wanted, claimed_fields, next_step, observed_fields, wanted_of

JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "migrate", "namespace": "shop"},
    "spec": {"template": {"spec": {"containers": [{"name": "migrate", "image": "shop:1"}]}}, "backoffLimit": 1},
}
COMPLETE = {"conditions": [{"type": "Complete", "status": "True"}], "ready": 0}


def wanted(*, ending: bool = False, image: str = "shop:1", **options: Any) -> Wanted:
    job = {**JOB, "spec": {**JOB["spec"], "template": {"spec": {"containers": [{"name": "migrate", "image": image}]}}}}
    fields = claimed_fields(job, immutable=("spec.template",), **options)
    if ending:
        fields["metadata"] = {"deletionTimestamp": "2026-11-23T10:00:00Z"}
    return wanted_of(fields, "lab")


def live(of: Wanted, *, ours: bool = True, deleting: bool = False, **fields: Any) -> dict[str, Any]:
    metadata = {**of.body["metadata"], "uid": "1"}
    metadata["labels"] = {INSTALLATION_LABEL: "lab"} if ours else {"app": "other"}
    if deleting:
        metadata["deletionTimestamp"] = "2026-11-23T10:00:00Z"
    return {**of.body, "metadata": metadata, **fields}


def test_an_object_is_made_written_and_left_alone() -> None:
    one = wanted()
    assert next_step(one, None, None) is Step.APPLY
    assert next_step(one, live(one), None) is Step.NOTHING
    assert next_step(one, live(one, spec={**one.body["spec"], "backoffLimit": 6}), None) is Step.APPLY


def test_a_change_of_an_immutable_path_means_delete_and_create() -> None:
    one, other = wanted(), wanted(image="shop:2")
    assert next_step(other, live(one), None) is Step.DELETE
    assert next_step(other, live(one, deleting=True), None) is Step.WAIT
    assert next_step(other, None, None) is Step.APPLY
    assert next_step(other, live(one, spec={}), None) is Step.DELETE, "the whole of spec differs"


def test_the_object_of_a_manifest_that_is_deleted_is_deleted_and_then_released() -> None:
    one = wanted(ending=True)
    assert next_step(one, live(one), None) is Step.DELETE
    assert next_step(one, live(one, deleting=True), None) is Step.WAIT
    assert next_step(one, None, {"done": True}) is Step.RELEASE


def test_an_object_that_somebody_else_made_is_neither_changed_nor_deleted() -> None:
    one, ending = wanted(), wanted(ending=True)
    assert next_step(one, live(one, ours=False), None) is Step.TAKEN
    assert next_step(ending, live(one, ours=False), None) is Step.RELEASE


def test_a_foreign_object_is_observed_only_as_taken() -> None:
    one = wanted()
    theirs = live(one, ours=False, status={"conditions": [{"type": "Available", "status": "True"}]})
    found = observed_fields(one, theirs, None, "rename it")
    assert found == {"gone": True, "taken": True, "rejected": "rename it"}


def test_an_object_with_the_labels_to_adopt_is_taken_over() -> None:
    one, ending = wanted(adopts={"app": "other"}), wanted(ending=True, adopts={"app": "other"})
    assert next_step(one, live(one, ours=False), None) is Step.APPLY, "our label is missing"
    assert next_step(ending, live(one, ours=False), None) is Step.DELETE
    assert "taken" not in observed_fields(one, live(one, ours=False), None)


def test_an_object_without_one_of_the_labels_to_adopt_is_somebody_elses() -> None:
    one = wanted(adopts={"app": "other", "team": "edge"})
    assert next_step(one, live(one, ours=False), None) is Step.TAKEN


def test_an_object_of_another_installation_is_never_taken_over() -> None:
    one = wanted(adopts={"app": "other"})
    theirs = live(one, ours=False)
    theirs["metadata"]["labels"][INSTALLATION_LABEL] = "production"
    assert next_step(one, theirs, None) is Step.TAKEN


def test_an_object_that_is_only_adopted_is_not_created() -> None:
    one = wanted(adopts={"app": "other"}, adopted_only=True)
    assert next_step(one, None, None) is Step.NOTHING
    assert next_step(one, live(one, ours=False), None) is Step.APPLY
    assert next_step(one._replace(is_ending=True), None, None) is Step.RELEASE


def test_an_object_that_is_only_adopted_needs_labels() -> None:
    with pytest.raises(InvalidInput, match="adopted_only needs labels"):
        claimed_fields(JOB, adopted_only=True)


def test_a_kept_object_stays_when_its_manifest_is_deleted() -> None:
    kept = wanted(ending=True)._replace(kept=True)
    assert next_step(kept, live(kept), None) is Step.RELEASE


def test_a_job_that_is_done_is_not_made_again_until_its_content_differs() -> None:
    once = wanted(once=True)
    seen = observed_fields(once, live(once, status=COMPLETE), None)
    assert seen == {"done": True, "digest": once.digest}
    assert next_step(once, None, seen) is Step.NOTHING, "the cluster removed it after its time to live"
    gone = observed_fields(once, None, seen)
    assert gone == {"gone": True, "done": True, "digest": once.digest}
    assert next_step(once, None, gone) is Step.NOTHING
    newer = wanted(once=True, image="shop:2")
    assert next_step(newer, None, gone) is Step.APPLY
    assert observed_fields(newer, None, gone) == {"gone": True}
    assert next_step(newer, live(once, status=COMPLETE), seen) is Step.DELETE
    assert "done" not in observed_fields(newer, live(once, status=COMPLETE), seen), "the one that is done is another"


def test_fields_removed_from_the_content_are_removed_from_the_object() -> None:
    """Elements of lists with keys that the object has in addition are no difference: others may add them."""
    former, one, once = wanted(image="shop:2"), wanted(), wanted(once=True)
    before = live(former, spec=one.body["spec"])
    assert next_step(one, before, None) is Step.APPLY
    assert next_step(one, live(one), None) is Step.NOTHING
    assert next_step(once, before, None) is Step.DELETE, "a Job can't be changed"


def test_a_job_that_may_run_again_is_made_again() -> None:
    again = wanted()
    seen = observed_fields(again, live(again, status=COMPLETE), None)
    assert next_step(again, None, seen) is Step.APPLY


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ({}, {}),
        ({"conditions": [{"type": "Available", "status": "False"}]}, {"available": False}),
        ({"conditions": [{"type": "Available", "status": "True", "lastTransitionTime": "now"}], "replicas": 2,
          "readyReplicas": 1, "availableReplicas": 1, "updatedReplicas": 2, "observedGeneration": 7},
         {"available": True, "counts": {"desired": 2, "updated": 2, "ready": 1, "available": 1}}),
        ({"desiredNumberScheduled": 3, "numberReady": 2, "numberAvailable": 2},
         {"available": True, "counts": {"desired": 3, "ready": 2, "available": 2}}),
        ({"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}, {"hostname": "lb.example"}]}},
         {"addresses": ["10.0.0.1", "lb.example"]}),
        ({"conditions": [{"type": "Failed", "status": "True"}]}, {"failed": True}),
    ],
)  # fmt: skip
def test_what_owners_decide_by_is_read_and_nothing_else(status: dict[str, Any], found: dict[str, Any]) -> None:
    one = wanted()
    assert observed_fields(one, live(one, status=status), None) == {**found, "digest": one.digest}


def test_the_cluster_s_words_are_kept_and_clusterips_are_read() -> None:
    one = wanted()
    assert observed_fields(one, None, None, "no such namespace") == {"gone": True, "rejected": "no such namespace"}
    there = live(one, spec={**one.body["spec"], "clusterIPs": ["10.96.0.1"]})
    assert observed_fields(one, there, None)["cluster_addresses"] == ["10.96.0.1"]
    headless = live(one, spec={**one.body["spec"], "clusterIPs": ["None"]})
    assert "cluster_addresses" not in observed_fields(one, headless, None)
