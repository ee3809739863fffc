"""``intentc apiserver`` where etcd rejects its user: that user and the role that it needs are named."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from intentc.dev.etcd_server import Etcd
from tests.integration.security.controlled_etcd import Control
from tests.support import forking
from tests.support.processes import environment_with

pytestmark = [pytest.mark.anyio, pytest.mark.etcd]


@pytest.mark.parametrize(
    ("user", "named"),
    [
        ({"username": "stranger", "password": "secret"}, "the user stranger (etcd.username)"),
        ({}, "etcd.username, which is empty,"),
    ],
)
async def test_a_rejected_user_is_named_with_the_role_that_it_needs(
    fresh_etcd: Etcd, tmp_path: Path, user: dict[str, str], named: str
) -> None:
    control = Control(fresh_etcd)
    control.grant_roles("elsewhere", "test")
    control.add_user("stranger", "secret", "intentc-apiserver-elsewhere")
    control.enable()
    configuration = tmp_path / "contrail.yml"
    etcd = {"endpoints": [fresh_etcd.endpoint], "path": "contrail", **user}
    configuration.write_bytes(
        msgspec.json.encode({"etcd": etcd, "no_auth": True, "server": {"address": "127.0.0.1:0"}})
    )
    code, out, err = await forking.run(["apiserver", "--config-file", str(configuration)], environment_with({}))
    assert (code, out) == (3, ""), err
    assert "etcd rejects this API server: " in err
    assert f"grant {named} the role intentc-apiserver-contrail: `intentc etcd-roles` prints" in err
    assert "see that it runs" not in err
