"""What scenarios may use. One that is marked ``also_live`` runs over memory, and again on a real etcd with a real API
server over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest

from intentc.dev.etcd_server import Etcd
from intentc.plugins import Loaded
from tests.integration.conftest import etcd
from tests.scenario.live_contrail import live_contrail
from tests.support.contrail_system import ContrailSystem
from tests.support.live_fixtures import loaded

__all__ = ["etcd", "loaded"]


class RealParts(NamedTuple):
    etcd: Etcd
    loaded: Loaded
    patch: pytest.MonkeyPatch


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.definition.get_closest_marker("also_live"):
        live = pytest.param("live", marks=[pytest.mark.etcd, pytest.mark.http])
        metafunc.parametrize("real_parts", ["memory", live], indirect=True)


@pytest.fixture
def real_parts(request: pytest.FixtureRequest) -> RealParts | None:
    if getattr(request, "param", "memory") == "memory":
        return None
    return RealParts(*(request.getfixturevalue(name) for name in ("etcd", "loaded", "monkeypatch")))


@pytest.fixture
async def system(real_parts: RealParts | None) -> AsyncIterator[ContrailSystem]:
    """An installation with the project ``blue``, nothing counted yet."""
    if real_parts is not None:
        async with live_contrail(real_parts.etcd.endpoint, real_parts.loaded, real_parts.patch) as live:
            yield live
        return
    system = await ContrailSystem().begin()
    system.forget()
    yield system
