"""What ``plan`` and a saved plan reject, beside a real etcd and a real API server, and how they say what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import Intentc
from tests.support.live_system import LiveSystem

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]


def router(folder: Path, password: str) -> Path:
    file = folder / "router.yml"
    credentials = f"{{username: admin, password: {password}}}"
    name = "[default-global-system-config, edge]"
    file.write_text(
        f"kind: physical_router\ndata: {{fq_name: {name}, physical_router_user_credentials: {credentials}}}\n"
    )
    return file


async def test_a_saved_plan_does_not_overwrite_a_secret_that_was_rotated_meanwhile(
    compiled: LiveSystem, intentc: Intentc, tmp_path: Path
) -> None:
    plan = tmp_path / "rotate.plan"
    assert (await intentc("apply", router(tmp_path, "canary-at-first"))).code == 0
    planned = await intentc("plan", router(tmp_path, "canary-planned"), "--out", plan)
    assert (planned.code, "<secret> → <secret, another>" in planned.out) == (0, True), planned.err
    assert (await intentc("apply", router(tmp_path, "canary-meanwhile"))).code == 0
    stale = await intentc("apply", plan)
    assert stale.code == 1
    assert "the plan is stale: different: update physical_router default-global-system-config:edge" in stale.err
    assert "canary" not in planned.out + planned.err + stale.out + stale.err
    (stored,) = (await compiled.stored())["physical_router"].values()
    assert stored["physical_router_user_credentials"]["password"] == "canary-meanwhile"
    assert (await intentc("plan", router(tmp_path, "canary-planned"), "--out", plan)).code == 0
    assert (await intentc("apply", plan)).code == 0


async def test_a_plan_that_an_editor_laid_out_is_still_one(
    compiled: LiveSystem, intentc: Intentc, renamed: Path, tmp_path: Path
) -> None:
    file = tmp_path / "rename.plan"
    assert (await intentc("plan", renamed, "--out", file)).code == 0
    file.write_text(json.dumps(json.loads(file.read_text()), indent=2, sort_keys=True))
    applied = await intentc("apply", file)
    assert applied.code == 0, applied.err
