"""TLS settings of TLSContexts and Hosts, towards clients and upstreams, and the Secrets that they need
(docs/ambassador.md §4.3).

Envoy gets two sorts of secrets: ``tls`` (a certificate chain with its key) and ``ca`` (who signs peers' certificates,
and optionally ``crl``, which are revoked: that list may be in another Secret).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from intentc import Claim, Context, Fact, Intent, View

from .this_gateway import Unusable, gateway_namespace, ours, report_variables

VERSIONS = ("v1.0", "v1.1", "v1.2", "v1.3")
CIPHER_SUITES = frozenset(
    f"{exchange}-{cipher}"
    for exchange in ("ECDHE-ECDSA", "ECDHE-RSA")
    for cipher in ("AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305", "AES128-SHA", "AES256-SHA")
) | {"AES128-GCM-SHA256", "AES256-GCM-SHA384", "AES128-SHA", "AES256-SHA"}
"""Suites that Envoy 1.40 accepts for TLS up to 1.2, in addition to groups such as ``[ECDHE-RSA-AES128-GCM-SHA256|…]``.
"""
_GROUP = re.compile(r"\[([^\[\]]*)\]")
CURVES = frozenset({"X25519", "P-256", "P-384", "P-521", "X25519MLKEM768"})
_LONGEST_NAME = 255
"""Bytes, of a protocol or a server name in the TLS handshake."""
_LONGEST_PROTOCOLS = 65535
"""Bytes, of all protocols with one byte for the length of each."""
_FILES = ("cert_chain_file", "private_key_file", "cacert_chain_file", "crl_file")


class TLSSettings(msgspec.Struct, frozen=True, order=True):
    """TLS towards clients or an upstream. Secrets by their names, ``namespace:name``, empty if there is none.

    ``authority`` verifies the peers' certificates, ``revoked`` lists those that are invalid; ``required``: clients need
    a certificate. Versions as in ``VERSIONS``, empty for Envoy's default.
    """

    secret: str = ""
    authority: str = ""
    revoked: str = ""
    required: bool = False
    minimum: str = ""
    maximum: str = ""
    cipher_suites: tuple[str, ...] = ()
    curves: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ()


def tls_settings(fields: Any, ctx: Context, namespace: str, secret: str = "", split: bool = True) -> TLSSettings:
    """The settings in ``fields``: the view of a TLSContext, or the struct of ``tls`` of a Host. Raises ``Unusable``.

    ``secret``: the name of the server's Secret (``namespace:name``), if it is not the TLSContext's own. ``split``:
    whether ``name.namespace`` may name a Secret of another namespace.
    """
    for name in _FILES:
        if getattr(fields, name):
            message = f"{name}: certificates and keys are not read from files; put them in a Secret and name that"
            raise Unusable("Unsupported", message)
    settings = TLSSettings(
        secret=secret,
        authority=secret_named(ctx, fields.ca_secret, namespace, split),
        revoked=secret_named(ctx, fields.crl_secret, namespace, split),
        required=fields.cert_required,
        minimum=fields.min_tls_version,
        maximum=fields.max_tls_version,
        cipher_suites=tuple(fields.cipher_suites),
        # Envoy rejects a duplicate curve; once means the same.
        curves=tuple(dict.fromkeys(fields.ecdh_curves)),
        protocols=tuple(one.strip() for one in fields.alpn_protocols.split(",") if one.strip()),
    )
    _check(settings)
    return settings


def secret_named(ctx: Context, name: str, namespace: str, split: bool = True) -> str:
    """``namespace:name`` of the Secret that a resource of ``namespace`` calls ``name``.

    It is in the resource's own namespace, or, if there is none and ``split`` is set, ``name.namespace`` in another.
    Empty for an empty name.
    """
    if not name:
        return ""
    first, dot, other = name.rpartition(".")
    if dot and split and first and other and not ctx.contributed("secret_state", f"{namespace}:{name}"):
        return f"{other}:{first}"
    return f"{namespace}:{name}"


def check_server_name(name: str, field: str) -> None:
    """Checks that a TLS handshake can request ``name``. Raises ``Unusable``."""
    if len(name.encode()) > _LONGEST_NAME or not name.isprintable():
        message = f"{field} {name[:40]!r} is not a server name; a name has at most {_LONGEST_NAME} characters"
        raise Unusable("InvalidTLS", message)


def _check(settings: TLSSettings) -> None:
    for version in (settings.minimum, settings.maximum):
        if version and version not in VERSIONS:
            raise Unusable("InvalidTLS", f"{version!r} is not a version of TLS; there are {', '.join(VERSIONS)}")
    if settings.minimum and settings.maximum and settings.minimum > settings.maximum:
        message = f"min_tls_version {settings.minimum} is above max_tls_version {settings.maximum}"
        raise Unusable("InvalidTLS", message)
    # Suites in brackets are of equal rank (``[a|b]``).
    groups = ((given, _GROUP.fullmatch(given)) for given in settings.cipher_suites)
    for suite in (one for given, group in groups for one in (group[1].split("|") if group else (given,))):
        if suite not in CIPHER_SUITES:
            message = f"cipher suite {suite!r} is not known to Envoy; there are {', '.join(sorted(CIPHER_SUITES))}"
            raise Unusable("InvalidTLS", message)
    for curve in settings.curves:
        if curve not in CURVES:
            message = f"curve {curve!r} is not known to Envoy; there are {', '.join(sorted(CURVES))}"
            raise Unusable("InvalidTLS", message)
    for protocol in settings.protocols:
        if len(protocol.encode()) > _LONGEST_NAME or not protocol.isprintable():
            message = f"alpn_protocols: {protocol[:40]!r} is not a protocol; its name has at most {_LONGEST_NAME} bytes"
            raise Unusable("InvalidTLS", message)
    if sum(len(protocol.encode()) + 1 for protocol in settings.protocols) > _LONGEST_PROTOCOLS:
        raise Unusable("InvalidTLS", "alpn_protocols: there are more than a handshake holds; name fewer")
    if settings.required and not settings.authority:
        message = "cert_required is set, but nothing says who signs clients' certificates; name a Secret in ca_secret"
        raise Unusable("InvalidTLS", message)
    if settings.revoked and not settings.authority:
        message = "crl_secret is set, but nothing says who signs clients' certificates; name a Secret in ca_secret"
        raise Unusable("InvalidTLS", message)


def secret_of(ctx: Context, context: View) -> str:
    """``namespace:name`` of the Secret with a TLSContext's own certificate, empty if it names none."""
    return secret_named(ctx, context.secret, context.fq_name[0], context.secret_namespacing)


def context_settings(ctx: Context, context: View, secret: str) -> TLSSettings:
    """The settings of a TLSContext, with ``secret`` as its certificate. Raises ``Unusable``."""
    try:
        return tls_settings(context, ctx, context.fq_name[0], secret, context.secret_namespacing)
    except Unusable as unusable:
        about = ":".join(context.fq_name)
        raise Unusable("InvalidTLSContext", f"TLSContext {about}: {unusable.message}") from None


def context_named(ctx: Context, name: str, namespace: str) -> View | None:
    """The TLSContext of this gateway that a resource of ``namespace`` calls ``name``, None if there is none.

    It is in the resource's own namespace, or ``name.namespace``, or in the gateway's namespace, or the only one of this
    name anywhere. Raises ``Unusable`` (``AmbiguousTLSContext``) if there are several: it does not guess.
    """
    first, dot, other = name.rpartition(".")
    qualified = [(other, first)] if dot else []
    for place in ((namespace, name), *qualified, (gateway_namespace(ctx), name)):
        found = ctx.find("tls_context", place)
        if found is not None and ours(found, ctx):
            return found
    everywhere = [view for view in ctx.select("tls_context", "name", name) if view.name == name and ours(view, ctx)]
    if len(everywhere) > 1:
        which = ", ".join(":".join(view.fq_name) for view in everywhere)
        message = f"there are several TLSContexts {name}: {which}; write which is meant, as name.namespace"
        raise Unusable("AmbiguousTLSContext", message)
    return everywhere[0] if everywhere else None


class TLSContextIntent(Intent):
    kind = "tls_context"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        if not ours(self, ctx):
            return ()
        report_variables(self, ctx)
        try:
            tls_settings(self, ctx, self.fq_name[0], secret_of(ctx, self), self.secret_namespacing)
            check_server_name(self.sni, "sni")
        except Unusable as unusable:
            ctx.problem(unusable.reason, f"{unusable.message}; resources that name it get no TLS from it")
        if self.redirect_cleartext_from:
            ctx.problem(
                "Unsupported",
                "redirect_cleartext_from has no effect; use requestPolicy.insecure of a Host, and a Listener",
            )
        return ()


class SecretState(msgspec.Struct, frozen=True):
    """What is wrong with a Secret (fact ``secret_state``), for each possible use; empty: nothing. It contains no
    secrets."""

    tls: str = ""
    ca: str = ""
    crl: str = ""


PARTS = SecretState.__struct_fields__
"""The possible uses of a Secret."""


class Use(NamedTuple):
    """The Secret ``secret`` (namespace:name) is used for ``part``: tls, ca, or crl."""

    secret: str
    part: str


def secret_uses(settings: TLSSettings) -> tuple[Use, ...]:
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


def names(settings: TLSSettings | None) -> tuple[str, ...]:
    """The names of the facts ``secret_use`` for TLS with ``settings``; none for clear text."""
    if settings is None:
        return ()
    found = [certificate_name(settings.secret)] if settings.secret else []
    if settings.authority:
        found.append(authority_name(settings.authority, settings.revoked))
    return tuple(found)
