"""Our API server answers as a kube-apiserver: each verb on each kind, with the same calls on both.

``answers`` are those of a real kube-apiserver, so intentc is compared with it where none is at hand, too:
``make kubernetes`` compares the real one with them, and with ``--rewrite-golden`` writes them.
"""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from tests.kubernetes.conformance.cases import Case, cases_of
from tests.kubernetes.conformance.comparison import differences, differing, record, recorded, reduced, unused
from tests.kubernetes.conformance.kinds import SAMPLES, Sample
from tests.kubernetes.conformance.transcript import Transcript

pytestmark = pytest.mark.anyio
DOCS = Path(__file__).parents[2] / "docs" / "kubernetes.md"
KNOWN = differences()
TRIED = [
    pytest.param(sample, case, id=f"{sample.plural}-{case.__name__}") for sample in SAMPLES for case in cases_of(sample)
]


@pytest.mark.parametrize(("sample", "case"), TRIED)
async def test_calls_are_answered_as_by_a_kube_apiserver(
    kubernetes: tuple[str, httpx2.AsyncClient], sample: Sample, case: Case, request: pytest.FixtureRequest
) -> None:
    server, client = kubernetes
    is_ours = server == "intentc"
    transcript = Transcript(client, sample, f"{case.__name__}-{sample.plural}".replace("_", "-"))
    if not is_ours:
        await client.post("/api/v1/namespaces", json={"metadata": {"name": transcript.name}})
    await case(transcript)
    found, wanted = transcript.answers, recorded(sample.plural, case.__name__)
    if is_ours:
        found = reduced(sample.plural, case.__name__, found, KNOWN, is_ours=True)
        wanted = reduced(sample.plural, case.__name__, wanted, KNOWN, is_ours=False)
    elif request.config.getoption("--rewrite-golden"):
        record(sample.plural, case.__name__, found)
        return
    assert differing(found, wanted) == []


def test_each_known_difference_is_in_the_documentation_and_concerns_some_answer() -> None:
    text = " ".join(DOCS.read_text().split())
    assert [one.reason for one in KNOWN if one.reason not in text] == []
    calls = [
        (sample.plural, case.__name__, answer)
        for sample in SAMPLES
        for case in cases_of(sample)
        for answer in recorded(sample.plural, case.__name__)
    ]
    assert unused(KNOWN, calls) == []
