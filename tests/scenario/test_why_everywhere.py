"""Every object of every golden case is asked why, of both compilers: each field that was written has a reason, and each
source is a resource that is there."""

from __future__ import annotations

from functools import cache

import msgspec
import pytest

from intentc.cli.offline_inputs import apply_inputs
from intentc.engine.read_only import Outputs
from intentc.inspection.why.why import why
from intentc.loading.resources import load_resources
from intentc.model import Name
from intentc.model.provenance import claimed_parts
from intentc.offline.offline import Offline
from intentc.plugins import Loaded, find_compilers, load_all
from tests.support.golden.cases import COMPILERS, Case, cases

pytestmark = pytest.mark.anyio

AS_STORED = "groups_as_stored"
"""What our own server would reject: such cases can't be applied."""

CASES = [case for compiler in COMPILERS for case in cases(compiler) if case.topic != AS_STORED]


@cache
def plugins(compiler: str) -> Loaded:
    return load_all(find_compilers([compiler]))


async def compiled(case: Case) -> Offline:
    offline = Offline(plugins(case.compiler))
    await offline.seed()
    await apply_inputs(offline, load_resources(case.given, offline.engine.world.schema))
    return offline


def parts_claimed(outputs: Outputs, name: Name) -> set[str]:
    """Everything of an object that is claimed: itself, fields, references."""
    found: set[str] = set()
    for claims in outputs.claims_on(name).values():
        for claim in claims:
            found.update(claimed_parts(claim))
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_every_field_that_is_written_has_a_reason_of_which_every_source_is_there(case: Case) -> None:
    engine = (await compiled(case)).engine
    outputs = engine.outputs
    asked = 0
    for name in sorted(outputs.names()):
        answer = await why(engine.read_only, name.kind, ":".join(name.fq_name), limit=1000)
        asked += 1
        shown = {part["part"] for part in answer["parts"]}
        for wanted in parts_claimed(outputs, name):
            ours = wanted or answer["ownership"] in ("ours", "shared")
            within = any(part.startswith((f"{wanted}.", f"{wanted}[")) for part in shown)
            assert wanted in shown or within or not ours, wanted
        reasons = [reason for part in answer["parts"] for reason in part["reasons"]]
        assert all(source["revision"] for reason in reasons for source in reason["sources"])
        assert all(part["reasons"] for part in answer["parts"])
        assert len(msgspec.json.encode(answer)) <= 200_000
    assert asked
