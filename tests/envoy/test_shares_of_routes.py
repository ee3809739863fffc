"""Who gets how many requests, measured in a real Envoy: none is lost, and what differs is chance.

How close they come over many requests is ``test_weights_live.py``'s.

Both shapes that a group of Mappings can have are asked for: weighted clusters, and routes with fractions.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import pytest

from intentc.dev.envoy_server import running_envoy
from tests.envoy.backends import backend, counted, who_answers
from tests.envoy.validating import bootstrap_of
from tests.support.ambassador.mappings import mapping, routes
from tests.support.envoy.held_ports import FreePort

pytestmark = [pytest.mark.anyio, pytest.mark.envoy]

REQUESTS = 2_000
POINTS = 6
"""Five standard deviations: chance does not fail these tests."""


def app(name: str, **spec: Any) -> dict[str, Any]:
    """A Mapping of the prefix ``/app/`` that leads to the service of the same name."""
    return mapping(name, **{"prefix": "/app/", "service": name, **spec})


@pytest.mark.parametrize(
    ("group", "percents"),
    [
        ([app("one", weight=20), app("two", weight=30)], {"one": 40, "two": 60}),
        ([app("one", weight=10), app("two"), app("three")], {"one": 10, "two": 45, "three": 45}),
        ([app("one", weight=20), app("two", weight=30, rewrite="/v2/")], {"one": 40, "two": 60}),
        (
            [app("one", weight=25), app("two", timeout_ms=1000), app("three", rewrite="/v3/")],
            {"one": 25, "two": 37.5, "three": 37.5},
        ),
    ],
    ids=["below 100", "the rest", "below 100, rewrites differ", "the rest, times and rewrites differ"],
)
async def test_requests_are_shared_out_as_the_weights_say(
    group: list[dict[str, Any]], percents: dict[str, float], free_port: FreePort
) -> None:
    found = await routes(*group)
    config, port = bootstrap_of(found), free_port()
    config["static_resources"]["listeners"][0]["address"]["socket_address"]["port_value"] = port
    async with AsyncExitStack() as stack:
        ports = {name: (await stack.enter_async_context(backend(name, counted(name)))).port for name in percents}
        for cluster in config["static_resources"]["clusters"]:
            name = cluster["name"].split("_")[1]
            address = {"socket_address": {"address": "127.0.0.1", "port_value": ports[name]}}
            endpoints = [{"lb_endpoints": [{"endpoint": {"address": address}}]}]
            cluster["load_assignment"] = {"cluster_name": cluster["name"], "endpoints": endpoints}
        await stack.enter_async_context(running_envoy(config))
        answered = await who_answers(port, "/app/", REQUESTS)
    assert sum(answered.values()) == REQUESTS
    assert set(answered) == set(percents)
    for name, percent in percents.items():
        assert abs(100 * answered[name] / REQUESTS - percent) < POINTS, answered
