"""TLS through a real Envoy: certificates by name, rotated, clients' certificates asked for, and never clear text by
mistake.
"""

from __future__ import annotations

import ssl
from pathlib import Path

import anyio
import httpx2
import pytest

from tests.envoy.backends import backend
from tests.envoy.gateway_system import GatewaySystem
from tests.envoy.manifests import Manifest, ambassador, host, listener, mapping, secret, service
from tests.support.certificates import Authority, Issued
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.envoy, pytest.mark.etcd, pytest.mark.http]


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


def issued_for(authority: Authority, name: str) -> Issued:
    return authority.issue(name, alternative=f"DNS:{name}")


def pair(name: str, issued: Issued) -> Manifest:
    return secret(name, tls_crt=issued.certificate, tls_key=issued.key)


def secured(live: GatewaySystem) -> list[Manifest]:
    return [listener("secure", live.secure_port, protocol="HTTPS", securityModel="XFP")]


def tls_host(name: str, hostname: str, with_secret: str, **spec: object) -> Manifest:
    return host(name, hostname, "Redirect", tlsSecret={"name": with_secret}, **spec)


async def over_tls(
    live: GatewaySystem, name: str, authority: Authority, *, sni: str = "", client: Issued | None = None
) -> httpx2.Response:
    """GET / of ``name``, its certificate checked; ``sni``: another name for the handshake than for the request."""
    context = ssl.create_default_context(cafile=str(authority.certificate))
    if client is not None:
        context.load_cert_chain(client.certificate, client.key)
    async with httpx2.AsyncClient(verify=context, trust_env=False, timeout=PATIENCE) as asking:
        return await asking.get(
            f"https://127.0.0.1:{live.secure_port}/",
            headers={"host": name},
            extensions={"sni_hostname": sni or name},
        )


async def is_trusted(live: GatewaySystem, name: str, authority: Authority) -> bool:
    """Whether what is shown for ``name`` is signed by ``authority``."""
    try:
        return (await over_tls(live, name, authority)).status_code == 200
    except httpx2.ConnectError as error:
        assert "certificate verify failed" in str(error)
        return False


async def test_each_name_is_served_with_its_own_certificate(live: GatewaySystem, authority: Authority) -> None:
    async with backend("one") as one, backend("two") as two:
        await live.apply(
            secured(live),
            pair("one", issued_for(authority, "one.test")),
            pair("two", issued_for(authority, "two.test")),
            tls_host("one", "one.test", "one"),
            tls_host("two", "two.test", "two"),
            service("one", one.port),
            service("two", two.port),
            mapping("one", "/", "one", hostname="one.test"),
            mapping("two", "/", "two", hostname="two.test"),
        )
        assert live.problems == []
        for name in ("one", "two"):
            assert (await over_tls(live, f"{name}.test", authority)).json()["service"] == name


async def test_a_rotated_certificate_is_shown_to_the_next_client(
    live: GatewaySystem, authority: Authority, tmp_path: Path
) -> None:
    other = Authority(tmp_path / "other")
    async with backend("one") as one:
        await live.apply(
            secured(live),
            pair("one", issued_for(authority, "one.test")),
            tls_host("one", "one.test", "one"),
            service("one", one.port),
            mapping("one", "/", "one", hostname="one.test"),
        )
        assert (await over_tls(live, "one.test", authority)).status_code == 200
        await live.apply(pair("one", issued_for(other, "one.test")))
        # Envoy's threads go by it a moment after it has answered.
        with anyio.fail_after(PATIENCE):
            while not await is_trusted(live, "one.test", other):  # noqa: ASYNC110
                await anyio.sleep(0.01)
        assert not await is_trusted(live, "one.test", authority)


def guarded(live: GatewaySystem, authority: Authority, port: int) -> list[Manifest]:
    """``guarded.test`` asks for a certificate of this authority, ``open.test`` beside it for none."""
    return [
        *secured(live),
        pair("guarded", issued_for(authority, "guarded.test")),
        pair("open", issued_for(authority, "open.test")),
        secret("clients", tls_crt=authority.certificate),
        ambassador("TLSContext", "guarded", hosts=["guarded.test"], secret="guarded", ca_secret="clients",
                   cert_required=True),
        host("guarded", "guarded.test", "Redirect", tlsContext={"name": "guarded"}),
        tls_host("open", "open.test", "open"),
        *service("one", port),
        mapping("guarded", "/", "one", hostname="guarded.test"),
    ]  # fmt: skip


async def test_only_clients_with_a_certificate_of_the_authority_pass(
    live: GatewaySystem, authority: Authority, tmp_path: Path
) -> None:
    stranger = Authority(tmp_path / "stranger")
    async with backend("one") as one:
        await live.apply(guarded(live, authority, one.port))
        assert live.problems == []
        passed = await over_tls(live, "guarded.test", authority, client=authority.issue("client"))
        assert passed.json()["service"] == "one"
        for client in (None, stranger.issue("client")):
            with pytest.raises((httpx2.TransportError, ssl.SSLError)):
                await over_tls(live, "guarded.test", authority, client=client)
        assert len(one.seen) == 1


async def test_no_client_enters_by_another_host_when_the_authority_is_deleted(
    live: GatewaySystem, authority: Authority
) -> None:
    async with backend("one") as one:
        same = tls_host("same", "guarded.test", "guarded")
        await live.apply(guarded(live, authority, one.port), same)
        await live.delete(secret("clients", tls_crt=authority.certificate))
        assert ("host", "live:same", "DuplicateHostname") in live.problems
        for client in (None, authority.issue("client")):
            with pytest.raises((httpx2.TransportError, ssl.SSLError)):
                await over_tls(live, "guarded.test", authority, client=client)
        assert one.seen == []


async def test_nobody_gets_past_client_certificates_by_another_name_in_the_handshake(
    live: GatewaySystem, authority: Authority
) -> None:
    async with backend("one") as one:
        await live.apply(guarded(live, authority, one.port))
        answer = await over_tls(live, "guarded.test", authority, sni="open.test")
        assert answer.status_code in (404, 421)
        assert one.seen == []


async def test_a_host_whose_secret_is_missing_is_not_served_in_clear_text(
    live: GatewaySystem, authority: Authority
) -> None:
    async with backend("one") as one:
        await live.apply(
            secured(live),
            listener("web", live.port),
            tls_host("one", "one.test", "nowhere"),
            service("one", one.port),
            mapping("one", "/", "one", hostname="one.test"),
        )
        assert ("host", "live:one", "NoSecret") in live.problems
        assert await live.service("/", "one.test") != "one"
        with pytest.raises(httpx2.TransportError):
            await over_tls(live, "one.test", authority)
        assert one.seen == []
        # Defect 13: it comes to life when the Secret does.
        await live.apply(pair("nowhere", issued_for(authority, "one.test")))
        assert (await over_tls(live, "one.test", authority)).json()["service"] == "one"
        assert live.problems == []


async def test_a_mapping_whose_tls_context_is_missing_never_talks_in_clear_text(live: GatewaySystem) -> None:
    """Defect 7."""
    async with backend("one") as one:
        await live.apply(
            listener("web", live.port),
            host("all"),
            service("one", one.port),
            mapping("careful", "/careful/", "one", tls="no-such-context"),
            mapping("plain", "/plain/", "one"),
        )
        assert [problem[:2] for problem in live.problems] == [("mapping", "live:careful")]
        assert await live.service("/careful/") == "status 503"
        assert one.seen == []
        assert await live.service("/plain/") == "one"
