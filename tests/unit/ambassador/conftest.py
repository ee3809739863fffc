"""Certificates for the tests of Hosts, made once."""

from __future__ import annotations

import pytest

from tests.support.ambassador.pems import Pems


@pytest.fixture(scope="session")
def pems(tmp_path_factory: pytest.TempPathFactory) -> Pems:
    """Skips the test where there is no openssl."""
    return Pems(tmp_path_factory.mktemp("pems"))
