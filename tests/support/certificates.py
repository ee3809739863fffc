"""An authority of a test's own, which signs certificates for servers and clients on loopback."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from intentc.watch.addresses import Tls

from .programs import needed

_CURVE = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"


class Issued(NamedTuple):
    """A certificate and its key, PEM files."""

    certificate: Path
    key: Path

    def replace_by(self, other: Issued) -> None:
        """Rotate: the same paths hold the other pair, each file replaced whole."""
        for mine, its in zip(self, other, strict=True):
            fresh = mine.with_suffix(".new")
            shutil.copy(its, fresh)
            fresh.rename(mine)


class Authority:
    """``certificate``: what those trust who trust its signature. Skips the test where there is no openssl."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._folder.mkdir()
        self._openssl = needed("openssl")
        self.certificate = folder / "ca.pem"
        self._key = folder / "ca.key"
        subject = f"-subj /CN={folder.name} -keyout {self._key} -out {self.certificate}"
        self._run(f"req -x509 {_CURVE} -days 2 {subject} -addext basicConstraints=critical,CA:TRUE")

    def issue(self, name: str, *, alternative: str = "IP:127.0.0.1") -> Issued:
        """A certificate for ``name`` (its common name) at ``alternative``, good for servers and for clients."""
        issued = Issued(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        request = self._folder / f"{name}.csr"
        extensions = self._folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName={alternative}\nextendedKeyUsage=serverAuth,clientAuth\n")
        self._run(f"req -new {_CURVE} -subj /CN={name} -keyout {issued.key} -out {request}")
        self._run(
            f"x509 -req -in {request} -CA {self.certificate} -CAkey {self._key} -CAcreateserial -days 2"
            f" -extfile {extensions} -out {issued.certificate}"
        )
        issued.key.chmod(0o600)
        return issued

    def _run(self, arguments: str) -> None:
        subprocess.run([self._openssl, *arguments.split()], check=True, capture_output=True)


def write_certificate(directory: Path) -> Tls:
    """A certificate for 127.0.0.1 that is its own authority; written again, it is another one. Skips the test where
    there is no openssl."""
    openssl = needed("openssl")
    tls = Tls(directory / "cert.pem", directory / "cert.pem", directory / "key.pem")
    request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=intentc-test"
    files = ["-keyout", str(tls.key), "-out", str(tls.certificate)]
    subprocess.run(
        [openssl, *request.split(), *files, "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True,
        capture_output=True,
    )
    return tls
