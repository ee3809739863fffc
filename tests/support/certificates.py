"""An authority of a test's own, which signs certificates for servers and clients on loopback."""

from __future__ import annotations

import ipaddress
import shutil
import subprocess
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from intentc.watch.etcd_connections import Tls

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


def write_dated(directory: Path, begins: datetime, ends: datetime) -> Tls:
    """A certificate for 127.0.0.1 that is its own authority, valid from ``begins`` to ``ends``."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "dated")])
    here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(7).not_valid_before(begins).not_valid_after(ends)
    builder = builder.add_extension(here, False).add_extension(x509.BasicConstraints(True, None), True)
    tls = Tls(directory / "dated.pem", directory / "dated.pem", directory / "dated.key")
    assert tls.certificate is not None and tls.key is not None
    form = serialization.PrivateFormat.PKCS8
    tls.certificate.write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    tls.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    tls.key.chmod(0o600)
    return tls


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
