"""Certificates, keys and a revocation list, made by openssl for the tests of Hosts."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from tests.support.ambassador.hosts import secret
from tests.support.certificates import Authority


class Pems:
    """Two certificates, and the authority that signed them."""

    def __init__(self, folder: Path) -> None:
        authority = Authority(folder / "authority")
        one, other = authority.issue("one"), authority.issue("other")
        self.chain, self.key = one.certificate.read_bytes(), one.key.read_bytes()
        self.other_chain, self.other_key = other.certificate.read_bytes(), other.key.read_bytes()
        self.authority = authority.certificate.read_bytes()
        (folder / "index").write_text("")
        settings = folder / "ca.cnf"
        own = f"database={folder / 'index'}\ndefault_md=sha256\ndefault_crl_days=2\n"
        settings.write_text(f"[ca]\ndefault_ca=own\n[own]\n{own}")
        files = f"-keyfile {folder / 'authority' / 'ca.key'} -cert {authority.certificate} -config {settings}"
        command = ["openssl", "ca", "-gencrl", *files.split()]
        self.revoked = subprocess.run(command, check=True, capture_output=True).stdout

    def secret(self, name: str = "cert", namespace: str = "gate") -> dict[str, Any]:
        return secret(name, namespace, tls_crt=self.chain, tls_key=self.key)

    def other(self, name: str = "other") -> dict[str, Any]:
        return secret(name, tls_crt=self.other_chain, tls_key=self.other_key)

    def secrets(self) -> list[dict[str, Any]]:
        """``cert`` with a certificate, and ``ca`` with who signed it."""
        return [self.secret(), secret("ca", tls_crt=self.authority)]
