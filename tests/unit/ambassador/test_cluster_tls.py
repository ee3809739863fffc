"""TLS towards upstreams: the handshake, and that any missing part closes the upstream (docs/ambassador.md §5.7)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.ambassador.clusters import NAMESPACE, Clusters, cluster_of
from tests.support.ambassador.hosts import manifest, secret
from tests.support.certificates import Authority

pytestmark = pytest.mark.anyio


class Pems:
    """A client's certificate, and the authority that signs the upstream's."""

    def __init__(self, folder: Path) -> None:
        authority = Authority(folder)
        client = authority.issue("client")
        self.chain, self.key = client.certificate.read_bytes(), client.key.read_bytes()
        self.authority = authority.certificate.read_bytes()

    def secrets(self, namespace: str = NAMESPACE) -> tuple[dict[str, Any], dict[str, Any]]:
        return (
            secret("client", namespace, tls_crt=self.chain, tls_key=self.key),
            secret("authority", namespace, tls_crt=self.authority),
        )


@pytest.fixture(scope="module")
def pems(tmp_path_factory: pytest.TempPathFactory) -> Pems:
    return Pems(tmp_path_factory.mktemp("upstream") / "authority")


def context(name: str = "upstream", namespace: str = NAMESPACE, **spec: Any) -> dict[str, Any]:
    return manifest("TLSContext", name, spec, namespace)


def by_ads(name: str) -> dict[str, Any]:
    return {"name": name, "sds_config": {"ads": {}, "resource_api_version": "V3"}}


def tls(found: Clusters) -> dict[str, Any]:
    """The ``UpstreamTlsContext`` of the only cluster, without its type."""
    typed: dict[str, Any] = found.only["transport_socket"]["typed_config"]
    return {key: value for key, value in typed.items() if key != "@type"}


def assert_closed(found: Clusters, reason: str) -> None:
    config = found.only
    assert config["type"] == "STATIC"
    assert "transport_socket" not in config
    assert found.endpoints == []
    assert ("mapping", "shop:m", reason) in found.problems


async def test_an_address_is_not_asked_for() -> None:
    assert tls(await cluster_of(service="https://10.0.0.1")) == {"common_tls_context": {}}


async def test_a_context_says_all_of_the_handshake(pems: Pems) -> None:
    settings = context(
        secret="client",
        ca_secret="authority",
        sni="echo.example",
        alpn_protocols="h2,http/1.1",
        min_tls_version="v1.2",
        max_tls_version="v1.3",
        cipher_suites=["ECDHE-RSA-AES128-GCM-SHA256"],
        ecdh_curves=["X25519"],
    )
    found = await cluster_of(*pems.secrets(), settings, service="echo", tls="upstream")
    assert tls(found) == {
        "sni": "echo.example",
        "common_tls_context": {
            "tls_certificate_sds_secret_configs": [by_ads("shop:client|tls")],
            "validation_context_sds_secret_config": by_ads("shop:authority|ca"),
            "alpn_protocols": ["h2", "http/1.1"],
            "tls_params": {
                "tls_minimum_protocol_version": "TLSv1_2",
                "tls_maximum_protocol_version": "TLSv1_3",
                "cipher_suites": ["ECDHE-RSA-AES128-GCM-SHA256"],
                "ecdh_curves": ["X25519"],
            },
        },
    }
    assert set(found.gate.elements("envoy_secret")) == {"shop:client|tls", "shop:authority|ca"}
    assert found.endpoints == [("echo.shop", 443)]
    assert found.problems == []


@pytest.mark.parametrize("scheme", ["", "http://", "https://"])
async def test_a_missing_context_never_means_clear_text(scheme: str) -> None:
    """Defect 7."""
    assert_closed(await cluster_of(service=f"{scheme}echo:80", tls="upstream"), "NoTLSContext")


async def test_a_secret_that_holds_nonsense_closes_and_is_reported_itself() -> None:
    broken = secret("client", NAMESPACE, tls_crt=b"nonsense", tls_key=b"nonsense")
    found = await cluster_of(broken, context(secret="client"), tls="upstream")
    assert_closed(found, "InvalidSecret")
    assert ("secret", "shop:client", "InvalidSecret") in found.problems


async def test_a_context_that_makes_no_sense_closes() -> None:
    found = await cluster_of(context(min_tls_version="v1.3", max_tls_version="v1.2"), tls="upstream")
    assert_closed(found, "InvalidTLS")


async def test_a_name_that_no_handshake_can_ask_for_closes() -> None:
    found = await cluster_of(context(sni="a" * 256), tls="upstream")
    assert_closed(found, "InvalidTLS")
    assert ("tls_context", "shop:upstream", "InvalidTLS") in found.problems
