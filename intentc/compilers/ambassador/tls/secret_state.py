"""What is in a Secret, and who uses it, as typed values; names of the secrets that Envoy asks for by SDS.

A Secret is used for one of two parts: ``tls`` (a certificate chain with its key) or ``ca`` (who signs peers'
certificates, and, if wanted, which of them are revoked: that list may stand in another Secret). Whoever uses one
contributes the fact ``secret_use`` with the name from here, and refers to the same name in its configuration.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from .tls_settings import TLSSettings


class SecretState(msgspec.Struct, frozen=True):
    """What is wrong with a Secret (fact ``secret_state``), for each part that it can be used for; empty: nothing. It
    holds nothing of what is secret."""

    tls: str = ""
    ca: str = ""
    crl: str = ""

    def wrong_with(self, part: str) -> str:
        """``part``: one of ``PARTS``."""
        wrong: str = getattr(self, part)
        return wrong


PARTS = SecretState.__struct_fields__
"""What a Secret can be used for."""


class Use(NamedTuple):
    """That the Secret ``secret`` (namespace:name) is used for ``part``: tls, ca, or crl."""

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
    """The name by which Envoy asks for what peers are verified by: the authority in ``secret``, and the list of revoked
    certificates in ``revoked``, if any (both namespace:name)."""
    return f"{secret}|ca|{revoked}" if revoked else f"{secret}|ca"


def secrets_in(name: str) -> tuple[str, ...]:
    """The Secrets (namespace:name) of which Envoy gets something under such a name."""
    secret, _, *revoked = name.split("|")
    return (secret, *revoked)


def names(settings: TLSSettings) -> tuple[str, ...]:
    """The names of the facts ``secret_use`` for whoever speaks TLS with ``settings``."""
    found = [certificate_name(settings.secret)] if settings.secret else []
    if settings.authority:
        found.append(authority_name(settings.authority, settings.revoked))
    return tuple(found)
