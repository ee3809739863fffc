"""Envoy's TLS settings towards upstreams: the counterpart of ``tls.py``, with which it shares parts."""

from __future__ import annotations

from typing import Any

from ..tls.secret_state import authority_name, certificate_name
from ..tls.tls_settings import TLSSettings
from .tls import secret_by_ads, tls_parameters


def upstream_tls(settings: TLSSettings, server_name: str, grpc: bool) -> dict[str, Any]:
    """The transport socket ``{name, typed_config}`` of a cluster with TLS.

    ``settings``: those of the TLSContext. Without one they are the defaults, which accept any certificate, as
    Ambassador does. ``server_name``: the name in the handshake (SNI), empty for none.
    """
    common: dict[str, Any] = {}
    if settings.secret:
        common["tls_certificate_sds_secret_configs"] = [secret_by_ads(certificate_name(settings.secret))]
    if settings.authority:
        name = authority_name(settings.authority, settings.revoked)
        common["validation_context_sds_secret_config"] = secret_by_ads(name)
    protocols = settings.protocols or (("h2",) if grpc else ())
    if protocols:
        common["alpn_protocols"] = list(protocols)
    parameters = tls_parameters(settings)
    if parameters:
        common["tls_params"] = parameters
    context: dict[str, Any] = {
        "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
        "common_tls_context": common,
    }
    if server_name:
        context["sni"] = server_name
    return {"name": "envoy.transport_sockets.tls", "typed_config": context}
