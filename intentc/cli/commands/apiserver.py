"""``intentc apiserver``: runs the reference API server (the one in ``apiserver/``) alone, over an existing etcd.

It has the users and the access policy of the configuration. Configured certificates are checked before it starts.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import anyio
import click

from intentc.loading.configuration import Configuration, Loaded, plain_secrets
from intentc.model import Schema

from ..command_error import CommandError, Exit
from ..command_options import configured
from ..connecting import check_files, open_store
from ..server_process import ended_by_signals

if TYPE_CHECKING:
    from intentc.apiserver.auth import Keystone
    from intentc.apiserver.authorization import Policy
    from intentc.apiserver.errors import StoreDenied

_LOG = logging.getLogger("intentc.apiserver")


@click.command(name="apiserver")
@configured(service=True, compiles=True)
async def command(loaded: Loaded) -> int:
    """Serve Contrail's REST API at server.address, over the etcd of etcd.endpoints.

    Prints its URL on stdout once it serves requests. Several may run over one etcd. SIGTERM ends it with exit code 0.
    """
    from intentc.apiserver.errors import StoreDenied
    from intentc.apiserver.serving import running_api_server
    from intentc.listening.connections import raise_file_limit
    from intentc.listening.http_server import Tls
    from intentc.plugins import declared

    configuration, server = loaded.configuration, loaded.configuration.server
    raise_file_limit()
    if server.tls.enabled:
        check_files(server.tls.cert_file, server.tls.key_file, server.tls.client_ca_file)
    schema = declared(configuration).schema
    keystone = _keystone(configuration)
    policy = _policy(configuration, schema)
    if keystone is not None and not policy.compiler_users:
        _LOG.warning(
            "neither intentc.compiler_users nor client.id is set: users with the role %s may write the fields of"
            " compilers",
            policy.cloud_admin_role,
        )
    if unsealed := plain_secrets(configuration, schema):
        _LOG.warning("%s", unsealed)
    files = server.tls
    tls = Tls(files.cert_file, files.key_file, files.client_ca_file) if files.enabled else None
    try:
        async with (
            open_store(configuration) as store,
            running_api_server(
                store,
                schema,
                path=configuration.etcd.path,
                host=server.address.host,
                port=server.address.port,
                hosts=server.hosts,
                max_txn_ops=configuration.intentc.limits.max_txn_ops,
                keystone=keystone,
                policy=policy,
                pool_share=configuration.intentc.api.pool_share,
                secret_keys=configuration.intentc.api.secret_keys.reveal,
                metrics_token=configuration.intentc.api.metrics_token.reveal,
                tls=tls,
            ) as running,
            ended_by_signals(),
        ):
            click.echo(running.url)
            _LOG.info("serving %s kinds at %s", len(schema.kinds), running.url)
            await anyio.sleep_forever()
    except StoreDenied as error:
        raise _denied(error, configuration) from None
    return Exit.DONE


def _denied(error: StoreDenied, configuration: Configuration) -> CommandError:
    """The error for a user that etcd rejects, with that user and the role that it needs."""
    etcd = configuration.etcd
    user = f"the user {etcd.username} (etcd.username)" if etcd.username else "etcd.username, which is empty,"
    return CommandError(
        error.message,
        where=f"etcd at {', '.join(etcd.endpoints)}",
        next_step=f"correct etcd.password, or grant {user} the role intentc-apiserver-{etcd.path}: "
        "`intentc etcd-roles` prints the script that makes it",
    )


def _keystone(configuration: Configuration) -> Keystone | None:
    """The service that issues and checks tokens; None with ``no_auth``. Raises ``CommandError`` if there are no
    users."""
    from intentc.apiserver.auth import Keystone, static_users

    if configuration.is_open:
        return None
    users = static_users(configuration.keystone)
    if not users:
        raise CommandError(
            "nobody can log in: no_auth is not set, and there are no users",
            where="keystone.assignment.data.users",
            next_step="set no_auth: true, or add users there",
        )
    return Keystone(users, lifetime=float(configuration.keystone.store.expire))


def _policy(configuration: Configuration, schema: Schema) -> Policy:
    """The access policy. Raises ``CommandError`` for ``rbac`` without the kind that holds its rules."""
    from intentc.apiserver.admission.well_known import ACCESS_LIST
    from intentc.apiserver.authorization import Mode, Policy

    if configuration.is_open:
        return Policy()
    mode = Mode(configuration.aaa_mode or Mode.CLOUD_ADMIN.value)
    if mode is Mode.RBAC and ACCESS_LIST not in schema:
        raise CommandError(
            f"rbac takes its rules from the kind {ACCESS_LIST}, which none of the configured compilers knows",
            where="aaa_mode",
            next_step="set aaa_mode: cloud-admin, or add its schema in a folder of intentc.schemas",
        )
    own = configuration.intentc.compiler_users or (configuration.client.id,)
    return Policy(
        mode,
        configuration.cloud_admin_role,
        configuration.global_read_only_role,
        frozenset(user for user in own if user),
        frozenset(configuration.intentc.api.secret_reader_roles),
    )
