"""Certificates: which Secret serves a host name, and whether it can; and the names that no Ingress serves in the clear
(docs/appgw.md §6.5).

No message contains any part of a Secret. An Ingress says with facts which names it has in ``tls``, even while it has no
part in the gateway; the sites on ports without TLS look them up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from intentc import Context, Fact, View
from intentc.model.tls_secrets import TLS_TYPE, Misfit, certificate_sizes, content

from .annotations import Annotations
from .sites import names_of
from .sub_resource_names import Owner

_IGNORED = ("kube-system", "kube-public")
_MOST_BYTES = 16 * 1024
"""What Azure takes of a certificate with its chain."""
_MISFITS = {
    Misfit.CERTIFICATE: "tls.crt is not a certificate as PEM",
    Misfit.KEY: "tls.key is not a private key as PEM without a password",
    Misfit.PAIR: "tls.key is not the key of the certificate in tls.crt",
}
CHALLENGE_PATH = "/.well-known/acme-challenge/"
"""Requests below this path are answered in the clear, so that a first certificate can be had."""


class Wrong(NamedTuple):
    """Why a Secret can't serve. ``reason``: SecretNotFound or SecretInvalid."""

    reason: str
    message: str


def entry_for(entries: Iterable[Any], name: str) -> Any:
    """The ``tls`` entry of an Ingress that covers ``name`` (lower case, empty for all names), or None."""
    listed = [(entry, [host.lower() for host in entry.hosts]) for entry in entries]
    parent = f"*.{name.partition('.')[2]}" if "." in name else name
    for wanted in filter(None, (name, parent)):
        for entry, hosts in listed:
            if wanted in hosts:
                return entry
    return next((entry for entry, hosts in listed if not hosts or "" in hosts), None)


def wrong_with(namespace: str, name: str, secret: Any) -> Wrong | None:
    """Why the Secret can't serve; None if it can. ``secret``: None if there is none."""
    shown = f"{namespace}:{name}"
    if not name:
        return Wrong("SecretNotFound", "the entry in tls has no secretName; name a Secret of type kubernetes.io/tls")
    if secret is None or namespace in _IGNORED:
        return Wrong("SecretNotFound", f"there is no Secret {shown}; create it, with type {TLS_TYPE}")
    if secret.type != TLS_TYPE:
        return Wrong("SecretNotFound", f"Secret {shown} is not of type {TLS_TYPE}; create one that is")
    chain, key = content(secret, "tls.crt"), content(secret, "tls.key")
    message = _wrong_content(chain, key)
    return Wrong("SecretInvalid", f"Secret {shown}: {message}") if message else None


def digest(secret: Any) -> str:
    """A hash of the certificate and key in a Secret (64 hexadecimal digits), by which a change of them is seen."""
    chain, key = content(secret, "tls.crt"), content(secret, "tls.key")
    return hashlib.sha256(b"%d:%s%d:%s" % (len(chain), chain, len(key), key)).hexdigest()


def _wrong_content(chain: bytes, key: bytes) -> str:
    sizes = certificate_sizes(chain, key)
    if isinstance(sizes, Misfit):
        return _MISFITS[sizes]
    # The archive that Azure gets is larger than what is in it.
    size = sum(sizes)
    if size > _MOST_BYTES:
        return f"tls.crt has {len(sizes)} certificates of {size} bytes, and Azure takes {_MOST_BYTES}; remove some"
    return ""


COVERED = "appgw_covered"


def covered_names(ingress: View, annotations: Annotations, owner: Owner) -> Iterator[Fact]:
    """A fact for each name that ``tls`` lists, and for each name of a rule that an entry covers."""
    found = {host.lower() for entry in ingress.tls for host in entry.hosts if host}
    for host in [rule.host for rule in ingress.rules] or [""]:
        names, invalid = names_of(host, annotations.hostname_extension)
        for name in names or (() if invalid else ("",)):
            if entry_for(ingress.tls, name) or (host and entry_for(ingress.tls, host.lower())):
                found.add(name)
    yield from (Fact(COVERED, _key(name), owner) for name in sorted(found))


def covering_owner(ctx: Context, name: str) -> Owner | None:
    """The first Ingress that has ``name``, or all names of its domain (``*.``), in ``tls``; None if there is none."""
    wanted = {name, f"*.{name.partition('.')[2]}"} if "." in name else {name}
    found: list[Owner] = [value for one in sorted(wanted) for _, value in ctx.contributions(COVERED, _key(one))]
    return min(found, default=None)


def _key(name: str) -> str:
    return f"name|{name}"
