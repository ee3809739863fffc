"""Whoever is to be asked whether a request may pass is asked, and if he can't be asked nobody passes."""

from __future__ import annotations

import pytest

from tests.envoy.backends import Answer, Seen, backend
from tests.envoy.gateway_system import GatewaySystem
from tests.envoy.manifests import Manifest, ambassador, host, listener, mapping, service

pytestmark = [pytest.mark.anyio, pytest.mark.envoy, pytest.mark.etcd, pytest.mark.http]


def guard(seen: Seen) -> Answer:
    """Lets those in who know the word, and says who they are."""
    if seen.headers.get("authorization") == "sesame":
        return Answer(200, headers=(("x-user", "ali"),))
    return Answer(401, {"denied": seen.path})


def auth_service(**spec: object) -> Manifest:
    usual = {"auth_service": "guard", "allowed_authorization_headers": ["x-user"], "timeout_ms": 60_000}
    return ambassador("AuthService", "auth", **{**usual, **spec})


def gateway(live: GatewaySystem, port: int) -> list[Manifest]:
    return [
        listener("web", live.port),
        host("all"),
        *service("one", port),
        mapping("guarded", "/guarded/", "one"),
        mapping("open", "/open/", "one", bypass_auth=True),
    ]


def endpoint_of(port: int) -> str:
    return f"http://127.0.0.1:{port}"


async def test_the_auth_service_decides_and_its_headers_reach_the_service(live: GatewaySystem) -> None:
    async with backend("one") as one, backend("guard", guard) as guarding:
        await live.apply(gateway(live, one.port), auth_service(auth_service=endpoint_of(guarding.port)))
        assert live.problems == []
        denied = await live.get("/guarded/a")
        assert (denied.status_code, denied.json()) == (401, {"denied": "/guarded/a"})
        assert one.seen == []
        passed = await live.get("/guarded/a", authorization="sesame")
        assert passed.json()["headers"]["x-user"] == "ali"


async def test_a_mapping_that_bypasses_it_is_not_asked_for(live: GatewaySystem) -> None:
    async with backend("one") as one, backend("guard", guard) as guarding:
        await live.apply(gateway(live, one.port), auth_service(auth_service=endpoint_of(guarding.port)))
        assert await live.service("/open/") == "one"
        assert guarding.seen == []


async def test_while_the_auth_service_is_away_nobody_passes(live: GatewaySystem, dead_port: int) -> None:
    async with backend("one") as one:
        moved = mapping("moved", "/moved/", "new.example", host_redirect=True)
        await live.apply(gateway(live, one.port), moved, auth_service(auth_service=endpoint_of(dead_port)))
        assert await live.service("/guarded/", authorization="sesame") == "status 403"
        assert await live.service("/moved/") == "status 301"
        assert await live.service("/open/") == "one"
        assert len(one.seen) == 1


@pytest.mark.parametrize(
    "wrong", [{"proto": "grpc", "protocol_version": "v2"}, {"tls": "no-such-context"}, {"auth_service": "a b"}], ids=str
)
async def test_while_the_auth_service_is_misconfigured_nobody_passes(
    live: GatewaySystem, wrong: dict[str, str]
) -> None:
    async with backend("one") as one, backend("guard", guard) as guarding:
        await live.apply(gateway(live, one.port), auth_service(**{"auth_service": endpoint_of(guarding.port), **wrong}))
        assert ("auth_service", "live:auth") in {problem[:2] for problem in live.problems}
        answer = await live.get("/guarded/", authorization="sesame", x_request_id='x"a')
        assert answer.status_code in (403, 500, 503)
        if answer.headers.get("content-type") == "application/json":
            assert answer.json()["request_id"]
        assert one.seen == []


async def test_once_fixed_it_admits_those_who_may(live: GatewaySystem) -> None:
    async with backend("one") as one, backend("guard", guard) as guarding:
        await live.apply(gateway(live, one.port), auth_service(proto="grpc", protocol_version="v2"))
        assert await live.service("/guarded/", authorization="sesame") != "one"
        await live.apply(auth_service(auth_service=endpoint_of(guarding.port)))
        assert await live.service("/guarded/", authorization="sesame") == "one"
        assert live.problems == []
