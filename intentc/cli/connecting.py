"""From the configuration to what it names: the API server, and etcd.

Why it exists: several commands reach for the same two, and the stages are given values and never see the
configuration. What is done with them is each command's business; heavy imports stay in the functions.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from intentc.configuration import Configuration
from intentc.model import InvalidInput

if TYPE_CHECKING:
    from intentc.watch.etcd import EtcdStore
    from intentc.writing.endpoint import Endpoint


def api_server(configuration: Configuration) -> Endpoint:
    """Where the API server is and as whom we speak to it; without credentials if ``keystone.authurl`` is not set."""
    from intentc.writing.endpoint import Credentials, Endpoint

    client, keystone, limits = configuration.client, configuration.keystone, configuration.intentc.limits
    credentials = Credentials(
        auth_url=keystone.authurl,
        user_id=client.id,
        password=client.password.reveal(),
        project_id=client.project_id,
        project_name=client.project_name,
        domain_id=client.domain_id,
        domain_name=client.domain_name,
    )
    return Endpoint(
        url=client.endpoint,
        insecure=configuration.insecure or keystone.insecure,
        credentials=credentials if keystone.authurl else None,
        batch_items=limits.writes_in_batch,
        singles=limits.concurrent_writes,
    )


def etcd_store(configuration: Configuration) -> EtcdStore:
    """The etcd in which resources are kept; nothing is connected yet. Raises ``InvalidInput`` for a bad endpoint."""
    from intentc.watch.addresses import Tls
    from intentc.watch.etcd import EtcdStore

    etcd = configuration.etcd
    paths = (etcd.tls.trusted_ca_path, etcd.tls.certificate_path, etcd.tls.key_path)
    tls = Tls(*(Path(path) if path else None for path in paths)) if etcd.tls.enabled else None
    try:
        return EtcdStore(
            etcd.endpoints,
            username=etcd.username,
            password=etcd.password.reveal(),
            tls=tls,
            timeout=float(etcd.dial_timeout),
        )
    except ValueError as error:
        raise InvalidInput(str(error), source="etcd.endpoints") from None
