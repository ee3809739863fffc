"""What a Secret can be used for, which ones TLS settings need, and by which names Envoy requests them: typed values.

Envoy gets two sorts of secrets: ``tls`` (a certificate chain with its key) and ``ca`` (who signs peers' certificates,
and optionally ``crl``, which are revoked: that list may be in another Secret).
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from .tls_context import TLSSettings


class SecretState(msgspec.Struct, frozen=True):
    """What is wrong with a Secret (fact ``secret_state``), for each possible use; empty: nothing. It contains no
    secrets."""

    tls: str = ""
    ca: str = ""
    crl: str = ""

    def wrong_with(self, part: str) -> str:
        """``part``: one of ``PARTS``."""
        wrong: str = getattr(self, part)
        return wrong


PARTS = SecretState.__struct_fields__
"""The possible uses of a Secret."""


class Use(NamedTuple):
    """The Secret ``secret`` (namespace:name) is used for ``part``: tls, ca, or crl."""

    secret: str
    part: str


def secret_uses(settings: TLSSettings) -> tuple[Use, ...]:
    """The Secrets that ``settings`` need."""
    wanted = (Use(settings.secret, "tls"), Use(settings.authority, "ca"), Use(settings.revoked, "crl"))
    return tuple(use for use in wanted if use.secret)


def certificate_name(secret: str) -> str:
    """The name by which Envoy asks for the certificate and key in ``secret`` (namespace:name)."""
    return f"{secret}|tls"


def authority_name(secret: str, revoked: str = "") -> str:
    """The name by which Envoy requests what verifies peers.

    ``secret`` holds the authority, ``revoked`` the revocation list, if any (both namespace:name).
    """
    return f"{secret}|ca|{revoked}" if revoked else f"{secret}|ca"


def secrets_in(name: str) -> tuple[str, ...]:
    """The Secrets (namespace:name) whose content Envoy gets under ``name``."""
    secret, _, *revoked = name.split("|")
    return (secret, *revoked)


def names(settings: TLSSettings) -> tuple[str, ...]:
    """The names of the facts ``secret_use`` for TLS with ``settings``."""
    found = [certificate_name(settings.secret)] if settings.secret else []
    if settings.authority:
        found.append(authority_name(settings.authority, settings.revoked))
    return tuple(found)
