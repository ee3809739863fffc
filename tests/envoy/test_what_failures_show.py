"""A test that fails with an Envoy shows what is needed to understand it; nothing else would exercise that."""

from __future__ import annotations

import pytest

from tests.envoy.failing import state
from tests.envoy.handmade_system import HandmadeSystem
from tests.support.envoy.handmade import route

pytestmark = [pytest.mark.anyio, pytest.mark.envoy]


async def test_streams_rejections_and_what_envoy_says_are_shown(either: HandmadeSystem) -> None:
    await either.write(route("bad", "/bad/", "b", match={"safe_regex": {"regex": "("}}))
    await either.rejects("bad")
    shown = dict(state(either.server, either.envoy))
    assert "missing )" in shown["rejected"]
    assert "blocked_until" in shown["streams"]
    assert f":{either.port}" in shown["listeners of Envoy"]
    assert "ns/http|cleartext" in shown["dynamic_route_configs of Envoy"]
    assert "missing )" in shown["end of Envoy's log"]


async def test_an_envoy_that_has_ended_is_shown_too(site: HandmadeSystem) -> None:
    site.envoy.kill()
    assert "no answer" in dict(state(site.server, site.envoy))["listeners of Envoy"]
