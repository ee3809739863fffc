"""Envoy's TLS settings towards clients and upstreams, and its secrets.

Certificates come by SDS from the aggregated stream, as bytes in base64, never from a file.
"""

from __future__ import annotations

from typing import Any

from ..tls_context import TLSSettings, authority_name, certificate_name
from . import present

_VERSIONS = {"v1.0": "TLSv1_0", "v1.1": "TLSv1_1", "v1.2": "TLSv1_2", "v1.3": "TLSv1_3"}


def secret_by_ads(name: str) -> dict[str, Any]:
    """An ``SdsSecretConfig``: the secret of this name, from the aggregated stream."""
    return {"name": name, "sds_config": {"ads": {}, "resource_api_version": "V3"}}


def downstream_tls(settings: TLSSettings) -> dict[str, Any]:
    """The transport socket ``{name, typed_config}`` of a filter chain that terminates TLS."""
    context: dict[str, Any] = {
        "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
        "common_tls_context": _common(settings, settings.protocols),
        **present(require_client_certificate=settings.required),
    }
    return {"name": "envoy.transport_sockets.tls", "typed_config": context}


def _common(settings: TLSSettings, protocols: tuple[str, ...]) -> dict[str, Any]:
    authority = settings.authority and authority_name(settings.authority, settings.revoked)
    return present(
        tls_certificate_sds_secret_configs=settings.secret and [secret_by_ads(certificate_name(settings.secret))],
        validation_context_sds_secret_config=authority and secret_by_ads(authority),
        alpn_protocols=list(protocols),
        tls_params=tls_parameters(settings),
    )


def tls_parameters(settings: TLSSettings) -> dict[str, Any]:
    """Versions, cipher suites and curves; those that are not set are omitted."""
    return present(
        tls_minimum_protocol_version=_VERSIONS.get(settings.minimum),
        tls_maximum_protocol_version=_VERSIONS.get(settings.maximum),
        cipher_suites=list(settings.cipher_suites),
        ecdh_curves=list(settings.curves),
    )


def upstream_tls(settings: TLSSettings, server_name: str, grpc: bool) -> dict[str, Any]:
    """The transport socket ``{name, typed_config}`` of a cluster with TLS.

    ``settings``: those of the TLSContext. Without one they are the defaults, which accept any certificate, as
    Ambassador does. ``server_name``: the name in the handshake (SNI), empty for none.
    """
    context: dict[str, Any] = {
        "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
        "common_tls_context": _common(settings, settings.protocols or (("h2",) if grpc else ())),
        **present(sni=server_name),
    }
    return {"name": "envoy.transport_sockets.tls", "typed_config": context}


def certificate(name: str, chain: str, key: str) -> dict[str, Any]:
    """A certificate chain with its private key, each PEM in base64."""
    return {
        "name": name,
        "tls_certificate": {"certificate_chain": {"inline_bytes": chain}, "private_key": {"inline_bytes": key}},
    }


def validation(name: str, authority: str, revoked: str = "") -> dict[str, Any]:
    """How peers' certificates are verified: by which authority, and optionally against which revocation list; PEM in
    base64."""
    context = {"trusted_ca": {"inline_bytes": authority}, **present(crl=revoked and {"inline_bytes": revoked})}
    return {"name": name, "validation_context": context}
