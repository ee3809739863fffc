"""Envoy's secrets (``envoy.extensions.transport_sockets.tls.v3.Secret``): bytes inline, in base64, never a file."""

from __future__ import annotations

from typing import Any


def certificate(name: str, chain: str, key: str) -> dict[str, Any]:
    """A certificate chain with its private key, each PEM in base64."""
    return {
        "name": name,
        "tls_certificate": {"certificate_chain": {"inline_bytes": chain}, "private_key": {"inline_bytes": key}},
    }


def validation(name: str, authority: str, revoked: str = "") -> dict[str, Any]:
    """How peers' certificates are verified: by which authority, and optionally against which revocation list; PEM in
    base64."""
    context: dict[str, Any] = {"trusted_ca": {"inline_bytes": authority}}
    if revoked:
        context["crl"] = {"inline_bytes": revoked}
    return {"name": name, "validation_context": context}
