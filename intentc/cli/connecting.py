"""Builds from the configuration what connects to the API server and etcd, and checks it before anything starts.

Why it exists: several commands need these, and the stages take values and never see the configuration. ``intentc
check``, a start of ``intentc run`` and a reload share one check (``startable``): a reload that accepts what a start
rejects would leave a service that can't be started again. Heavy imports stay in the functions.

It reads the certificates and keys that the configuration names. The connections connect when they are used.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from intentc.loading.certificates import File, reject_expired
from intentc.loading.configuration import Configuration, FilePath
from intentc.loading.configuration.sections import ClientTls
from intentc.logic.dependencies.map_check import Finding, findings
from intentc.model import InvalidInput
from intentc.reconcile.failures import Unavailable
from intentc.watch.protocol import Store

from .command_error import CommandError, Exit

if TYPE_CHECKING:
    from intentc.diagnostics.access import Access
    from intentc.leading import KeeperFactory
    from intentc.plugins import Loaded as Compilers
    from intentc.watch.etcd import EtcdStore
    from intentc.watch.etcd_connections import Tls
    from intentc.writing import ReadService
    from intentc.writing.endpoint import Endpoint


def api_server(configuration: Configuration) -> Endpoint:
    """The API server's URL and our credentials for it; no credentials if ``keystone.authurl`` is not set. Raises
    ``InvalidInput`` for files of ``client.tls`` that can't be used."""
    from intentc.writing.endpoint import Credentials, Endpoint

    client, keystone, limits = configuration.client, configuration.keystone, configuration.intentc.limits
    credentials = Credentials(
        auth_url=keystone.authurl[0] if keystone.authurl else "",
        other_auth_urls=keystone.authurl[1:],
        user_id=client.id,
        password=client.password.reveal,
        project_id=client.project_id,
        project_name=client.project_name,
        domain_id=client.domain_id,
        domain_name=client.domain_name,
    )
    endpoint = Endpoint(
        url=client.endpoint[0] if client.endpoint else "",
        others=client.endpoint[1:],
        ca=client.tls.trusted_ca_path if client.tls.enabled else "",
        cert=client.tls.certificate_path if client.tls.enabled else "",
        key=client.tls.key_path if client.tls.enabled else "",
        insecure=configuration.insecure or keystone.insecure,
        credentials=credentials if keystone.authurl else None,
        batch_items=limits.writes_in_batch,
        singles=limits.concurrent_writes,
    )
    if not all(endpoint.urls):
        raise InvalidInput(
            "client.endpoint is empty; set it to the API server's http://host:port or https://host:port, or to a list",
            source="client.endpoint",
            reason="InvalidConfiguration",
        )
    if endpoint.is_encrypted:
        _check_client_files(client.tls)
    return endpoint


def etcd_store(configuration: Configuration) -> EtcdStore:
    """A store over the etcd that holds the resources; it connects with the first call. Raises ``InvalidInput`` for a
    bad endpoint, and for files of ``etcd.tls`` that can't be used."""
    from intentc.watch.etcd import EtcdStore

    _check_client_files(configuration.etcd.tls)
    etcd = configuration.etcd
    try:
        return EtcdStore(
            etcd.endpoints,
            username=etcd.username,
            password=etcd.password.reveal,
            tls=_etcd_tls(configuration),
            timeout=float(etcd.dial_timeout),
        )
    except ValueError as error:
        raise InvalidInput(str(error), source="etcd.endpoints") from None


@asynccontextmanager
async def open_store(configuration: Configuration) -> AsyncIterator[EtcdStore]:
    """The store of ``etcd_store`` for a block; then it is closed."""
    store = etcd_store(configuration)
    try:
        yield store
    finally:
        with anyio.CancelScope(shield=True):
            await store.close()


@asynccontextmanager
async def current_state(configuration: Configuration, compilers: Compilers) -> AsyncIterator[tuple[Store, ReadService]]:
    """What the current state is read from, for a block: etcd and the API server, which has the allocations. Raises
    ``CommandError`` if it can't give them."""
    from intentc.offline import AllocationsUnreadable
    from intentc.writing.http import http_services

    endpoint = api_server(configuration)
    try:
        async with (
            open_store(configuration) as store,
            http_services(endpoint, compilers.schema, pools=compilers.pools) as (_, read),
        ):
            yield store, read
    except AllocationsUnreadable as error:
        raise CommandError(
            f"the allocations can't be read: {error.__cause__}",
            where=endpoint.url,
            next_step="check that the API server runs, and the sections client and keystone",
            code=Exit.UNREACHABLE if isinstance(error.__cause__, Unavailable) else Exit.INVALID,
        ) from None


def nothing_stored(path: str, purpose: str) -> CommandError:
    """The error for a path without resources; ``purpose``: what there is nothing to do with."""
    return CommandError(
        f"nothing lies under /{path}/, so there is nothing to {purpose}",
        where="etcd.path",
        next_step="set it to the path under which the API server keeps its resources",
    )


def lease_keepers(configuration: Configuration) -> KeeperFactory:
    """Keepers for a leader's lease in the same etcd, over their own connections."""
    from intentc.watch.lease_keeper import EtcdLeaseKeepers

    etcd = configuration.etcd
    return EtcdLeaseKeepers(
        etcd.endpoints, username=etcd.username, password=etcd.password.reveal, tls=_etcd_tls(configuration)
    )


def diagnostics_access(configuration: Configuration) -> Access:
    """Who may query the diagnostics of a service that runs with ``configuration``."""
    from intentc.diagnostics.access import Access, PresentToken
    from intentc.listening.http_server import Tls

    own = configuration.intentc.diagnostics
    check_files(own.tls.cert, own.tls.key, own.tls.client_ca)
    tls = Tls(own.tls.cert, own.tls.key, own.tls.client_ca) if own.tls.cert else None
    return Access(PresentToken(own.token) if own.token else None, tls)


def check_files(certificate: FilePath, key: FilePath, authority: FilePath) -> None:
    """Raise ``InvalidInput``, naming the key and its place in the configuration, for PEM files that can't be read or
    hold something else, and for expired certificates. Keys that are not set are skipped."""
    import ssl

    for file in (authority, certificate, key):
        if lack := file.lack():
            raise InvalidInput(lack, source=file.source, reason="InvalidConfiguration")
    for one, other in ((certificate, key), (key, certificate)):
        if one and not other:
            raise InvalidInput(
                f"{one.key} needs its {'key' if one is certificate else 'certificate'}; set both",
                source=one.source,
                reason="InvalidConfiguration",
            )
    if authority:
        try:
            ssl.create_default_context(cafile=authority)
        except ssl.SSLError:
            raise InvalidInput(
                f"{authority.key}: {authority} holds no certificate of an authority in PEM form",
                source=authority.source,
                reason="InvalidConfiguration",
            ) from None
    for used in (File(authority, is_bundle=True), File(certificate, is_bundle=False)):
        if used.path:
            reject_expired(used)
    if certificate and key:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(certificate, key, password=lambda: "")
        except ssl.SSLError as error:
            raise InvalidInput(
                f"{certificate.key}: {certificate} and {key.key}: {key} are no certificate in PEM form and its key"
                f" without a password ({error.reason or error})",
                source=certificate.source,
                reason="InvalidConfiguration",
            ) from None


def _check_client_files(tls: ClientTls) -> None:
    if tls.enabled:
        check_files(tls.certificate_path, tls.key_path, tls.trusted_ca_path)


def _etcd_tls(configuration: Configuration) -> Tls | None:
    from intentc.watch.etcd_connections import Tls

    tls = configuration.etcd.tls
    paths = (tls.trusted_ca_path, tls.certificate_path, tls.key_path)
    return Tls(*(Path(path) if path else None for path in paths)) if tls.enabled else None


def check_connections(configuration: Configuration) -> None:
    """Raise ``InvalidInput`` for endpoints and TLS files that can't be used."""
    for build in (etcd_store, api_server, diagnostics_access):
        build(configuration)


def of_process(configuration: Configuration) -> tuple[Compilers, list[Finding]]:
    """The compilers that one process runs with a configuration, and the findings about their reaction map. Raises
    ``InvalidInput`` for what can't be loaded."""
    from intentc.plugins import installed

    compilers = installed(configuration)
    return compilers, findings(compilers.reactions, compilers.schema)


def startable(configuration: Configuration) -> Compilers:
    """The compilers that ``intentc run`` starts with a configuration. Raises ``InvalidInput`` if it can't start."""
    if not configuration.compilation.enabled:
        raise InvalidInput(
            "compilation.enabled is false; set it to true, or run no compiler here",
            source="compilation.enabled",
            reason="InvalidConfiguration",
        )
    check_connections(configuration)
    compilers, found = of_process(configuration)
    for finding in found:
        if finding.severity == "error":
            raise InvalidInput(finding.message, source=finding.source, reason=finding.reason)
    return compilers
