"""Certificates for servers on loopback, made when a test needs them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from intentc.watch.addresses import Tls


def write_certificate(directory: Path) -> Tls:
    """A certificate for 127.0.0.1 that is its own authority; written again, it is another one. Skips the test where
    there is no openssl."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl on PATH to make a certificate with")
    tls = Tls(directory / "cert.pem", directory / "cert.pem", directory / "key.pem")
    request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=intentc-test"
    files = ["-keyout", str(tls.key), "-out", str(tls.certificate)]
    subprocess.run(
        [openssl, *request.split(), *files, "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True,
        capture_output=True,
    )
    return tls
