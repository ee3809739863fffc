"""An object in a cluster says which manifest it follows from, and gives it back if the store lost it."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.model import MARK_KEY, Name, object_uuid
from intentc.outgoing import Step as S
from intentc.outgoing import claimed_fields, next_step, observed_fields, restored, wanted_of

JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "migrate", "namespace": "shop", "annotations": {"a": "b"}},
    "spec": {"backoffLimit": 1},
}
MARK = {"key_value_pair": [{"key": MARK_KEY, "value": "lab/app/1234"}]}


def live(**options: Any) -> dict[str, Any]:
    return dict(wanted_of({**claimed_fields(JOB, **options), "annotations": MARK}, "lab").body)


def former() -> dict[str, Any]:
    return {**claimed_fields(JOB, phase=2), "annotations": MARK}


def test_a_recovered_manifest_has_the_mark_name_and_phase() -> None:
    found = restored(live(phase=2))
    assert found is not None
    assert found.uuid == object_uuid("lab", Name("manifest", ("shop", "job.batch--migrate")), "1234")
    assert found.fields == {
        "fq_name": ["shop", "job.batch--migrate"],
        "target": {"group": "batch", "version": "v1", "kind": "Job", "namespace": "shop", "name": "migrate"},
        "annotations": MARK,
        "phase": 2,
        "restored": True,
    }


def test_an_object_fits_its_recovered_manifest_and_the_former_one() -> None:
    found = restored(live(phase=2))
    assert found is not None
    lost = wanted_of(found.fields, "lab")
    assert next_step(lost, live(phase=2), None) is S.NOTHING
    assert next_step(lost, None, None) is S.NOTHING, "its content is not known"
    assert observed_fields(lost, live(phase=2), None) == observed_fields(
        wanted_of(former(), "lab"), live(phase=2), None
    )
    assert next_step(wanted_of(former(), "lab"), live(phase=2), None) is S.NOTHING


def test_another_phase_makes_no_other_content() -> None:
    one, other = (wanted_of(claimed_fields(JOB, phase=phase), "lab") for phase in (1, 2))
    assert one.digest == other.digest
    assert one.body != other.body


@pytest.mark.parametrize(
    "changed",
    [
        {"metadata": {**live()["metadata"], "name": "copied"}},
        {"kind": "ReplicaSet"},
        {"metadata": {**live()["metadata"], "annotations": {}}},
    ],
    ids=["another name", "another kind", "no annotations"],
)
def test_an_object_to_which_somebody_copied_labels_and_annotations_gives_none_back(changed: dict[str, Any]) -> None:
    assert restored(live() | changed) is None


def test_an_object_that_stays_when_its_manifest_is_deleted_gives_none_back() -> None:
    assert restored(live(kept=True)) is None
