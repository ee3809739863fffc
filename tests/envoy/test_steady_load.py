"""No request fails while what it passes through changes: a steady load through Envoy, and edits beside it."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack

import anyio
import pytest

from tests.envoy.backends import backend, counted, who_answers
from tests.envoy.gateway_system import GatewaySystem
from tests.envoy.manifests import ambassador, host, listener, mapping, service

pytestmark = [pytest.mark.anyio, pytest.mark.envoy, pytest.mark.etcd, pytest.mark.http]

AT_ONCE = 160
ROUNDS = 12
PAUSE = 0.002
"""Seconds between an answer and the next request of the same connection: some are always on their way."""


async def test_no_request_fails_while_mappings_services_and_hosts_change(live: GatewaySystem) -> None:
    async with AsyncExitStack() as stack:
        colours = ("blue", "green")
        ports = {name: (await stack.enter_async_context(backend(name, counted(name)))).port for name in colours}
        spare = (await stack.enter_async_context(backend("blue", counted("blue")))).port
        await live.apply(
            listener("web", live.port),
            host("all"),
            *(service(name, port) for name, port in ports.items()),
            mapping("steady", "/steady/", "blue"),
        )
        answered: Counter[str] = Counter()
        done = asyncio.Event()

        async def load() -> None:
            while not done.is_set():
                answered.update(await who_answers(live.port, "/steady/", AT_ONCE, pause=PAUSE))

        async with anyio.create_task_group() as group:
            group.start_soon(load)
            for number in range(ROUNDS):
                before = answered.total()
                colour = colours[number % 2]
                await live.apply(
                    # The route itself gets other clusters: another service, a canary, another timeout.
                    mapping("steady", "/steady/", colour, timeout_ms=3000 + number),
                    mapping("canary", "/steady/", colours[1 - number % 2], weight=10 + number,
                            timeout_ms=3000 + number),
                    # Neighbours come and change; a host name comes beside.
                    mapping(f"other-{number}", f"/other-{number}/", colour),
                    host(f"host-{number}", f"host-{number}.test"),
                    # Its cluster gets other endpoints.
                    service("blue", spare if number % 2 else ports["blue"]),
                )  # fmt: skip
                if number:
                    await live.delete(mapping(f"other-{number - 1}", "/", "blue"))
                while answered.total() < before + AT_ONCE:  # noqa: ASYNC110 - counted by the other task
                    await anyio.sleep(0.005)
            done.set()
        assert live.problems == []
        assert answered.keys() == {"blue", "green"}, answered
        assert answered.total() >= ROUNDS * AT_ONCE


async def test_no_request_fails_while_the_gateways_settings_change(live: GatewaySystem) -> None:
    """What changes the listener itself: connections that stand are drained, not cut."""
    async with backend("one", counted("one")) as one:
        await live.apply(
            listener("web", live.port), host("all"), service("one", one.port), mapping("steady", "/steady/", "one")
        )
        answered: Counter[str] = Counter()
        done = asyncio.Event()

        async def load() -> None:
            while not done.is_set():
                answered.update(await who_answers(live.port, "/steady/", AT_ONCE, pause=PAUSE))

        async with anyio.create_task_group() as group:
            group.start_soon(load)
            for number in range(4):
                before = answered.total()
                await live.apply(ambassador("Module", "ambassador", config={"server_name": f"gateway-{number}"}))
                assert (await live.get("/steady/")).headers["server"] == f"gateway-{number}"
                while answered.total() < before + AT_ONCE:  # noqa: ASYNC110 - counted by the other task
                    await anyio.sleep(0.005)
            done.set()
        assert answered.keys() == {"one"}, answered
