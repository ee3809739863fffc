"""Expired certificates are errors with file and date; those that expire soon are warnings, and figures."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from intentc.loading.certificates import Expiries, expiring
from intentc.loading.configuration import Configuration, load
from tests.support.certificates import write_dated
from tests.unit.cli.running import Intentc

NOW = datetime.now(UTC)


def configuration(folder: Path, begins: float, ends: float, section: str = "etcd") -> tuple[Path, Configuration]:
    """A configuration with TLS by a certificate that is valid from ``begins`` to ``ends``, in days from now."""
    tls = write_dated(folder, NOW + timedelta(days=begins), NOW + timedelta(days=ends))
    file = folder / "contrail.yml"
    file.write_text(
        f"{section}:\n  endpoint: https://127.0.0.1:1\n  tls:\n    enabled: true\n"
        f"    certificate_path: {tls.certificate}\n    key_path: {tls.key}\n    trusted_ca_path: {tls.ca}\n"
    )
    if section == "etcd":
        file.write_text(file.read_text().replace("  endpoint: https://127.0.0.1:1\n", ""))
    return file, load(file, {}).configuration


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize("section", ["etcd", "client"])
def test_an_expired_certificate_is_an_error_of_check_and_start_with_file_and_date(
    intentc: Intentc, tmp_path: Path, command: str, section: str
) -> None:
    file, _ = configuration(tmp_path, -10, -1, section)
    ended = intentc(command, "--config-file", file)
    assert ended.code == 3
    date = (NOW - timedelta(days=1)).strftime("%Y-%m-%d")
    assert f"the certificate in {tmp_path}/dated.pem expired on {date}" in ended.err
    assert f"{file}:" in ended.err


def test_one_that_is_not_valid_yet_is_an_error(intentc: Intentc, tmp_path: Path) -> None:
    file, _ = configuration(tmp_path, 1, 10)
    ended = intentc("check", "--config-file", file)
    assert ended.code == 3
    assert "is valid from " in ended.err


def test_one_that_expires_soon_is_a_warning(intentc: Intentc, tmp_path: Path) -> None:
    file, _ = configuration(tmp_path, -300, 20)
    ended = intentc("check", "--config-file", file)
    assert ended.code == 0
    assert "CertificateExpires" in ended.out and f"{tmp_path}/dated.pem expires on " in ended.out


@pytest.mark.parametrize(("begins", "ends", "warned"), [(-300, 31, 0), (-300, 29, 2), (0, 2, 0), (-2, 0.5, 2)])
def test_no_warning_is_given_before_the_last_third_of_a_short_life(
    tmp_path: Path, begins: float, ends: float, warned: int
) -> None:
    _, used = configuration(tmp_path, begins, ends)
    assert len(list(expiring(used, NOW.timestamp()))) == warned


def test_the_figures_follow_a_replaced_file(tmp_path: Path) -> None:
    _, used = configuration(tmp_path, -1, 10)
    expiries = Expiries(used)
    (before,) = expiries().values()
    assert before == int((NOW + timedelta(days=10)).timestamp())
    write_dated(tmp_path, NOW, NOW + timedelta(days=90))
    assert list(expiries().values()) == [int((NOW + timedelta(days=90)).timestamp())]


def test_without_tls_there_is_nothing_to_read() -> None:
    assert Expiries(Configuration())() == {}
