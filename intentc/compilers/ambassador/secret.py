"""A Secret yields whether its parts are usable (fact ``secret_state``), and becomes an Envoy secret while it is used.

Certificates, keys and revocation lists leave a Secret only in an ``envoy_secret``, whose configuration is sensitive.
Facts and problems contain only what is wrong with them: with labels of PEM blocks, and a key's length. A Secret has the
keys of Kubernetes (``tls.crt``, ``tls.key``), of Istio, or of Ambassador (docs/ambassador.md §4.3).
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from intentc import Claim, Context, Fact, Intent, Source, View
from intentc.model.tls_secrets import content

from .envoy.tls_sockets import certificate, validation
from .envoy_elements import element
from .reasons import used_clusters as reasons
from .tls_context import PARTS, SecretState

_CHAIN = ("tls.crt", "cert-chain.pem")
_KEY = ("tls.key", "key.pem")
_AUTHORITY = ("root-cert.pem", "tls.crt", "cert-chain.pem", "ca.crt")
_REVOKED = ("crl.pem",)


class SecretIntent(Intent):
    """Reports nothing on the Secret: most Secrets of a cluster don't belong to the gateway."""

    kind = "secret"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        state = SecretState(**{part: _wrong_with(self, part) for part in PARTS})
        yield Fact("secret_state", ":".join(self.fq_name), state)


class SecretUseIntent(Intent):
    """What Envoy requests by one name (``secret_state.certificate_name``, ``authority_name``), while it is used."""

    kind = "secret_use"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        secret, part, *revoked = self.uuid.split("|")
        wanted = [(secret, part), *((one, "crl") for one in revoked)]
        found: list[View] = []
        for name, needed in wanted:
            view = ctx.find("secret", tuple(name.split(":", 1)))
            if view is None:
                continue
            # Check what is sent: the fact of the Secret may still describe an earlier version of it.
            if wrong := _wrong_with(view, needed):
                ctx.problem_on("secret", name, "InvalidSecret", f"{wrong}. Until it is fixed it is not served")
                continue
            found.append(view)
        if len(found) < len(wanted):
            return
        if part == "tls":
            config = certificate(self.uuid, _encoded(found[0], _CHAIN), _encoded(found[0], _KEY))
        else:
            config = validation(
                self.uuid, _encoded(found[0], _AUTHORITY), *(_encoded(one, _REVOKED) for one in found[1:])
            )
        origins = [Source("secret", name) for name, _ in wanted]
        yield element(
            self, ctx, "envoy_secret", (self.uuid,), config, origins, why=lambda: reasons.secret(ctx, self.uuid)
        )


def _wrong_with(secret: View, part: str) -> str:
    """What is wrong with a Secret that is used for ``part`` (tls, ca or crl); empty if nothing is."""
    key = _Content()
    if part == "tls":
        found, key = _content(secret, _CHAIN), _content(secret, _KEY)
        missing = "; ".join(filter(None, (_missing(found, "a certificate", _CHAIN), _missing(key, "its key", _KEY))))
    elif part == "ca":
        found = _content(secret, _AUTHORITY)
        missing = _missing(found, "a certificate authority", _AUTHORITY[1:])
    else:
        found = _content(secret, _REVOKED)
        missing = _missing(found, "a list of revoked certificates", _REVOKED)
    if missing:
        return missing
    # Imported here, so that commands without TLS don't load ``cryptography``.
    from .pem_checks import wrong_with_authority, wrong_with_certificate, wrong_with_revocations

    if part == "tls":
        return wrong_with_certificate(found.content, key.content)
    if part == "ca":
        wrong = wrong_with_authority(found.content)
        # An authority may be under one of several keys.
        return f"{wrong} ({found.key})" if wrong else ""
    return wrong_with_revocations(found.content)


class _Content(NamedTuple):
    """The content of ``key``, the first of the wanted keys that the Secret has; empty if it is not base64. ``key`` is
    empty if the Secret has none of them."""

    key: str = ""
    content: bytes = b""


def _missing(found: _Content, what: str, keys: Sequence[str]) -> str:
    if found.content:
        return ""
    return f"{found.key} is not base64" if found.key else f"{what} ({keys[0]}) in base64 is needed, and not there"


def _content(secret: View, keys: Iterable[str]) -> _Content:
    for key in keys:
        if any(isinstance(text, str) and text for text in (secret.stringData.get(key), secret.data.get(key))):
            return _Content(key, content(secret, key))
    return _Content()


def _encoded(secret: View, keys: Iterable[str]) -> str:
    """The content in base64, as Envoy's JSON has bytes."""
    return base64.b64encode(_content(secret, keys).content).decode()
