"""A secret that a gateway's compiler needs in the middle of a listener is looked for wherever objects are shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from intentc.dev.etcd_server import Etcd
from tests.integration.security.canaries import PAGES, Place
from tests.support.processes import Process, start
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

GATE = """
apiVersion: getambassador.io/v3alpha1
kind: Listener
metadata: {name: web, namespace: gate}
spec: {port: 8080, protocol: HTTP, securityModel: XFP, hostBinding: {namespace: {from: ALL}}}
---
apiVersion: getambassador.io/v3alpha1
kind: Host
metadata: {name: all, namespace: gate}
spec: {hostname: "*", requestPolicy: {insecure: {action: Route}}}
---
apiVersion: getambassador.io/v3alpha1
kind: Mapping
metadata: {name: shop, namespace: gate}
spec: {hostname: "*", prefix: /, service: shop}
---
apiVersion: getambassador.io/v3alpha1
kind: AuthService
metadata: {name: auth, namespace: gate}
spec: {auth_service: "auth:3000", add_auth_headers: {x-key: VALUE}}
"""


async def until_shown(compiler: Process, page: str, text: str) -> Any:
    """Wait for ``text`` on a page; all of it."""
    with anyio.fail_after(PATIENCE):
        while text not in (found := await compiler.get(page)).text:
            assert compiler.alive, compiler.log
            await anyio.sleep(0.05)
    return found.json()


async def test_a_secret_header_of_an_auth_service_shows_nowhere(
    fresh_etcd: Etcd, tmp_path: Path, processes: list[Process]
) -> None:
    place = Place(tmp_path, fresh_etcd, "json")
    compilers = {"compilers": ["ambassador"]}
    serving = place.configuration("server", server={"address": "127.0.0.1:0"}, intentc=compilers, no_auth=True)
    api = start(["--config-file", str(serving), "apiserver"], tmp_path / "api.log", {})
    processes.append(api)
    url = await api.serving_at()
    configuration = place.configuration("compiler", client={"endpoint": url}, intentc=compilers)
    compiler = start(["--config-file", str(configuration), "run"], tmp_path / "compiler.log", {})
    processes.append(compiler)
    await compiler.until_ready(True, PATIENCE)

    gate, other, wrong = (tmp_path / f"{name}.yml" for name in ("gate", "other", "wrong"))
    gate.write_text(GATE.replace("VALUE", "canary-header"))
    other.write_text(GATE.replace("VALUE", "canary-other"))
    wrong.write_text(GATE.replace("VALUE", '"canary\\nwrong"'))
    assert await place.command(configuration, "apply", str(gate)) == 0
    rows = (await until_shown(compiler, "/objects?kind=envoy_listener", '"name"'))["rows"]
    listener = rows[0]["name"]

    faces = [*PAGES, "/views/routes"]
    faces += [f"{page}?kind=envoy_listener&name={listener}" for page in ("/object", "/why", "/pages/object")]
    for face in faces:
        place.sinks[face] = (await compiler.get(face)).text
    plan = str(tmp_path / "p.plan")
    for output in ("table", "json"):
        assert await place.command(configuration, "plan", str(other), "-o", output) == 0
        assert await place.command(configuration, "plan", "--delete", str(gate), "-o", output) == 0
    assert "<secret> → <secret, another>" in place.sinks[f"plan {other} -o table"]
    assert await place.command(configuration, "plan", str(other), "--out", plan) == 0
    for output in ("table", "json", "yaml", "envoy"):
        assert await place.command(configuration, "compile", str(gate), "-o", output) == 0
    assert "<secret>" in place.sinks[f"compile {gate} -o envoy"]
    assert await place.command(configuration, "get", "envoy_listener", "-o", "yaml") == 0
    assert "<secret>" in place.sinks["get envoy_listener -o yaml"]

    # Rotated: the plan is rejected; wrong: a problem reports it.
    assert await place.command(configuration, "apply", str(wrong)) == 0
    assert await place.command(configuration, "apply", plan) == 1
    assert await place.command(configuration, "compile", str(wrong), "-o", "json") == 0
    await until_shown(compiler, "/status", "InvalidHeader")
    for face in faces:
        place.sinks[f"{face} (wrong)"] = (await compiler.get(face)).text
    assert await compiler.terminate() == 0
    place.sinks |= {"compiler": compiler.log, "api": api.log, "journal": place.journal()}
    place.assert_no_canary()
