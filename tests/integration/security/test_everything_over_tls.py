"""The whole, as an operator secures it: etcd, API server, compiler and commands, each showing its certificate to each,
configured by files alone; the clients' certificates are replaced while all of them run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from tests.integration.security.controlled_etcd import asking_for_certificates, etcd_with
from tests.support import forking
from tests.support.certificates import Authority, Issued
from tests.support.commands import SAMPLE
from tests.support.processes import Process, environment_with, start
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

_SERVING = re.compile(r"^(https://\S+)$", re.MULTILINE)


def client_tls(authority: Authority, client: Issued) -> dict[str, Any]:
    return {
        "enabled": True,
        "trusted_ca_path": str(authority.certificate),
        "certificate_path": str(client.certificate),
        "key_path": str(client.key),
    }


async def command(configuration: Path, *words: str) -> tuple[int, str]:
    """Exit code, and all that it printed."""
    with anyio.fail_after(PATIENCE):
        done = await forking.run(["--config-file", str(configuration), *words], environment_with({}))
    return done.code, done.out + done.err


async def test_all_parts_work_with_certificates_and_continue_when_they_are_replaced(
    tmp_path: Path, processes: list[Process]
) -> None:
    authority = Authority(tmp_path / "authority")
    server, client = authority.issue("server"), authority.issue("client")
    async with etcd_with(
        *asking_for_certificates(authority.issue("etcd"), authority), "--max-txn-ops=1024", scheme="https"
    ) as etcd:

        def written(name: str, **sections: Any) -> Path:
            path = tmp_path / f"{name}.yml"
            own = {
                "diagnostics": {"address": "127.0.0.1:0"},
                "limits": {"max_txn_ops": 1024},
                "watch": {"heartbeat": "300ms"},
            }
            secured = {"endpoints": [f"https://{etcd.endpoint}"], "tls": client_tls(authority, client)}
            path.write_bytes(msgspec.json.encode({"etcd": secured, "intentc": own, **sections}))
            return path

        tls = {
            "enabled": True,
            "cert_file": str(server.certificate),
            "key_file": str(server.key),
            "client_ca_file": str(authority.certificate),
        }
        serving = written("server", server={"address": "127.0.0.1:0", "tls": tls}, no_auth=True)
        api = start(["--config-file", str(serving), "apiserver"], tmp_path / "api.log", {})
        processes.append(api)
        with anyio.fail_after(PATIENCE):
            while not (url := _SERVING.search(api.log)):
                assert api.alive, api.log
                await anyio.sleep(0.02)

        compiling = written("compiler", client={"endpoint": url[1], "tls": client_tls(authority, client)})
        compiler = start(["--config-file", str(compiling), "run"], tmp_path / "compiler.log", {})
        processes.append(compiler)
        await compiler.until_ready(True, PATIENCE)

        unarmed = written("unarmed", client={"endpoint": url[1]})
        code, printed = await command(unarmed, "get", "project")
        assert (code, "certificate verify failed" in printed) == (4, True), printed

        code, printed = await command(compiling, "apply", str(SAMPLE))
        assert code == 0, printed
        status = await compiler.quiet(1, PATIENCE)
        assert status["counters"]["writes"] >= 20

        client.replace_by(authority.issue("successor"))
        code, printed = await command(compiling, "get", "access_control_list")
        assert code == 0 and "ingress-access-control-list" in printed
        code, printed = await command(compiling, "delete", str(SAMPLE))
        assert code == 0, printed
        await compiler.quiet(status["applied_revision"] + 1, PATIENCE)
        code, printed = await command(compiling, "get", "access_control_list")
        assert code == 0 and "sample" not in printed
        assert "NOT checked" not in compiler.log and '"error"' not in compiler.log
        assert await compiler.terminate() == 0
