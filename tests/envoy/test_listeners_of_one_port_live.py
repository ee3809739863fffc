"""Two Listeners of one port, through the whole chain: who waits for the port gets it when the other goes or moves."""

from __future__ import annotations

import anyio
import pytest

from tests.envoy.backends import backend
from tests.envoy.gateway_system import GatewaySystem
from tests.envoy.manifests import Manifest, host, listener, mapping, service
from tests.support.envoy.held_ports import FreePort
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.envoy, pytest.mark.etcd, pytest.mark.http]


@pytest.mark.parametrize("moves", [False, True], ids=["the other goes", "the other moves"])
async def test_a_listener_without_a_port_gets_it_when_the_other_leaves_it(
    live: GatewaySystem, moves: bool, free_port: FreePort
) -> None:
    async with backend("blue") as blue:
        everything: list[Manifest | list[Manifest]] = [
            host("all"),
            service("blue", blue.port),
            mapping("one", "/one/", "blue"),
        ]
        await live.apply(*everything, listener("dup", live.port), listener("web", live.port))
        assert {reason for *_, reason in live.problems} == {"PortShared", "PortTaken"}
        assert await live.service("/one/") == "blue"
        if moves:
            await live.apply(listener("dup", free_port()))
        else:
            await live.delete(listener("dup", live.port))
        with anyio.fail_after(PATIENCE):
            # A record of a rejection, if there was one, goes through etcd.
            while live.problems:  # noqa: ASYNC110
                await anyio.sleep(0.01)
        assert await live.service("/one/") == "blue"
        assert live.gateway.xds.status()["rejected"] == []
