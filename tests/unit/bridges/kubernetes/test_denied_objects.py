"""Objects whose status or finalizers the cluster does not let us write delay no other object."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
import pytest

from intentc.bridges.kubernetes.owner_finalizers import OwnerFinalizers
from intentc.bridges.kubernetes.reporting import Reporter
from intentc.bridges.kubernetes.rest_mapping import Served
from intentc.bridges.kubernetes.wire import Identity
from intentc.loading.schemas import load_schema
from intentc.model import Key
from intentc.reconcile.failures import Denied
from tests.simulation.simulated_clock import now, simulate
from tests.support.waiting import until

OURS = "example.com/ours"
APPS = Served("v1", "/apis/example.com/v1/apps", "apps", namespaced=True, has_status=True)
_REQUEST = 0.01
"""Seconds that the cluster takes for an answer."""
COUNTS = [1, 10, 50]


def _key(name: str) -> Key:
    return Key("mapping", f"uid-{name}")


def _path(name: str) -> str:
    return APPS.path_of("shop", name)


def _copy(name: str, state: str) -> bytes:
    """What etcd holds of an object: a status that a compiler claims, and a finalizer of ours."""
    return msgspec.json.encode(
        {
            "metadata": {"uid": f"uid-{name}", "finalizers": [OURS], "mirrored": True},
            "status": {"state": state},
            "status_claims": {"default": ["state"]},
        }
    )


def _object(name: str, *finalizers: str) -> bytes:
    metadata = {"uid": f"uid-{name}", "name": name, "namespace": "shop", "resourceVersion": "1"}
    return msgspec.json.encode({"metadata": {**metadata, "finalizers": finalizers}})


class _Cluster:
    """Denies all writes of objects whose name begins with ``denied``. ``requests``: (time, name) of all."""

    def __init__(self) -> None:
        self.requests: list[tuple[float, str]] = []

    async def get(self, path: str, parameters: Mapping[str, str] | None = None) -> bytes:
        return await self._answer(path)

    async def send(self, method: str, path: str, parameters: Any = None, body: Any = None, kind: str = "") -> bytes:
        answer = await self._answer(path)
        if "/denied" in path:
            raise Denied("not yours (403)")
        return answer

    async def _answer(self, path: str) -> bytes:
        name = path.removesuffix("/status").rpartition("/")[2]
        self.requests.append((now(), name))
        await asyncio.sleep(_REQUEST)
        return _object(name)

    def was_asked(self, name: str, since: float) -> bool:
        return any(at >= since and one == name for at, one in self.requests)

    def others_since(self, time: float, name: str) -> int:
        """Requests about others that began since ``time``, before the first about ``name``."""
        return [one for at, one in self.requests if at >= time].index(name)


@pytest.mark.parametrize("count", COUNTS)
def test_a_status_waits_for_one_request_at_most_however_many_are_denied(count: int) -> None:
    status = load_schema("ambassador").kind("mapping").status
    assert status is not None

    async def scenario() -> None:
        cluster = _Cluster()
        reporter = Reporter(
            cluster,  # type: ignore[arg-type]
            {"mapping": status},
            lambda kind: APPS,
            lambda: True,
        )
        running = asyncio.create_task(reporter.loop.run())
        denied = [f"denied-{number}" for number in range(count)]
        for name in (*denied, "good"):
            reporter.live(_key(name), _object(name))
        for name in denied:
            reporter.stored(_key(name), _copy(name, "first"))
        for turn in range(50):
            await asyncio.sleep(2.3)
            began = now()
            reporter.stored(_key("good"), _copy("good", str(turn)))
            # The cluster shows the denied ones again, unchanged: nothing new is tried because of that.
            for name in denied:
                reporter.live(_key(name), _object(name))
            await until(partial(cluster.was_asked, "good", began))
            assert cluster.others_since(began, "good") <= 1
        assert reporter.rejected.keys() == {_key(name) for name in denied}
        assert len(cluster.requests) < 50 + 20 * count
        running.cancel()

    simulate(scenario)


@pytest.mark.parametrize("count", COUNTS)
def test_a_finalizer_waits_for_one_object_at_most_however_many_are_denied(count: int) -> None:
    async def scenario() -> None:
        cluster = _Cluster()
        names = {_key(name): Identity("shop", name) for name in (*(f"denied-{n}" for n in range(count)), "good")}
        carried = OwnerFinalizers(
            cluster,  # type: ignore[arg-type]
            frozenset({OURS}),
            names.get,
            lambda kind: APPS,
            lambda: True,
            lambda: None,
        )
        running = asyncio.create_task(carried.loop.run())
        denied = [f"denied-{number}" for number in range(count)]
        for name in denied:
            carried.live(_key(name), _object(name))
            carried.stored(_key(name), _copy(name, "any"))
        for _ in range(50):
            await asyncio.sleep(2.3)
            began = now()
            carried.live(_key("good"), _object("good"))
            carried.stored(_key("good"), _copy("good", "any"))
            await until(lambda: not carried.lacks(_key("good").uuid))
            # The PATCH of one that was under way, if any: each object is read and then patched.
            assert cluster.others_since(began, "good") <= 1
            carried.live(_key("good"), _object("good"))
        assert carried.rejected.keys() == {_key(name) for name in denied}
        assert all(carried.lacks(_key(name).uuid) for name in denied)
        running.cancel()

    simulate(scenario)
