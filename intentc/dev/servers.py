"""Starts and stops the servers of ``intentc dev`` in order: etcd, API server, compiler and diagnostics.

Why it exists: tests of the whole chain start exactly what the command starts. A file with its configuration is for
commands in other terminals: ``dev`` chooses some settings itself (ports, compilers, a gateway's addresses), and a
command with other settings would answer differently; a kubeconfig beside it leads kubectl to the API server. The
command prints messages; ``envoy_gateway`` runs Envoy.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import anyio
import msgspec

from intentc.apiserver.serving import running_api_server
from intentc.diagnostics.serving import running_diagnostics
from intentc.listening.connections import raise_file_limit
from intentc.loading.configuration import Address, Configuration, Url
from intentc.plugins import installed
from intentc.service.service import CompilerService, build_service
from intentc.watch.etcd import EtcdStore
from intentc.writing.endpoint import Endpoint
from intentc.writing.http import http_services

from .etcd_server import running_etcd

_TRANSACTION = 1024
"""Operations that the etcd of ``dev`` takes in one transaction."""


class Running(NamedTuple):
    """The servers of ``dev``, and the configuration that reaches them; ``file``: that configuration, ``kubeconfig``:
    the API server as kubectl finds it, both while they run."""

    service: CompilerService
    configuration: Configuration
    etcd: str
    api_server: str
    diagnostics: str
    file: Path
    kubeconfig: Path


@asynccontextmanager
async def running(configuration: Configuration) -> AsyncIterator[Running]:
    """Start all servers, each when the one before is ready, and stop them after the block."""
    raise_file_limit()
    compilers = installed(configuration)
    path = configuration.etcd.path
    async with running_etcd(max_txn_ops=_TRANSACTION) as etcd:
        stores = EtcdStore([etcd.endpoint]), EtcdStore([etcd.endpoint])
        try:
            async with (
                running_api_server(stores[0], compilers.schema, path=path, max_txn_ops=_TRANSACTION) as server,
                http_services(Endpoint(server.url), compilers.schema, pools=compilers.pools) as (write, read),
            ):
                own = msgspec.structs.replace(configuration.intentc.diagnostics, address=Address("127.0.0.1:0"))
                settings = msgspec.structs.replace(configuration.intentc, diagnostics=own)
                service = build_service(
                    msgspec.structs.replace(configuration, intentc=settings), compilers, stores[1], write, read
                )
                async with (
                    running_diagnostics(service, "127.0.0.1", 0, reader=service.reader) as diagnostics,
                    anyio.create_task_group() as group,
                ):
                    group.start_soon(service.run)
                    reached = _reaching(configuration, etcd.endpoint, Url(server.url), Address(diagnostics[7:]))
                    with written(reached) as file:
                        kubeconfig = file.with_name("kubeconfig")
                        kubeconfig.write_bytes(msgspec.yaml.encode(kubeconfig_of(server.url)))
                        yield Running(service, reached, etcd.endpoint, server.url, diagnostics, file, kubeconfig)
                    group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                for store in stores:
                    await store.close()


def _reaching(configuration: Configuration, etcd: str, server: Any, diagnostics: Any) -> Configuration:
    replace = msgspec.structs.replace
    own = configuration.intentc
    return replace(
        configuration,
        etcd=replace(configuration.etcd, endpoints=(etcd,)),
        client=replace(configuration.client, endpoint=(server,)),
        intentc=replace(own, diagnostics=replace(own.diagnostics, address=diagnostics)),
    )


@contextmanager
def written(configuration: Configuration) -> Iterator[Path]:
    """Write a file with the servers of ``configuration`` and its whole section ``intentc``; delete it after the block.

    Only its owner can read it, since settings may hold secrets.
    """
    with TemporaryDirectory(prefix="intentc-dev-") as folder:
        path = Path(folder) / "intentc.yml"
        path.touch(mode=0o600)
        path.write_bytes(msgspec.yaml.encode(_document(configuration), enc_hook=str))
        yield path


def kubeconfig_of(server: str) -> dict[str, Any]:
    """A kubeconfig with one context, which leads to ``server``, a URL that asks for no credentials."""
    name = "intentc"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server}}],
        "users": [{"name": name, "user": {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }


def _document(configuration: Configuration) -> dict[str, Any]:
    own: dict[str, Any] = msgspec.to_builtins(configuration.intentc, enc_hook=str)
    # `dev` serves diagnostics on loopback without TLS and token, whatever the configuration says for services.
    own["diagnostics"] = {"address": str(configuration.intentc.diagnostics.address)}
    # Commands of another terminal need nothing of this: it is for `intentc apiserver`.
    del own["api"]
    # Another terminal may have another working directory.
    own["schemas"] = [str(Path(folder).resolve()) for folder in own["schemas"]]
    own["reactions"] = {name: str(Path(file).resolve()) for name, file in own["reactions"].items()}
    return {
        "etcd": {"endpoints": list(configuration.etcd.endpoints), "path": configuration.etcd.path},
        "client": {"endpoint": [str(url) for url in configuration.client.endpoint]},
        "no_auth": True,
        "intentc": own,
    }
