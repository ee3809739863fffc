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
    """What peers' certificates are verified by: who signs them, and, if wanted, which are revoked; PEM in base64."""
    context: dict[str, Any] = {"trusted_ca": {"inline_bytes": authority}}
    if revoked:
        context["crl"] = {"inline_bytes": revoked}
    return {"name": name, "validation_context": context}
