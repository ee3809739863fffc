"""Checks of certificates and keys (certificates.py)."""

from __future__ import annotations

import base64
import functools
import subprocess
from pathlib import Path

import pytest

from intentc.compilers.ambassador.tls.certificates import (
    wrong_with_authority,
    wrong_with_certificate,
    wrong_with_revocations,
)
from tests.integration.security.authority import Authority

EC = "-newkey ec -pkeyopt ec_paramgen_curve:P-256"
RSA = "-newkey rsa:2048"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("certificates")
    Authority(path / "authority")  # skips where there is no openssl
    return path


def openssl(*arguments: str) -> bytes:
    return subprocess.run(["openssl", *arguments], check=True, capture_output=True).stdout


@functools.cache
def pair(folder: Path, name: str, algorithm: str) -> tuple[bytes, bytes]:
    key, certificate = folder / f"{name}.key", folder / f"{name}.pem"
    request = f"req -x509 {algorithm} -nodes -days 2 -subj /CN={name} -keyout {key} -out {certificate}"
    openssl(*request.split())
    return certificate.read_bytes(), key.read_bytes()


@pytest.mark.parametrize("algorithm", [EC, RSA], ids=["ec", "rsa"])
def test_a_certificate_and_its_key_fit(folder: Path, algorithm: str) -> None:
    assert wrong_with_certificate(*pair(folder, "fits", algorithm)) == ""


@pytest.mark.parametrize("label", ["rsa", "ec"])
def test_keys_in_their_older_forms_fit(folder: Path, label: str) -> None:
    certificate, _ = pair(folder, f"older-{label}", EC if label == "ec" else RSA)
    path = str(folder / f"older-{label}.key")
    older = openssl("ec", "-in", path) if label == "ec" else openssl("rsa", "-in", path, "-traditional")
    assert f"BEGIN {label.upper()} PRIVATE KEY".encode() in older
    assert wrong_with_certificate(certificate, older) == ""


def test_a_key_of_another_certificate_does_not_fit(folder: Path) -> None:
    for one, other in ((EC, EC), (RSA, RSA), (RSA, EC)):
        certificate, _ = pair(folder, "one", one)
        _, key = pair(folder, "other", other)
        assert wrong_with_certificate(certificate, key) == "the private key is not the certificate's"


def test_an_algorithm_that_envoy_does_not_take_is_reported(folder: Path) -> None:
    assert "neither RSA nor elliptic curve" in wrong_with_certificate(*pair(folder, "edwards", "-newkey ed25519"))


@pytest.mark.parametrize(
    ("algorithm", "shown"),
    [("-newkey rsa:1024", "1024 bits"), ("-newkey ec -pkeyopt ec_paramgen_curve:secp256k1", "P-256, P-384, P-521")],
)
def test_a_key_that_envoy_finds_too_weak_is_reported(folder: Path, algorithm: str, shown: str) -> None:
    assert shown in wrong_with_certificate(*pair(folder, "weak", algorithm))


@pytest.mark.parametrize("curve", ["P-256", "P-384", "P-521"])
def test_each_curve_that_envoy_takes_is_taken(folder: Path, curve: str) -> None:
    named = pair(folder, curve, f"-newkey ec -pkeyopt ec_paramgen_curve:{curve}")
    assert wrong_with_certificate(*named) == ""


def test_a_key_with_a_password_is_reported(folder: Path) -> None:
    certificate, _ = pair(folder, "locked", EC)
    locked = openssl("pkcs8", "-topk8", "-in", str(folder / "locked.key"), "-passout", "pass:x")
    assert "without a password" in wrong_with_certificate(certificate, locked)


@pytest.mark.parametrize(
    "cut", [b"", b"hello", b"\xff\xfe", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"]
)
def test_what_is_no_certificate_is_reported(folder: Path, cut: bytes) -> None:
    _, key = pair(folder, "whole", EC)
    assert wrong_with_certificate(cut, key).startswith("the certificate can't be read")
    assert wrong_with_authority(cut).startswith("the certificate authority can't be read")


def test_every_cut_of_a_certificate_is_reported_and_none_raises(folder: Path) -> None:
    certificate, key = pair(folder, "cut", EC)
    lines = certificate.decode().splitlines()
    for kept in range(1, len(lines) - 2):
        cut = "\n".join([*lines[: kept + 1], lines[-1]]).encode()
        assert wrong_with_certificate(cut, key) != ""


def element(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    length = len(content)
    return bytes([tag, length] if length < 0x80 else [tag, 0x82, *length.to_bytes(2, "big")]) + content


def certificate_with(algorithm: bytes, bits: bytes) -> bytes:
    """A certificate of which all but the public key is empty."""
    info = element(0x30, algorithm, element(3, bits))
    signed = element(0x30, *[element(0x30)] * 5, info)
    content = base64.b64encode(element(0x30, signed, element(0x30), element(3, b"\0")))
    return b"-----BEGIN CERTIFICATE-----\n" + content + b"\n-----END CERTIFICATE-----\n"


RSA_ALGORITHM = element(0x30, element(6, bytes.fromhex("2a864886f70d010101")), b"\x05\x00")
EC_ALGORITHM = element(0x30, element(6, bytes.fromhex("2a8648ce3d0201")), element(6, bytes.fromhex("2b81040022")))


@pytest.mark.parametrize("algorithm", [RSA_ALGORITHM, EC_ALGORITHM, element(0x30), element(6)], ids=str)
@pytest.mark.parametrize(
    "bits",
    [
        b"",
        b"\0",
        b"\0\x30\x00",
        b"\0\x30\x02\x02\x00",
        b"\0\x02\x01\x01",
        b"\0" + element(0x30, element(2, b"\1" * 256)),
    ],
    ids=str,
)
def test_a_public_key_with_nothing_in_it_is_reported(folder: Path, algorithm: bytes, bits: bytes) -> None:
    _, key = pair(folder, "odd", RSA)
    shown = wrong_with_certificate(certificate_with(algorithm, bits), key)
    assert shown.startswith("the certificate can't be read") or shown == "the private key is not the certificate's"


def test_a_revocation_list_is_distinguished_from_a_certificate(folder: Path) -> None:
    authority = Authority(folder / "revoking")
    index = folder / "index.txt"
    index.write_text("")
    settings = folder / "ca.cnf"
    settings.write_text(f"[ca]\ndefault_ca=own\n[own]\ndatabase={index}\ndefault_md=sha256\ndefault_crl_days=2\n")
    key = folder / "revoking" / "ca.key"
    listed = openssl(
        "ca", "-gencrl", "-config", str(settings), "-keyfile", str(key), "-cert", str(authority.certificate)
    )
    assert wrong_with_revocations(listed) == ""
    assert "not an X509 CRL" in wrong_with_revocations(authority.certificate.read_bytes())
