"""What a Mapping says besides where requests go: retries, timeouts, CORS, stickiness, shadows, limits, TLS upstream."""

from __future__ import annotations

import asyncio
import ssl
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import pytest

from tests.envoy.backends import Answer, Seen, backend, who_answers
from tests.envoy.gateway_system import GatewaySystem
from tests.envoy.manifests import Manifest, ambassador, host, listener, mapping, secret, service
from tests.support.certificates import Authority
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.envoy, pytest.mark.etcd, pytest.mark.http]

ORIGIN = "https://shop.example"


def gateway(live: GatewaySystem, port: int) -> list[Manifest]:
    return [listener("web", live.port), host("all"), *service("one", port)]


async def test_a_request_that_failed_is_sent_again_as_often_as_it_says(live: GatewaySystem) -> None:
    failures = iter([503, 503])

    def sick(seen: Seen) -> Answer:
        return Answer(next(failures, 200), {"service": "one"})

    async with backend("one", sick) as one:
        retries = {"retry_on": "5xx", "num_retries": 2}
        await live.apply(gateway(live, one.port), mapping("one", "/one/", "one", retry_policy=retries))
        assert await live.service("/one/") == "one"
        assert len(one.seen) == 3


async def test_a_request_that_takes_too_long_is_given_up(live: GatewaySystem) -> None:
    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(mute, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        await live.apply(gateway(live, port), mapping("one", "/one/", "one", timeout_ms=200))
        assert await live.service("/one/") == "status 504"


async def test_other_origins_may_read_answers_only_if_they_are_named(live: GatewaySystem) -> None:
    async with backend("one") as one:
        cors = {"origins": [ORIGIN], "methods": ["POST"], "max_age": "60"}
        await live.apply(gateway(live, one.port), mapping("one", "/one/", "one", cors=cors))
        allowed = await live.client.options(
            f"http://127.0.0.1:{live.port}/one/", headers={"origin": ORIGIN, "access-control-request-method": "POST"}
        )
        assert allowed.headers["access-control-allow-origin"] == ORIGIN
        assert allowed.headers["access-control-max-age"] == "60"
        assert one.seen == []
        stranger = await live.get("/one/", origin="https://stranger.example")
        assert "access-control-allow-origin" not in stranger.headers


async def test_a_header_sticks_to_one_endpoint(live: GatewaySystem) -> None:
    async with AsyncExitStack() as stack:
        backends = [await stack.enter_async_context(backend(f"replica-{number}")) for number in range(3)]
        first, *others = (service("one", one.port) for one in backends)
        endpoints = first[1]
        endpoints["subsets"] = [subset for _, one in [first, *others] for subset in one["subsets"]]
        balancer = {"policy": "ring_hash", "header": "x-user"}
        await live.apply(
            listener("web", live.port), host("all"), first, mapping("one", "/one/", "one", load_balancer=balancer)
        )
        assert live.problems == []
        by_user = {user: {await live.service("/one/", x_user=user) for _ in range(5)} for user in "abcdefghijkl"}
        assert all(len(found) == 1 for found in by_user.values()), by_user
        assert len(set.union(*by_user.values())) > 1


async def test_a_shadow_gets_a_copy_and_answers_nobody(live: GatewaySystem) -> None:
    async with backend("one") as one, backend("shadow") as shadow:
        await live.apply(
            gateway(live, one.port),
            service("shadow", shadow.port),
            mapping("one", "/one/", "one"),
            mapping("copy", "/one/", "shadow", shadow=True),
        )
        assert await who_answers(live.port, "/one/", 160) == Counter(one=160)
        with anyio.fail_after(PATIENCE):
            while len(shadow.seen) < 160:  # noqa: ASYNC110 - counted by a server
                await anyio.sleep(0.01)


async def test_a_circuit_breaker_that_lets_none_through_answers_at_once(live: GatewaySystem) -> None:
    async with backend("one") as one:
        breakers = [{"priority": "default", "max_requests": 0}]
        await live.apply(
            gateway(live, one.port),
            mapping("broken", "/broken/", "one", circuit_breakers=breakers),
            mapping("whole", "/whole/", "one"),
        )
        assert await live.service("/broken/") == "status 503"
        assert await live.service("/whole/") == "one"


async def test_a_service_is_spoken_to_over_tls_with_the_certificate_of_the_context(
    live: GatewaySystem, tmp_path: Path
) -> None:
    authority = Authority(tmp_path / "authority")
    server = authority.issue("server")
    client = authority.issue("client")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority.certificate))
    context.load_cert_chain(server.certificate, server.key)
    context.verify_mode = ssl.CERT_REQUIRED

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        common_name = dict(entry[0] for entry in writer.get_extra_info("peercert")["subject"])["commonName"]
        body = b'{"service": "%s"}' % common_name.encode()
        writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    tls = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    async with tls:
        port = tls.sockets[0].getsockname()[1]
        await live.apply(
            gateway(live, port),
            secret("client", tls_crt=client.certificate, tls_key=client.key),
            ambassador("TLSContext", "upstream", secret="client"),
            mapping("with", "/with/", "one:80", tls="upstream"),
            mapping("without", "/without/", "one"),
        )
        assert live.problems == []
        assert await live.service("/with/") == "client"
        assert await live.service("/without/") == "status 503"
