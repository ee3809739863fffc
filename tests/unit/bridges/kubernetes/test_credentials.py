"""Who we are to a cluster: tokens that end, files that are replaced, programs that give tokens."""

from __future__ import annotations

import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from intentc.bridges.kubernetes.credentials import Credentials
from intentc.loading.kubeconfig import ClusterAccess, Exec
from intentc.reconcile.failures import Denied

pytestmark = pytest.mark.anyio
NOW = datetime(2026, 1, 1, tzinfo=UTC)


async def _given(access: ClusterAccess) -> str:
    return (await Credentials(access).header()).get("Authorization", "")


async def test_each_way_to_say_who_we_are(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("of a file\n")
    assert await _given(ClusterAccess("s", token="t")) == "Bearer t"
    assert await _given(ClusterAccess("s", token_file=tmp_path / "token")) == "Bearer of a file"
    assert await _given(ClusterAccess("s", username="u", password="p")) == "Basic dTpw"
    assert await _given(ClusterAccess("s")) == ""


async def test_a_token_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("first")
    credentials = Credentials(ClusterAccess("s", token_file=path))
    await credentials.header()
    path.write_text("second")
    assert await credentials.header() == {"Authorization": "Bearer second"}
    path.write_text("\n")
    with pytest.raises(Denied, match="is empty"):
        await credentials.header()
    path.unlink()
    with pytest.raises(Denied, match="can't be read"):
        await credentials.header()


def _program(folder: Path, output: str) -> Exec:
    """A program that appends a line to ``calls`` and prints ``output``."""
    path = folder / "login"
    path.write_text(f"#!/bin/sh\necho \"$KUBERNETES_EXEC_INFO\" >> {folder}/calls\nprintf '%s' '{output}'\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return Exec((str(path),), {}, "client.authentication.k8s.io/v1")


async def test_a_program_runs_again_before_its_token_ends(tmp_path: Path) -> None:
    now = [NOW]
    until = (NOW + timedelta(minutes=10)).isoformat()
    program = _program(tmp_path, f'{{"status":{{"token":"t","expirationTimestamp":"{until}"}}}}')
    credentials = Credentials(ClusterAccess("s", exec=program), now=lambda: now[0])
    for _ in range(2):
        assert await credentials.header() == {"Authorization": "Bearer t"}
    calls = tmp_path / "calls"
    assert len(calls.read_text().splitlines()) == 1
    assert "client.authentication.k8s.io/v1" in calls.read_text()
    now[0] += timedelta(minutes=9, seconds=45)
    await credentials.header()
    assert credentials.renew()
    await credentials.header()
    assert len(calls.read_text().splitlines()) == 3


@pytest.mark.parametrize(("output", "words"), [("no JSON", "no ExecCredential"), ('{"status":{}}', "gave no token")])
async def test_what_a_program_may_do_wrong(tmp_path: Path, output: str, words: str) -> None:
    with pytest.raises(Denied, match=words):
        await _given(ClusterAccess("s", exec=_program(tmp_path, output)))


async def test_a_program_that_is_missing_or_asks_a_person(tmp_path: Path) -> None:
    with pytest.raises(Denied, match="can't be run"):
        await _given(ClusterAccess("s", exec=Exec((str(tmp_path / "none"),), {}, "v1")))
    with pytest.raises(Denied, match="asks a person"):
        await _given(ClusterAccess("s", exec=Exec(("login",), {}, "v1", interactive=True)))
