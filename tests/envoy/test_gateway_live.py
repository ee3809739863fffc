"""What a Module and several AuthServices do to requests through the whole chain."""

from __future__ import annotations

from typing import Any

import pytest

from tests.envoy.backends import Answer, Seen, backend
from tests.envoy.gateway_system import GatewaySystem
from tests.envoy.manifests import Manifest, ambassador, host, listener, mapping, service

pytestmark = [pytest.mark.anyio, pytest.mark.envoy, pytest.mark.etcd, pytest.mark.http]


def module(**config: Any) -> Manifest:
    return ambassador("Module", "ambassador", config=config)


def serving(live: GatewaySystem, port: int) -> list[Manifest]:
    return [listener("web", live.port), host("all"), *service("echo", port), mapping("all", "/", "echo")]


async def test_probes_are_answered_by_the_gateway_whatever_guards_it(live: GatewaySystem) -> None:
    async with backend("echo") as echo:
        misconfigured = ambassador("AuthService", "auth", auth_service="auth", path_prefix="no-slash")
        await live.apply(serving(live, echo.port), misconfigured)
        assert await live.service("/") == "status 500"
        assert (await live.get("/ambassador/v0/check_alive")).status_code == 200
        assert (await live.get("/ambassador/v0/check_ready?verbose", host="10.0.0.1:8080")).status_code == 200
        assert (await live.get("/ambassador/v0/check_alive/more")).status_code == 500
        assert echo.seen == []


async def test_a_probe_of_a_service_stays_open_while_nobody_is_let_in(live: GatewaySystem) -> None:
    async with backend("echo") as echo, backend("health") as health:
        await live.apply(
            serving(live, echo.port),
            service("health", health.port),
            module(resolver="endpoint", liveness_probe={"service": "health", "prefix": "/alive", "rewrite": "/is/it"}),
            ambassador("AuthService", "auth", auth_service="auth", path_prefix="no-slash"),
        )
        assert await live.service("/alive?x=1") == "health"
        assert [seen.path for seen in health.seen] == ["/is/it?x=1"]
        assert await live.service("/alive/more") == "status 500"


async def test_denied_addresses_are_kept_out_and_a_broken_list_keeps_everybody_out(live: GatewaySystem) -> None:
    async with backend("echo") as echo:
        await live.apply(serving(live, echo.port), module(ip_deny=[{"peer": "192.0.2.1"}]))
        assert await live.service("/") == "echo"
        await live.apply(module(ip_deny=[{"peer": "127.0.0.0/8"}]))
        assert await live.service("/") == "status 403"
        await live.apply(module(ip_deny=[{"peer": "192.0.2.1"}, {"peer": "nowhere"}]))
        assert await live.service("/") == "status 403"
        await live.apply(module(ip_allow=[{"peer": "127.0.0.1"}]))
        assert await live.service("/") == "echo"


async def test_answers_are_compressed_by_their_content_type(live: GatewaySystem) -> None:
    async with backend("echo", lambda seen: Answer(body={"service": "echo", "text": "a" * 500})) as echo:
        await live.apply(serving(live, echo.port), module(gzip={"content_type": ["application/json"]}))
        assert (await live.get("/", accept_encoding="gzip")).headers["content-encoding"] == "gzip"
        await live.apply(module(gzip={"content_type": ["text/html"]}))
        assert "content-encoding" not in (await live.get("/", accept_encoding="gzip")).headers


async def test_a_script_that_envoy_rejects_is_a_problem_of_its_module(
    live: GatewaySystem,
) -> None:
    async with backend("echo") as echo:
        await live.apply(serving(live, echo.port), module(server_name="before"))
        await live.apply(module(server_name="after", lua_scripts="function envoy_on_request("))
        answer = await live.get("/")
        assert (answer.status_code, answer.headers["server"]) == (200, "before")
        assert ("module", "live:ambassador", "RejectedByEnvoy") in live.problems
        await live.apply(module(server_name="after"))
        assert (await live.get("/")).headers["server"] == "after"
        assert live.problems == []


async def test_a_second_auth_service_is_asked_while_the_first_has_no_endpoint(live: GatewaySystem) -> None:
    def deny(seen: Seen) -> Answer:
        return Answer(401 if seen.headers.get("x-who") != "friend" else 200, body={})

    async with backend("echo") as echo, backend("one", deny) as one, backend("two", deny) as two:
        first, second = (
            ambassador("AuthService", name, auth_service=name, allowed_request_headers=["x-who"])
            for name in ("one", "two")
        )
        await live.apply(
            serving(live, echo.port),
            module(resolver="endpoint"),
            service("one", one.port),
            service("two", two.port),
            first,
            second,
        )
        assert await live.service("/", x_who="friend") == "echo"
        assert await live.service("/") == "status 401"
        assert (len(one.seen), len(two.seen)) == (2, 0)
        await live.delete(service("one", one.port))
        assert await live.service("/", x_who="friend") == "echo"
        assert await live.service("/") == "status 401"
        assert (len(one.seen), len(two.seen)) == (2, 2)
