"""A real kube-apiserver on an etcd of its own, for ``make kubernetes`` (docs/operating.md, Kubernetes).

No registry has it as a program: ``KUBEBUILDER_ASSETS`` names the directory that holds one. It runs without nodes and
controllers; users are those of a token file, and RBAC decides what they may do.
"""

from __future__ import annotations

import json
import os
import shutil
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from intentc.dev.child_process import end, free_ports, log_tail, start_tied
from intentc.dev.etcd_server import Etcd, find_binary
from tests.support.programs import missing

ADMIN = "admin-token"
"""The token of a member of ``system:masters``, who may do everything."""
_READY_WITHIN_SECONDS = 60.0
_POLL_SECONDS = 0.1


def binary() -> Path | None:
    """The kube-apiserver in ``KUBEBUILDER_ASSETS``; None if there is none."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    found = Path(assets) / "kube-apiserver" if assets else None
    return found if found is not None and found.is_file() else None


@contextmanager
def running_kube_apiserver(
    users: dict[str, tuple[str, str]] | None = None, arguments: Sequence[str] = ()
) -> Iterator[KubeApiserver]:
    """A ``KubeApiserver``; without one in ``KUBEBUILDER_ASSETS`` the test is skipped."""
    program = binary()
    if program is None:
        missing("kube-apiserver")
    server = KubeApiserver(program, users, arguments)
    try:
        server.start()
        yield server
    finally:
        server.close()


class KubeApiserver:
    """One kube-apiserver. ``users``: token → (name, groups). ``arguments``: in addition to its own, of which the last
    one of a name counts. All methods block."""

    def __init__(
        self, program: Path, users: dict[str, tuple[str, str]] | None = None, arguments: Sequence[str] = ()
    ) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="intentc-kube-"))
        self.etcd = Etcd(binary=find_binary())
        self.port = 0
        self.users = {ADMIN: ("admin", "system:masters"), **(users or {})}
        self._program = program
        self._arguments = tuple(arguments)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def authority(self) -> Path:
        """The certificate that its own is signed with: it signs its own."""
        return self.directory / "certificates" / "apiserver.crt"

    def start(self) -> None:
        """Start etcd and the server, and wait until it is ready; again on the same port after ``stop``."""
        self.etcd.start()
        self.port = self.port or free_ports(1)[0]
        key = self.directory / "service-accounts.key"
        if not key.exists():
            made = rsa.generate_private_key(65537, 2048)
            key.write_bytes(
                made.private_bytes(
                    serialization.Encoding.PEM,
                    serialization.PrivateFormat.TraditionalOpenSSL,
                    serialization.NoEncryption(),
                )
            )
        tokens = self.directory / "tokens.csv"
        tokens.write_text(
            "".join(f'{token},{name},{name},"{groups}"\n' for token, (name, groups) in self.users.items())
        )
        command = [
            str(self._program),
            f"--etcd-servers=http://{self.etcd.endpoint}",
            f"--secure-port={self.port}",
            "--bind-address=127.0.0.1",
            f"--cert-dir={self.directory / 'certificates'}",
            f"--token-auth-file={tokens}",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://intentc.test",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--disable-admission-plugins=ServiceAccount",
            "--allow-privileged",
            "--profiling=false",
            *self._arguments,
        ]
        log = self.directory / "log"
        self._process = start_tied(command, log, dict(os.environ))
        limit = time.monotonic() + _READY_WITHIN_SECONDS
        while not self._ready():
            if self._process.poll() is not None or time.monotonic() > limit:
                raise RuntimeError(f"kube-apiserver did not start: {log_tail(log)}")
            time.sleep(_POLL_SECONDS)

    def stop(self) -> None:
        """End the server; its etcd goes on."""
        if self._process is not None:
            end(self._process)
            self._process = None

    def emptied(self) -> None:
        """Restart with an empty etcd: another cluster at the same address."""
        self.stop()
        self.etcd.close()
        self.etcd = Etcd(binary=find_binary())
        self.start()

    def close(self) -> None:
        """End both, and delete what they kept."""
        self.stop()
        self.etcd.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def kubeconfig(self, token: str = ADMIN, path: Path | None = None) -> Path:
        """Write a kubeconfig for the user of ``token``."""
        path = path or self.directory / f"{token}.kubeconfig"
        path.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [
                        {
                            "name": "test",
                            "cluster": {"server": self.url, "certificate-authority": str(self.authority)},
                        }
                    ],
                    "users": [{"name": "test", "user": {"token": token}}],
                    "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
                    "current-context": "test",
                }
            )
        )
        return path

    def ask(
        self, method: str, path: str, body: Any = None, token: str = ADMIN, content: str = "application/json"
    ) -> Any:
        """One request as the user of ``token``; the answer's JSON. Raises ``urllib.error.HTTPError``."""
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token}", "Content-Type": content},
        )
        with urllib.request.urlopen(request, context=self._trust(), timeout=30) as answer:
            return json.loads(answer.read() or b"null")

    def wait_for(self, path: str, pauses: Iterator[float]) -> None:
        """Wait until ``path`` is answered. Raises ``TimeoutError``."""
        limit = time.monotonic() + _READY_WITHIN_SECONDS
        for pause in pauses:
            try:
                self.ask("GET", path)
                return
            except urllib.error.HTTPError as error:
                error.close()
                if time.monotonic() > limit:
                    raise TimeoutError(f"{path}: {error}") from None
                time.sleep(pause)

    def _ready(self) -> bool:
        try:
            request = urllib.request.Request(f"{self.url}/readyz", headers={"Authorization": f"Bearer {ADMIN}"})
            with urllib.request.urlopen(request, context=self._trust(), timeout=2) as answer:
                return bool(answer.status == 200)
        except urllib.error.HTTPError as error:
            error.close()
            return False
        except (OSError, urllib.error.URLError, ssl.SSLError):
            return False

    def _trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.authority))
