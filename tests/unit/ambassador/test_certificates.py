"""Checks of certificates and keys (certificates.py)."""

from __future__ import annotations

import base64
import functools
import random
import subprocess
from pathlib import Path

import pytest

from intentc.compilers.ambassador.pem_checks import wrong_with_authority, wrong_with_certificate, wrong_with_revocations
from tests.support.certificates import Authority

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


def test_a_certificate_without_a_serial_number_is_taken_as_envoy_takes_it(folder: Path) -> None:
    certificate, key = pair(folder, "unnumbered", f"{RSA} -set_serial 0")
    assert (wrong_with_certificate(certificate, key), wrong_with_authority(certificate)) == ("", "")


def test_a_restricted_rsa_key_is_reported_since_envoy_does_not_take_it(folder: Path) -> None:
    assert "neither RSA nor" in wrong_with_certificate(*pair(folder, "restricted", "-newkey rsa-pss"))


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


def test_every_cut_of_a_certificate_or_key_is_reported_and_none_raises(folder: Path) -> None:
    certificate, key = pair(folder, "cut", EC)
    for cut in cuts(certificate):
        assert wrong_with_certificate(cut, key).startswith("the certificate can't be read")
        assert wrong_with_authority(cut).startswith("the certificate authority can't be read")
    for cut in cuts(key):
        assert wrong_with_certificate(certificate, cut).startswith("the private key can't be read")


def cuts(pem: bytes) -> list[bytes]:
    """``pem`` without its last lines but the closing one."""
    lines = pem.splitlines()
    return [b"\n".join([*lines[: kept + 1], lines[-1]]) for kept in range(1, len(lines) - 2)]


@pytest.mark.parametrize("algorithm", [EC, RSA], ids=["ec", "rsa"])
def test_changed_bytes_raise_nothing_and_no_message_shows_the_key(folder: Path, algorithm: str) -> None:
    certificate, key = pair(folder, "changed", algorithm)
    chance = random.Random(1)
    messages = set()
    for _ in range(300):
        changed = altered(key, chance)
        messages.add(wrong_with_certificate(altered(certificate, chance), key))
        messages.add(wrong_with_certificate(certificate, changed))
        messages.add(wrong_with_authority(altered(certificate, chance)))
        messages.add(wrong_with_revocations(altered(certificate, chance).replace(b"CERTIFICATE", b"X509 CRL")))
    assert len(messages) <= 8  # what is wrong, never what it is about


def altered(pem: bytes, chance: random.Random) -> bytes:
    """``pem`` with another byte somewhere in its content, mostly near its start, where the structure is."""
    first, *lines, last = pem.splitlines()
    content = bytearray(base64.b64decode(b"".join(lines)))
    content[chance.randrange(chance.choice([40, 300, len(content)])) % len(content)] = chance.randrange(256)
    return b"\n".join([first, base64.b64encode(content), last])


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
