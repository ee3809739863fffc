"""Writing Events: what an error means for others, and what is logged."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.bridges.kubernetes.event_recorder import Events, Regarding, Result
from intentc.bridges.kubernetes.wire import Identity
from intentc.reconcile.failures import Conflict, Denied, Failure, Rejected, Unauthenticated, Unavailable

pytestmark = pytest.mark.anyio


class _Cluster:
    """Takes Events, but those of some namespaces."""

    def __init__(self) -> None:
        self.errors: dict[str, Failure] = {}

    async def send(self, method: str, path: str, query: None, body: dict[str, Any]) -> None:
        error = self.errors.get(body["metadata"]["namespace"])
        if error is not None:
            raise error


def _events(cluster: _Cluster) -> Events:
    return Events(cluster, lambda uuid: None, "one")  # type: ignore[arg-type]


async def _report(events: Events, namespace: str, name: str = "a") -> Result:
    return await events.report(Regarding("v1", "Farm", Identity(namespace, name), name), "Dry", "Sow", "why")


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (Denied("forbidden (403)"), Result.HELD),
        (Unavailable("a webhook failed (500)", concerns_all=False), Result.HELD),
        (Unavailable("no answer, 429 or 503"), Result.FAILED),
        (Unauthenticated("401"), Result.FAILED),
        (Unauthenticated("the token can't be read"), Result.FAILED),
        (Conflict(409, "it is there", "AlreadyExists"), Result.PRESENT),
        (Rejected(422, "no", "Invalid"), Result.REJECTED),
    ],
)
async def test_only_what_is_about_the_whole_cluster_stops_other_events(error: Failure, result: Result) -> None:
    cluster = _Cluster()
    cluster.errors = {"valley": error}
    assert await _report(_events(cluster), "valley") is result


async def test_denied_events_are_logged_once_for_each_namespace_while_others_are_written(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = _Cluster()
    cluster.errors = dict.fromkeys(("valley", "hill"), Denied("forbidden (403)"))
    events = _events(cluster)
    for number in range(5):
        for namespace in ("valley", "plain", "hill"):
            await _report(events, namespace, f"o{number}")
    assert [one.getMessage().split(",")[0] for one in caplog.records if one.levelname == "WARNING"] == [
        "Events can't be written in the namespace valley",
        "Events can't be written in the namespace hill",
    ]
    cluster.errors = {}
    await _report(events, "valley")
    cluster.errors = {"valley": Denied("forbidden (403)")}
    await _report(events, "valley")
    assert len([one for one in caplog.records if one.levelname == "WARNING"]) == 3, "it had ended"
    assert events.counters == {"events": 6, "events_failed": 11}
