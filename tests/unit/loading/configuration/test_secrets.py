"""Secrets of a configuration: bound to their files, known to the filter of the logs, shown nowhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from intentc.loading.configuration import Secret, load
from intentc.model import InvalidInput


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "password"
    path.write_text("first-canary\n")
    return path


def test_a_secret_is_read_again_when_its_file_has_changed(file: Path) -> None:
    secret = Secret.of_file(file)
    assert secret.reveal() == "first-canary"
    file.write_text("second-canary\n")
    assert secret.reveal() == "second-canary"
    assert secret.texts == ("first-canary", "second-canary")


def test_a_file_that_is_replaced_through_a_link_counts_as_changed(file: Path, tmp_path: Path) -> None:
    """As mounted secrets are rotated: the link is put on another file, of the same size and age."""
    other, link = tmp_path / "other", tmp_path / "link"
    other.write_text("other-canary\n")
    os.utime(other, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
    link.symlink_to(file)
    secret = Secret.of_file(link)
    link.unlink()
    link.symlink_to(other)
    assert secret.reveal() == "other-canary"


@pytest.mark.parametrize("content", ["", "\n", None, b"\xff\xfe"])
def test_a_file_that_is_being_written_leaves_the_former_secret_in_use(file: Path, content: str | bytes | None) -> None:
    secret = Secret.of_file(file)
    file.unlink()
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert secret.reveal() == "first-canary"
    file.write_text("second-canary")
    assert secret.reveal() == "second-canary"


def test_the_filter_of_the_logs_learns_what_a_secret_becomes(file: Path) -> None:
    file.chmod(0o600)
    loaded = load(None, {"INTENTC_ETCD__PASSWORD_FILE": str(file)})
    assert loaded.secrets() == {"first-canary"}
    file.write_text("second-canary")
    loaded.configuration.etcd.password.reveal()
    assert loaded.secrets() == {"first-canary", "second-canary"}
    assert loaded.notes == ()


def test_a_url_with_a_password_is_rejected_without_showing_it() -> None:
    for url in ("http://u:canary@api", "ftp://u:canary@api", "u:canary@"):
        with pytest.raises(InvalidInput, match="holds a password or a user") as rejected:
            load(None, {"INTENTC_CLIENT__ENDPOINT": url})
        assert "canary" not in str(rejected.value)


def test_no_secret_shows_in_any_form_of_a_configuration(file: Path) -> None:
    configuration = load(None, {"INTENTC_ETCD__PASSWORD_FILE": str(file)}).configuration
    assert "canary" not in f"{configuration} {configuration!r} {configuration.etcd.password!s}"
