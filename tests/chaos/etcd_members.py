"""Faults of a three-member etcd that its operators cause: compaction, defragmentation, a full store, a new member.

Every call blocks and speaks etcd's HTTP gateway, so that no client of ours is in the way. Killing and stopping members
is ``cluster.Member``'s business.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import httpx2

from tests.faults.etcd_cluster import Cluster, Member

_WITHIN = 60.0


def compact(cluster: Cluster) -> None:
    """Forget all history up to now."""
    revision = _answered(cluster, "/v3/kv/range", {"key": "AA=="})["header"]["revision"]
    with suppress(httpx2.HTTPStatusError):  # somebody else has compacted further
        _answered(cluster, "/v3/kv/compaction", {"revision": revision, "physical": True})


def defragment(member: Member) -> None:
    """Give the free pages of one member back; it answers nothing meanwhile."""
    with suppress(httpx2.HTTPError):
        _ask(member, "/v3/maintenance/defragment", {})


def fill(cluster: Cluster) -> None:
    """The store's space is used up: it can be read, and takes no write."""
    member = _member_id(cluster.leader())
    _answered(cluster, "/v3/maintenance/alarm", {"action": "ACTIVATE", "memberID": member, "alarm": "NOSPACE"})


def make_space(cluster: Cluster) -> None:
    """The opposite of ``fill``, whoever raised the alarm."""
    alarms = _answered(cluster, "/v3/maintenance/alarm", {"action": "GET"}).get("alarms", [])
    for alarm in alarms:
        _answered(cluster, "/v3/maintenance/alarm", {**alarm, "action": "DEACTIVATE"})


def replace(cluster: Cluster, member: Member) -> None:
    """Remove a member, with its data, and add an empty one in its place. All members must run."""
    doomed = _member_id(member)
    member.kill()
    _answered(cluster, "/v3/cluster/member/remove", {"ID": doomed})
    member.forget()
    _answered(cluster, "/v3/cluster/member/add", {"peerURLs": [member.peer]})
    cluster.start(member, state="existing")


def _member_id(member: Member) -> str:
    until = time.monotonic() + _WITHIN
    while time.monotonic() < until:
        status = member.status()
        if status is not None:
            return str(status["header"]["member_id"])
        time.sleep(0.05)
    raise TimeoutError(f"{member.name} does not answer within {_WITHIN:g} s")


def _answered(cluster: Cluster, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """The answer of the first member that gives one: etcd rejects changes of its membership while it is not sure of
    all members. Raises ``httpx2.HTTPStatusError`` for a compaction that is rejected, ``TimeoutError`` for the rest."""
    until, said = time.monotonic() + _WITHIN, ""
    while time.monotonic() < until:
        for member in cluster.members:
            try:
                return _ask(member, path, body)
            except httpx2.HTTPStatusError as error:
                said = error.response.text
                if "compact" in path:
                    raise
            except httpx2.HTTPError as error:
                said = str(error)
        time.sleep(0.1)
    raise TimeoutError(f"{path}: {said}")


def _ask(member: Member, path: str, body: dict[str, Any]) -> dict[str, Any]:
    with httpx2.Client(trust_env=False, verify=False, timeout=5.0) as client:
        answer = client.post(f"http://{member.endpoint}{path}", json=body)
        answer.raise_for_status()
        return dict(answer.json())
