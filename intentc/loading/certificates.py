"""Reads from PEM files until when certificates are valid, and says which ones have expired or soon will.

A server reports an expired certificate as one that it does not trust, hours after a start that showed nothing.
``check`` and the start reject an expired one and warn of one that expires soon; metrics show the times.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from intentc.model import InvalidInput
from intentc.model.files import Stamp, read_regular, stamps

from .configuration import Configuration, FilePath

_LARGEST = 4_000_000
"""Bytes of a file: bundles of all public authorities have a tenth of that."""
_SOON = 30 * 86400.0
"""Seconds before the end from which on a warning is given."""
_SHARE = 3
"""Divisor of the lifetime: no warning before its last third. Certificates that live for a day are renewed each day."""


class Validity(NamedTuple):
    """From when and until when a certificate is valid, in seconds since 1970."""

    begins: float
    ends: float


class File(NamedTuple):
    """A file with certificates. ``is_bundle``: of authorities, of which one is enough; otherwise a chain, which ends
    with its first certificate that expires."""

    path: FilePath
    is_bundle: bool


def certificate_files(configuration: Configuration) -> Iterator[File]:
    """The files with certificates that a configuration uses."""
    own = configuration.intentc.diagnostics.tls
    server = configuration.server.tls
    found = [File(own.cert, False), File(own.client_cert, False), File(own.client_ca, True), File(own.ca, True)]
    for client in (configuration.etcd.tls, configuration.client.tls):
        if client.enabled:
            found += [File(client.certificate_path, False), File(client.trusted_ca_path, True)]
    if server.enabled:
        found += [File(server.cert_file, False), File(server.client_ca_file, True)]
    return (file for file in found if file.path)


def validity_of(file: File) -> Validity | None:
    """How long the certificates of ``file`` can be used; None if it can't be read as certificates."""
    from cryptography import x509

    try:
        found = x509.load_pem_x509_certificates(read_regular(file.path, _LARGEST))
    except (OSError, ValueError):
        return None
    ends = [one.not_valid_after_utc.timestamp() for one in found]
    begins = [one.not_valid_before_utc.timestamp() for one in found]
    return Validity(min(begins), max(ends)) if file.is_bundle else Validity(max(begins), min(ends))


def reject_expired(file: File, now: float | None = None) -> None:
    """Raise ``InvalidInput`` with the date if the certificates of ``file`` have expired, or are not valid yet."""
    now = time.time() if now is None else now
    validity = validity_of(file)
    if validity is None or validity.begins <= now <= validity.ends:
        return
    lack = f"expired on {_date(validity.ends)}" if validity.ends < now else f"is valid from {_date(validity.begins)} on"
    raise InvalidInput(
        f"{file.path.key}: the certificate in {file.path} {lack}; replace the file, or check the clock",
        source=file.path.source,
        reason="CertificateExpired",
    )


def expiring(configuration: Configuration, now: float | None = None) -> Iterator[tuple[str, str]]:
    """(source, text) of each file whose certificates expire soon."""
    now = time.time() if now is None else now
    for file in certificate_files(configuration):
        validity = validity_of(file)
        if validity is None or not now <= validity.ends < now + _SOON:
            continue
        if (validity.ends - now) * _SHARE < validity.ends - validity.begins:
            left = (validity.ends - now) / 86400.0
            text = f"the certificate in {file.path} expires on {_date(validity.ends)}, in {left:.0f} days; renew it"
            yield file.path.source, f"{file.path.key}: {text}"


class Expiries:
    """The times at which the certificates of ``configuration`` expire, read again when a file is replaced."""

    def __init__(self, configuration: Configuration) -> None:
        self._files = list(certificate_files(configuration))
        self._stamps: tuple[Stamp, ...] = ()
        self._times: dict[str, float] = {}

    def __call__(self) -> dict[str, float]:
        """File → seconds since 1970; without files that can't be read."""
        if self._files and (found := stamps(file.path for file in self._files)) != self._stamps:
            self._stamps = found
            read = ((str(file.path), validity_of(file)) for file in self._files)
            self._times = {path: validity.ends for path, validity in read if validity is not None}
        return self._times


def _date(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
