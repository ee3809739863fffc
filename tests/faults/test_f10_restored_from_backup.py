"""F10, etcd restored from a backup: what the compiler remembers of the store is no longer true.

The backup is taken at the worst moment: a change is in etcd, and what follows from it isn't. Between backup and restore
all that is compiled, and more is changed, numbers are given and taken back.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from intentc.dev.etcd_server import Etcd
from intentc.watch.protocol import Put
from tests.faults.load import Tenants
from tests.faults.oracles import check
from tests.faults.process_system import ProcessSystem
from tests.faults.scale import BASE
from tests.faults.scale_writing import seeded
from tests.support.processes import Process
from tests.support.programs import etcdctl
from tests.support.waiting import pauses

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

Restore = Callable[[], None]


def by_files(etcd: Etcd, folder: Path) -> Restore:
    """A copy of the data directory, put back: the cluster is the same, its revision goes back."""
    etcd.stop()
    shutil.copytree(etcd.data_dir / "etcd", folder / "backup")
    etcd.start()

    def restore() -> None:
        etcd.kill()
        shutil.rmtree(etcd.data_dir / "etcd")
        shutil.copytree(folder / "backup", etcd.data_dir / "etcd")
        etcd.start()

    return restore


def by_snapshot(etcd: Etcd, folder: Path) -> Restore:
    """``etcdctl snapshot save`` and ``restore`` as operators do it: another cluster id."""
    snapshot, peer = str(folder / "snapshot"), f"http://{etcd._peer}"
    _etcdctl("--endpoints", f"http://{etcd.endpoint}", "snapshot", "save", snapshot)

    def restore() -> None:
        etcd.kill()
        shutil.rmtree(etcd.data_dir / "etcd")
        _etcdctl(
            "snapshot", "restore", snapshot, "--data-dir", str(etcd.data_dir / "etcd"), "--name", "intentc",
            "--initial-cluster", f"intentc={peer}", "--initial-advertise-peer-urls", peer,
            "--initial-cluster-token", "restored",
        )  # fmt: skip
        etcd.start()

    return restore


def _etcdctl(*arguments: str) -> None:
    done = subprocess.run(
        [etcdctl(), *arguments], env={"ETCDCTL_API": "3"}, capture_output=True, check=False, text=True
    )
    assert done.returncode == 0, done.stderr


async def trusted_again(compiler: Process) -> None:
    """The restore was noticed, and writes are permitted again."""
    with anyio.fail_after(BASE.patience):
        for pause in pauses():
            status = await compiler.status()
            if status["watch"]["restored"] and status["writing"]["permitted"]:
                return
            await anyio.sleep(pause)


@pytest.mark.parametrize("backup", [by_files, by_snapshot])
@pytest.mark.parametrize("away", [False, True], ids=["while-it-runs", "while-it-is-stopped"])
async def test_f10_a_restored_store_is_audited_before_anything_is_written(
    own_bench: ProcessSystem, fresh_etcd: Etcd, tmp_path: Path, backup: Callable[[Etcd, Path], Restore], away: bool
) -> None:
    """``away``: the compiler is stopped while etcd is restored, and others write past the revision that it had seen.
    Only the cluster id shows the restore, or a key whose last write is older than it was."""
    bench, world = own_bench, own_bench.world
    tenants = Tenants(world, seeded())
    await tenants.populate(BASE.groups, BASE.networks)
    compiler = bench.start()
    await compiler.quiet(world.revision, BASE.patience)

    compiler.suspend()
    await tenants.sync(tenants.extra())
    await tenants.sync(tenants.changes(5))
    known = dict(tenants.groups), dict(tenants.networks), dict(tenants.routers)
    restore = await anyio.to_thread.run_sync(backup, fresh_etcd, tmp_path)
    compiler.resume()
    await compiler.quiet(world.revision, BASE.patience)
    await tenants.sync(tenants.extra())
    await tenants.sync(tenants.changes(20))
    await compiler.quiet(world.revision, BASE.patience)
    if away:
        compiler.suspend()
    seen = (await world.store.range("/elsewhere")).revision
    await anyio.to_thread.run_sync(restore)
    tenants.groups, tenants.networks, tenants.routers = known
    world.revision = 0
    if away:
        while (await world.store.transaction((), [Put("/elsewhere", b"")])).revision <= seen:
            pass
        await tenants.sync([tenants.rewritten(name) for name in sorted(tenants.groups)])
        compiler.resume()

    await trusted_again(compiler)
    status = await compiler.quiet(world.revision, BASE.patience)
    assert status["watch"]["restored"] == 1
    assert status["audit"]["runs"] == 1
    lines = compiler.log.splitlines()
    alarm = next(number for number, line in enumerate(lines) if "restored from an older state" in line)
    assert any("auditing: etcd was restored" in line for line in lines[alarm:])
    await check(bench, compiler, BASE.patience)
