"""Certificates of Hosts: their sources, shared filter chains, and that any mistake closes TLS (docs/ambassador.md §4.3,
§5)."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

from intentc.bridges.xds.elements import decode_element
from intentc.compilers.ambassador.secret import SecretIntent
from intentc.model.events import Change
from tests.support.ambassador.hosts import (
    MemoryGateway,
    host,
    listener,
    manifest,
    route_configurations,
    secret,
    tls_host,
)
from tests.support.ambassador.pems import Pems

pytestmark = pytest.mark.anyio


def https(name: str = "https", **spec: Any) -> dict[str, Any]:
    return listener(name, 8443, protocol="HTTPS", **spec)


def context(name: str, **spec: Any) -> dict[str, Any]:
    return manifest("TLSContext", name, spec)


def common(chain: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = chain["transport_socket"]["typed_config"]["common_tls_context"]
    return found


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ({}, "a certificate (tls.crt) in base64 is needed, and not there; its key (tls.key) in base64 is needed"),
        ({"tls.crt": True, "tls.key": "-----BEGIN"}, "tls.key is not base64"),
        ({"tls.key": True, "tls.crt": "-----BEGIN"}, "tls.crt is not base64"),
        ({"tls.crt": True}, "its key (tls.key) in base64 is needed"),
    ],
)
async def test_a_part_that_is_missing_or_not_base64_is_named(pems: Pems, data: dict[str, Any], shown: str) -> None:
    wrong = pems.secret()
    wrong["data"] = {key: wrong["data"][key] if given is True else given for key, given in data.items()}
    gate = await MemoryGateway().apply(wrong, https(), tls_host("shop", "shop.example"))
    (found,) = [problem for problem in gate.service.problems if problem.kind == "secret"]
    assert found.message.startswith(shown)


async def test_nothing_of_a_secret_stands_in_a_problem(pems: Pems) -> None:
    wrong = secret("cert", tls_crt=b"MY-CERTIFICATE", tls_key=b"MY-KEY")
    gate = await MemoryGateway().apply(wrong, https(), tls_host("shop", "shop.example"))
    assert not any("MY-" in problem.message for problem in gate.service.problems)


async def test_a_closed_host_is_not_served_by_a_worse_name(pems: Pems) -> None:
    gate = await MemoryGateway().apply(
        pems.secret(), https(), tls_host("all", "*"), tls_host("shop", "*.example", "missing")
    )
    assert "gate/https|tls:*.example" not in gate.virtual_hosts()


async def test_a_secret_may_lie_in_another_namespace(pems: Pems) -> None:
    reference = {"name": "cert", "namespace": "vault"}
    gate = await MemoryGateway().apply(pems.secret(namespace="vault"), https(), host("shop", "*", tlsSecret=reference))
    assert list(gate.elements("envoy_secret")) == ["vault:cert|tls"]


async def test_the_fallback_certificate_is_for_the_listeners_of_its_namespace_alone(pems: Pems) -> None:
    other = {**https(), "metadata": {"name": "other", "namespace": "elsewhere"}}
    other["spec"] = {**other["spec"], "port": 9443}
    gate = await MemoryGateway().apply(https(), other, pems.secret("fallback-self-signed-cert"))
    assert sorted(gate.virtual_hosts()) == ["elsewhere/other|cleartext:*", "gate/https|cleartext:*", "gate/https|tls:*"]


async def test_a_context_of_another_gateway_is_none_of_ours(pems: Pems) -> None:
    theirs = context("strict", secret="cert", ambassador_id=["other"])
    gate = await MemoryGateway().apply(pems.secret(), theirs, https(), host("shop", "*", tlsContext={"name": "strict"}))
    assert gate.problems() == [("host", "gate:shop", "NoTLSContext")]


async def test_every_reader_of_contexts_and_listeners_is_in_the_reaction_map(pems: Pems) -> None:
    settings = context("shop-context", secret="cert")
    gate = await MemoryGateway().apply(pems.secret(), settings, https(), https("later"), tls_host("shop", "*"))
    await gate.service.update(context("shop-context", secret="cert", min_tls_version="v1.2"))
    await gate.service.delete(https())
    assert common(gate.chains("gate/later")[0])["tls_params"] == {"tls_minimum_protocol_version": "TLSv1_2"}
    assert gate.service.offline.engine.evaluator.missing_reactions == {}


@pytest.mark.parametrize(
    ("settings", "spec", "reason"),
    [
        (None, {"tlsContext": {"name": "none"}}, "NoTLSContext"),
        ({"secret": "other"}, {"tlsContext": {"name": "given"}, "tlsSecret": {"name": "cert"}}, "TLSContextMismatch"),
        ({"secret": "cert", "hosts": ["else"]}, {"tlsContext": {"name": "given"}}, "TLSContextMismatch"),
        ({"min_tls_version": "v1.3"}, {"tlsContext": {"name": "given"}}, "InvalidTLS"),
        ({"secret": "cert"}, {"tlsContext": {"name": "given"}, "tls": {"cert_required": True}}, "InvalidTLS"),
        (None, {"tls": {"min_tls_version": "v1.2"}}, "InvalidTLS"),
        (None, {"tls": {"cert_chain_file": "/cert"}, "tlsSecret": {"name": "cert"}}, "Unsupported"),
        (None, {"tls": {"cert_required": True}, "tlsSecret": {"name": "cert"}}, "InvalidTLS"),
        (None, {"tls": {"cipher_suites": ["ROT13"]}, "tlsSecret": {"name": "cert"}}, "InvalidTLS"),
        (None, {"tls": {"ecdh_curves": ["P-1"]}, "tlsSecret": {"name": "cert"}}, "InvalidTLS"),
        (None, {"tls": {"ca_secret": "none"}, "tlsSecret": {"name": "cert"}}, "NoSecret"),
    ],
)
async def test_tls_that_cannot_be_spoken_closes_the_host(
    pems: Pems, settings: dict[str, Any] | None, spec: dict[str, Any], reason: str
) -> None:
    contexts = [context("given", **settings)] if settings is not None else []
    gate = await MemoryGateway().apply(pems.secret(), *contexts, https(), host("shop", "shop.example", **spec))
    assert ("host", "gate:shop", reason) in gate.problems()
    assert list(gate.virtual_hosts()) == ["gate/https|cleartext:shop.example"]


async def test_names_that_tls_clients_cant_be_distinguished_by_are_closed(pems: Pems) -> None:
    for hostname in ("shop.*", "*-eu.example"):
        gate = await MemoryGateway().apply(pems.secret(), https(), tls_host("shop", hostname))
        assert gate.problems() == [("host", "gate:shop", "Unsupported")]
        assert list(gate.virtual_hosts()) == [f"gate/https|cleartext:{hostname}"]


async def test_a_host_that_requires_certificates_has_routes_that_nobody_else_reaches(pems: Pems) -> None:
    guarded = tls_host("guarded", "a.example", tls={"cert_required": True, "ca_secret": "ca"})
    gate = await MemoryGateway().apply(
        pems.secret(), secret("ca", tls_crt=pems.authority), https(), guarded, tls_host("all", "*")
    )
    first, *_ = gate.chains("gate/https")
    assert first["transport_socket"]["typed_config"]["require_client_certificate"] is True
    assert common(first)["validation_context_sds_secret_config"]["name"] == "gate:ca|ca"
    assert gate.elements("envoy_secret")["gate:ca|ca"]["config"]["validation_context"] == {
        "trusted_ca": {"inline_bytes": base64.b64encode(pems.authority).decode()}
    }
    assert sorted(name for name in gate.virtual_hosts() if "|tls" in name) == [
        "gate/https|tls:*",
        "gate/https|tls|gate:guarded:a.example",
    ]


async def test_revoked_certificates_are_rejected(pems: Pems) -> None:
    guarded = tls_host("guarded", "*", tls={"cert_required": True, "ca_secret": "ca", "crl_secret": "crl"})
    revoked = secret("crl", crl_pem=pems.revoked)
    gate = await MemoryGateway().apply(pems.secret(), secret("ca", tls_crt=pems.authority), revoked, https(), guarded)
    assert gate.problems() == []
    config = gate.elements("envoy_secret")["gate:ca|ca|gate:crl"]["config"]
    assert config["validation_context"]["crl"] == {"inline_bytes": base64.b64encode(pems.revoked).decode()}


async def test_a_dot_may_be_part_of_a_secrets_name(pems: Pems) -> None:
    """docs/ambassador.md §5.1, for Secrets: names are not cut at dots."""
    gate = await MemoryGateway().apply(
        pems.secret("my.cert"), pems.secret("my", "cert"), https(), tls_host("shop", "*", "my.cert")
    )
    assert list(gate.elements("envoy_secret")) == ["gate:my.cert|tls"]


async def test_a_thousand_certificates_are_not_too_much_for_one_listener(pems: Pems) -> None:
    """Chains that differ by their certificates alone share their filters in etcd; the xDS server sees them whole."""
    hosts = [tls_host(f"h{number}", f"h{number}.example", f"s{number}") for number in range(40)]
    gate = await MemoryGateway().apply(https(), *(pems.secret(f"s{number}") for number in range(40)), *hosts)
    stored = gate.elements("envoy_listener")["gate/https"]
    assert len(stored["shared_filters"]) == 2  # by TLS, and in clear text
    assert len(msgspec.json.encode(stored)) / 41 < 700
    value = msgspec.json.encode({"fq_name": ["gate/https"], **stored})
    whole = decode_element(Change("envoy_listener", "uuid", value, 1, 1)).config["filter_chains"]
    assert route_configurations(whole) == ["gate/https|tls"] * 40 + ["gate/https|cleartext"]


@pytest.mark.parametrize(
    "tls",
    [
        {"cipher_suites": ["[[AES128-SHA]]"]},
        {"cipher_suites": ["[AES128-SHA"]},
        {"cipher_suites": ["AES128-SHA|AES256-SHA"]},
        {"alpn_protocols": "a" * 256},
        {"alpn_protocols": ",".join(f"{number:0250}" for number in range(270))},
    ],
    ids=lambda tls: str(tls)[:50],
)
async def test_what_envoy_takes_in_no_handshake_leaves_its_host_alone_without_tls(
    pems: Pems, tls: dict[str, Any]
) -> None:
    odd = tls_host("odd", "odd.example", tls=tls)
    gate = await MemoryGateway().apply(pems.secret(), https(), odd, tls_host("shop", "shop.example"))
    assert gate.chains("gate/https")[0]["filter_chain_match"]["server_names"] == ["shop.example"]
    assert gate.problems() == [("host", "gate:odd", "InvalidTLS")]


async def test_a_certificate_that_can_not_be_used_any_more_is_not_sent(
    pems: Pems, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the Secret's own evaluation can't say so: what is sent is judged itself."""
    gate = await MemoryGateway().apply(pems.secret(), https(), tls_host("shop", "shop.example"))

    def held(self: SecretIntent, ctx: Any) -> Any:
        raise IndexError

    monkeypatch.setattr(SecretIntent, "evaluate", held)
    await gate.service.update(secret("cert", tls_crt=b"no certificate", tls_key=pems.key))
    assert ("secret", "gate:cert", "InvalidSecret") in gate.problems()
    assert gate.elements("envoy_secret") == {}
