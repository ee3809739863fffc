"""A port that one listener leaves and another takes, with a real Envoy: nobody stays rejected without a cause."""

from __future__ import annotations

import socket

import pytest

from tests.envoy.handmade_system import HandmadeSystem, reaches
from tests.support.envoy.handmade import gone, listener, rejections, virtual_host
from tests.support.envoy.held_ports import FreePort
from tests.support.waiting import until_true

pytestmark = [pytest.mark.anyio, pytest.mark.envoy]

OTHER = "ns/other|cleartext"


async def answered(port: int, by: str) -> None:
    await until_true(lambda: reaches(port, by))


async def states(site: HandmadeSystem, free_port: FreePort) -> tuple[int, int]:
    """Two listeners on two ports, ``ns/one`` answered by backend a, ``ns/two`` by nobody (404); gives the ports."""
    first, second = free_port(), free_port()
    await site.write(virtual_host("none.test", configuration=OTHER))
    await site.write(listener("ns/one", first), listener("ns/two", second, configuration=OTHER))
    await answered(first, "a")
    await answered(second, "404")
    return first, second


async def test_two_listeners_swap_their_ports_in_one_step(either: HandmadeSystem, free_port: FreePort) -> None:
    first, second = await states(either, free_port)
    for one, two in ((second, first), (first, second)):
        await either.write(listener("ns/one", one), listener("ns/two", two, configuration=OTHER))
        await answered(one, "a")
        await answered(two, "404")
    assert await rejections(either.store) == {}


async def test_a_listener_moves_away_and_another_comes_in_one_step(either: HandmadeSystem, free_port: FreePort) -> None:
    first, second = await states(either, free_port)
    third = free_port()
    await either.write(listener("ns/two", third, configuration=OTHER), listener("ns/one", second))
    await answered(second, "a")
    await answered(third, "404")
    await answered(first, "nobody")
    assert await rejections(either.store) == {}


async def test_one_comes_in_the_same_step_in_which_the_other_goes(either: HandmadeSystem, free_port: FreePort) -> None:
    _, second = await states(either, free_port)
    await either.write(gone("envoy_listener", "ns", "two"), listener("ns/three", second))
    await answered(second, "a")
    assert await rejections(either.store) == {}


async def test_a_second_listener_of_a_port_works_once_the_first_is_deleted(
    either: HandmadeSystem, free_port: FreePort
) -> None:
    _, second = await states(either, free_port)
    await either.write(listener("ns/three", second))

    async def rejected() -> bool:
        return bool(either.server.cache.rejected)

    await until_true(rejected)
    await either.write(gone("envoy_listener", "ns", "two"))
    await answered(second, "a")
    await either.rejects()


async def test_a_port_in_use_is_reported_and_used_once_it_is_free(either: HandmadeSystem) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = int(taken.getsockname()[1])
        await either.write(listener("ns/three", port))
        await either.rejects("ns:three")
    await answered(port, "a")
    await either.rejects()
