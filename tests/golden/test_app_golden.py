"""The golden pairs of the toy compiler ``app``: what a user applies, and what stands in the cluster then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from intentc.loading.yaml import load_yaml
from intentc.outgoing import differences
from intentc.testing import FakeCluster, load, service_for
from tests.support.app.compiler import compiler

pytestmark = pytest.mark.anyio

CASES = sorted(path.name.removesuffix(".in.yaml") for path in (Path(__file__).parent / "app").glob("*.in.yaml"))
_FOLDER = Path(__file__).parent / "app"


@pytest.mark.parametrize("case", CASES)
async def test_the_cluster_gets_what_follows(case: str) -> None:
    given, expected = load(f"{case}.in.yaml", _FOLDER), load_yaml(_FOLDER / f"{case}.out.yaml").value
    cluster = FakeCluster()
    service = service_for(compiler, cluster=cluster)
    await service.create(given)
    assert len(cluster.objects) == len(expected) > 2
    for wanted in expected:
        metadata = wanted["metadata"]
        live = cluster.get(wanted["kind"], metadata["name"], metadata["namespace"])
        assert differences(wanted, live) == ()
        # Nothing but that, our label, and what the cluster gives each object.
        assert live is not None
        owned: dict[str, Any] = {field: live[field] for field in live if field != "status"}
        owned["metadata"] = {field: live["metadata"][field] for field in metadata}
        owned["metadata"]["labels"] = {
            label: value for label, value in live["metadata"]["labels"].items() if not label.startswith("intentc.io/")
        }
        assert owned == wanted
    assert service.problems == ()
    manifests = [one for one in service.offline.outputs() if one["kind"] == "manifest"]
    assert len(manifests) == len(expected)


def test_there_are_cases() -> None:
    assert CASES == ["migrated", "plain"]
