"""Finds settings that are unsafe, contradict each other or have no effect: some are rejected, the others noted.

Each setting is valid by itself; these checks are about several together, and about those who listen on the wire or log
in to the machine.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from intentc.model import InvalidInput, Schema, kebab

from .building import KeyPath, dotted
from .sections import SHORTEST_LEASE, Configuration
from .setting_types import Url, is_loopback

_SHOWN = 3
SHORTEST_TOKEN = 16
"""The fewest characters of the diagnostics' token; a shorter one could be guessed."""
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Note(NamedTuple):
    """One line to log, as a warning or for information."""

    warning: bool
    text: str


def reject_unchecked_certificates(configuration: Configuration, source: Callable[[KeyPath], str]) -> None:
    """Raise ``InvalidInput`` if ``insecure`` is set for a server on another machine.

    A man in the middle would get the password. ``source`` returns the origin of a key's value.
    """
    flags: tuple[tuple[KeyPath, bool], ...] = (
        (("insecure",), configuration.insecure),
        (("keystone", "insecure"), configuration.keystone.insecure),
    )
    for key in [key for key, is_set in flags if is_set]:
        for name, url in _servers(configuration):
            if url.is_remote and url.startswith("https"):
                raise InvalidInput(
                    f"{dotted(key)} leaves the certificate of {name} {url} unchecked, and it is not on this machine;"
                    " take it out, and name the authority in client.tls.trusted_ca_path",
                    source=source(key),
                    reason="InvalidConfiguration",
                )


def secret_key_lines(text: str) -> list[str]:
    """The keys in the text of ``intentc.api.secret_keys``; empty lines and comments are none."""
    stripped = (line.strip() for line in text.splitlines())
    return [line for line in stripped if line and not line.startswith("#")]


def reject_open_diagnostics(configuration: Configuration, source: Callable[[KeyPath], str]) -> None:
    """Raise ``InvalidInput`` if anybody could read the diagnostics beyond loopback, or if their guards can't work."""
    own = configuration.intentc.diagnostics
    tls, at = own.tls, ("intentc", "diagnostics")

    def rejection(message: str, *key: str) -> InvalidInput:
        return InvalidInput(message, source=source((*at, *key)), reason="InvalidConfiguration")

    api = configuration.intentc.api
    for token, section, key in ((own.token, "diagnostics", "token"), (api.metrics_token, "api", "metrics_token")):
        if token and len(token.reveal()) < SHORTEST_TOKEN:
            raise InvalidInput(
                f"intentc.{section}.{key} has fewer than {SHORTEST_TOKEN} characters and could be guessed; make one"
                " with `openssl rand -hex 32`",
                source=source(("intentc", section, key)),
                reason="InvalidConfiguration",
            )
    for place, line in enumerate(secret_key_lines(api.secret_keys.reveal()), 1):
        if len(line) < SHORTEST_TOKEN:
            raise InvalidInput(
                f"intentc.api.secret_keys: key {place} has fewer than {SHORTEST_TOKEN} characters and could be guessed;"
                " make one with `openssl rand -hex 32`",
                source=source(("intentc", "api", "secret_keys")),
                reason="InvalidConfiguration",
            )
    for cert, key in (("cert", "key"), ("client_cert", "client_key")):
        if bool(getattr(tls, cert)) != bool(getattr(tls, key)):
            there, lacks = (cert, key) if getattr(tls, cert) else (key, cert)
            raise rejection(
                f"intentc.diagnostics.tls.{there} has no effect without intentc.diagnostics.tls.{lacks}; set both",
                "tls",
                there,
            )
    if tls.client_ca and not tls.cert:
        raise rejection(
            "intentc.diagnostics.tls.client_ca has no effect without a certificate of the service; set"
            " intentc.diagnostics.tls.cert and key",
            "tls",
            "client_ca",
        )
    if not (is_loopback(own.address.host) or own.token or tls.client_ca or tls.client_cert):
        raise rejection(
            f"intentc.diagnostics.address {own.address} can be reached from elsewhere without authentication;"
            " set intentc.diagnostics.token_file (and tls.cert and tls.key), or tls.client_ca, or listen on 127.0.0.1",
            "address",
        )


def reject_two_modes(configuration: Configuration, source: Callable[[KeyPath], str]) -> None:
    """Raise ``InvalidInput`` if ``no_auth`` and ``aaa_mode`` contradict each other."""
    if configuration.no_auth and configuration.aaa_mode not in ("", "no-auth"):
        raise InvalidInput(
            f"no_auth: true and aaa_mode: {configuration.aaa_mode} contradict each other; take one of the two out",
            source=source(("aaa_mode",)),
            reason="InvalidConfiguration",
        )


def open_api_server(configuration: Configuration) -> str:
    """A warning about an API server that others can reach without authentication; empty for others."""
    server = configuration.server
    has_client_ca = server.tls.enabled and server.tls.client_ca_file
    if not configuration.is_open or has_client_ca or is_loopback(server.address.host):
        return ""
    return (
        f"no_auth, and server.address {server.address} can be reached from elsewhere: anybody who reaches it may change"
        " everything; set aaa_mode and keystone, or server.tls.client_ca_file, or listen on 127.0.0.1"
    )


def plain_secrets(configuration: Configuration, schema: Schema) -> str:
    """A warning about kinds whose secrets stand in etcd in plain text; empty without any."""
    kinds = [kebab(kind.name) for kind in schema if kind.stored and kind.secret_places]
    if not kinds or configuration.intentc.api.secret_keys:
        return ""
    shown = ", ".join(kinds[:_SHOWN]) + (f" and {len(kinds) - _SHOWN} more" if len(kinds) > _SHOWN else "")
    return (
        f"passwords and keys in resources ({shown}) stand in etcd in plain text; make a key with"
        " `openssl rand -hex 32`, and give intentc.api.secret_keys_file"
    )


def risks(configuration: Configuration, secret_files: Mapping[KeyPath, Path]) -> Iterator[Note]:
    """The notes about a configuration, to log before it is used. ``secret_files``: key → file."""
    if configuration.insecure or configuration.keystone.insecure:
        yield Note(True, "insecure: the certificates of API server and Keystone are NOT checked")
    if configuration.keystone.authurl:
        for name, url in _servers(configuration):
            if url.is_remote and not url.startswith("https"):
                yield Note(True, f"{name} {url} is plain http: passwords and tokens go over the wire unencrypted")
    if warning := open_api_server(configuration):
        yield Note(True, warning)
    etcd = configuration.etcd
    if etcd.username and not etcd.tls.enabled and not all(map(_is_encrypted_or_here, etcd.endpoints)):
        yield Note(True, "etcd.username without etcd.tls: the password goes over the wire unencrypted")
    if configuration.compilation.msg_queue_lock_time < SHORTEST_LEASE:
        yield Note(
            True,
            f"compilation.msg_queue_lock_time is less than {SHORTEST_LEASE:g} s, the shortest life of a lease in etcd,"
            " which is used instead",
        )
    own = configuration.intentc.diagnostics
    if not is_loopback(own.address.host) and not own.tls.enabled:
        yield Note(
            True,
            f"intentc.diagnostics.address {own.address} is plain http: token, names and problems go over the wire"
            " unencrypted; set intentc.diagnostics.tls.cert and key",
        )
    for section, address, hosts in (
        ("server", configuration.server.address, configuration.server.hosts),
        ("intentc.diagnostics", own.address, own.hosts),
    ):
        if hosts and not is_loopback(address.host):
            yield Note(
                False,
                f"{section}.hosts has no effect: {section}.address {address} is not loopback, so any Host is answered",
            )
    for key, path in (*secret_files.items(), *_private_keys(configuration)):
        mode = _mode(path)
        if mode & _OTHERS:
            yield Note(
                True, f"{dotted(key)}: {path} can be read by others than its owner (mode {mode:03o}); chmod 600 it"
            )


def _servers(configuration: Configuration) -> Iterator[tuple[str, Url]]:
    for url in configuration.client.endpoint:
        yield "client.endpoint", url
    for url in configuration.keystone.authurl:
        yield "keystone.authurl", url


def _private_keys(configuration: Configuration) -> Iterator[tuple[KeyPath, Path]]:
    etcd, client, server = configuration.etcd.tls, configuration.client.tls, configuration.server.tls
    own = configuration.intentc.diagnostics.tls
    for key, enabled, path in (
        (("etcd", "tls", "key_path"), etcd.enabled, etcd.key_path),
        (("client", "tls", "key_path"), client.enabled, client.key_path),
        (("server", "tls", "key_file"), server.enabled, server.key_file),
        (("intentc", "diagnostics", "tls", "key"), True, own.key),
        (("intentc", "diagnostics", "tls", "client_key"), True, own.client_key),
    ):
        if enabled and path:
            yield key, Path(path)


def _is_encrypted_or_here(endpoint: str) -> bool:
    scheme, _, address = endpoint.rpartition("://")
    return scheme == "https" or is_loopback(address.rpartition(":")[0].strip("[]"))


def _mode(path: Path) -> int:
    """The permission bits; 0 for a missing file, which is reported where it is used."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return 0
