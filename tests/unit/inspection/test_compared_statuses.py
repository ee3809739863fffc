"""Of a status, plans show what compilers and others report: not who wrote it, and not when (docs/engine.md §5.8)."""

from __future__ import annotations

from typing import Any

from intentc.inspection.differences import differences
from tests.support.gate_system import gates


def gate(status: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"uuid": "a", "fq_name": ["a"], "text": "ok", "status": status, **fields}


def test_times_and_the_record_of_claims_are_no_difference() -> None:
    ready = {"type": "Ready", "status": "True", "reason": "Open"}
    before = gate({"conditions": [{**ready, "lastTransitionTime": "2026-01-01T00:00:00Z"}]})
    after = gate({"conditions": [{**ready, "lastTransitionTime": "2026-02-02T00:00:00Z"}], "state": "red"},
                 status_claims={"default": ["state"]})  # fmt: skip
    found = differences(gates().schema.kind("gate"), before, after)
    assert [(one.field, one.before, one.after) for one in found] == [("status.state", None, "red")]
    assert differences(gates().schema.kind("gate"), gate({}), gate({}, status_claims={})) == ()


def test_conditions_are_compared_by_type_wherever_they_stand() -> None:
    ready, full = ({"type": name, "status": "True", "reason": "Set"} for name in ("Ready", "Full"))
    kind = gates().schema.kind("gate")
    before = gate({"conditions": [ready, full]})
    assert differences(kind, before, gate({"conditions": [full, ready]})) == ()
    found = differences(kind, before, gate({"conditions": [full, {**ready, "status": "False"}]}))
    assert [(one.field, one.before, one.after) for one in found] == [
        ("status.conditions[Ready].status", "True", "False")
    ]
    found = differences(kind, before, gate({"conditions": [ready]}))
    assert [one.field for one in found] == ["status.conditions[Full]"]
