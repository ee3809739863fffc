"""etcd servers as an operator secures them: certificates asked for, users and roles, little space."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread

from intentc.dev.etcd_server import Etcd, find_binary
from tests.support.certificates import Authority, Issued
from tests.support.programs import etcdctl
from tests.support.waiting import PATIENCE

ROLES = Path(__file__).parents[3] / "config" / "etcd-roles.sh"
ROOT_PASSWORD = "root-password"


class Control:
    """What an operator does to ``etcd`` with etcdctl; as root once ``enable`` was called."""

    def __init__(self, etcd: Etcd) -> None:
        self.etcd = etcd
        self._as_root = False

    def __call__(self, *words: str) -> str:
        """Run one command; what it prints."""
        done = subprocess.run(
            [etcdctl(), *words], check=True, capture_output=True, env=self._environment(), timeout=PATIENCE
        )
        return done.stdout.decode()

    def grant_roles(self, path: str, installation: str) -> None:
        """Run the script that ships."""
        subprocess.run(
            [ROLES, path, installation], check=True, capture_output=True, env=self._environment(), timeout=PATIENCE
        )

    def add_user(self, name: str, password: str, role: str) -> None:
        self("user", "add", f"{name}:{password}")
        self("user", "grant-role", name, role)

    def change_password(self, name: str, password: str) -> None:
        """etcd forgets the user's tokens by that."""
        subprocess.run(
            [etcdctl(), "user", "passwd", name, "--interactive=false"],
            input=password.encode(),
            check=True,
            capture_output=True,
            env=self._environment(),
            timeout=PATIENCE,
        )

    def enable(self) -> None:
        """From now on nobody is let in without a name."""
        self.add_user("root", ROOT_PASSWORD, "root")
        self("auth", "enable")
        self._as_root = True

    def _environment(self) -> dict[str, str]:
        user = {"ETCDCTL_USER": f"root:{ROOT_PASSWORD}"} if self._as_root else {}
        folder = str(Path(etcdctl()).parent)
        return {
            "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "ETCDCTL_API": "3",
            "ETCDCTL_ENDPOINTS": self.etcd.endpoint,
            **user,
        }


@asynccontextmanager
async def etcd_with(*flags: str, scheme: str = "http", binary: Path | None = None) -> AsyncIterator[Etcd]:
    """An etcd with further flags, ended with the block. ``binary``: by default the one that all tests run."""
    # Log-ins are checked at the least price: at etcd's own, each costs 60 ms of CPU.
    etcd = Etcd(binary=binary or find_binary(), scheme=scheme, flags=["--bcrypt-cost=4", *flags])
    try:
        await anyio.to_thread.run_sync(etcd.start)
        yield etcd
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(etcd.close)


def asking_for_certificates(server: Issued, trusted: Authority | Path) -> Sequence[str]:
    """Flags of an etcd that accepts only certificates which ``trusted`` has signed."""
    ca = trusted.certificate if isinstance(trusted, Authority) else trusted
    return (
        f"--cert-file={server.certificate}",
        f"--key-file={server.key}",
        f"--trusted-ca-file={ca}",
        "--client-cert-auth",
    )
