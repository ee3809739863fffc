"""``intentc kubernetes`` as a process: it mirrors, shows its status, and SIGTERM ends it in order."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from intentc.apiserver.serving import running_api_server
from intentc.dev.etcd_server import Etcd
from intentc.loading.schemas import load_schema
from intentc.watch.etcd import EtcdStore
from tests.support.kube.fake_cluster import running_fake_cluster
from tests.support.waiting import PATIENCE, until_true

pytestmark = pytest.mark.anyio
MAPPINGS = "/apis/getambassador.io/v3alpha1/mappings"
PATH = "kubernetes-process"


def _status(url: str) -> Any:
    with urllib.request.urlopen(f"{url}/status", timeout=PATIENCE) as answer:
        return json.loads(answer.read())


async def test_it_mirrors_until_sigterm(etcd: Etcd, etcd_store: EtcdStore, tmp_path: Path) -> None:
    async with (
        running_fake_cluster(lambda made: made.serve(MAPPINGS, "Mapping")) as cluster,
        running_api_server(etcd_store, load_schema("ambassador"), path=PATH, max_txn_ops=1024) as server,
    ):
        contexts = [{"name": "x", "context": {"cluster": "c"}}]
        clusters = [{"name": "c", "cluster": {"server": cluster.url}}]
        kubeconfig = {"clusters": clusters, "contexts": contexts, "current-context": "x"}
        (tmp_path / "kubeconfig").write_text(json.dumps(kubeconfig))
        own = {
            "installation": PATH,
            "compilers": ["ambassador"],
            "kubernetes": {"kubeconfig": str(tmp_path / "kubeconfig"), "kinds": ["mapping"]},
        }
        configuration = {
            "etcd": {"endpoints": [etcd.endpoint], "path": PATH},
            "client": {"endpoint": server.url},
            "no_auth": True,
            "intentc": own,
        }
        (tmp_path / "configuration.yml").write_text(json.dumps(configuration))
        cluster.put(
            MAPPINGS,
            {
                "apiVersion": "getambassador.io/v3alpha1",
                "kind": "Mapping",
                "metadata": {"name": "quote", "namespace": "default"},
                "spec": {"prefix": "/quote/", "service": "quote"},
            },
        )
        command = [sys.executable, "-m", "intentc.cli", "kubernetes", "--diagnostics", "127.0.0.1:0"]
        process = subprocess.Popen(  # noqa: ASYNC220 - it returns at once
            [*command, "--config-file", str(tmp_path / "configuration.yml")],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            assert process.stdout is not None
            url = (await anyio.to_thread.run_sync(process.stdout.readline)).strip()

            async def converged() -> bool:
                return bool((await anyio.to_thread.run_sync(_status, url))["converged"])

            await until_true(converged)
            status = await anyio.to_thread.run_sync(_status, url)
            assert status["kinds"]["mapping"]["copies"] == 1
            process.send_signal(signal.SIGTERM)
            assert await anyio.to_thread.run_sync(process.wait, PATIENCE) == 0
        finally:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
        leader = await etcd_store.range(f"/intentc/{PATH}/kubernetes/leader")
        assert leader.items == ()
