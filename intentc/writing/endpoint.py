"""Describes the API server for the HTTP client: address, credentials, TLS, timeouts and limits.

Callers fill the values from a configuration; no ``repr`` shows a secret. Certificate files, and their times, are read
when they are asked for. Besides: which of several addresses is used, and what is wrong if one side rejects the other's
certificate.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

from intentc.model.files import Stamp, stamps
from intentc.reconcile.failures import Unavailable, UnknownOutcome

from .answers import Answer

BATCH_ITEMS = 100
"""Items of one ``/sync``: at this size the cost of the request itself is negligible."""

_OTHER_NAMES = "its certificate is for other names than this address: use one of those, or have it issued anew"
_HINTS = {
    "Hostname mismatch": _OTHER_NAMES,
    "IP address mismatch": _OTHER_NAMES,
    "certificate has expired": "its certificate has expired: have it issued anew",
    "CERTIFICATE_VERIFY_FAILED": "its certificate is not trusted: name the authority that signed it in {section}.{ca}",
    "WRONG_VERSION_NUMBER": "it speaks no TLS there: check http:// and https://",
    "RECORD_LAYER_FAILURE": "it speaks no TLS there: check http:// and https://",
    "CERTIFICATE_REQUIRED": "it asks for our certificate: set {section}.{certificate}",
    "UNKNOWN_CA": "it does not take our certificate: check {section}.{certificate}",
}


@dataclass(frozen=True, slots=True)
class Credentials:
    """A Keystone v3 user, and the project to log in to, by its id or by its name in a domain (docs/contrail.md B.3).

    ``auth_url``: without ``/auth/tokens``, ``http://…/keystone/v3``; ``other_auth_urls``: tried if that one fails.
    ``password`` is called at each log-in, since the password may be rotated.
    """

    auth_url: str
    password: Callable[[], str] = field(repr=False)
    user_id: str
    project_id: str = ""
    project_name: str = ""
    domain_id: str = "default"
    domain_name: str = ""
    other_auth_urls: tuple[str, ...] = ()

    @property
    def auth_urls(self) -> tuple[str, ...]:
        """All addresses of Keystone."""
        return (self.auth_url, *self.other_auth_urls)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One API server, or several over one etcd.

    ``url``: ``http://host:port`` with or without a path; no user or password in it. ``others``: used while that one
    fails. ``ca``, ``cert``, ``key``: PEM
    files, which may be replaced at any time; ``insecure`` trusts any certificate. ``credentials``: None is ``no_auth``.
    ``connect_seconds`` and ``answer_seconds``: after that, a call is ``Unavailable`` or its outcome unknown.
    ``batch_items`` and ``batch_bytes`` limit one ``/sync`` (etcd takes 1.5 MB per request by default), ``batches`` the
    number under way. ``singles``: other calls under way.
    """

    url: str
    ca: str = ""
    cert: str = ""
    key: str = ""
    insecure: bool = False
    credentials: Credentials | None = None
    connect_seconds: float = 5.0
    answer_seconds: float = 30.0
    batch_items: int = BATCH_ITEMS
    batch_bytes: int = 1_000_000
    batches: int = 4
    singles: int = 12
    others: tuple[str, ...] = ()

    @property
    def urls(self) -> tuple[str, ...]:
        """All addresses."""
        return (self.url, *self.others)

    @property
    def is_encrypted(self) -> bool:
        """Whether any of our requests go over TLS: to the API server, or to Keystone."""
        urls = (*self.urls, *(self.credentials.auth_urls if self.credentials else ()))
        return any(url.startswith("https") for url in urls)

    def stamps(self) -> tuple[Stamp, ...]:
        """When the TLS files were last written; empty if there are none."""
        return stamps(path for path in (self.ca, self.cert, self.key) if path)

    def tls(self) -> ssl.SSLContext:
        """The TLS context of the HTTP client. Raises ``OSError`` naming the files that can't be read or used."""
        if not self.is_encrypted:
            # Without TLS no certificates are loaded, which would take longer than most commands.
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        files = [path for path in (self.ca, self.cert, self.key) if path]
        for path in files:
            # The error of ssl for a missing file does not name it.
            Path(path).open("rb").close()
        try:
            context = ssl.create_default_context(cafile=self.ca or None)
            if self.cert:
                context.load_cert_chain(self.cert, self.key or None)
        except ssl.SSLError as error:
            raise OSError(f"no certificate, or not its key ({error}): {', '.join(files)}; check client.tls") from None
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


def trust_lack(error: Exception, section: str = "client.tls") -> str:
    """What is wrong with the certificates, and which key to check; empty if ``error`` is another one.

    OpenSSL distinguishes these errors only by their text, and a person must check other files and keys than for an
    unreachable server. ``section``: the section of the configuration, ``client.tls`` or ``intentc.diagnostics.tls``.
    """
    text = str(error)
    own = section == "intentc.diagnostics.tls"
    ca, certificate = ("ca", "client_cert") if own else ("trusted_ca_path", "certificate_path")
    for words, hint in _HINTS.items():
        if words.lower() in text.lower() or words.lower().replace("_", " ") in text.lower():
            return hint.format(section=section, ca=ca, certificate=certificate)
    return ""


_LOG = logging.getLogger(__name__)


class Addresses:
    """URLs of the same service, without slashes at their ends. ``what``: names it in the log."""

    def __init__(self, urls: Sequence[str], what: str) -> None:
        self._urls = tuple(url.rstrip("/") for url in urls)
        self._what = what
        self._current = 0

    async def ask(self, send: Callable[[str], Awaitable[Answer]], *, repeats: bool) -> tuple[str, Answer]:
        """Ask the address in use, and the next ones if it certainly carried out nothing, or answers 503. Returns the
        answer and its address. ``repeats``: also if the outcome is unknown."""
        first = self._current
        busy: tuple[str, Answer] | None = None
        failures: list[Unavailable | UnknownOutcome] = []
        for url in self._urls[first:] + self._urls[:first]:
            try:
                answer = await send(url)
            except (Unavailable, UnknownOutcome) as error:
                failures.append(error)
                if isinstance(error, UnknownOutcome) and not repeats:
                    self._failed(url)
                    raise
            else:
                if answer.status != HTTPStatus.SERVICE_UNAVAILABLE:
                    self._current = self._urls.index(url)
                    return url, answer
                busy = url, answer
            self._failed(url)
        if busy is not None:
            return busy
        if len(failures) == 1:
            raise failures[0]
        raise type(failures[0])("; ".join(map(str, failures)))

    def _failed(self, url: str) -> None:
        """Use the next address, unless another call has moved on already."""
        if len(self._urls) > 1 and self._urls[self._current] == url:
            self._current = (self._current + 1) % len(self._urls)
            _LOG.info("%s: %s fails; trying %s", self._what, url, self._urls[self._current])
